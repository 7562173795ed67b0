"""Which rules decide alike, overall and label by label?

Rules that start from the same scores may decide differently, as each serves another average of F: macro-F1 predicts a
rare label that the scores know little of far more often than micro-F1 does (Lipton et al. 2013, section 6.3).

The share of cells that two rules decide alike does not show it. Labels are rare, so nearly all cells are predicted by
neither, and the share is always near 1. Such cells are left out of

    F1 between a and b = 2 both / (predicted by a + predicted by b)

the F1 of either rule if the decisions of the other were the truth (Dice 1945, "Measures of the amount of ecologic
association between species"). It is 1 for the same decisions, also for none at all, and 0 for none in common.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.sparse import with_cells
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds._results.fields import record, value
from thresholds._results.result import Drawable, Result, names_of, rows_of
from thresholds._results.tables import Column, Table, count, tabulate
from thresholds._results.text import on_one_line, shortened
from thresholds._results.words import counted

_MOST_IN_MATRIX = 12  # rules; of more, a table says which are most and least alike
_BITS = 62  # rules in one pattern
_LONGEST_NAME = 32  # columns of a rule's name that is not in the first column


def written(f1: float) -> str:
    """Write an F1 between decisions; only that of the same ones is 1.00."""
    return f"{f1 if f1 == 1 else min(f1, 0.99):.2f}"


def _short(name: str) -> str:
    """Write the name of a rule on one line."""
    return shortened(on_one_line(name), _LONGEST_NAME)


_PAIRS = "F1 between the decisions of two rules, 1 if they are the same:"
_ALIKE = (
    Column("rule", is_words=True),
    Column("predicts", write=count),
    Column("near", ("decides", "most like"), _short, is_words=True),
    Column("f1_near", ("F1", "between"), written),
    Column("far", ("decides", "least like"), _short, is_words=True),
    Column("f1_far", ("F1", "between"), written),
)
_DIFFERENT = (
    Column("name", "label", is_words=True),
    Column("differing", ("rows decided", "differently"), count),
    Column("rule", write=_short, is_words=True),
    Column("predicted", ("predicts", "rows"), count),
    Column("other", write=_short, is_words=True),
    Column("predicted_other", ("predicts", "rows"), count),
    Column("f1", ("F1", "between"), written),
)


@record
class Agreement(Result, Drawable):
    """Rules by rules: how far they decide alike on the same rows, each row counting once.

    Attributes
    ----------
    rules : tuple of str, the names of the rules
    pairs : (n_rules, n_rules) F1 between the decisions of two rules, over all cells: 1 is the same
    differing : (n_rules, n_rules) number of cells that two rules decide differently
    by_label : structured array (n_labels,): `by_label["f1"]` is a column, `by_label[3]` a row
        name; differing, the rows that two rules decide differently, those two that differ on most (the first two of
        equal ones); rule and other, their names, and predicted and predicted_other, the rows that they predict, `rule`
        more than `other`; f1, that between them; lowest_f1, the lowest between any two rules; most and least, the
        rules that predict the label most and least often, and predicted_most and predicted_least.
    both : (n_rules, n_rules, n_labels) rows that both rules predict; on the diagonal those that each does
    n_samples : number of rows
    label_names : tuple of str, or None
    n_cells : number of cells whose truth is known, where some is not; the others are in no figure; None else

    Examples
    --------
    >>> import thresholds
    >>> rules = {"half": thresholds.FixedRule(0.5, 2), "low": thresholds.FixedRule(0.3, 2)}
    >>> scores = [[0.9, 0.4], [0.6, 0.1], [0.4, 0.7]]
    >>> agreement = thresholds.compare(rules, [[1, 0], [0, 0], [1, 1]], scores).agreement
    >>> print(agreement.to_text(1))
    half and low decide 2 of 6 cells differently; F1 between their decisions is 0.75
    <BLANKLINE>
    labels on which they differ on most rows:
           rows decided        predicts         predicts       F1
    label   differently  rule      rows  other      rows  between
    -----  ------------  ----  --------  -----  --------  -------
    0                 1  low          3  half          2     0.80
    ... 1 more
    """

    _shown = 8
    _display = "AgreementDisplay.from_agreement"

    rules: tuple[str, ...]
    pairs: Floats
    differing: Ints
    by_label: Dense
    both: Ints = value(saved=False)
    n_samples: int
    label_names: tuple[str, ...] | None = None
    n_cells: int | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.by_label.size)

    def between(self, rule: str, other: str) -> Floats:
        """Return the F1 between the decisions of two rules for each label, (n_labels,); 1 where neither predicts.

        Raises
        ------
        InputError
            For a name that no rule has.
        """
        a = self.rules.index(_checks.option(rule, "rule", self.rules))
        b = self.rules.index(_checks.option(other, "other", self.rules))
        return _f1_between(self.both[a, b], self.both[a, a], self.both[b, b])

    def _rows(self) -> Dense:
        """Return one row a label."""
        return self.by_label

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show pairs of rules, then the k labels on which two rules differ on most rows."""
        if len(self.rules) == 2:
            yield self._two_rules()
        elif len(self.rules) <= _MOST_IN_MATRIX:
            yield self._matrix()
        else:
            yield self._most_and_least_alike()
        yield self._labels(k)

    def _two_rules(self) -> str:
        """Say how far two rules decide alike."""
        one, other = map(_short, self.rules)
        n_cells = self.n_samples * self.n_labels if self.n_cells is None else self.n_cells
        cells = counted(n_cells, "cell" if self.n_cells is None else "known cell")
        return (
            f"{one} and {other} decide {self.differing[0, 1]:,} of {cells} differently;"
            f" F1 between their decisions is {written(self.pairs[0, 1])}"
        )

    def _matrix(self) -> Table:
        """Lay out the F1 between all pairs of rules, each pair once; in the head rules go by number."""
        n = len(self.rules)
        rows: dict[str, list[Any]] = {
            "rule": [f"{a + 1:>2} {name}" for a, name in enumerate(self.rules)],
            "predicts": [self.both[a, a].sum() for a in range(n)],
        }
        columns = [Column("rule", is_words=True), Column("predicts", write=count)]
        for b in range(n - 1):
            rows[str(b + 1)] = [written(self.pairs[a, b]) if b < a else "" for a in range(n)]
            columns.append(Column(str(b + 1)))
        return tabulate(rows, columns, title=_PAIRS)

    def _most_and_least_alike(self) -> Table:
        """Lay out, for each rule, those that decide most and least as it does."""
        f1 = self.pairs.copy()  # (n_rules, n_rules)
        np.fill_diagonal(f1, np.nan)
        near, far = np.nanargmax(f1, axis=1), np.nanargmin(f1, axis=1)  # (n_rules,) each
        names = np.array(self.rules)
        rows = {
            "rule": names,
            "predicts": self.both.sum(axis=2).diagonal(),
            "near": names[near],
            "f1_near": np.nanmax(f1, axis=1),
            "far": names[far],
            "f1_far": np.nanmin(f1, axis=1),
        }
        return tabulate(rows, _ALIKE, title=_PAIRS)

    def _labels(self, k: int) -> Table:
        """Lay out the k labels on which two rules differ on most rows."""
        order = np.argsort(-self.by_label["differing"], kind="stable")  # (n_labels,)
        title = "labels on which two rules differ on most rows, and which two they are:"
        if len(self.rules) == 2:
            title = "labels on which they differ on most rows:"
        return tabulate(self.by_label[order], _DIFFERENT, k, title=title)


