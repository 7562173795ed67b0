"""Curves from scores to probabilities, of each label or one for all, and how they are read, wherever scores are.

A curve has up to three parts, in this order:

1. **Knots.** g(s) is linear between them, and constant beyond: isotonic calibration.
2. **A line.** p = sigmoid(slope x + intercept). Platt calibration has x = f(s) / scale - centre, f the logit if scores
   are in [0, 1]; after knots, x is the logit of g(s).
3. **Odds.** Where base rates have moved from r to r', the odds of every probability of the label are multiplied:

       p' = p r'/r / (p r'/r + (1 - p) (1 - r')/(1 - r)) = p o / (p o + 1 - p),  o = (r' / (1 - r')) / (r / (1 - r))

   Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a classifier to new a priori probabilities",
   equation 4.

`read` does this by operations of the array API, on tables that stand beside the scores: in NumPy, on devices, in
PyTorch modules and in ONNX graphs. Curves of knots give the same bits wherever there is float64; `exp` and `log` are
those of the device.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np

from thresholds._arrays.dtypes import least_positive
from thresholds._arrays.types import Booleans, Dense, Floats, Ints
from thresholds._devices.cells import BLOCK, row_blocks
from thresholds._devices.namespaces import Array, Namespace, beside, best_float, own
from thresholds._engine.histograms import Histograms
from thresholds._log_odds import Values, log_odds, sigmoid
from thresholds._results.fields import Record, record
from thresholds.calibration.points import map_labels

Method = Literal["isotonic", "platt"]
By = Literal["shrink", "label", "pooled"]
METHODS: tuple[Method, ...] = ("isotonic", "platt")
BYS: tuple[By, ...] = ("shrink", "label", "pooled")

# Probabilities are brought between these for their logit; None: no logit.
Limits = tuple[float, float] | None
# Arrays beside the scores, by name; floats of the dtype that is computed with.
Tables = Mapping[str, Array]

LARGEST = float(np.finfo(np.float64).max)  # a score

KNOT_TABLES = ("first", "after", "knots", "values")
LINE_TABLES = ("scale", "centre", "slope", "intercept", "at_missing")


@record
class Knots(Record):
    """Piecewise linear curves; group g has knots `offsets[g]:offsets[g + 1]`, whose scores rise."""

    offsets: Ints  # (n_groups + 1,)
    scores: Floats  # (n_knots,)
    probabilities: Floats  # (n_knots,) rising or staying within a group

    @property
    def of_groups(self) -> list[tuple[Floats, Floats]]:
        """The scores and the probabilities of each group."""
        groups = [slice(*ends) for ends in pairwise(self.offsets.tolist())]
        return [(self.scores[group], self.probabilities[group]) for group in groups]

    @property
    def begins_block(self) -> Booleans:
        """Which knots, (n_knots,), lie above the knot before: the lowest scores of blocks of equal probability."""
        return np.diff(self.probabilities, prepend=0.0) > 0

    @classmethod
    def from_groups(cls, groups: Sequence[tuple[Floats, Floats]]) -> "Knots":
        """Join the scores and the probabilities of groups."""
        sizes = [scores.size for scores, _ in groups]
        scores, probabilities = (np.concatenate(parts) for parts in zip(*groups, strict=True))
        return cls(np.append(0, np.cumsum(sizes)), scores, probabilities)


@record
class CalibrationCurves(Record):
    """Fitted curves; parts that are None are left out. `-inf` has probability 0.

    With `pooled`, all labels share one curve. Else knots are of each label, or one for all where lines follow.
    """

    pooled: bool
    knots: Knots | None = None
    slope: Floats | None = None  # (n_groups,)
    intercept: Floats | None = None  # (n_groups,) -inf: probability 0
    # Without knots: where x is 0, and its unit; the probability of cells that score `missing`.
    scale: Floats | None = None  # (n_groups,)
    centre: Floats | None = None  # (n_groups,)
    at_missing: Floats | None = None  # (n_groups,)
    missing: float = math.nan
    limits: Limits = None
    odds: Floats | None = None  # (n_labels,)

    @property
    def of_shares(self) -> bool:
        """Whether scores outside [0, 1] have no place on the curves."""
        return self.limits is not None

    @property
    def jump(self) -> bool:
        """Whether the curves are steep between neighbouring scores, so that a bin may have two probabilities."""
        return self.knots is not None and self.slope is None

    @property
    def tables(self) -> dict[str, Dense]:
        """What `read` needs: arrays of one entry a group, but for the knots of all groups, one more than there are."""
        tables: dict[str, Dense] = {}
        if self.knots is not None:
            tables["first"] = self.knots.offsets[:-1].astype(np.int32)
            tables["after"] = self.knots.offsets[1:].astype(np.int32)
            tables["knots"] = np.append(self.knots.scores, 0.0)
            tables["values"] = np.append(self.knots.probabilities, 0.0)
        for name in (*LINE_TABLES, "odds"):
            if getattr(self, name) is not None:
                tables[name] = getattr(self, name)
        return tables

    @property
    def settings(self) -> tuple[float, ...]:
        """What `read` needs beside tables: how many steps find a score among knots; else `missing` and the limits."""
        if self.knots is not None:
            return (int(np.diff(self.knots.offsets).max(initial=0)).bit_length(),)
        return (self.missing, *(self.limits or (math.nan, math.nan)))

    def taken(self, places: Ints) -> Self:
        """Return the curves of the labels at some places, in that order."""
        names = ["odds"] if self.pooled else [*LINE_TABLES, "odds"]
        own = {name: getattr(self, name) for name in names}
        moved: dict[str, Any] = {
            name: values[places] for name, values in own.items() if values is not None
        }
        if self.jump and not self.pooled:
            groups = self.knots.of_groups  # type: ignore[union-attr]
            moved["knots"] = Knots.from_groups([groups[place] for place in places.tolist()])
        return replace(self, **moved)

    def parts(self, n_labels: int) -> list[Hashable]:
        """Return something to compare for each label: equal for equal curves."""
        columns: list[list[Hashable]] = [[self.limits]]
        if self.knots is not None:
            columns.append([(s.tobytes(), p.tobytes()) for s, p in self.knots.of_groups])
        own = [getattr(self, name) for name in (*LINE_TABLES, "odds")]
        columns += [values.tolist() for values in own if values is not None]
        # One entry of all labels is that of each.
        of_labels = [column * (n_labels if len(column) == 1 else 1) for column in columns]
        return list(zip(*of_labels, strict=True))

    def edges(self, groups: Histograms, first: int) -> tuple[Ints, Floats]:
        """Return the scores at which the curves of some labels bend, from label `first` on: offsets, and scores."""
        n_labels = groups.n_labels
        assert self.knots is not None, "others do not bend"
        offsets, scores = self.knots.offsets, self.knots.scores
        if self.pooled:
            return np.arange(n_labels + 1) * scores.size, np.tile(scores, n_labels)
        offsets = offsets[first : first + n_labels + 1]
        return offsets - offsets[0], scores[offsets[0] : offsets[-1]]

    def reader(self) -> Callable[[Array], Array]:
        """Return a function from scores in host memory, (n_rows, n_labels) or (n_labels,), to their probabilities."""
        tables, settings = self.tables, self.settings
        return lambda cells: _in_host_memory(cells, tables, settings)

    def of_labels(self, starts: Ints, scores: Floats, n_jobs: int | None = -1) -> Floats:
        """Return the probabilities of cells, those of label j being `starts[j]:starts[j + 1]`, on threads."""
        tables, settings = self.tables, self.settings

        def probabilities(first: int, last: int) -> Floats:
            # Tables of one entry a label have one for each cell, too.
            label = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
            of_cells = {
                name: values if name in ("knots", "values") or values.size == 1 else values[label]
                for name, values in tables.items()
            }
            return _in_host_memory(scores[starts[first] : starts[last]], of_cells, settings)

        return np.concatenate(map_labels(starts, probabilities, n_jobs=n_jobs))

    def on_device(self, scores: Array, *, block: int = BLOCK) -> Array:
        """Return the probabilities of checked scores, beside them: float64, or float32 on a device without it."""
        xp, cells = own(scores)
        dtype, host_dtype = best_float(xp, cells)
        tables = {
            name: beside(cells, xp, in_dtype(values, host_dtype))
            for name, values in self.tables.items()
        }
        blocks = [
            read(xp, xp.astype(cells[rows, :], dtype), tables, self.settings)
            for rows in row_blocks(cells.shape, block)
        ]
        return xp.concat(blocks, axis=0)


def read(xp: Namespace, cells: Array, tables: Tables, settings: Sequence[float]) -> Array:
    """Return the probabilities of scores, in the dtype of the tables; -inf has 0.

    `cells` are (n_samples, n_labels), or of any shape that tables of one entry a group go beside.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        is_masked = cells == -np.inf
        p = xp.where(is_masked, 0.0, cells)
        if "knots" in tables:
            p = _on_knots(xp, p, tables, int(settings[0]))
        if "slope" in tables:
            p = _on_line(xp, p, tables, () if "knots" in tables else settings)
        if "odds" in tables:
            p = moved_odds(p, tables["odds"], xp)
        return xp.where(is_masked, 0.0, p)


