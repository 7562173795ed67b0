"""Does every command work on truth of which a part is not known, from every form of file, and what does it find?

    python experiments/unknown/commands.py chestxray14_chexnet.npz | tee experiments/unknown/commands.txt

30 % of the cells of `y_true` are hidden at random. Every command that reads truth is run on the file with all cells and
on that with the others hidden (`--unknown nan`, or `--unknown=-1`), and figures of both stand side by side: the second
has 30 % fewer positives, and otherwise the same figures within chance. Hiding cells 40 times tells what chance is. A
mean over rows is another quantity, and lower: a row whose positives are all hidden has an F of 0, or of 0/0.

Then the hidden truth is written as `.npz` (NaN; -1; CSR with -1), `.csv` (empty cells), `.parquet` (null, in columns
and in lists) and `.jsonl` (null): each has to give the same rule and the same diagnosis. The run ends with an error
where one does not.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from scipy import sparse

import thresholds
from thresholds import cli
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

HIDDEN = 0.3
SEED = 0
DRAWS = 40

Figures = dict[str, object]


def main(path: str) -> None:
    """Run all commands on both files, then on all forms of the second."""
    data = read_labelled(path, "y_score")
    truth = data.y_true.toarray() if sparse.issparse(data.y_true) else np.asarray(data.y_true)
    is_hidden = np.random.default_rng(SEED).random(truth.shape) < HIDDEN
    hidden = np.where(is_hidden, np.nan, truth)
    names = np.array(data.label_names)
    splits = {"calib_idx": data.calib_idx, "test_idx": data.test_idx, "label_names": names}

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "all.npz", y_score=data.y_score, y_true=truth, **splits)
        np.savez(folder / "hidden.npz", y_score=data.y_score, y_true=hidden, **splits)
        in_full = of_commands(folder / "all.npz", [])
        in_part = of_commands(folder / "hidden.npz", ["--unknown", "nan"])
        print(f"{data.name}: {is_hidden.sum():,} of {truth.size:,} cells hidden\n")
        print(f"{'':<50}{'all cells':>16}{'hidden':>16}")
        for title, figures in in_full.items():
            print(title)
            for figure, value in figures.items():
                print(f"    {figure:<46}{shown(value):>16}{shown(in_part[title][figure]):>16}")

        by_chance(data.y_score[data.test_idx], truth[data.test_idx], folder / "all.macro.json")

        # Rows to fit on and rows to judge on, in files of their own: only some forms can say which are which.
        print("\nforms of the file with hidden cells: same rule, same diagnosis")
        scores = data.y_score.astype(np.float64)  # which text gives back bit for bit
        first: tuple[object, object] | None = None
        for form, write in FORMS.items():
            calib, test = (
                write(folder, name, scores[rows], hidden[rows], data.label_names)
                for name, rows in (("calib", data.calib_idx), ("test", data.test_idx))
            )
            unknown = "--unknown=-1" if "-1" in form else "--unknown=nan"
            found = fitted_and_diagnosed(folder, calib, test, unknown)
            first = first or found
            assert found == first, form
            print(f"    {form:<46}{'same':>16}")


def of_commands(path: Path, unknown: list[str]) -> dict[str, Figures]:
    """Run every command that reads truth, and return what is read off it."""
    found: dict[str, Figures] = {}
    rule, micro, new = (str(path.with_suffix(f".{name}.json")) for name in ("macro", "micro", "new"))
    file = [str(path), *unknown]

    made = as_json("fit", *file, "-o", rule)
    found["fit"] = of_fit(made)
    made = as_json("fit", *file, "--average", "micro", "-o", micro)
    found["fit --average micro"] = of_fit(made)
    made = as_json("fit", *file, "--rule", "instance, platt", "--cv", "2", "-o", new)
    found["fit --rule 'instance, platt'"] = {"out of fold": made["cross_fit"]["out_of_fold"]}
    made = as_json("fit", *file, "--best", "macro", "--cv", "2", "-o", new)
    found["fit --best macro"] = {"out of fold": made["cross_fit"]["out_of_fold"], "rule": made["name"]}
    made = as_json("fit", *file, "--expected", "-o", new)
    found["fit --expected"] = {"probabilities over positives": made["calibration"]["sum_over_positives"]}

    made = as_json("update", rule, *file, "--split", "test", "-o", new)
    found["update"] = {"thresholds that move": made["n_moved"], "old rule out of fold": made["old"]}
    made = as_json("diagnose", *file, "--rule", rule, "--repair", new)
    found["diagnose"] = {verdict: made[verdict] for verdict in ("usable", "weak", "unproven", "missed", "useless")}
    of_label = made["labels"][0]
    found["diagnose"] |= {f"{of_label['name']}: {name}": of_label[name] for name in ("n_positives", "f", "auroc")}
    made = as_json("compare", *file, "--rule", rule, "--rule", micro)
    found["compare --rule"] = {
        f"{Path(row['rule']).stem.partition('.')[2]}: {measure}": row[measure]
        for row in made["measures"]
        for measure in ("macro", "micro", "samples")
    }
    made = as_json("compare", *file)
    found["compare"] = {f"{row['rule']}: macro": row["macro"] for row in made["measures"][:4]}
    page = path.with_suffix(".html")
    text = run("report", *file, "--rule", rule, "-o", str(page))
    found["report"] = {"lines of its first screen": len(text.splitlines()), "page is written": page.exists()}
    return found


def by_chance(scores: Any, truth: Any, rule: Path) -> None:
    """Hide cells of the test rows again and again, and say how much figures of one rule differ from those of all."""
    decided = thresholds.load_rule(rule).predict(scores)
    differences: dict[str, list[float]] = {average: [] for average in ("macro", "micro", "samples")}
    by_label = []
    for seed in range(DRAWS):
        hidden = np.where(np.random.default_rng(seed + 1).random(truth.shape) < HIDDEN, np.nan, truth)
        for average, found in differences.items():
            of_known = f1_score(hidden, decided, average=average, zero_division=0, unknown="nan")
            found.append(of_known - f1_score(truth, decided, average=average, zero_division=0))
        by_label.append(f1_score(hidden, decided, average=None, zero_division=0, unknown="nan"))
    print(f"\nF1 of one rule with cells hidden, minus that with all: {DRAWS} draws")
    for average, found in differences.items():
        print(f"    {average:<46}{np.mean(found):>+16.4f} +- {np.std(found):.4f} a draw")
    away = np.mean(by_label, axis=0) - f1_score(truth, decided, average=None, zero_division=0)
    error = np.std(by_label, axis=0) / DRAWS**0.5
    print(f"    {'labels, largest difference in standard errors':<46}{np.abs(away / error).max():>16.1f}")


def of_fit(made: dict[str, Any]) -> Figures:
    """Read off what a fit says."""
    return {
        "objective": made["objective"],
        "out of fold": made["cross_fit"]["out_of_fold"],
        "labels usable": made["verdicts"]["usable"],
        "positives of the labels": sum(label["n_positives"] for label in made["labels"]),
    }


def fitted_and_diagnosed(folder: Path, calib: Path, test: Path, unknown: str) -> tuple[object, object]:
    """Return thresholds and what they reach, and all figures of the labels."""
    rule = folder / "rule.json"
    fitted = as_json("fit", str(calib), unknown, "-o", str(rule))
    diagnosed = as_json("diagnose", str(test), unknown, "--rule", str(rule), "--split", "all")
    saved = json.loads(rule.read_text())
    return (saved["thresholds"], fitted["cross_fit"]["out_of_fold"]), diagnosed["labels"]


def npz_with_nan(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write an archive with NaN."""
    np.savez(folder / f"{name}.npz", y_score=scores, y_true=truth, label_names=np.array(labels))
    return folder / f"{name}.npz"


