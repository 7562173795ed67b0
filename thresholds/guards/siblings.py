"""What labels with about as many positives show: figures of labels, averaged over their siblings."""

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Floats

BANDWIDTH = 0.7  # of siblings, in ln a
_SIZES_PER_BLOCK = 256
_MOST_SIZES = 2048  # different numbers of positives; more are rounded
_SIZES_PER_BANDWIDTH = 64  # to these


class Siblings:
    """Sums of figures over labels with as many positives.

    More than 2,048 different numbers, as real weights give, are rounded to 64ths of the bandwidth.
    """

    def __init__(self, positives: Floats, n_figures: int) -> None:
        with np.errstate(divide="ignore"):  # Labels without positives have no siblings.
            log_size = np.log(positives)
        if np.unique(log_size).size > _MOST_SIZES:
            steps = np.rint(log_size * (_SIZES_PER_BANDWIDTH / BANDWIDTH))
            log_size = steps * (BANDWIDTH / _SIZES_PER_BANDWIDTH)
        self._sizes, self.size_of_label = np.unique(log_size, return_inverse=True)
        self._sums = np.zeros((self._sizes.size, n_figures))

    def add(self, first: int, figures: Floats) -> None:
        """Add the figures (n_some, n_figures) of labels from `first` on."""
        np.add.at(self._sums, self.size_of_label[first : first + len(figures)], figures)

    def means(self) -> Floats:
        """Return the averages (n_sizes, n_figures) over labels with about as many positives as each size has."""
        # Labels of one size weigh alike.
        n_labels = np.bincount(self.size_of_label).astype(np.float64)  # (n_sizes,)

        # A block of sizes against all others: exp(-(difference / bandwidth)^2 / 2).
        means = np.zeros_like(self._sums)
        finite = np.flatnonzero(self._sizes > -np.inf)
        for block in in_pieces(slice(0, finite.size), _SIZES_PER_BLOCK):
            rows = finite[block]
            distance = (self._sizes[rows, np.newaxis] - self._sizes[finite]) / BANDWIDTH
            weight = np.exp(-0.5 * distance**2)  # (n_rows, n_finite)
            # einsum without optimisation: no BLAS, whose sums depend on its threads.
            total = np.einsum("vu,u->v", weight, n_labels[finite])
            means[rows] = np.einsum("vu,ug->vg", weight, self._sums[finite]) / total[:, np.newaxis]
        return means
