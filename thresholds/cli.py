"""The command line: parses, calls, prints.

Exit status: 0 done, 1 bad input (one line on stderr), 2 wrong usage.
"""

import argparse
import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thresholds import __version__
from thresholds._checks import AVERAGES, PLACEMENTS, InputError, is_sparse

if TYPE_CHECKING:
    from thresholds.files import LabelledFile, Rows, ScoreFile

_EPILOG = """\
examples:
  thresholds compare scores.npz
  thresholds fit scores.npz --average micro -o rule.json
  thresholds fit probabilities.npz --expected --average samples -o rule.json
  thresholds predict rule.json new_scores.npz -o decisions.npz

A score file is an .npz with y_score and y_true (n_samples, n_labels), dense or as CSR (y_score_data, y_score_indices,
y_score_indptr, y_score_shape), and optionally label_names, calib_idx and test_idx. predict and fit --expected need no
y_true.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _one_line_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        options.run(options)
        print(end="", flush=True)
    except BrokenPipeError:  # The reader, `head` perhaps, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InputError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)
    return 0


def _parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    parser = argparse.ArgumentParser(
        prog="thresholds",
        description="Exact F-measure thresholds for multi-label classifiers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"thresholds {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="all rules side by side on embedded data, and the platypus effect")
    demo.set_defaults(run=_demo)

    fit = commands.add_parser("fit", help="fit a rule and save it")
    fit.add_argument("--average", choices=AVERAGES, default="macro", help="what to maximise (default: macro)")
    fit.add_argument("--shared", action="store_true", help="one threshold for all labels")
    fit.add_argument(
        "--expected",
        action="store_true",
        help="look at no labels: maximise the F to expect, scores being calibrated probabilities;"
        " samples gives a rule that decides row by row",
    )
    fit.add_argument(
        "--exact",
        action="store_true",
        help="with --expected, maximise the expectation of F instead of F of expected counts (macro only)",
    )
    fit.add_argument(
        "--split",
        choices=("calib", "test", "all"),
        help="rows to fit on (default: calib_idx, else all but test_idx)",
    )
    fit.add_argument("-o", "--output", required=True, metavar="RULE.json", help="where to save the rule")
    _add_file(fit)
    fit.set_defaults(run=lambda options: (_fit_expected if options.expected else _fit)(options))

    predict = commands.add_parser("predict", help="apply a saved rule to scores")
    predict.add_argument("rule", metavar="RULE.json", help="a rule that fit saved")
    predict.add_argument("file", metavar="SCORES.npz", help="y_score, dense or CSR; y_true is not needed")
    predict.add_argument("--score-key", metavar="KEY", help="which scores of the file to use")
    predict.add_argument("-o", "--output", required=True, metavar="OUT.npz", help="where to write y_pred (CSR)")
    predict.set_defaults(run=_predict)

    compare = commands.add_parser("compare", help="fit every rule on the calibration rows, judge on the test rows")
    _add_file(compare)
    compare.add_argument("--json", action="store_true", help="print machine-readable results")
    compare.set_defaults(run=_compare)
    return parser


def _add_file(command: argparse.ArgumentParser) -> None:
    """Add what the commands that fit have in common."""
    command.add_argument("file", metavar="FILE.npz", help="y_true and y_score, dense or CSR")
    command.add_argument("--beta", type=float, default=1.0, metavar="X", help="weight of recall in F-beta (default: 1)")
    command.add_argument("--score-key", metavar="KEY", help="which scores of the file to use (default: y_score)")
    command.add_argument(
        "--placement",
        choices=PLACEMENTS,
        default="low",
        help="where in the gap between two scores a threshold lies (default: low, best on new data)",
    )
    command.add_argument(
        "--missing", type=float, default=0.0, metavar="X", help="score of entries absent from CSR scores (default: 0)"
    )


def _fit(options: argparse.Namespace) -> None:
    """Fit a rule on rows of a file and save it."""
    from thresholds.empirical import fit_empirical

    if options.exact:
        raise InputError("--exact is given without --expected, expected both")
    data = _read(options)
    rows, which = _fitting_rows(data, options.split)
    rule = fit_empirical(
        data.y_true[rows],
        data.y_score[rows],
        options.average,
        per_label=not options.shared,
        label_names=data.label_names,
        **_settings(options),
    )
    rule.save(options.output)
    print(f"{data.name}: fitted on {which}, scores {data.score_key}\n{rule}")
    without = int(rule.unsupported.sum())
    if without:
        print(f"{without} labels have no positives in these rows")
    print(f"saved as {options.output}")


def _fit_expected(options: argparse.Namespace) -> None:
    """Find a rule for probabilities and save it; labels, where there are any, only tell how good these are."""
    from thresholds import _checks
    from thresholds.calibration import measure_calibration
    from thresholds.expected import fit_expected
    from thresholds.files import read_scores

    for name, usual in (("placement", "low"), ("missing", 0.0)):
        if getattr(options, name) != usual:
            raise InputError(f"--{name} is {getattr(options, name)!r} with --expected, which has no use for it")
    data = read_scores(options.file, options.score_key)
    _checks.probabilities(data.y_score, data.score_key, data.label_names)
    rows, which = _fitting_rows(data, options.split)
    rule = fit_expected(
        data.y_score[rows],
        options.average,
        beta=options.beta,
        per_label=not options.shared,
        exact=options.exact,
        label_names=data.label_names,
        progress=sys.stderr.isatty(),
    )
    rule.save(options.output)
    print(f"{data.name}: fitted on {which}, probabilities {data.score_key}\n{rule}")
    if data.y_true is not None:
        found = measure_calibration(data.y_true[rows], data.y_score[rows])
        absent = "; absent entries count as 0" if is_sparse(data.y_score) else ""
        print(
            f"on these rows, probabilities add up to {found.sum_over_positives:.2f} of the positives, calibration slope"
            f" {found.slope:.2f} (both 1 if calibrated{absent})"
        )
    print(f"saved as {options.output}")


def _predict(options: argparse.Namespace) -> None:
    """Apply a rule to a file of scores and write the decisions."""
    from thresholds.files import read_scores, write_predictions
    from thresholds.rule import RegionRule, ThresholdRule, load_rule

    rule = load_rule(options.rule)
    data = read_scores(options.file, options.score_key)
    if None not in (data.label_names, rule.label_names) and data.label_names != rule.label_names:
        raise InputError(f"label_names of {data.name} differ from those of {options.rule}, expected the same, in order")
    dense = isinstance(rule, ThresholdRule | RegionRule) and rule.predicts_missing
    predicted = rule.predict(data.y_score, dense=dense)
    write_predictions(options.output, predicted, data.label_names or rule.label_names)
    n_rows = predicted.shape[0]
    print(f"{data.name}: {n_rows:,} rows, {predicted.sum() / n_rows:.2f} labels per row; written to {options.output}")


def _compare(options: argparse.Namespace) -> None:
    """Print every rule side by side, judged on the test rows."""
    from thresholds.comparison import compare, fit_all

    data = _read(options)
    calibration, test, split = data.halves()
    rules = fit_all(data.y_true[calibration], data.y_score[calibration], **_settings(options))
    result = compare(rules, data.y_true[test], data.y_score[test], beta=options.beta)
    if options.json:
        about = {"file": data.name, "score_key": data.score_key, "placement": options.placement, "split": split}
        rows = {"n_fitted": len(calibration), "n_judged": len(test)}
        print(json.dumps(about | rows | _without_nan(result.to_dict()), indent=1))
        return
    print(f"{_title(data)}\nfitted on {len(calibration):,} rows, judged on {len(test):,} others: {split}")
    print("label-free rules take absent entries for 0, and so does their sum of p\n" if is_sparse(data.y_score) else "")
    print(result)
    if not any("label-free" in name for name in rules):
        print("\nscores lie outside [0, 1], or --missing is not 0: rules that take them for probabilities are left out")


def _demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())


def _read(options: argparse.Namespace) -> "LabelledFile":
    """Read a file with truth, and check it whole, so that errors name its own rows."""
    from thresholds.files import read_labelled
    from thresholds.problem import Problem

    data = read_labelled(options.file, options.score_key)
    Problem.of(data.y_true, data.y_score, label_names=data.label_names, missing=options.missing)
    return data


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Give the arguments of a fit."""
    return {
        "beta": options.beta,
        "placement": options.placement,
        "missing": options.missing,
        "keep_sparse": True,
        "progress": sys.stderr.isatty(),
    }


