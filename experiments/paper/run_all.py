"""Run every script of this folder, and write what was found into experiments/README.md.

    python experiments/paper/run_all.py [--quick] [--files FILE ...] [--headings FILE ...]

FILE is an `.npz` of scores in [0, 1] and truth, with the rows to fit on and to judge on in `calib_idx` and `test_idx`
(docs/files.md). `--files` are used wherever real scores are, `--headings` for the case study of section 7. A script
that could use files and is given none runs on the demo data; what it finds goes to results/demo, and the table keeps
what was found on files. A quick run writes to results/quick, and what the tests compare to results/quick.json.
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

from claims import RESULTS, Options, Results, one_line_errors, perform
from table import write_table

# In the order of the paper; then the other sources.
SCRIPTS = (
    "definitions",
    "surfaces",
    "optimal_threshold",
    "half_of_f1",
    "finite_batches",
    "uninformative",
    "common_and_rare",
    "case_study",
    "simulated_headings",
    "accuracy_thresholds",
    "chosen_thresholds",
    "sample_size",
    "skill",
    "discussion",
    "f_of_averages",
    "zero_division",
    "detection_rule",
    "averages",
)
ON_FILES = ("half_of_f1", "skill", "discussion", "f_of_averages", "zero_division", "averages")
QUICK = RESULTS / "quick.json"


def found_in(results: Results) -> list[str]:
    """What was found on each claim that does not depend on files."""
    return [claim.found for claim in results.claims if not claim.of_files]


def folder_of(name: str, options: Options) -> Path:
    """Where the results of a script belong."""
    if options.quick:
        return RESULTS / "quick"
    return RESULTS / "demo" if name in (*ON_FILES, "case_study") and not options.files else RESULTS


def main() -> None:
    """Run all scripts, one after another, and say how long each took."""
    parser = argparse.ArgumentParser(description="Run all experiments on the claims of the sources.")
    parser.add_argument("--quick", action="store_true", help="the same claims from less work, checked more loosely")
    parser.add_argument("--files", nargs="*", type=Path, default=[], metavar="FILE", help="real scores and truth")
    parser.add_argument("--headings", nargs="*", type=Path, default=[], metavar="FILE", help="those of the case study")
    given = parser.parse_args()
    on_files, on_headings = (Options(given.quick, tuple(files)) for files in (given.files, given.headings))
    with one_line_errors():
        on_files.check()
        on_headings.check()
        found = {}
        for k, name in enumerate(SCRIPTS, 1):
            print(f"{k:2} of {len(SCRIPTS)}  {name:20}", end="", flush=True, file=sys.stderr)
            start, options = perf_counter(), Options(given.quick)
            options = on_headings if name == "case_study" else on_files if name in ON_FILES else options
            results = perform(f"{name}.py", import_module(name).run, options, folder_of(name, options))
            found[name] = found_in(results)
            print(f"{perf_counter() - start:6.1f} s  {len(results.claims):3} claims", file=sys.stderr)
    if given.quick:
        QUICK.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"results are in {RESULTS / 'quick'}, {QUICK}" if given.quick else write_table(SCRIPTS))


if __name__ == "__main__":
    main()
