"""The commands `compare` and `demo`: rules side by side."""

import argparse

from thresholds._arrays.sparse import is_sparse
from thresholds.cli import printing, reading


def compare(options: argparse.Namespace) -> None:
    """Print every rule side by side, judged on the test rows."""
    from thresholds.comparison.compare import compare, fit_all

    data = reading.labelled(options)
    calibration, test, split = reading.halves(data)
    settings = reading.settings(options) | {"label_names": data.label_names}
    rules = fit_all(data.y_true[calibration], data.y_score[calibration], **settings)
    result = compare(rules, data.y_true[test], data.y_score[test], beta=options.beta)
    if options.json:
        about = {"file": data.name, "score_key": data.score_key, "placement": options.placement, "split": split}
        about |= {"notes": list(data.notes)}
        rows = {"n_fitted": len(calibration), "n_judged": len(test)}
        print(printing.as_json(about | rows | result.to_dict()))
        return
    print(f"{reading.title(data)}\nfitted on {len(calibration):,} rows, judged on {len(test):,} others: {split}")
    print("label-free rules take absent entries for 0, and so does their sum of p\n" if is_sparse(data.y_score) else "")
    print(result)
    if not any("label-free" in name for name in rules):
        print("\nscores lie outside [0, 1], or --missing is not 0: rules that take them for probabilities are left out")


def demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())
