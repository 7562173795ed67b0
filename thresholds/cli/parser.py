"""What may be written on the command line."""

import argparse
from collections.abc import Callable

from thresholds._checks import AVERAGES, InputError, texts
from thresholds._checks.unknown import unknown_values
from thresholds._version import __version__
from thresholds.cli import failing, fit_options
from thresholds.cli.annotating import annotate
from thresholds.cli.applying import diff, monitor, predict
from thresholds.cli.comparing import compare, demo
from thresholds.cli.diagnosing import diagnose
from thresholds.cli.exporting import export
from thresholds.cli.fitting import fit
from thresholds.cli.listing import rules
from thresholds.cli.reporting import report
from thresholds.cli.updating import update
from thresholds.cli.warming import warmup
from thresholds.data.folds import N_SPLITS
from thresholds.devices.cells import FLOATS
from thresholds.guards.names import GUARD_NAMES

_EPILOG = """\
examples:
  thresholds compare scores.npz
  thresholds compare scores.npz --rule rule.json --rule new_rule.json --fail-on macro=-0.005
  thresholds fit scores.npz --average micro -o rule.json
  thresholds fit scores.npz --rule "instance, platt" -o rule.json
  thresholds fit scores.npz --best samples --zero-division 1 -o rule.json
  thresholds fit probabilities.npz --expected --average samples -o rule.json
  thresholds fit scores.npy --truth truth.npy --label-names labels.txt -o rule.json
  thresholds fit shards/ --score-column scores --truth-column tags --label-names labels.txt -o rule.json
  thresholds fit scores.csv --truth gold.jsonl --key id -o rule.json
  thresholds update rule.json new_scores.npz -o new_rule.json
  thresholds predict rule.json new_scores.npz -o decisions.npz
  thresholds predict rule.json 'new/*.parquet' --key id --logits -o decisions.parquet
  thresholds diagnose scores.npz --rule rule.json --fail-on platypus=0,share=0.3
  thresholds annotate scores.npz --rule rule.json --more-rows 100
  thresholds report scores.npz --rule rule.json --against old_rule.json -o report.html
  thresholds monitor rule.json new_scores.parquet --fail-on grave=0,moved_share=0.2
  thresholds export rule.json -o rule.onnx --dtype float16
  thresholds diff rule.json new_rule.json new_scores.npz --fail-on news=0,changed=0.05
  thresholds warmup --for predict

files of scores:
  .npz            y_score and y_true (n_samples, n_labels), dense or as CSR (y_score_data, y_score_indices,
                  y_score_indptr, y_score_shape); optionally label_names, calib_idx and test_idx
                  or the one matrix that scipy.sparse.save_npz wrote, of scores or of truth
  .npy            scores alone, with --truth
  .txt            extreme classification: a header "n m" and label:score pairs; as --truth also a data set ("n d m");
                  or a table, as .csv
  .svm, .svmlight, .libsvm
                  labels before features, as --truth
  .parquet, .pq, .feather, .arrow, .orc, .csv, .csv.gz, .tsv, .tsv.gz, .jsonl, .jsonl.gz, .ndjson
                  a column of lists, or columns with a prefix (y_score_cat, y_score_dog), for scores and for truth;
                  scores also as lists beside lists of their labels, or as lists of {"label", "score"};
                  truth as lists of label names, of positions, or of 0 and 1, as labels in one cell
                  (--label-separator), or as words (--true-words); or one label a line, with the columns that tell its
                  row (--key), the label (--label-column) and its score
  a folder, or a quoted pattern, of such shards; a Hugging Face dataset folder (save_to_disk)
predict, monitor, diff, fit --expected and fit --rule '..., label-free' need no truth. All tables, csv and JSON lines
too, need pyarrow: pip install pyarrow. export needs onnx: pip install onnx. report needs Jinja2: pip install jinja2.
"""


def parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    described = argparse.ArgumentParser(
        prog="thresholds",
        description="Exact F-measure thresholds for multi-label classifiers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    described.add_argument("--version", action="version", version=f"thresholds {__version__}")
    commands = described.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (describe, run, about) in _COMMANDS.items():
        command = commands.add_parser(name, help=about)
        command.set_defaults(run=run, status=0)
        describe(command)
    return described


def _fit(command: argparse.ArgumentParser) -> None:
    """Describe `fit`."""
    fit_options.add(command)
    command.add_argument(
        "--best",
        choices=AVERAGES,
        help="choose among all that `thresholds rules` lists, by this average on rows that a rule was not fitted on:"
        " 'macro, shrink', 'weighted, shrink', 'micro, pool' or 'instance, platt', unless another is shown to be"
        " better",
    )
    command.add_argument(
        "--expected",
        action="store_true",
        help="look at no labels: maximise the F to expect, scores being calibrated probabilities;"
        " samples gives a rule that decides row by row",
    )
    command.add_argument(
        "--exact",
        action="store_true",
        help="with --expected, maximise the expectation of F instead of F of expected counts (macro only)",
    )
    _add_split(command, "rows to fit on (default: calib_idx, else all but test_idx)")
    command.add_argument(
        "-o", "--output", required=True, metavar="RULE.json", help="where to save the rule"
    )
    command.add_argument(
        "--cv",
        type=_count,
        metavar="N",
        help="folds to judge thresholds on rows they were not fitted on; 0 for none"
        f" (default: {N_SPLITS}, or one for each row)",
    )
    command.add_argument(
        "--alternatives",
        action="store_true",
        help="try a shared threshold, and a guard if there is none, over the same folds, and say if one is better"
        " (without being asked: up to 1 million cells)",
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")
    _add_file(command)
    _add_weights(command)


def _update(command: argparse.ArgumentParser) -> None:
    """Describe `update`."""
    command.add_argument("old", metavar="OLD.json", help="a rule that fit saved")
    command.add_argument(
        "--guard",
        choices=[*GUARD_NAMES, "none"],
        default=argparse.SUPPRESS,
        help="protection against over-fitting (default: that of the old rule)",
    )
    fit_options.add(
        command,
        ("max_overprediction", "min_precision", "min_recall", "confidence", "family", "n_jobs"),
    )
    command.add_argument(
        "--alpha",
        type=float,
        default=0.1,
        metavar="X",
        help="false discovery rate: what share of the moves may be chance (default: 0.1)",
    )
    _add_split(command, "the new rows (default: calib_idx, else all but test_idx)")
    command.add_argument(
        "-o", "--output", required=True, metavar="RULE.json", help="where to save the updated rule"
    )
    command.add_argument(
        "--cv",
        type=_count,
        default=N_SPLITS,
        metavar="N",
        help=f"folds to judge thresholds on rows they were not fitted on (default: {N_SPLITS})",
    )
    command.add_argument(
        "--top", type=_count, default=20, metavar="K", help="labels in the table (default: 20)"
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")
    _add_file(command, of_saved_rule=True)
    _add_weights(command)


def _predict(command: argparse.ArgumentParser) -> None:
    """Describe `predict`."""
    command.add_argument("rule", metavar="RULE.json", help="a rule that fit saved")
    command.add_argument(
        "file", metavar="SCORES", help="a file or folder of scores; truth is not needed"
    )
    _add_scores(command)
    _add_key(command, "column of the file to carry along; repeat it for several")
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="where to write decisions: .npz (y_pred as CSR), .parquet or .jsonl (lists of labels), .csv (a column of 0"
        " and 1 for each label, or one label a line if the scores have that)",
    )
    command.add_argument(
        "--quote-formulas",
        action="store_true",
        help="put a ' before keys and names of labels that begin with = + - @, a tab or a return, which a spreadsheet"
        " that opens the .csv would run (default: they are written as they are, so that keys come back unchanged)",
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="write nothing, and exit with status 3, if the scores differ gravely from those of the fit",
    )


def _monitor(command: argparse.ArgumentParser) -> None:
    """Describe `monitor`."""
    command.add_argument("rule", metavar="RULE.json", help="a rule that fit saved")
    command.add_argument(
        "file", metavar="SCORES", help="a file or folder of new scores; truth is not needed"
    )
    _add_scores(command)
    command.add_argument(
        "--alpha",
        type=float,
        default=0.01,
        metavar="X",
        help="probability of finding anything where nothing has changed (default: 0.01)",
    )
    command.add_argument(
        "--top", type=_count, default=20, metavar="K", help="labels in the table (default: 20)"
    )
    command.add_argument(
        "--fail-on",
        type=failing.conditions_on(failing.MONITOR),
        metavar="NAME=BOUND,...",
        help="exit with status 3 if there are more than BOUND grave findings, findings, or labels that are moved"
        " (predicted more often, or less often, than at the fit) or moved_scores, or if moved_share, the share of"
        " labels that are moved, is larger: grave=0,moved_share=0.2",
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")


def _diff(command: argparse.ArgumentParser) -> None:
    """Describe `diff`."""
    command.add_argument("old", metavar="OLD.json", help="a rule that fit saved")
    command.add_argument("new", metavar="NEW.json", help="the rule that takes its place")
    command.add_argument(
        "file", nargs="?", metavar="SCORES", help="scores of the new rule's labels to decide on"
    )
    _add_scores(command)
    command.add_argument(
        "--top", type=_count, default=20, metavar="K", help="labels in the table (default: 20)"
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")
    command.add_argument(
        "--fail-on",
        type=failing.conditions_on(failing.DIFF),
        metavar="NAME=BOUND,...",
        help="exit with status 3 if more than BOUND thresholds moved by more than chance (news), or if a larger share"
        " of the rows of SCORES is decided differently (changed): news=0,changed=0.05",
    )


def _export(command: argparse.ArgumentParser) -> None:
    """Describe `export`."""
    command.add_argument("rule", metavar="RULE.json", help="a rule that fit saved")
    command.add_argument(
        "-o", "--output", required=True, metavar="RULE.onnx", help="where to write the model"
    )
    command.add_argument(
        "--dtype",
        choices=FLOATS,
        help="of the scores that the model will be given (default: that of the fit, else float32)",
    )


def _compare(command: argparse.ArgumentParser) -> None:
    """Describe `compare`."""
    command.add_argument(
        "--rule",
        dest="rules",
        action="append",
        metavar="RULE.json",
        help="a saved rule to judge; repeat it for several: the first is the one that others are held against"
        " (default: the usual rules, fitted on the calibration rows)",
    )
    _add_split(command, "rows to judge --rule on (default: test_idx, else all but calib_idx)")
    command.add_argument(
        "--all",
        action="store_true",
        help="every rule that applies to these scores, not the usual ones alone; fit --rule fits each",
    )
    fit_options.add(command, ("beta", "zero_division", "placement", "n_jobs"))
    command.add_argument(
        "--confidence",
        type=_confidence,
        default=0.95,
        metavar="X",
        help='of intervals; "none" for no intervals (default: 0.95)',
    )
    command.add_argument(
        "--agreement",
        action="store_true",
        help="show, too, how far the rules decide alike, and on which labels they differ most",
    )
    command.add_argument(
        "--fail-on",
        type=failing.conditions_on(failing.COMPARE),
        metavar="NAME=BOUND,...",
        help="exit with status 3 if a --rule reaches less than the first by more than BOUND and more than chance (the"
        " whole interval of the difference lies below 0); NAME is micro, macro, macro_supported (labels with"
        " positives), weighted or samples: macro=-0.005",
    )
    _add_file(command)
    _add_weights(command)
    command.add_argument("--json", action="store_true", help="print machine-readable results")


def _diagnose(command: argparse.ArgumentParser) -> None:
    """Describe `diagnose`."""
    command.add_argument(
        "--rule", metavar="RULE.json", help="a rule that fit saved (default: one is fitted)"
    )
    _add_split(command, "rows to judge --rule on (default: test_idx, else all but calib_idx)")
    fit_options.add(command, [name for name in fit_options.OFFERED if name != "rule"])
    _add_criteria(command)
    command.add_argument(
        "--top", type=_count, default=8, metavar="K", help="labels that are listed (default: 8)"
    )
    command.add_argument(
        "--repair",
        metavar="OUT.json",
        help="where to save the rule with thresholds of flagged labels mended",
    )
    command.add_argument(
        "--action",
        choices=("never", "cap"),
        help="how to mend: never predict backwards and platypus labels (default), or cap platypus and suspect labels at"
        " --overprediction times their positives",
    )
    command.add_argument(
        "--fail-on",
        type=failing.conditions_on(failing.DIAGNOSE),
        metavar="NAME=BOUND,...",
        help="exit with status 3 if more than BOUND labels are weak, unproven, missed or useless, or are backwards,"
        " platypus, suspect, overpredicted (whatever else they are) or unsupported, or if a larger share of all"
        " predictions falls on backwards, platypus and suspect labels: useless=0,platypus=0,share=0.3",
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")
    _add_file(command)


def _annotate(command: argparse.ArgumentParser) -> None:
    """Describe `annotate`."""
    command.add_argument(
        "--rule",
        metavar="RULE.json",
        help="a rule that fit saved (default: as many of the highest scores of each label as are true)",
    )
    _add_split(
        command,
        "rows to look at (default: calib_idx, else all but test_idx; with --rule test_idx, else all but calib_idx)",
    )
    command.add_argument(
        "--more-rows",
        type=_count,
        default=10,
        metavar="N",
        help="how many more rows the gain is about (default: 10)",
    )
    _add_criteria(command)
    fit_options.add(command, ("n_jobs",))
    command.add_argument(
        "--top", type=_count, default=5, metavar="K", help="labels that are listed (default: 5)"
    )
    command.add_argument("--json", action="store_true", help="print machine-readable results")
    _add_file(command, groups_have_use=False)


def _report(command: argparse.ArgumentParser) -> None:
    """Describe `report`."""
    command.add_argument(
        "--rule", metavar="RULE.json", help="a rule that fit saved (default: one is fitted)"
    )
    command.add_argument(
        "--against", metavar="OLD.json", help="the rule that was used before: say what moved"
    )
    _add_split(command, "rows to judge --rule on (default: test_idx, else all but calib_idx)")
    command.add_argument(
        "-o", "--output", required=True, metavar="REPORT.html", help="where to write the page"
    )
    command.add_argument("--title", metavar="TEXT", help="title of the page")
    _add_bar(command)
    fit_options.add(command, [name for name in fit_options.OFFERED if name != "rule"])
    _add_file(command)


def _warmup(command: argparse.ArgumentParser) -> None:
    """Describe `warmup`."""
    command.add_argument(
        "--for",
        dest="purposes",
        action="append",
        choices=("predict", "fit", "judge"),
        help="compile only what this needs: predict (rules that decide row by row, and calibrated ones; thresholds need"
        " nothing), fit (fit, calibrate, update) or judge (metrics, compare --rule, diagnose); repeat it for several"
        " (default: all)",
    )


def _rules(command: argparse.ArgumentParser) -> None:
    """Describe `rules`."""
    command.add_argument("--json", action="store_true", help="print machine-readable results")


def _demo(_: argparse.ArgumentParser) -> None:
    """Describe `demo`, which has no options."""


def _add_criteria(command: argparse.ArgumentParser) -> None:
    """Add what a diagnosis asks for."""
    _add_bar(command)
    command.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="X",
        help="false discovery rate of each test (default: 0.05)",
    )
    command.add_argument(
        "--min-auroc",
        type=float,
        default=0.7,
        metavar="X",
        help="AUROC below which scores know too little of a label (default: 0.7)",
    )
    command.add_argument(
        "--overprediction",
        type=float,
        default=3.0,
        metavar="X",
        help="a label is over-predicted on more than X times its positives (default: 3)",
    )


def _add_bar(command: argparse.ArgumentParser) -> None:
    """Add what makes a label good enough."""
    command.add_argument(
        "--min-f",
        type=float,
        default=0.5,
        metavar="X",
        help="F from which a label may be usable (default: 0.5)",
    )
    command.add_argument(
        "--min-skill",
        type=float,
        default=0.25,
        metavar="X",
        help="how far above marking every row, as a share of the way to no mistake, it must be, too (default: 0.25)",
    )


def _add_split(command: argparse.ArgumentParser, about: str) -> None:
    """Add the choice of rows."""
    command.add_argument("--split", choices=("calib", "test", "all"), help=about)


def _add_file(
    command: argparse.ArgumentParser, *, of_saved_rule: bool = False, groups_have_use: bool = True
) -> None:
    """Add what the commands that fit have in common; a saved rule knows the score of absent entries itself."""
    command.add_argument(
        "file", metavar="FILE", help="a file or folder of scores and truth; see thresholds --help"
    )
    _add_scores(command)
    command.add_argument(
        "--truth", metavar="FILE", help="file or folder of the truth, if that is another"
    )
    command.add_argument(
        "--truth-column",
        metavar="NAME",
        help="column of the truth, or what its columns begin or end with (default: y_true)",
    )
    command.add_argument(
        "--label-separator",
        type=_checked(texts.separator),
        metavar="TEXT",
        help="what is between the labels of a row where the truth has all of them in one cell: '|'",
    )
    command.add_argument(
        "--true-words",
        type=_checked(texts.words),
        metavar="WORD,...",
        help="truth is text, in which these words are true, and empty cells and one other word are not: yes,x",
    )
    _add_key(
        command,
        "column that joins scores to --truth (default: by the order of rows), or that tells to which row a line belongs"
        " in a file with one label a line; repeat it for several",
    )
    command.add_argument(
        "--unknown",
        type=_unknown,
        metavar="X",
        help='what stands for truth that is not known: a number, as -1, "nan" for cells without a value (empty ones'
        " of a csv, null of parquet and JSON, NaN), or several, as nan,-1; such cells are counted nowhere (default:"
        " they are refused)",
    )
    command.add_argument(
        "--drop-unscored",
        action="store_true",
        help="leave out rows in which a label has no score, and say how many (default: they are refused)",
    )
    if not of_saved_rule:
        command.add_argument(
            "--missing",
            type=float,
            default=0.0,
            metavar="X",
            help="score of entries absent from CSR scores (default: 0)",
        )
    command.add_argument(
        "--spill",
        default="auto",
        metavar="FOLDER",
        help="where to keep rows that the file does not hold as they are: temporary files in that folder, or none for"
        " memory (default: memory, or a folder for temporary files if they take more than half of what is left of it)",
    )
    if groups_have_use:
        command.add_argument(
            "--groups",
            metavar="KEY",
            help="array or column of either file with a group for each row: kept together, and alike to a guard",
        )


def _add_scores(command: argparse.ArgumentParser) -> None:
    """Add what says which scores of a file to use."""
    command.add_argument(
        "--score-column",
        "--score-key",
        dest="score_key",
        metavar="NAME",
        help="column or array of the scores, or what their columns begin or end with (default: y_score)",
    )
    command.add_argument(
        "--label-column",
        metavar="NAME",
        help="column of labels in a file with one label a line (default: label, species, scientific name and the like)",
    )
    command.add_argument(
        "--label-names",
        metavar="FILE",
        help="label names in order: one in each line, or a .json list",
    )
    command.add_argument(
        "--logits", action="store_true", help="scores are logits: turn them into probabilities"
    )
    command.add_argument(
        "--encoding",
        type=_checked(texts.encoding),
        metavar="NAME",
        help="encoding of csv files, as cp1252 (default: utf-8, or utf-16 where a byte-order mark says so)",
    )


def _add_weights(command: argparse.ArgumentParser) -> None:
    """Add the weights of rows, for what counts rows by them."""
    command.add_argument(
        "--weights",
        metavar="COLUMN",
        help="array or column of either file with a weight for each row, 0 or more (default: 1)",
    )


def _add_key(command: argparse.ArgumentParser, about: str) -> None:
    """Add the columns that tell rows apart."""
    command.add_argument("--key", metavar="COLUMN", action="append", help=about)


def _count(text: str) -> int:
    """Read a number of things."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _checked(check: Callable[[object, str], object]) -> Callable[[str], object]:
    """Return what reads an option whose check the library has."""

    def read(text: str) -> object:
        try:
            return check(text, "it")
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _unknown(text: str) -> tuple[str | float, ...] | str | float:
    """Read what stands for truth that is not known, several with commas between them."""
    try:
        values = tuple(word if word == "nan" else float(word) for word in text.split(","))
        unknown_values(values)
    except (ValueError, InputError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither nan nor a number other than 0 and 1, nor several of these, as nan,-1"
        ) from None
    return values if len(values) > 1 else values[0]


def _confidence(text: str) -> float | None:
    """Read a confidence, "none" and 0 as none."""
    if text in ("none", "0"):
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1, nor none")
    return number


_COMMANDS = {
    "demo": (_demo, demo, "all rules side by side on embedded data, and the platypus effect"),
    "fit": (_fit, fit, "fit a rule and save it"),
    "update": (
        _update,
        update,
        "fit a saved rule on new rows, and move what they show to have moved",
    ),
    "predict": (_predict, predict, "apply a saved rule to scores"),
    "monitor": (_monitor, monitor, "what has changed in the scores since a rule was fitted"),
    "rules": (_rules, rules, "list the rules that fit --rule and compare know"),
    "compare": (
        _compare,
        compare,
        "judge saved rules, or the usual ones, fitted on the calibration rows, on the test rows",
    ),
    "diagnose": (
        _diagnose,
        diagnose,
        "say which labels may be relied on, and which a rule predicts far too often",
    ),
    "annotate": (
        _annotate,
        annotate,
        "say how many more rows would decide what is open of each label, and of which labels they gain most",
    ),
    "report": (
        _report,
        report,
        "write a page that says which labels may be relied on, for people who know no statistics",
    ),
    "export": (_export, export, "write a saved rule as an ONNX model"),
    "diff": (_diff, diff, "what changed between two saved rules"),
    "warmup": (
        _warmup,
        warmup,
        "compile all loops and keep them on disk, so that no later call waits for it",
    ),
}
