"""The cells of some rows that a cut may predict, one after another: what is counted where a floor is one of rows.

Of dense scores these are all cells whose truth is known. Of sparse ones they are the stored ones: no cut that is tested
leads down to what a sparse matrix leaves out. So counting takes the time of entries, however many labels there are.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.matrices import coordinates
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import are_among, without_entries


class Cells(NamedTuple):
    """Cells row by row, all (n_cells,)."""

    row: Ints  # from the first of those rows
    label: Ints
    score: Floats  # float64 of any scores: what is falling is sorted by its negative
    is_true: Booleans

    @classmethod
    def of(cls, problem: Problem, rows: Ints) -> "Cells":
        """List the cells of some rows."""
        scores, truth = problem.scores[rows], problem.truth[rows]
        unknown = None if problem.unknown is None else problem.unknown[rows]
        if is_sparse(scores):
            if unknown is not None:
                scores = without_entries(scores, unknown)
            row, label = coordinates(scores)
            return cls(row, label, scores.data.astype(np.float64), are_among(scores, truth))
        known = np.ones(scores.shape, np.bool_) if unknown is None else ~to_dense(unknown)
        row, label = np.nonzero(known)
        return cls(row, label, scores[known].astype(np.float64), to_dense(truth)[known] != 0)

    def where(self, wanted: Booleans) -> "Cells":
        """Leave out the cells that are not wanted."""
        row, label, score, is_true = self
        return Cells(row[wanted], label[wanted], score[wanted], is_true[wanted])


def positives_in(problem: Problem, rows: Ints) -> Ints:
    """Count the true cells of some rows, those without a score among them: (n_rows,)."""
    return np.asarray(problem.truth[rows].sum(axis=1, dtype=np.int64)).reshape(-1)
