"""Draw the picture of the README, `docs/platypus.svg`: what macro-F1 does to a label that is pure chance.

    python experiments/readme_figure/make_figure.py [OUTPUT]

Left: F1 against the share of rows predicted, on the calibration rows of the demo data, for a label that the
model knows and for the random label. Right: on the test rows, how often each label is predicted with the
thresholds that maximise macro-F1 and with those that maximise micro-F1, beside how often it is true.

Needs Matplotlib and this package installed. The suffix of OUTPUT chooses the format: a `.png` is a preview.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, PercentFormatter

import thresholds

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]

REPOSITORY = Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "thresholds" / "demo.npz"
DEFAULT_OUTPUT = REPOSITORY / "docs" / "platypus.svg"

KNOWN_LABEL = "digit 1"
RANDOM_LABEL = "random draw, 1 %"

# Okabe and Ito's palette, safe for colour-blind readers; the marker shapes differ as well.
MACRO: dict[str, Any] = {"color": "#D55E00", "marker": "o", "markersize": 7.5}
MICRO: dict[str, Any] = {"color": "#0072B2", "marker": "s", "markersize": 5}
TRUTH: dict[str, Any] = {"color": "black", "marker": "|", "markersize": 11, "markeredgewidth": 1.8}
GREY, HIGHLIGHT = "#666666", "#FBE9DC"
STYLE: Any = {
    "font.size": 10,
    "figure.titlesize": 10.5,
    "figure.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify_threshold": 0.3,  # pixels; keeps the file small
    "svg.fonttype": "path",  # the same picture whatever fonts the reader has
    "svg.hashsalt": "thresholds",  # the same bytes in every run
}


@dataclass(frozen=True)
class Half:
    """Truth and scores of one half of the demo data, each (n_samples, n_labels)."""

    y_true: Ints
    y_score: Floats


def load_demo() -> tuple[list[str], Half, Half]:
    """Label names, calibration half, test half."""
    with np.load(DEMO) as demo:
        n_samples, n_labels = demo["y_true_shape"]
        y_true = np.zeros((n_samples, n_labels), dtype=np.uint8)
        rows = np.repeat(np.arange(n_samples), np.diff(demo["y_true_indptr"]))
        y_true[rows, demo["y_true_indices"]] = demo["y_true_data"]
        halves = [Half(y_true[demo[key]], demo["y_score"][demo[key]]) for key in ("calib_idx", "test_idx")]
        return demo["label_names"].tolist(), halves[0], halves[1]


def f1_by_share(y_true: Ints, y_score: Floats) -> tuple[Floats, Floats]:
    """Share of rows predicted, increasing, and the F1 of predicting that many; ties are never cut."""
    order = np.argsort(-y_score, kind="stable")
    scores = y_score[order]
    predicted = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)) + 1
    true_positives = np.cumsum(y_true[order], dtype=np.int64)[predicted - 1]
    return predicted / len(y_true), 2 * true_positives / (y_true.sum() + predicted)


def title(panel: SubFigure, text: str) -> None:
    """The message of a panel, flush left above it."""
    panel.suptitle(text, x=0.02, horizontalalignment="left")


def percent(share: float) -> str:
    """A share as a whole percentage."""
    return f"{100 * share:.0f} %"


def draw_f1_curve(ax: Axes, y_true: Ints, y_score: Floats, name: str, top: float) -> None:
    """F1 of one label against the share of rows predicted, its base rate, and its maximum."""
    share, f1 = f1_by_share(y_true, y_score)
    best = int(np.argmax(f1))
    ax.plot(share, f1, color=GREY, linewidth=1.4)
    ax.axvline(y_true.mean(), color="black", linewidth=1, linestyle=":")
    ax.text(1.07 * y_true.mean(), 0.04 * top, "base rate", fontsize=9)
    ax.plot(share[best], f1[best], **MACRO)
    ax.annotate(
        f"best F1 {f1[best]:.2f}\nat {percent(share[best])} predicted",
        (share[best], f1[best]),
        xytext=(-4, 6),
        textcoords="offset points",
        ha="right",
        color=MACRO["color"],
    )
    ax.set_title(name, loc="left", fontsize=10)
    ax.set(xscale="log", xlim=(0.001, 1.2), ylim=(0, top), yticks=(0, top / 2, top), ylabel="F1")
    ax.minorticks_off()


def draw_left(panel: SubFigure, names: list[str], calib: Half) -> None:
    """The two F1 curves, above one another on the same horizontal axis."""
    upper, lower = panel.subplots(2, 1, sharex=True)
    for ax, name, top in ((upper, KNOWN_LABEL, 1.0), (lower, RANDOM_LABEL, 0.05)):
        label = names.index(name)
        draw_f1_curve(ax, calib.y_true[:, label], calib.y_score[:, label], name, top)
    lower.set_xlabel("share of calibration rows predicted")
    lower.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    title(panel, "F1 peaks near the base rate if scores\ninform, anywhere if they do not")


def predicted_share(calib: Half, test: Half, average: Literal["macro", "micro"]) -> Floats:
    """Share of test rows that thresholds fitted on the calibration rows predict, per label."""
    rule = thresholds.fit_empirical(calib.y_true, calib.y_score, average=average)
    share: Floats = rule.predict(test.y_score).mean(axis=0)
    return share


def draw_shares(ax: Axes, names: list[str], base_rate: Floats, macro: Floats, micro: Floats) -> None:
    """One line per label, from common to rare: how often it is true and how often either rule predicts it."""
    rows = np.arange(len(names))
    ax.hlines(rows, micro, macro, color="#BBBBBB", linewidth=1.5, zorder=1)
    ax.plot(macro, rows, linestyle="none", label="macro-F1 predicts", **MACRO)
    ax.plot(micro, rows, linestyle="none", label="micro-F1 predicts", **MICRO)
    ax.plot(base_rate, rows, linestyle="none", label="true (base rate)", **TRUTH)
    ax.set_yticks(rows, names)
    ax.set(xlim=(-0.015, 1.02), ylim=(-0.6, len(names) - 0.4), xlabel="share of test rows")
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="center right", fontsize=9)


def draw_right(panel: SubFigure, names: list[str], calib: Half, test: Half) -> None:
    """The shares of all labels, on rows the thresholds have not seen, with the random label highlighted."""
    base_rate = test.y_true.mean(axis=0)
    macro, micro = predicted_share(calib, test, "macro"), predicted_share(calib, test, "micro")
    order = np.argsort(-base_rate, kind="stable")
    ax = panel.subplots()
    draw_shares(ax, [names[label] for label in order], base_rate[order], macro[order], micro[order])

    label = names.index(RANDOM_LABEL)
    row = int(np.flatnonzero(order == label)[0])
    ax.axhspan(row - 0.5, row + 0.5, color=HIGHLIGHT, linewidth=0, zorder=0)
    ax.get_yticklabels()[row].set_fontweight("bold")
    title(
        panel,
        f"The random label is true on {percent(base_rate[label])} of rows:\n"
        f"macro-F1 predicts it on {percent(macro[label])}, micro-F1 on {percent(micro[label])}",
    )


def main(output: Path) -> None:
    """Draw both panels and write the picture."""
    names, calib, test = load_demo()
    with rc_context(STYLE):
        figure = Figure(figsize=(8.4, 4.6), layout="constrained")
        ((left, right),) = figure.subfigures(1, 2, squeeze=False, width_ratios=(1, 1.25), wspace=0.03)
        draw_left(left, names, calib)
        draw_right(right, names, calib, test)
        undated = {"Date": None} if output.suffix == ".svg" else {}
        figure.savefig(output, facecolor="white", dpi=150, metadata=undated)
    print(f"wrote {output} ({output.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the picture of the README.")
    parser.add_argument("output", type=Path, nargs="?", default=DEFAULT_OUTPUT, help="default: %(default)s")
    main(parser.parse_args().output)
