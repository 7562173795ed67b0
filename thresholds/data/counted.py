"""A problem of which only counts are known: what was added up over blocks of rows, wherever these lie."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from thresholds._arrays.blocks import by_cells
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Floats, Ints, Keys, Matrix
from thresholds._checks import InputError, different, names_of_labels, places
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms, joined
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds._engine.staircase import joined as joined_steps
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.asked import Asked, CountedItems
from thresholds.data.tallies import Opened, Tally
from thresholds.results import counted

_ITEMS_AT_ONCE = 2**16  # 1.3 MB, and what is made of them


@dataclass(frozen=True)
class Kind:
    """What counts of several blocks have in common: others cannot be added to them."""

    n_labels: int
    dtype: np.dtype[Any]  # of the scores
    sparse: bool
    missing: float
    label_names: tuple[str, ...] | None
    unit: float  # of weights

    @property
    def key_dtype(self) -> "np.dtype[np.unsignedinteger[Any]]":
        """The dtype of the keys of these scores."""
        return np.dtype(f"u{key_dtype(self.dtype).itemsize}")

    def of_part(self, first: int, last: int) -> "Kind":
        """Return the kind of counts of labels `first:last` alone."""
        are_whole = isinstance(first, Integral) and isinstance(last, Integral)
        if not (are_whole and 0 <= first < last <= self.n_labels):
            raise InputError(
                f"labels are {first}:{last}, expected a range within 0:{self.n_labels}"
            )
        names = None if self.label_names is None else self.label_names[first:last]
        return replace(self, n_labels=last - first, label_names=names)

    def joined(self, others: Sequence["Kind"]) -> "Kind":
        """Return the kind of counts of these labels and, behind them, of those of others."""
        whole = [self, *others]
        for other in others:
            self.refuse_other(
                replace(other, n_labels=self.n_labels, label_names=self.label_names), "a part"
            )
        names = [kind.label_names for kind in whole]
        n_labels = sum(kind.n_labels for kind in whole)
        if None not in names:
            together = names_of_labels([name for part in names for name in part or ()])
            return replace(self, n_labels=n_labels, label_names=together)
        if any(names):
            raise InputError(
                "parts has label_names and none, expected all parts to have them, or none"
            )
        return replace(self, n_labels=n_labels)

    def order_of(self, other: "Kind") -> Ints | None:
        """Return where these labels are in what has them in another order, (n_labels,); None for any others."""
        names, theirs = self.label_names, other.label_names
        if names is None or theirs is None or names == theirs or different(theirs, names):
            return None
        return places(theirs, names, "label_names", "the same")

    def ordered_as(self, other: "Kind") -> "Kind":
        """Return the kind of the same labels in the order of another, if that has them."""
        order = other.order_of(self)
        return self if order is None else replace(self, label_names=other.label_names)

    def refuse_other(self, other: "Kind", what: str = "other", like: str = "as here") -> None:
        """Refuse what was counted of other labels, scores or weights."""
        if other.n_labels != self.n_labels:
            raise InputError(f"{what} has {other.n_labels} labels, expected {self.n_labels} {like}")
        if other.label_names != self.label_names:
            raise InputError(f"{what} {self._other_names(other)}, expected the same labels {like}")
        if other.dtype != self.dtype or other.sparse != self.sparse:
            raise InputError(f"{what} has {other.form} scores, expected {self.form} ones {like}")
        if other.missing != self.missing:
            raise InputError(f"{what} has missing={other.missing}, expected {self.missing} {like}")
        if other.unit != self.unit:
            raise InputError(
                f"{what} has weights in units of {other.unit}, expected {self.unit} {like}"
            )

    def _other_names(self, other: "Kind") -> str:
        """Say how label names differ."""
        if self.label_names is None or other.label_names is None:
            return "has no label_names" if other.label_names is None else "has label_names"
        difference = different(other.label_names, self.label_names, "label")
        return difference or "has its labels in another order"

    @property
    def form(self) -> str:
        """Dtype and kind of the scores, in words."""
        return f"{'sparse ' if self.sparse else ''}{self.dtype}"


class Totals(NamedTuple):
    """What is known of the rows beside the cells, added up."""

    n_samples: int
    # (3, n_labels), or (3, 1) where all truth is known: rows in which a label is known, those of them that have
    # weight, and their weight
    of_labels: Ints
    present: int  # rows that have weight and a known cell
    weight: int  # of these rows
    divisor: int  # of all weights of rows
    weighted: bool
    all_known: bool  # whether the truth of every cell is
    # Rows are present that have a known cell in these labels; or in more, if these are a part of them; or, where parts
    # were put side by side that do not say which rows they mean, at least so many are.
    rows_of: Literal["these", "more", "some"] = "these"

    def __add__(self, other: "Totals") -> "Totals":  # type: ignore[override]
        """Add those of other rows."""
        return Totals(
            self.n_samples + other.n_samples,
            self.of_labels + other.of_labels,
            self.present + other.present,
            self.weight + other.weight,
            math.gcd(self.divisor, other.divisor),
            self.weighted or other.weighted,
            self.all_known and other.all_known,
            self._rows_of_both(other),
        )

    def _rows_of_both(self, other: "Totals") -> Literal["these", "more", "some"]:
        """Say which rows are present here and in others, counted on other rows."""
        if self.all_known or other.all_known:  # Where all is known, rows are present in any labels.
            return other.rows_of if self.all_known else self.rows_of
        return self.rows_of if self.rows_of == other.rows_of else "some"

    def of_part(self, first: int, last: int) -> "Totals":
        """Return those of labels `first:last`."""
        if self.of_labels.shape[1] == 1:  # one for all labels
            return self
        rows_of: Any = "some" if self.rows_of == "some" else "more"
        return self._replace(of_labels=self.of_labels[:, first:last], rows_of=rows_of)

    def in_order(self, order: Ints) -> "Totals":
        """Return those of the labels in another order, (n_labels,)."""
        one_for_all = self.of_labels.shape[1] == 1
        return self if one_for_all else self._replace(of_labels=self.of_labels[:, order])

    def joined(self, others: Sequence["Totals"], sizes: Sequence[int]) -> "Totals":
        """Return the totals of consecutive labels, so many in each part, which were counted on the same rows."""
        whole = [self, *others]
        for other in others:
            if (other.n_samples, other.weighted) != (self.n_samples, self.weighted):
                raise InputError(
                    f"a part has {other._rows}, expected {self._rows} as the first has"
                )
        of_labels = self.of_labels
        if not all(part.all_known for part in whole):
            columns = zip(whole, sizes, strict=True)
            of_labels = np.concatenate(
                [np.broadcast_to(part.of_labels, (3, size)) for part, size in columns], axis=1
            )
        return self._replace(
            of_labels=of_labels,
            present=max(part.present for part in whole),
            weight=max(part.weight for part in whole),
            divisor=math.gcd(*(part.divisor for part in whole)),
            all_known=all(part.all_known for part in whole),
            rows_of=self._rows_of_all(others),
        )

    def _rows_of_all(self, others: Sequence["Totals"]) -> Literal["these", "more", "some"]:
        """Say which rows are present in these labels and others, counted on the same rows."""
        whole = [self, *others]
        if any(part.all_known for part in whole):
            return "these"  # No row is without a known cell.
        are_parts_of_one = all(
            (part.rows_of, part.present, part.weight) == ("more", self.present, self.weight)
            for part in others
        )
        return self.rows_of if are_parts_of_one else "some"

    @property
    def _rows(self) -> str:
        """Number of rows, in words."""
        return f"{counted(self.n_samples, 'row')} {'with' if self.weighted else 'without'} weights"

    @classmethod
    def none(cls) -> "Totals":
        """Return those of no rows."""
        nothing = np.zeros((3, 1), np.int64)
        return cls(0, nothing, present=0, weight=0, divisor=0, weighted=False, all_known=True)

    @classmethod
    def of(cls, problem: Problem) -> "Totals":
        """Add up the rows of a problem."""
        weights = problem.row_weights
        if problem.unknown is None:
            of_labels = np.array([[problem.n_samples], [(weights > 0).sum()], [weights.sum()]])
        else:
            of_labels = np.stack(
                [problem.rows_of_label, problem.present_of_label, problem.weight_of_label]
            )
        given = problem.unit_weights
        return cls(
            problem.n_samples,
            of_labels.astype(np.int64),
            present=int((weights > 0).sum()),
            weight=int(weights.sum()),
            divisor=1 if given is None else int(np.gcd.reduce(given)),
            weighted=given is not None,
            all_known=problem.unknown is None,
        )


class SomeRows(NamedTuple):
    """What was picked of rows that are not kept: what a rule keeps of its fit."""

    rows: Matrix  # (n_picked, n_labels) scores
    cells: Floats  # (n_cells,) scores, and once `missing` where sparse rows leave some out
    weighted: bool  # whether the rows of the fit differ in weight


class Unread:
    """Stands for a matrix of which only counts are known: it has shape and dtype, and cannot be read."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], n_stored: int) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = n_stored

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Any:
        raise AssertionError(_ONLY_COUNTS)

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError(_ONLY_COUNTS)


