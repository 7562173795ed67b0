"""Where counts have to be told apart for the curve of all labels: at the edges of its bins."""

import numpy as np
import pytest

from thresholds._kernels import guards as kernels
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.guards.pooled_curve import _bins_of, _lowest_of_bins, margins_apart

SCORES = np.array([-np.inf, -80.0, -2.5, -1e-40, 0, 1e-30, 1e-7, 1e-6, 0.3, 0.5, 0.5000001, 0.97, 1, 1.5, 60])


@pytest.mark.parametrize("probable", [True, False])
def test_bins_are_those_of_the_kernel(probable):
    rng = np.random.default_rng(0)
    scores = np.concatenate([SCORES, rng.random(200), 10 * rng.normal(size=200)])
    keys = to_keys(scores.astype(np.float32))
    of_kernel = [int(kernels.bin_of(key, probable)) for key in keys]
    assert _bins_of(keys, probable).tolist() == of_kernel


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


@pytest.mark.parametrize("missing", [-np.inf, 0.0, 0.3])
@pytest.mark.parametrize("probable", [True, False])
def test_bins_of_sorted_cells_are_those_of_others(probable, missing):
    rng = np.random.default_rng(1)
    scores = np.round(rng.random(300) if probable else rng.normal(size=300), 1).astype(np.float32)
    scores[rng.random(300) < 0.2] = -np.inf
    keys, apart = to_keys(scores), to_keys(np.array([missing, -np.inf], np.float32))
    n_bins = 2 * kernels.SIDE if probable else kernels.MARGIN_BINS
    order = np.insert(np.arange(n_bins)[::-1], n_bins - _bins_of(apart[:1], probable), n_bins)
    starts, positives, nothing = np.array([0, 200, 300]), np.array([3, 1]), np.empty(0, np.int64)
    of_each = keys[:200], keys[200:]
    rising = np.concatenate([np.sort(own) for own in of_each])
    part = np.concatenate([np.sort(own[:50]) for own in of_each])
    left = np.concatenate([own[50:] for own in of_each])
    part_starts = np.array([0, 50, 100])

    def found(starts, *cells):
        total = np.zeros(n_bins + 1, np.int64)
        own, *both = cells
        bins = kernels.filled_bins(starts, own, nothing, *apart, probable, *both, order, positives, total)
        return [array.tolist() for array in (*bins, total)]

    of_none = nothing, keys[:0]
    assert found(starts, rising, 0 * starts, keys[:0]) == found(starts, keys, *of_none)
    assert found(starts, rising, part_starts, part) == found(starts - part_starts, left, *of_none)