def _fitting_rows(data: "ScoreFile", split: str | None) -> tuple["Rows", str]:
    """Choose the rows to fit on, and say which they are."""
    import numpy as np

    if split is None:
        if data.calib_idx is None and data.test_idx is not None:
            rows = data.halves()[0]
            return rows, f"the {len(rows):,} rows outside test_idx"
        split = "all" if data.calib_idx is None else "calib"
    if split == "all":
        return np.arange(data.y_score.shape[0]), f"all {data.y_score.shape[0]:,} rows"
    rows_of = {"calib": data.calib_idx, "test": data.test_idx}[split]
    if rows_of is None:
        raise InputError(f"{data.name} has no {split}_idx, expected the rows of --split {split}")
    return rows_of, f"the {len(rows_of):,} rows of {split}_idx"


def _title(data: "ScoreFile") -> str:
    """Say what a file holds."""
    n_samples, n_labels = data.y_score.shape
    kind = "CSR" if is_sparse(data.y_score) else str(data.y_score.dtype)
    return f"{data.name}: {n_samples:,} rows, {n_labels} labels, scores {data.score_key} ({kind})"


def _without_nan(values: Any) -> Any:
    """Replace NaN by null, which JSON has."""
    if isinstance(values, dict):
        return {key: _without_nan(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_without_nan(value) for value in values]
    return None if values != values else values


def _one_line_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of code that raised it."""
    print(f"thresholds: warning: {message}", file=sys.stderr)


def _fail(message: str, status: int = 1) -> int:
    """Print one line on stderr and give the exit status."""
    print(f"thresholds: error: {' '.join(message.split())}", file=sys.stderr)
    return status
