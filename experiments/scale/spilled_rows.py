"""What commands take where rows are kept in memory, and in temporary files: anonymous memory, and seconds.

500,000 rows of 100 labels, some 3 of them in each row, in a parquet file of fixed lists (float32 scores, uint8 truth):
250 MB in memory. Each command runs in a process of its own, with `--spill none` and with `--spill FOLDER`; what is
printed is the most anonymous memory (RssAnon: without pages of files) that it had, sampled every few ms. Exits with 1
if both do not write the same rule, or print the same.

    python experiments/scale/spilled_rows.py > experiments/scale/spilled_rows.txt
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Cost, cost_of_command

N_ROWS, N_LABELS, BLOCK = 500_000, 100, 50_000
COMMANDS = {
    "fit --cv 0": ["fit", "FILE", "--cv", "0", "-o", "OUT"],
    "fit, 5 folds": ["fit", "FILE", "-o", "OUT"],
    "diagnose --rule": ["diagnose", "FILE", "--rule", "RULE"],
    "compare --rule": ["compare", "FILE", "--rule", "RULE"],
}


def main() -> int:
    """Run every command twice; 1 if what it gives is not the same."""
    differing = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder)
        write(path / "rows.parquet")
        watched(path, COMMANDS["fit --cv 0"], "none", path / "rule.json")
        print(f"{'MB of anonymous memory; seconds':36}{'--spill none':>20}{'--spill FOLDER':>20}")
        for name, command in COMMANDS.items():
            rules, cells = [], []
            for spill in ("none", folder):
                out = path / "out.json"
                cost, printed = watched(path, command, spill, out)
                cells.append(f"{cost.bytes / 1e6:10.0f}{cost.seconds:10.0f}")
                rules.append((printed, out.read_text() if "OUT" in command else ""))
            print(f"{name:36}{''.join(cells)}", flush=True)
            if rules[0] != rules[1]:
                differing.append(name)
    for name in differing:
        print(f"{name}: not the same", file=sys.stderr)
    return 1 if differing else 0


def write(path: Path) -> None:
    """Write the rows."""
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.001, 0.05, N_LABELS)
    writer = None
    for _ in range(N_ROWS // BLOCK):
        truth = (rng.random((BLOCK, N_LABELS), np.float32) < rates).astype(np.uint8)
        scores = rng.standard_normal((BLOCK, N_LABELS), np.float32) + 1.5 * truth
        columns = {"y_score": scores.astype(np.float32), "y_true": truth}
        table = pa.table(
            {
                name: pa.FixedSizeListArray.from_arrays(pa.array(cells.reshape(-1)), N_LABELS)
                for name, cells in columns.items()
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None, "there are rows"
    writer.close()


def watched(folder: Path, command: list[str], spill: str, out: Path) -> tuple[Cost, str]:
    """Run a command; what it took, and what it printed."""
    places = {"FILE": folder / "rows.parquet", "OUT": out, "RULE": folder / "rule.json"}
    arguments = [str(places.get(word, word)) for word in command]
    return cost_of_command([*arguments, "--spill", spill])


if __name__ == "__main__":
    sys.exit(main())
