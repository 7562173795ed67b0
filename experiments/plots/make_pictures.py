"""Draw the pictures of docs/plots.md, `docs/plots/*.svg`, from the embedded data of `thresholds demo`.

    python experiments/plots/make_pictures.py [FOLDER]

Needs Matplotlib and this package installed.
"""

import sys
from pathlib import Path

import matplotlib

import thresholds
from thresholds.demo import load_demo
from thresholds.plots import (
    ComparisonDisplay,
    FCurveDisplay,
    OverpredictionDisplay,
    ReliabilityDisplay,
)
from thresholds.plots.base import Display

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "plots"

STYLE = {
    "svg.fonttype": "path",  # the same picture whatever fonts the reader has
    "svg.hashsalt": "thresholds",  # the same bytes in every run
    "path.simplify_threshold": 0.3,  # pixels; keeps files small
}


def displays() -> dict[str, Display]:
    """The displays that are shown, drawn, by the names of their pictures."""
    data = load_demo()
    fit, judge, _ = data.halves()
    y_true, y_score, names = data.y_true, data.y_score, data.label_names
    rule = thresholds.fit(y_true[fit], y_score[fit], "macro, in-sample", label_names=names)
    calibrator = thresholds.calibrate(y_true[fit], y_score[fit], label_names=names)
    diagnosis = thresholds.diagnose(y_true[judge], y_score[judge], rule)
    rules = {"macro, in-sample": rule, "at 0.5": thresholds.FixedRule(0.5, rule.n_labels)}
    for name in ("macro, shared", "micro, in-sample", "samples, shared"):
        rules[name] = thresholds.fit(y_true[fit], y_score[fit], name, label_names=names)
    comparison = thresholds.compare(rules, y_true[judge], y_score[judge])
    return {
        "f_curves": FCurveDisplay.from_predictions(
            y_true[judge], y_score[judge], rule=rule, label=["digit 1", "random draw, 1 %"]
        ).plot(),
        "reliability": ReliabilityDisplay.from_calibrator(calibrator, y_true[judge], y_score[judge]).plot(),
        "overprediction": OverpredictionDisplay.from_diagnosis(diagnosis).plot(k=2),
        "comparison": ComparisonDisplay.from_comparison(comparison, measure=["macro", "micro"]).plot(),
    }


def main() -> None:
    """Draw and save."""
    matplotlib.use("svg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    for name, display in displays().items():
        figure = display.figure_
        with matplotlib.rc_context(STYLE):
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    main()
