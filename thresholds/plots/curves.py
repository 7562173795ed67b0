"""What does a label reach at each threshold? F against the threshold, and precision against recall.

Each point is that of a cut, exact on these rows (`thresholds.metrics.curves`). The best point is the best *of these
rows*: on others the same threshold reaches less on average, the fewer positives the more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds._results.result import names_of
from thresholds._results.words import in_percent
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.curves import Curve, curves
from thresholds.metrics.intervals import score_interval
from thresholds.metrics.judging import judge
from thresholds.plots.base import Display, rows_of_parts
from thresholds.plots.scales import logarithmic
from thresholds.plots.style import BEST, CURVE, GREY, OF_RULE, REFERENCE, Look, drawable
from thresholds.rule import Rule, ThresholdRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SHOWN = 12  # labels, where none are asked for
_MOST_PANELS = 30
_FAR = 10.0  # times below the highest threshold, from which on thresholds are shown on a logarithmic axis
_NEARLY_ALL = 0.95  # of the rows predicted: lower thresholds are not shown
_LEVELS = (0.2, 0.4, 0.6, 0.8)  # of F, as lines behind precision and recall


class CurvePoint(NamedTuple):
    """What some decisions about a label reach."""

    threshold: float  # from which the label is predicted; NaN for a rule without one for each label
    precision: float  # NaN without predictions
    recall: float  # NaN without positives
    f: float


class LabelCurve(NamedTuple):
    """What a label reaches at each threshold, from the highest down; weights are counts."""

    name: str
    n_samples: float
    positives: float
    threshold: Floats  # (n_points,) falling; the last one predicts every row
    tp: Floats  # (n_points,)
    predicted: Floats  # (n_points,)
    precision: Floats  # (n_points,), NaN without predictions
    recall: Floats  # (n_points,), NaN without positives
    f: Floats  # (n_points,) F-beta
    f_low: Floats  # (n_points,) bounds of F-beta at a threshold that is fixed beforehand
    f_high: Floats  # (n_points,)
    best: int  # the point of highest F-beta, -1 without positives
    rule: CurvePoint | None  # what the rule reaches, if one was given

    @property
    def f_of_all(self) -> float:
        """F-beta of predicting every row."""
        return float(self.f[-1])


@dataclass(eq=False, repr=False)
class _CurvesDisplay(Display):
    """Curves of labels, a panel each.

    Attributes
    ----------
    curves : tuple of LabelCurve, one a label
        name, n_samples and positives; threshold, tp, predicted, precision, recall, f, f_low and f_high, (n_points,)
        each, from the highest threshold down; best, the point of highest F; rule, what the rule reaches (threshold,
        precision, recall, f), or None; f_of_all, the F of predicting every row.
    beta : weight of recall in F
    confidence : of the bounds
    """

    curves: tuple[LabelCurve, ...]
    beta: float
    confidence: float

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_score: object,
        *,
        label: object = None,
        rule: Rule | None = None,
        beta: float | None = None,
        confidence: float = 0.95,
        sample_weight: object = None,
        missing: float | None = None,
        unknown: object = None,
        label_names: object = None,
    ) -> Self:
        """Compute the curves of some labels.

        Parameters
        ----------
        y_true, y_score : (n_samples, n_labels), as in `fit_empirical`; 1-D for a single label
        label : name or position of a label, or a list of them, at most 30
            None takes the 12 labels with most positives (of equals the first), in their order.
        rule : any rule, whose decisions about these rows are marked; None for none
        beta : weight of recall in F; None is that of the rule, 1 without a rule
        confidence : of the bounds of F at each threshold, as in `metrics.f_interval`, in (0, 1)
        sample_weight : (n_samples,) non-negative; weights count as so many rows
        missing : the score of an entry that a sparse matrix leaves out; None is that of the rule, 0 without a rule
        unknown : what stands for truth that is not known, as in `fit_empirical`
        label_names : strings in order; None for those of a frame, or of the rule

        Returns
        -------
        the display, not yet drawn
            A curve has at most 201 points: the best one, that of predicting every row, that of the rule, and others
            evenly by recall.

        Raises
        ------
        InputError
            For bad arrays and options, an unknown label, and a rule of other labels.
        """
        if rule is not None and not isinstance(rule, Rule):
            raise InputError(f"rule is {_checks.shown(rule)}, expected a rule or None")
        if beta is None:
            beta = 1.0 if rule is None else rule.beta
        beta = _checks.beta(beta)
        confidence = _checks.inside(confidence, "confidence")
        if missing is None:
            missing = 0.0 if rule is None else rule.missing
        if label_names is None and rule is not None:
            label_names = rule.label_names
        beside = {"y_score": y_score, "y_true": y_true}
        sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
        y_true, y_score, names = _checks.aligned(
            y_true, "y_true", y_score, "y_score", label_names, unknown=unknown
        )
        problem = Problem.of(
            y_true,
            y_score,
            sample_weight=sample_weight,
            missing=missing,
            unknown=unknown,
        )
        if rule is not None:
            rule.validate(problem.scores)
        _checks.one_name_each(names, problem.n_labels)
        problem = replace(problem, label_names=names)
        labels = chosen_labels(label, problem)
        counts, cuts = _decided(rule, problem)
        all_names = names_of(names, problem.n_labels)
        drawn = []
        for j, curve in zip(labels, curves(problem, labels, beta=beta), strict=True):
            of_rule = None if counts is None else counts.take([j])
            cut = float(cuts[j])
            drawn.append(_label_curve(str(all_names[j]), curve, of_rule, cut, beta, confidence))
        return cls(tuple(drawn), beta, confidence)

    @property
    def _n_panels(self) -> int:
        """One for each label."""
        return len(self.curves)

    @property
    def _f(self) -> str:
        """The name of the measure."""
        return f"F{self.beta:g}"

    def _rows(self) -> npt.NDArray[Any]:
        """Return the points of all curves, one row each."""
        columns = ("threshold", "tp", "predicted", "precision", "recall", "f", "f_low", "f_high")
        return rows_of_parts(self.curves, {"label": "name"}, columns)

    def _titled(self, all_axes: "list[Axes]") -> "Iterator[tuple[Axes, LabelCurve]]":
        """Write above each panel which label it shows, and how many positives it has."""
        most = 34 if len(all_axes) == 1 else 24
        for axes, curve in zip(all_axes, self.curves, strict=True):
            share = f"in {curve.positives:,.6g} of {curve.n_samples:,.6g} rows"
            axes.set_title(f"{drawable(curve.name, most)}\n", loc="left")
            axes.text(0, 1.02, share, transform=axes.transAxes, color=GREY, va="bottom")
            yield axes, curve

    def _mark(self, axes: "Axes", x: float, y: float, look: Look, text: str) -> None:
        """Mark a point, which may lie on the border; a ring stays visible around a star at the same place."""
        is_ring = look is OF_RULE
        axes.plot(
            x,
            y,
            color=look.colour,
            marker=look.marker,
            markersize=8,
            markerfacecolor="none" if is_ring else look.colour,
            markeredgecolor=look.colour if is_ring else "white",
            markeredgewidth=1.2 if is_ring else 0.5,
            linestyle="",
            label=text,
            zorder=3,
            clip_on=False,
        )


class FCurveDisplay(_CurvesDisplay):
    """F of labels against the threshold: where it is best, how sharply, and within what bounds it is known.

    A panel shows for its label

    1. F on these rows, exact at up to 200 scores of positives, which are joined by lines: in between it may be another,
       by much only where positives are few. And a band: the bounds of F of the population at that threshold, if it is
       fixed beforehand (`metrics.f_interval`). At a threshold that was chosen on these rows F is flattered.
    2. a star at the highest F;
    3. a dotted line at the F of predicting every row, which takes no knowledge of the label;
    4. a dashed line at the threshold of the rule, and a mark at what its decisions reach.

    Thresholds are on a logarithmic axis where most of the best ones lie below a tenth of the highest.

    Attributes
    ----------
    curves : tuple of LabelCurve, one a label
        name, n_samples and positives; threshold, tp, predicted, precision, recall, f, f_low and f_high, (n_points,)
        each, from the highest threshold down; best, the point of highest F; rule, what the rule reaches (threshold,
        precision, recall, f), or None; f_of_all, the F of predicting every row.
    beta : weight of recall in F
    confidence : of the bounds

    Examples
    --------
    >>> from thresholds.plots import FCurveDisplay
    >>> y_true, y_score = [1, 0, 1, 0, 0], [0.9, 0.8, 0.6, 0.3, 0.1]
    >>> curve = FCurveDisplay.from_predictions(y_true, y_score).curves[0]
    >>> curve.threshold
    array([0.9, 0.6, 0.1])
    >>> curve.f.round(2)
    array([0.67, 0.8 , 0.57])
    >>> curve.best
    1
    """

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw a panel for each label.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as labels; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, for one label, else 7, a page

        Returns
        -------
        the display itself
        """
        highest = max(float(curve.f_high[_shown(curve)].max()) for curve in self.curves)
        is_far = _are_far(self.curves)
        with self._drawing(ax, width) as all_axes:
            for axes, curve in self._titled(all_axes):
                if is_far:
                    logarithmic(axes, "x")
                self._draw(axes, curve, is_far)
                axes.set_ylim(0, min(1, np.ceil(highest * 5) / 5))
            self._name_axes("threshold", self._f)
            self._legend()
        return self

    def _draw(self, axes: "Axes", curve: LabelCurve, is_far: bool) -> None:
        """Draw the curve of one label."""
        is_drawn = _shown(curve) & (curve.threshold > 0 if is_far else np.isfinite(curve.threshold))
        threshold = curve.threshold[is_drawn]
        axes.fill_between(
            threshold,
            curve.f_low[is_drawn],
            curve.f_high[is_drawn],
            color=CURVE.colour,
            alpha=0.2,
            linewidth=0,
            label=f"{in_percent(self.confidence)} bounds at a given threshold",
        )
        axes.plot(threshold, curve.f[is_drawn], **CURVE.line, label=f"{self._f} on these rows")
        axes.axhline(curve.f_of_all, **REFERENCE.line, label="predicting every row")
        self._draw_rule(axes, curve.rule)
        if curve.best >= 0:
            at_best = curve.threshold[curve.best], curve.f[curve.best]
            self._mark(axes, *at_best, BEST, "best on these rows")

    def _draw_rule(self, axes: "Axes", reached: CurvePoint | None) -> None:
        """Mark what the rule reaches: at its threshold, at a border where it predicts always or never."""
        if reached is None:
            return
        if np.isfinite(reached.threshold):
            axes.axvline(reached.threshold, **OF_RULE.line, linewidth=0.8)
            self._mark(axes, reached.threshold, reached.f, OF_RULE, "the rule")
            return
        # A rule without thresholds, or one that predicts always or never, has a level alone.
        text = {np.inf: "never predicted by the rule", -np.inf: "always predicted by the rule"}
        axes.axhline(reached.f, **OF_RULE.line, linewidth=0.8)
        axes.text(
            0.98,
            reached.f,
            text.get(reached.threshold, "the rule"),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="bottom",
        )