def npz_with_numbers(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write an archive with -1."""
    return npz_with_nan(folder, name, scores, np.nan_to_num(truth, nan=-1).astype(np.int8), labels)


def npz_of_csr(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write an archive of a sparse matrix that stores -1."""
    matrix = sparse.csr_array(np.nan_to_num(truth, nan=-1).astype(np.int8))
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    stored = {f"y_true_{part}": np.asarray(value) for part, value in parts.items()}
    np.savez(folder / f"{name}.npz", y_score=scores, label_names=np.array(labels), **stored)
    return folder / f"{name}.npz"


def columns(scores: Any, truth: Any, labels: Any) -> pa.Table:
    """Return a table with a column for each label, null where the truth is not known."""
    return pa.table(
        {f"y_score_{label}": scores[:, k] for k, label in enumerate(labels)}
        | {
            f"y_true_{label}": pa.array(truth[:, k], pa.float64(), from_pandas=True).cast(pa.int8())
            for k, label in enumerate(labels)
        }
    )


def csv_with_empty_cells(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write a table as text."""
    csv.write_csv(columns(scores, truth, labels), folder / f"{name}.csv")
    return folder / f"{name}.csv"


def parquet_of_columns(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write a table."""
    parquet.write_table(columns(scores, truth, labels), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def parquet_of_lists(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write a table of lists; the names of the labels in its metadata."""
    lists = pa.table({"y_score": list(scores), "y_true": pa.array(in_lists(truth), pa.list_(pa.int8()))})
    lists = lists.replace_schema_metadata({"label_names": json.dumps(list(labels))})
    parquet.write_table(lists, folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def jsonl_with_null(folder: Path, name: str, scores: Any, truth: Any, labels: Any) -> Path:
    """Write lines of JSON, scores by label."""
    with open(folder / f"{name}.jsonl", "w") as file:
        for of_row, cells in zip(scores.astype(np.float64).tolist(), in_lists(truth), strict=True):
            file.write(json.dumps({"y_score": dict(zip(labels, of_row, strict=True)), "y_true": cells}) + "\n")
    return folder / f"{name}.jsonl"


def in_lists(truth: Any) -> list[list[int | None]]:
    """Return 0, 1, and None for NaN."""
    return [[None if cell != cell else int(cell) for cell in row] for row in truth.tolist()]


FORMS = {
    ".npz, NaN": npz_with_nan,
    ".npz, -1": npz_with_numbers,
    ".npz, CSR that stores -1": npz_of_csr,
    ".csv, empty cells": csv_with_empty_cells,
    ".parquet, columns with null": parquet_of_columns,
    ".parquet, lists with null": parquet_of_lists,
    ".jsonl, lists with null": jsonl_with_null,
}


def as_json(command: str, *arguments: str) -> dict[str, Any]:
    """Run a command for its machine-readable results."""
    return json.loads(run(command, *arguments, "--json"))  # type: ignore[no-any-return]


def run(*arguments: str) -> str:
    """Run a command in this process, and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main([*arguments])
    assert status == 0, arguments
    return out.getvalue()


def shown(value: object) -> str:
    """Write a figure."""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
