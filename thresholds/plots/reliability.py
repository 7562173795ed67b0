"""Are probabilities what they say? In each bin of them, the share of the cells that are true against the mean of p.

Bins hold equal parts of the sum of sqrt(p (1 - p)) over the cells, and cells of p = 0 and of p = 1 have bins of their
own. Most probabilities of most labels are next to 0: bins of equally many cells, as `CalibrationMeasures.reliability`
has them, would show little else, and bins of equal positives nothing of the small ones; this lies halfway between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats
from thresholds._engine.problem import Problem
from thresholds._results.result import names_of
from thresholds._results.words import in_percent
from thresholds.calibration import Calibrator
from thresholds.calibration.binned import binned
from thresholds.calibration.measures import problem_of, tally
from thresholds.calibration.points import Points
from thresholds.metrics.intervals import share_interval
from thresholds.plots.base import Display, of_kind, rows_of_parts
from thresholds.plots.curves import chosen_labels
from thresholds.plots.style import AFTER, BEFORE, GREY, REFERENCE, Look, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS_OF_ALL = 20
_BINS_OF_LABEL = 8
_FEWEST_BINS = 3
_POSITIVES_OF_BIN = 5  # on average, at least
_RARE = 0.1  # mean probability, below which axes are logistic
_TICKS = np.array([0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])  # of a logistic axis
_COLUMNS = 40  # of the histogram
_STRIP = 0.16  # of the height of a panel that the histogram takes


class Reliability(NamedTuple):
    """Probabilities of one kind in bins, from the lowest up; weights are counts."""

    name: str  # the label, "" for all labels
    kind: str  # which probabilities
    predicted: Floats  # (n_bins,) the mean probability
    observed: Floats  # (n_bins,) the share that is true
    low: Floats  # (n_bins,) bounds of the share in the population
    high: Floats  # (n_bins,)
    n_cells: Floats  # (n_bins,)
    positives: Floats  # (n_bins,)
    edges: Floats  # (n_columns + 1,) of the histogram
    heights: Floats  # (n_columns,) cells in each of its columns


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """How often what has a probability is true: calibrated probabilities lie on the diagonal.

    A mark stands for a bin of probabilities: its mean, and the share of its cells that are true, with its bounds
    (Wilson 1927, widened where few are true, or few are not). They take cells for independent; where labels of a row go
    together, bounds over all labels are somewhat narrow. At the bottom a histogram of the probabilities, on a
    logarithmic scale. Both axes are logistic where the mean probability is below a tenth.

    Bins hold equal parts of the sum of sqrt(p (1 - p)) over the cells; cells of p = 0 and of p = 1 have bins of their
    own. Equal p share a bin.

    Attributes
    ----------
    parts : tuple of Reliability, of each panel one for each kind of probabilities
        name (of the label; "" for all labels together), kind, and by bin predicted (the mean probability), observed
        (the share that is true), low, high, n_cells and positives; edges and heights of the histogram.
    confidence : of the bounds

    Examples
    --------
    >>> from thresholds.plots import ReliabilityDisplay
    >>> y_true, p = [0, 0, 0, 1, 1, 1], [0.1, 0.1, 0.2, 0.2, 0.8, 0.8]
    >>> part = ReliabilityDisplay.from_predictions(y_true, p, n_bins=6).parts[0]
    >>> part.predicted, part.observed
    (array([0.1, 0.2, 0.8]), array([0. , 0.5, 1. ]))
    """

    _height = 0.95

    parts: tuple[Reliability, ...]
    confidence: float

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        probabilities: object,
        *,
        label: object = None,
        n_bins: int | None = None,
        confidence: float = 0.95,
        sample_weight: object = None,
        unknown: object = None,
        label_names: object = None,
    ) -> Self:
        """Put probabilities in bins.

        Parameters
        ----------
        y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
        probabilities : same shape, in [0, 1], dense or scipy.sparse
            Entries that a sparse matrix leaves out have probability 0.
        label : name or position of a label, or a list of them, at most 30, a panel each
            None takes all labels together.
        n_bins : how many bins, beside those of p = 0 and p = 1
            None: one for every 5 positives, at least 3, at most 20 of all labels and 8 of each of some.
        confidence : of the bounds, in (0, 1)
        sample_weight : (n_samples,) non-negative; weights count as so many rows
        unknown : what stands for truth that is not known, as in `fit_empirical`
        label_names : strings in order; None for those of a frame

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For bad arrays and options, and an unknown label.
        """
        problem = problem_of(y_true, probabilities, sample_weight, label_names, unknown=unknown)
        kinds = {"probabilities": Points.of_bins(binned(problem).bins)}
        return cls._of(kinds, problem, label, n_bins, confidence)

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Calibrator,
        y_true: object,
        y_score: object,
        *,
        label: object = None,
        n_bins: int | None = None,
        confidence: float = 0.95,
        sample_weight: object = None,
        unknown: object = None,
    ) -> Self:
        """Put scores, where they are in [0, 1], and their probabilities in bins: before and after calibration.

        Parameters
        ----------
        calibrator : what turns scores into probabilities
            It has labels by name where it has names. On the rows of its fit it is flattered.
        y_true, y_score : (n_samples, n_labels), as in `calibrate`
        label, n_bins, confidence, sample_weight, unknown : as in `from_predictions`

        Returns
        -------
        the display, not yet drawn

        Raises
        ------
        InputError
            For bad arrays and options, an unknown label, and labels that are not those of the calibrator.
        """
        calibrator = of_kind(calibrator, "calibrator", Calibrator)
        beside = {"y_score": y_score, "y_true": y_true}
        sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
        y_true, y_score, names = _checks.aligned(
            y_true, "y_true", y_score, "y_score", calibrator.label_names, unknown=unknown
        )
        problem = Problem.of(
            y_true,
            y_score,
            sample_weight=sample_weight,
            missing=calibrator.missing,
            unknown=unknown,
        )
        calibrator.validate(problem.scores)
        problem = replace(problem, label_names=names)
        curves = calibrator.curves
        found = binned(problem, curves.edges if curves.jump else None)
        cells = Points.of_bins(found.bins)
        after = curves.of_labels(cells.starts, cells.scores)  # (n_cells,)
        kinds = {"calibrated": cells._replace(scores=after)}
        if found.are_shares:
            kinds = {"scores": cells} | kinds
        return cls._of(kinds, problem, label, n_bins, confidence)

    @classmethod
    def _of(
        cls,
        kinds: dict[str, Points],
        problem: Problem,
        label: object,
        n_bins: int | None,
        confidence: float,
    ) -> Self:
        """Put the cells of each kind in bins, those of all labels or of some."""
        confidence = _checks.inside(confidence, "confidence")
        if n_bins is not None:
            n_bins = _checks.count(n_bins, "n_bins", 1)
        panels = [("", 0, problem.n_labels)]
        if label is not None:
            names = names_of(problem.label_names, problem.n_labels)
            panels = [(str(names[j]), j, j + 1) for j in chosen_labels(label, problem)]
        columns = _columns([*kinds.values()])
        parts = [
            _in_bins(
                name, kind, cells.group(first, last), problem.unit, n_bins, columns, confidence
            )
            for name, first, last in panels
            for kind, cells in kinds.items()
        ]
        return cls(tuple(parts), confidence)

    @property
    def _n_panels(self) -> int:
        """One for each label."""
        return len(self.parts) // self._n_kinds

    @property
    def _n_kinds(self) -> int:
        """How many kinds of probabilities a panel shows."""
        return len({part.kind for part in self.parts})

    def _rows(self) -> npt.NDArray[Any]:
        """Return the bins of all parts, one row each."""
        columns = ("predicted", "observed", "low", "high", "n_cells", "positives")
        return rows_of_parts(self.parts, {"label": "name", "kind": "kind"}, columns)

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw a panel for each label, or one for all labels together.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as panels; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, for one panel, else 7, a page

        Returns
        -------
        the display itself
        """
        limits = _limits(self.parts)
        n_kinds = self._n_kinds
        looks = [AFTER] if n_kinds == 1 else [BEFORE, AFTER]
        with self._drawing(ax, width) as all_axes:
            for k, axes in enumerate(all_axes):
                of_panel = self.parts[k * n_kinds : (k + 1) * n_kinds]
                _set_scales(axes, limits)
                axes.set_title(drawable(of_panel[0].name or "all labels"), loc="left")
                axes.plot(limits, limits, **REFERENCE.line, label="true as often as predicted")
                for part, look in zip(of_panel, looks, strict=True):
                    self._draw(axes, part, look, limits)
            if any(_beyond(part, limits).any() for part in self.parts):
                self.ax_.plot([], [], "ow", markeredgecolor=GREY, label="beyond the axes")
            self._name_axes("mean probability (%)", "true (%)")
            self._legend()
        return self

    def _draw(
        self, axes: "Axes", part: Reliability, look: Look, limits: tuple[float, float]
    ) -> None:
        """Draw the bins of one kind: marks with bounds, and the histogram."""
        # What lies beyond the axes, as 0 does beyond logistic ones, is drawn on the border, in white.
        x = part.predicted.clip(*limits)
        y = part.observed.clip(*limits)
        is_within = ~_beyond(part, limits)
        reach = np.array([y - part.low.clip(*limits), part.high.clip(*limits) - y])  # (2, n_bins)
        axes.errorbar(
            x, y, np.maximum(reach, 0), color=look.colour, linestyle="", linewidth=0.8, zorder=2.5
        )
        for chosen, face, dash, text in (
            (~is_within, "white", "", ""),
            (
                is_within,
                look.colour,
                look.dash,
                f"{part.kind}, {in_percent(self.confidence)} bounds",
            ),
        ):
            axes.plot(
                x[chosen],
                y[chosen],
                color=look.colour,
                marker=look.marker,
                markerfacecolor=face,
                linestyle=dash,
                linewidth=0.8,
                label=text or None,
                clip_on=not chosen.any(),  # What is empty counts, if not clipped, as lying at (0, 0).
                zorder=2.7,
            )
        heights = np.log1p(part.heights)  # (n_columns,)
        axes.stairs(
            _STRIP * heights / max(heights.max(), 1),
            part.edges.clip(*limits),
            color=look.colour,
            alpha=0.25,
            fill=True,
            linewidth=0,
            transform=axes.get_xaxis_transform(),
            zorder=1,
        )