def moved_odds(p: Values, odds: Array | None, xp: Namespace = np) -> Values:
    """Return probabilities whose odds are multiplied; a factor of 1 leaves them as they are, to the last bit."""
    if odds is None:
        return p
    of_any: Array = p
    up = of_any * odds
    moved: Values = xp.where(odds == 1.0, p, up / (up + (1.0 - of_any)))
    return moved


def in_dtype(table: Dense, dtype: np.dtype[Any]) -> Dense:
    """Return a table in the dtype that is computed with, if it holds floats."""
    with np.errstate(over="ignore"):
        return table.astype(dtype) if table.dtype.kind == "f" else table


def _in_host_memory(cells: Floats, tables: Tables, settings: Sequence[float]) -> Floats:
    """Return the probabilities of NumPy's scores."""
    xp, cells = own(cells)
    return np.asarray(read(xp, cells, tables, settings))


def _on_knots(xp: Namespace, cells: Array, tables: Tables, n_steps: int) -> Array:
    """Return piecewise linear curves at finite scores; 0 without knots.

    At a knot a curve is the knot's value exactly; a curve that rises does so here, too.
    """
    first, after, knots, values = (tables[name] for name in KNOT_TABLES)
    last = xp.maximum(after - 1, first)  # (n_groups,)
    lowest, highest = xp.take(knots, first, axis=0), xp.take(knots, last, axis=0)

    # 1. Beyond the ends a curve is what it is there.
    x = xp.minimum(xp.maximum(cells, lowest), highest)

    # 2. Find the last knot that is not above each score, by steps that halve.
    left = first + xp.zeros_like(cells, dtype=first.dtype)
    for k in range(n_steps - 1, -1, -1):
        further = xp.minimum(left + 2**k, last)
        left = xp.where(_taken(xp, knots, further) <= x, further, left)
    right = xp.minimum(left + 1, last)

    # 3. Go from there to the next one in a line. Of knots that lie further apart than floats can tell, halves do.
    unit = xp.where(xp.isinf(highest - lowest), 0.5, xp.ones_like(lowest))  # (n_groups,)
    left_knot, right_knot = _taken(xp, knots, left) * unit, _taken(xp, knots, right) * unit
    left_value, right_value = _taken(xp, values, left), _taken(xp, values, right)
    span = right_knot - left_knot
    share = (x * unit - left_knot) / xp.where(span > 0, span, 1.0)
    on_line = xp.minimum(left_value + share * (right_value - left_value), right_value)
    return xp.where(first < after, on_line, 0.0)