_ONLY_COUNTS = "only counts of these cells are known, and what reads them needs rows"


@dataclass(frozen=True)
class CountedProblem(Problem):
    """A problem whose cells are known by label only, as items that were added up over blocks of rows."""

    tally: Tally = field(kw_only=True)
    divisor: int = field(kw_only=True)  # of its weights: they become multiples of `unit`
    totals: Totals = field(kw_only=True)  # in the unit of the problem's weights
    lowest: Keys = field(kw_only=True)  # (n_labels,) the lowest key that has weight
    some_rows: SomeRows | None = field(default=None, kw_only=True)  # where some were picked
    asked: Asked = field(kw_only=True, default_factory=Asked)  # what could not be told

    is_counted: ClassVar[bool] = True

    @classmethod
    def of_tally(cls, kind: Kind, totals: Totals, tally: Tally, lowest: Keys) -> "CountedProblem":
        """Return the problem of all rows that were counted, checked as theirs would be."""
        divisor = max(totals.divisor, 1)
        shape = (totals.n_samples, kind.n_labels)
        n_stored = sum(items.keys.size for items in tally)
        of_labels = totals.of_labels.copy()
        of_labels[2] //= divisor
        in_rows = Unread((totals.n_samples,), np.dtype(np.int64), totals.n_samples)
        cells = Unread(shape, np.dtype(np.bool_), n_stored)
        return cls(
            cells,
            Unread(shape, kind.dtype, n_stored),
            in_rows if totals.weighted else None,  # type: ignore[arg-type]
            kind.unit * divisor,
            sample_weight=in_rows if totals.weighted else None,
            missing=kind.missing,
            label_names=kind.label_names,
            unknown=None if totals.all_known else cells,
            tally=tally,
            divisor=divisor,
            totals=totals._replace(of_labels=of_labels, weight=totals.weight // divisor),
            lowest=lowest,
        )

    @property
    def total_weight(self) -> int:
        """Weight of all rows that have a known cell, in multiples of `unit`."""
        return self.totals.weight

    @property
    def n_present(self) -> int:
        """Number of rows of positive weight that have a known cell."""
        return self.totals.present

    @property
    def n_known_cells(self) -> int | None:
        """Number of cells whose truth is known; None where all are."""
        return None if self.totals.all_known else int(self.rows_of_label.sum())

    @property
    def counts_rows(self) -> bool:
        """Whether each row weighs 1, as it does where rows and units are equally many, and none weighs nothing."""
        n_rows = self.rows_of_label
        return self.unit == 1 and bool(
            (self.present_of_label == n_rows).all() and (self.weight_of_label == n_rows).all()
        )

    @property
    def has_whole_weights(self) -> bool:
        """Whether each row weighs a whole number: as the unit divides all of them, where it is one."""
        return self.unit % 1 == 0

    @property
    def positive_weights(self) -> Ints:
        """Weight of the positives of each label, in multiples of `unit`, (n_labels,)."""
        return self.tally.positives // self.divisor

    @property
    def n_stored(self) -> int:
        """Number of items, those without weight among them."""
        return int(self.scores.size)

    @property
    def is_dense(self) -> bool:
        """Cells are never told apart."""
        return False

    @property
    def is_plain(self) -> bool:
        """Nor are they here."""
        return False

    @property
    def exactly_weighted(self) -> bool:
        """Sums are what was counted, in units."""
        return True

    @property
    def row_weights(self) -> Ints:
        """Not known."""
        raise AssertionError(_ONLY_COUNTS)

    @property
    def known_in_row(self) -> Ints:
        """Not known."""
        raise AssertionError(_ONLY_COUNTS)

    @property
    def rows_of_label(self) -> Ints:
        """Number of rows in which the truth of each label is known, (n_labels,)."""
        return self._of_labels(0)

    @property
    def present_of_label(self) -> Ints:
        """Number of rows of positive weight in which the truth of each label is known, (n_labels,)."""
        return self._of_labels(1)

    @property
    def weight_of_label(self) -> Ints:
        """Weight of the rows in which the truth of each label is known, in multiples of `unit`, (n_labels,)."""
        return self._of_labels(2)

    @property
    def known(self) -> Floats | None:
        """Weight of the rows in which the truth of each label is known, (n_labels,); None where all is known."""
        return None if self.totals.all_known else self.weight_of_label * np.float64(self.unit)

    def some_scores(self, at_most: int) -> Floats:
        """Return scores that were picked; else some of those counted, evenly spaced by weight, and the lowest."""
        if self.some_rows is not None:
            return self.some_rows.cells
        # In place where that can be: these arrays are as large as the counts.
        counted, tied = self.tally
        keys = np.concatenate([counted.keys, tied.keys])  # (n_items,)
        order = np.argsort(keys, kind="stable")
        up_to = np.concatenate([counted.weights, tied.weights])[order]
        np.cumsum(up_to, out=up_to)
        up_to //= self.divisor
        n_cells = int(up_to[-1])
        wanted = np.linspace(0, n_cells - 1, min(n_cells, at_most)).astype(np.int64)
        at = order[np.searchsorted(up_to, np.minimum(wanted, n_cells - 1), side="right")]
        picked = np.append(self.lowest.min(), keys[at])
        return to_scores(picked).astype(np.float64)

    def _of_labels(self, which: int) -> Ints:
        """Return a total of each label."""
        return np.broadcast_to(self.totals.of_labels[which], self.n_labels).copy()

    def items(self, first: int, last: int) -> CountedItems:
        """Return the items of labels `first:last`, made anew: kept for all, they would take as much as the counts."""
        tally = self.tally.of(first, last)
        floors = tally.floors(self.lowest[first:last], count_rows=self._are_rows)
        return CountedItems.with_floors(tally.items(self.divisor), floors, self.asked, first)

    def histograms(self, most: int | None, labels: Ints | None = None) -> Histograms:
        """Return what weighs at which score, in at most so many bins. A run is one, at its highest score."""
        parts = [found for found, _ in self.histograms_in_pieces(most)]
        found = joined(parts)
        return found if labels is None else found.take(labels)

    def histograms_in_pieces(self, most: int | None = None) -> Iterator[tuple[Histograms, int]]:
        """Return the histograms of some labels at a time, and the number of the first of these."""
        for labels, items in self.pieces():
            found = items.histograms
            yield found if most is None else found.merged(most), labels.start

    @property
    def steps(self) -> Steps:
        """The steps of all labels at which a fit may cut: no positive is in a run."""
        parts = [found.steps for found, _ in self.histograms_in_pieces()]
        return joined_steps(parts).cuttable(self)

    def ask_for_all(self) -> None:
        """Say that all scores are to be known apart, if they are not."""
        if self.has_runs:
            self.asked.note_all()

    def ask_inside(self, scores: Floats, labels: Ints) -> None:
        """Say that runs are to be known whose highest scores these are, one of each of some labels; NaN for none."""
        if labels.size:
            items = self.items(int(labels.min()), int(labels.max()) + 1)
            items.ask_inside(self._keys_of(scores, labels))

    def ask_round(self, cuts: Cuts, labels: Ints) -> None:
        """Say that what lies on both sides of cuts of some labels is to be known, and what no cut may predict."""
        self.ask_inside(cuts.score, labels)
        self.ask_inside(cuts.lower, labels)
        unpredicted = np.full(labels.size, self.missing if self.keep_sparse else -np.inf)
        if labels.size:
            items = self.items(int(labels.min()), int(labels.max()) + 1)
            items.ask_at(self._keys_of(unpredicted, labels))

    def _keys_of(self, scores: Floats, labels: Ints) -> Keys:
        """Return the keys of scores of some labels, from the first to the last; of others 0, which no score has."""
        keys = np.zeros(labels.max() - labels.min() + 1, self.lowest.dtype)
        is_some = ~np.isnan(scores)
        keys[labels[is_some] - labels.min()] = to_keys(scores[is_some].astype(self.dtype))
        return keys

    def pieces(self) -> Iterator[tuple[slice, CountedItems]]:
        """Return the items of all labels, some labels at a time."""
        for labels in by_cells(self.n_labels, self.n_stored, _ITEMS_AT_ONCE):
            yield labels, self.items(labels.start, labels.stop)

    def weight_in(self, opened: Opened) -> Ints:
        """Return the weight of the items of each label whose keys are opened, (n_labels,)."""
        parts = []
        for labels, items in self.pieces():
            is_open = opened.of(labels.start, labels.stop).contains(items)
            within = np.where(is_open, items.weights, 0)
            parts.append(sums_of_groups(items.starts, within))
        return np.concatenate(parts)

    @cached_property
    def has_runs(self) -> bool:
        """Whether some item is a run, of which not all keys are known."""
        return any(bool(items.are_runs.any()) for _, items in self.pieces())

    @property
    def _are_rows(self) -> bool:
        """Whether the weights of the tally are numbers of rows."""
        return not self.totals.weighted and self.unit == 1