def _in_bins(
    name: str,
    kind: str,
    cells: Points,
    unit: float,
    n_bins: int | None,
    columns: Floats,
    confidence: float,
) -> Reliability:
    """Put cells, whose scores are probabilities, in bins, and in the columns of a histogram."""
    if n_bins is None:
        n_positives = int(cells.hits.sum() * unit)
        most = _BINS_OF_LABEL if name else _BINS_OF_ALL
        n_bins = max(_FEWEST_BINS, min(most, n_positives // _POSITIVES_OF_BIN))
    edges = _edges(cells, n_bins)
    weight, p, positives, _ = tally(cells, edges)
    is_filled = weight > 0
    weight = weight[is_filled]  # (n_bins,), as those below
    positives = positives[is_filled]
    predicted = p[is_filled] / weight
    low, high = share_interval(positives * unit, weight * unit, confidence)
    heights, _ = np.histogram(cells.scores, columns, weights=cells.weights)
    return Reliability(
        name,
        kind,
        predicted,
        positives / weight,
        low,
        high,
        weight * unit,
        positives * unit,
        columns,
        heights * unit,
    )


def _edges(cells: Points, n_bins: int) -> Floats:
    """Return the highest p of all bins but the last, rising: equal parts of the sum of sqrt(p (1 - p))."""
    order = np.argsort(cells.scores)
    p = cells.scores[order]  # (n_cells,)
    inner = p[(p > 0) & (p < 1)]
    if inner.size == 0:
        return np.zeros(1)
    sums = (cells.weights[order] * np.sqrt(p * (1 - p))).cumsum()  # (n_cells,)
    parts = sums[-1] * np.arange(1, n_bins) / n_bins
    return np.unique(np.concatenate([[0.0], p[np.searchsorted(sums, parts)], inner[-1:]]))


def _columns(kinds: Sequence[Points]) -> Floats:
    """Return the edges of a histogram's columns, equally wide on the axes that suit the probabilities."""
    steps = np.linspace(0, 1, _COLUMNS + 1)
    for cells in kinds:
        if cells.scores @ cells.weights >= _RARE * cells.weights.sum():
            return steps
    return np.asarray(1 / (1 + np.exp(10 - 20 * steps)))


def _limits(parts: Sequence[Reliability]) -> tuple[float, float]:
    """Return the ends of the axes: 0 and 1, or ticks of logistic axes around what can be shown there."""
    if parts[0].edges[0] == 0:
        return 0.0, 1.0
    shown = np.concatenate([values for part in parts for values in (part.predicted, part.observed)])
    shown = shown[(shown > _TICKS[0]) & (shown < _TICKS[-1])]
    if shown.size == 0:
        return float(_TICKS[0]), float(_TICKS[-1])
    first = np.searchsorted(_TICKS, shown.min(), "right") - 1
    last = np.searchsorted(_TICKS, shown.max())
    return float(_TICKS[first]), float(_TICKS[last])


def _beyond(part: Reliability, limits: tuple[float, float]) -> Booleans:
    """Tell which bins lie beyond the axes."""
    low, high = limits
    shown = np.array([part.predicted, part.observed])  # (2, n_bins)
    return np.asarray(((shown < low) | (shown > high)).any(axis=0))


def _set_scales(axes: "Axes", limits: tuple[float, float]) -> None:
    """Set both axes to these limits, logistic unless they are 0 and 1, with ticks in per cent, which labels say."""
    ticks = np.linspace(0, 1, 6)
    if limits != (0.0, 1.0):
        ticks = np.unique(_TICKS.clip(*limits))
        axes.set(xscale="logit", yscale="logit")
    texts = [f"{100 * tick:g}" for tick in ticks]
    axes.set(xlim=limits, ylim=limits)
    axes.set_xticks(ticks, texts)
    axes.set_yticks(ticks, texts)
    axes.set_xticks([], minor=True)
    axes.set_yticks([], minor=True)