class PrecisionRecallDisplay(_CurvesDisplay):
    """Precision of labels against recall, with lines of equal F behind.

    A panel shows for its label precision and recall at each threshold, a star where F is highest, a dotted line at the
    share of positives, which is the precision of predicting at random, and what the rule's decisions reach.

    Attributes
    ----------
    curves : tuple of LabelCurve, one a label
        As in `FCurveDisplay`.
    beta : weight of recall in F
    confidence : of the bounds of F, which are not drawn here

    Examples
    --------
    >>> from thresholds.plots import PrecisionRecallDisplay
    >>> y_true, y_score = [1, 0, 1, 0, 0], [0.9, 0.8, 0.6, 0.3, 0.1]
    >>> curve = PrecisionRecallDisplay.from_predictions(y_true, y_score).curves[0]
    >>> curve.recall, curve.precision.round(2)
    (array([0.5, 1. , 1. ]), array([1.  , 0.67, 0.4 ]))
    """

    _height = 0.95

    def plot(self, ax: object = None, *, width: float | None = None) -> Self:
        """Draw a panel for each label.

        Parameters
        ----------
        ax : matplotlib Axes to draw on, as many as labels; None for a new figure
        width : of a new figure in inches; None is 3.4, a column, for one label, else 7, a page

        Returns
        -------
        the display itself
        """
        with self._drawing(ax, width) as all_axes:
            for axes, curve in self._titled(all_axes):
                self._draw_levels(axes)
                self._draw(axes, curve)
                axes.set(xlim=(0, 1), ylim=(0, 1))
            self._name_axes("recall", "precision")
            self._legend()
        return self

    def _draw_levels(self, axes: "Axes") -> None:
        """Draw lines of equal F: with B = beta^2, precision = F recall / ((1 + B) recall - B F)."""
        beta2 = self.beta**2
        for level in _LEVELS:
            lowest = beta2 * level / (1 + beta2 - level)  # the recall at which precision is 1
            recall = np.linspace(lowest, 1, 100)  # (n_points,)
            precision = level * recall / ((1 + beta2) * recall - beta2 * level)
            axes.plot(
                recall,
                precision,
                color=GREY,
                linewidth=0.5,
                zorder=1,
                label=f"{self._f} of {', '.join(f'{level:g}' for level in _LEVELS)}",
            )
            axes.text(1.02, precision[-1], f"{level:g}", color=GREY, va="center")

    def _draw(self, axes: "Axes", curve: LabelCurve) -> None:
        """Draw the curve of one label."""
        text = "at each threshold, on these rows"
        axes.plot(curve.recall, curve.precision, **CURVE.line, label=text)
        axes.axhline(curve.precision[-1], **REFERENCE.line, label="share of positives")
        reached = curve.rule
        if reached is not None and np.isfinite(reached.precision + reached.recall):
            self._mark(axes, reached.recall, reached.precision, OF_RULE, "the rule")
        if curve.best >= 0:
            at_best = curve.recall[curve.best], curve.precision[curve.best]
            self._mark(axes, *at_best, BEST, f"best {self._f} on these rows")


