"""Where counts have to be told apart for the curve of all labels: at the edges of its bins."""

import numpy as np
import pytest

from thresholds._kernels.keys import to_scores
from thresholds.guards.pooled_curve import _bins_of, _lowest_of_bins, margins_apart


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("probable", [True, False])
def test_edges_are_the_lowest_scores_of_bins(probable, dtype):
    edges = _lowest_of_bins(np.dtype(dtype).itemsize, probable)
    below = edges - edges.dtype.type(1)
    assert (np.diff(edges.astype(np.float64)) > 0).all()
    assert (_bins_of(edges, probable) > _bins_of(below, probable)).all()
    # Nothing between two edges is in another bin.
    assert (_bins_of(below[1:], probable) == _bins_of(edges[:-1], probable)).all()


def test_margins_are_parted_into_octaves_first():
    apart = to_scores(margins_apart(np.dtype(np.float32), -3.0, 6.0))
    assert {0.5, 1.0, 2.0, 4.0} <= set(apart.tolist())
    # A negative score is in the octave of its size: just below 2 ends that of 1.
    just_below = np.nextafter(np.float32([-1, -2]), np.float32(0))
    assert set(just_below.tolist()) <= set(apart.tolist())
    assert apart.min() >= -3
    assert apart.max() <= 6
    assert apart.size < 300
    assert margins_apart(np.dtype(np.float32), 0.0, 1.0).size == 0
