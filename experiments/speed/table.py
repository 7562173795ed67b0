"""All ratios of speed in one run, with their bounds.

Each section measures on its own data, two threads (`n_jobs=2`) unless noted, after kernels are compiled, and compares
results with its rivals'. A line on stderr for each measurement; the table on stdout. A whole run writes results.md and
results.json, too. It fails if a bound is missed or a result differs. A quick run is small, compares results, and
checks no bound.

    pip install -e ".[bench]"
    python experiments/speed/table.py [--quick] [--only NAME ...] [--output FOLDER]
    python experiments/speed/table.py --docs         # measures nothing: copies results.md and best_cuts.md to the docs
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import command
import first_call
import fits
import inputs
import joint_micro
import label_free
import layouts
import memory
import questions
import scaling
import shared_cut
import sparse_scores
import starting
from measuring import Clock, Measured, Ratio, Row, describe_machine, shared_data, unbounded
from rendering import BEST_CUTS, SPEED_TABLE, comparisons, fill_page, page, table

HERE = Path(__file__).parent
SHOWN = HERE.parents[1] / "docs" / "performance.md"
RESULTS, OF_BEST_CUTS = "results.md", "best_cuts.md"
PACKAGES = ("scipy", "llvmlite", "xcolumns", "optimal-classification-cutoffs", "torchmetrics", "torch")
SECTIONS: dict[str, Callable[[bool, Clock], Measured]] = {
    "fits": fits.measure,
    "questions": questions.measure,
    "layouts": layouts.measure,
    "shared": shared_cut.measure,
    "memory": memory.measure,
    "inputs": inputs.measure,
    "label-free": label_free.measure,
    "joint-micro": joint_micro.measure,
    "growth": scaling.measure_growth,
    "wide": scaling.measure_wide,
    "sparse": sparse_scores.measure,
    "first-call": first_call.measure,
    "starting": starting.measure,
    "command": command.measure,
}
SHARING = ("fits", "questions", "layouts", "shared", "memory")  # sections that measure the same data


def measure(names: Sequence[str], quick: bool) -> tuple[list[Row], list[Ratio], dict[str, Any]]:
    """Run sections; give ratios, comparisons and seconds."""
    rows, checks, seconds = [], [], {}
    for name in names:
        if name not in SHARING:
            shared_data.cache_clear()
        print(name, file=sys.stderr, flush=True)
        clock = Clock()
        some, compared = SECTIONS[name](quick, clock)
        rows += unbounded(some) if quick else some
        checks += compared
        seconds[name] = clock.times
    return rows, checks, seconds


def peak_memory() -> dict[str, int]:
    """Give the peak memory in bytes of this process, and of the largest of those it started (Linux: kB)."""
    who = {"this process": resource.RUSAGE_SELF, "largest child": resource.RUSAGE_CHILDREN}
    return {name: resource.getrusage(each).ru_maxrss * 1024 for name, each in who.items()}


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure all ratios of speed, with their bounds.")
    parser.add_argument("--quick", action="store_true", help="small sizes, which compare results but check no bound")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="NAME", help=f"some of: {', '.join(SECTIONS)}")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write results of a partial or quick run, too")
    parser.add_argument(
        "--docs", action="store_true", help="copy results.md and best_cuts.md to docs/performance.md, and end"
    )
    options = parser.parse_args()
    if options.docs:
        fill_page(SHOWN, HERE / RESULTS, SPEED_TABLE)
        fill_page(SHOWN, HERE / OF_BEST_CUTS, BEST_CUTS)
        return 0
    start = time.perf_counter()
    names = [name for name in SECTIONS if not options.only or name in options.only]
    rows, checks, seconds = measure(names, options.quick)
    machine = describe_machine(*PACKAGES)
    print(table(rows, machine) + "\n" + comparisons(checks))
    whole = not options.quick and not options.only
    folder = options.output or (HERE if whole else None)
    if folder is not None:
        report = {
            "ratios": [asdict(row) | {"holds": row.holds} for row in rows],
            "compared": [asdict(check) | {"holds": check.holds} for check in checks],
            "seconds": seconds,
            "machine": machine,
            "peak bytes": peak_memory(),
            "seconds in all": time.perf_counter() - start,
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULTS).write_text(page(rows, checks, machine))
        (folder / RESULTS).with_suffix(".json").write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(ratio.holds for ratio in [*rows, *checks]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