def chosen_labels(label: object, problem: Problem) -> list[int]:
    """Return the places of the labels that are to be shown."""
    if label is None:
        positives = np.asarray((problem.truth != 0).sum(axis=0)).reshape(-1)  # (n_labels,)
        most = np.sort(np.argsort(-positives, kind="stable")[:_MOST_SHOWN])
        return [int(j) for j in most]
    asked: list[object] = [label]
    if not isinstance(label, str) and isinstance(label, Iterable):
        asked = [*label]
    if not 1 <= len(asked) <= _MOST_PANELS:
        raise InputError(f"label has {len(asked)} labels, expected 1 to {_MOST_PANELS}")
    return [_checks.place_of(one, problem.label_names, problem.n_labels) for one in asked]


def _decided(rule: Rule | None, problem: Problem) -> tuple[ConfusionCounts | None, Floats]:
    """Return the counts of a rule's decisions by label, and its thresholds, (n_labels,), NaN where it has none."""
    thresholds = np.full(problem.n_labels, np.nan)
    if rule is None:
        return None, thresholds
    if isinstance(rule, ThresholdRule):
        order = _checks.places(
            problem.label_names, rule.label_names, "y_score", "the labels of the rule"
        )
        thresholds[slice(None) if order is None else order] = rule.thresholds
    return judge(rule, problem).by_label, thresholds