def _taken(xp: Namespace, values: Array, at: Array) -> Array:
    """Return values at positions of any shape."""
    return xp.reshape(xp.take(values, xp.reshape(at, (-1,)), axis=0), at.shape)


def _on_line(xp: Namespace, cells: Array, tables: Tables, settings: Sequence[float]) -> Array:
    """Return logistic curves at finite scores; without settings, at probabilities that knots gave."""
    missing, *limits = settings or (math.nan, 0.0, 1.0)
    x = cells if math.isnan(limits[0]) else log_odds(_between(xp, cells, *limits), xp)
    if "scale" in tables:
        largest = float(xp.finfo(x.dtype).max)  # which a slope of 0 makes 0
        x = xp.clip(x / tables["scale"] - tables["centre"], -largest, largest)
    intercept = tables["intercept"]
    odds = xp.where(intercept > -np.inf, tables["slope"] * x + intercept, -np.inf)
    p = sigmoid(odds, xp)
    if "at_missing" not in tables:
        return p
    return xp.where(cells == missing, tables["at_missing"], p)


def _between(xp: Namespace, p: Array, low: float, high: float) -> Array:
    """Bring probabilities between limits, and between the numbers whose logits the dtype can tell."""
    info = xp.finfo(p.dtype)
    is_double = float(info.eps) < np.finfo(np.float32).eps
    least = least_positive(np.dtype(np.float64)) if is_double else float(info.smallest_normal)
    return xp.clip(p, max(low, least), min(high, 1.0 - float(info.eps) / 2))
