"""The commands: what each does, which arguments and options it takes, and what differs there from the list of these."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thresholds.cli import failing
from thresholds.cli.annotating import annotate
from thresholds.cli.applying import monitor, predict
from thresholds.cli.comparing import compare, demo
from thresholds.cli.diagnosing import diagnose
from thresholds.cli.diffing import diff
from thresholds.cli.exporting import export
from thresholds.cli.fitting import fit
from thresholds.cli.listing import rules
from thresholds.cli.options import CRITERIA, OF_FITS, OPTIONS, Option
from thresholds.cli.reporting import report
from thresholds.cli.updating import update
from thresholds.cli.warming import warmup
from thresholds.data.folds import N_SPLITS


@dataclass(frozen=True)
class Command:
    """A command, and what may be written behind it."""

    run: Callable[[argparse.Namespace], None]
    about: str  # one line
    arguments: Mapping[str, Option] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)


def _take(names: str) -> dict[str, Option]:
    """Take options as the list has them."""
    return {name: OPTIONS[name] for name in names.split()}


def _but(name: str, about: str | None = None, **changes: Any) -> dict[str, Option]:
    """Take an option that differs in a command."""
    return {name: OPTIONS[name].but(**changes, **({} if about is None else {"help": about}))}


def _fails_on(names: failing.Names, about: str) -> dict[str, Option]:
    """Take conditions of these names."""
    return _but("fail_on", f"exit with status 3 if {about}", type=failing.conditions_on(names))


_FILE = _take("<file>")
_RULE = _take("<rule>")
_NEW_SCORES = _but(
    "<file>",
    "a file or folder of scores; truth is not needed; --help-files says which",
    metavar="SCORES",
)
_OF_SCORES = _take("score_key label_column label_names logits encoding")
_OF_FILE = _OF_SCORES | _take(
    "truth truth_column key label_separator true_words unknown drop_unscored spill"
)
_OF_FITTED_FILE = _take("missing") | _OF_FILE
_CRITERIA = _take(" ".join(CRITERIA))
_TO_FIT_ON = "(default: calib_idx, else all but test_idx); where the file names none, calib is a half that is made here"
_FRESH = "by the fresh thresholds (default: that of the old rule, unless --guard is given)"

COMMANDS: Mapping[str, Command] = {
    "fit": Command(
        fit,
        "fit a rule and save it",
        _FILE,
        _take(" ".join(name for name in OF_FITS if name != "n_jobs"))
        | _take("best expected exact groups weights alternatives")
        | _but("split", f"rows to fit on {_TO_FIT_ON}")
        | _but("cv", f"{OPTIONS['cv'].help} (default: {N_SPLITS}, or one for each row; 0: none)")
        | _take("output json n_jobs")
        | _OF_FITTED_FILE,
    ),
    "predict": Command(
        predict,
        "apply a saved rule to scores",
        _RULE | _NEW_SCORES,
        _but(
            "output",
            "where to write decisions: .npz (y_pred as CSR), .parquet or .jsonl (lists of labels), .csv (a column of 0"
            " and 1 for each label, or one label a line if the scores have that)",
            metavar="OUT",
        )
        | _take("quote_formulas strict json")
        | _OF_SCORES
        | _but("key", "column of the file to carry along; repeat it for several"),
    ),
    "diagnose": Command(
        diagnose,
        "say which labels may be relied on, and which are predicted too often",
        _FILE,
        _take("judged split groups")
        | _CRITERIA
        | _fails_on(
            failing.DIAGNOSE,
            "more than BOUND labels are weak, unproven, missed or useless, or are backwards, platypus, suspect,"
            " overpredicted (whatever else they are) or unsupported, or if a larger share of all predictions falls on"
            " backwards, platypus and suspect labels: useless=0,platypus=0,share=0.3",
        )
        | _take("repair action json n_jobs")
        | _but("top", default=8)
        | _OF_FITTED_FILE,
    ),
    "report": Command(
        report,
        "write a page on the same for people who know no statistics",
        _FILE,
        _take("judged against split groups min_f min_skill")
        | _but("output", "where to write the page", metavar="REPORT.html")
        | _take("title json n_jobs")
        | _OF_FITTED_FILE,
    ),
    "compare": Command(
        compare,
        "judge rules side by side: saved ones, or those of some names",
        _FILE,
        _take("rules all split groups weights beta zero_division placement interval agreement")
        | _fails_on(
            failing.COMPARE,
            "a --rule reaches less than the first by more than BOUND and by more than chance (the whole interval of the"
            " difference lies below 0); NAME is micro, macro, macro_supported (labels with positives), weighted or"
            " samples: macro=-0.005",
        )
        | _take("json n_jobs")
        | _OF_FITTED_FILE,
    ),
    "annotate": Command(
        annotate,
        "say of which labels more rows are needed, and how many",
        _FILE,
        _but(
            "judged",
            "the file of a saved rule, or the name of one (default: as many of the highest scores of each label as are"
            " true)",
            default=None,
        )
        | _but(
            "split",
            "rows to look at (default: calib_idx, else all but test_idx; with a saved rule test_idx, else all but"
            " calib_idx)",
        )
        | _take("more_rows json n_jobs")
        | _CRITERIA
        | _but("top", default=5)
        | _OF_FITTED_FILE,
    ),
    "monitor": Command(
        monitor,
        "say what has changed in the scores since a rule was fitted",
        _RULE | _NEW_SCORES,
        _but("alpha", "probability of finding anything where nothing has changed", default=0.01)
        | _fails_on(
            failing.MONITOR,
            "there are more than BOUND grave findings, findings, or labels that are moved (predicted more often, or"
            " less often, than at the fit) or moved_scores, or if moved_share, the share of labels that are moved, is"
            " larger: grave=0,moved_share=0.2",
        )
        | _take("top json")
        | _OF_SCORES,
    ),
    "update": Command(
        update,
        "fit a saved rule on new rows, and move what they show to have moved",
        _take("<old> <file>"),
        _but("guard", "against over-fitting (default: that of the old rule)")
        | _but("max_overprediction", f"predict a label on at most X times its positives {_FRESH}")
        | _but("min_precision", f"keep each label's precision at X or above {_FRESH}")
        | _but("min_recall", f"keep each label's recall at X or above {_FRESH}")
        | _take("groups weights")
        | _but("split", f"the new rows {_TO_FIT_ON}")
        | _but("cv", default=N_SPLITS)
        | _but("alpha", "false discovery rate: what share of the moves may be chance", default=0.1)
        | _take("output top json n_jobs")
        | _OF_FILE,
    ),
    "diff": Command(
        diff,
        "say what changed between two saved rules",
        _take("<old> <new>")
        | _but(
            "<file>",
            "scores of the new rule's labels to decide on; --help-files says which",
            metavar="[SCORES]",
            nargs="?",
        ),
        _fails_on(
            failing.DIFF,
            "more than BOUND thresholds moved by more than chance (news), or if a larger share of the rows of SCORES is"
            " decided differently (changed): news=0,changed=0.05",
        )
        | _take("top json")
        | _OF_SCORES,
    ),
    "export": Command(
        export,
        "write a saved rule as an ONNX model",
        _RULE,
        _but("output", "where to write the model", metavar="RULE.onnx") | _take("dtype json"),
    ),
    "rules": Command(rules, "list the rules that fit --rule and compare know", {}, _take("json")),
    "demo": Command(demo, "show all rules on embedded data, and the platypus effect"),
    "warmup": Command(
        warmup, "compile all loops now, so that no later call waits", {}, _take("purposes")
    ),
}