def _label_curve(
    name: str,
    curve: Curve,
    of_rule: ConfusionCounts | None,
    cut: float,
    beta: float,
    confidence: float,
) -> LabelCurve:
    """Return what is drawn of a curve; counts of the rule's decisions and its threshold become a point of it."""
    threshold, tp, predicted = curve.threshold, curve.tp, curve.predicted
    best = curve.best
    reached = None
    if of_rule is not None:
        reached = _reached(of_rule, cut, beta)

        # What a cut between two points reaches is not on the line between them: the curve goes through the rule's.
        if np.isfinite(cut) and cut not in threshold:
            place = int((threshold > cut).sum())
            threshold = np.insert(threshold, place, cut)
            tp = np.insert(tp, place, of_rule.tp.item())
            predicted = np.insert(predicted, place, of_rule.predicted.item())
            best += best >= place
    positives = np.full(tp.shape, curve.positives)  # (n_points,)
    low, high = score_interval(tp, predicted, positives, beta, confidence)
    with np.errstate(invalid="ignore"):
        precision = tp / predicted
        recall = tp / positives
    return LabelCurve(
        name,
        curve.n_samples,
        curve.positives,
        threshold,
        tp,
        predicted,
        precision,
        recall,
        f_of_counts(tp, predicted, positives, beta, 0.0),
        low,
        high,
        int(best),
        reached,
    )


def _reached(counts: ConfusionCounts, cut: float, beta: float) -> CurvePoint:
    """Return what decisions about one label reach."""
    tp, predicted, positives = counts.sums  # (1,) each
    f = f_of_counts(tp, predicted, positives, beta, 0.0)
    return CurvePoint(cut, counts.precision().item(), counts.recall().item(), f.item())


def _shown(curve: LabelCurve) -> npt.NDArray[np.bool_]:
    """Tell which points are drawn: all down to a threshold that predicts nearly every row, the best and the rule's."""
    lowest = curve.threshold[min(curve.best, curve.threshold.size - 1)]
    if curve.rule is not None and np.isfinite(curve.rule.threshold):
        lowest = min(lowest, curve.rule.threshold)
    is_shown = curve.predicted <= _NEARLY_ALL * curve.n_samples
    is_shown |= curve.threshold >= lowest
    return np.asarray(is_shown)


def _are_far(all_curves: Sequence[LabelCurve]) -> bool:
    """Whether most of the best thresholds lie far below the highest one, all being positive."""
    known = [curve for curve in all_curves if curve.best >= 0]
    best = np.array([curve.threshold[curve.best] for curve in known])  # (n_known,)
    highest = np.array([curve.threshold[0] for curve in known])  # (n_known,)
    if not known or (best <= 0).any():
        return False
    return bool(np.median(highest / best) > _FAR)