def agreement_of(decided: Mapping[str, Any], problem: Problem) -> Agreement:
    """Count what two rules or more decide alike: `decided` are CSR (n_samples, n_labels), each row counting once."""
    both = _predicted_by_both(list(decided.values()))
    return _agreement_of_counts(tuple(decided), both, problem)


def _predicted_by_both(decided: Sequence[Any]) -> Ints:
    """Count how many rows two rules both predict of each label, (n_rules, n_rules, n_labels)."""
    n_rules = len(decided)
    both = np.zeros((n_rules, n_rules, decided[0].shape[1]), np.int64)
    # Two parts of the rules at a time: a pattern has a bit for each.
    parts = list(in_pieces(slice(0, n_rules), _BITS // 2))
    for one, other in combinations_with_replacement(parts, 2):
        rules = np.union1d(np.r_[one], np.r_[other])
        both[np.ix_(rules, rules)] = _predicted_by_both_of([decided[k] for k in rules.tolist()])
    return both


def _predicted_by_both_of(decided: Sequence[Any]) -> Ints:
    """Count as `_predicted_by_both` for at most `_BITS` rules.

    The pattern of a cell is a number with a bit for each rule that predicts it. There are few patterns. How many cells
    each label has of each pattern tells what any two rules share; that takes a sixth of the time of comparing 25 rules
    pair by pair.
    """
    from scipy import sparse

    n_rules, n_labels = len(decided), decided[0].shape[1]

    # The pattern of each cell that any rule predicts, and what there is of each pattern in each label.
    bits = (with_cells(cells, np.full(cells.nnz, 1 << k)) for k, cells in enumerate(decided))
    union = sum(bits, start=sparse.csr_array(decided[0].shape, dtype=np.int64))
    patterns = np.unique(union.data)  # (n_patterns,)
    places = union.indices, patterns.searchsorted(union.data)  # (n_cells,) each
    cells = sparse.coo_array((np.ones(union.nnz, np.int64), places), (n_labels, patterns.size))
    of_labels = cells.tocsr()  # (n_labels, n_patterns)

    # Add up, for each rule, the patterns that it shares with each other.
    has = patterns[:, np.newaxis] >> np.arange(n_rules) & 1  # (n_patterns, n_rules)
    return np.stack([(of_labels @ (has * has[:, [a]])).T for a in range(n_rules)])


def _agreement_of_counts(rules: tuple[str, ...], both: Ints, problem: Problem) -> Agreement:
    """Sum up the counts of pairs, as `_predicted_by_both` gives them."""
    # All labels together.
    of_pairs = both.sum(axis=2)  # (n_rules, n_rules)
    predicted = of_pairs.diagonal()  # (n_rules,)
    pairs = _f1_between(of_pairs, predicted[:, np.newaxis], predicted)
    differing = predicted[:, np.newaxis] + predicted - 2 * of_pairs

    # The two rules that differ on most rows of each label, `rule` predicting more of them.
    n_labels = problem.n_labels
    labels = np.arange(n_labels)
    of_label = both.diagonal().T  # (n_rules, n_labels) predicted
    first, second = np.triu_indices(len(rules), 1)  # (n_pairs,) each
    of_pair = both[first, second]  # (n_pairs, n_labels)
    apart = of_label[first] + of_label[second] - 2 * of_pair  # (n_pairs, n_labels)
    f1 = _f1_between(of_pair, of_label[first], of_label[second])  # (n_pairs, n_labels)
    widest = apart.argmax(axis=0)  # (n_labels,)
    one, other = first[widest], second[widest]  # (n_labels,) each
    is_swapped = of_label[other, labels] > of_label[one, labels]  # (n_labels,)
    one, other = np.where(is_swapped, other, one), np.where(is_swapped, one, other)

    most = of_label.argmax(axis=0)  # (n_labels,)
    least = of_label.argmin(axis=0)  # (n_labels,)
    names = np.array(rules, np.str_)
    by_label = rows_of(
        {
            "name": names_of(problem.label_names, n_labels),
            "differing": apart[widest, labels],
            "rule": names[one],
            "predicted": of_label[one, labels],
            "other": names[other],
            "predicted_other": of_label[other, labels],
            "f1": f1[widest, labels],
            "lowest_f1": f1.min(axis=0),
            "most": names[most],
            "predicted_most": of_label[most, labels],
            "least": names[least],
            "predicted_least": of_label[least, labels],
        }
    )
    return Agreement(
        rules=rules,
        pairs=pairs,
        differing=differing,
        by_label=by_label,
        both=both,
        n_samples=problem.n_samples,
        label_names=problem.label_names,
        n_cells=problem.n_known_cells,
    )


def _f1_between(both: Ints, one: Ints, other: Ints) -> Floats:
    """Return the F1 between decisions, of what both predict and each does; 1 where neither does."""
    return f_of_counts(both, one, other, 1.0, 1.0)
