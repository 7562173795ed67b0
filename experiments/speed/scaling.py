"""How the time of a macro fit grows with samples and labels, and a fit of as many labels as samples."""

from functools import partial
from typing import Any

import numpy as np
import rivals
from measuring import THREADS, Clock, Measured, Ratio, Row, Scores, Truth, make_data, name_shape
from rivals import ARGSORT, BLOCK, same

import thresholds

SAMPLES, QUICK_SAMPLES = (10**5, 10**6, 10**7), (10**4, 10**5)
LABELS, QUICK_LABELS = (100, 1_000, 10_000), (100, 400)
WIDE, QUICK_WIDE = (20_000, 26_853), (2_000, 500)
LONG_CELLS = 10**8  # from which on a size is measured once in a round
ROUNDS, SMALL_ROUNDS = 3, 3
MOST_SORTED = 10**6  # samples up to which labels are sorted, to compare F1
EVERY = 8  # block of labels that is sorted in the wide fit
Fit = Any


def fit(truth: Truth, scores: Scores) -> Fit:
    """Fit our thresholds."""
    return thresholds.fit_empirical(truth, scores, n_jobs=THREADS)


def check_block(truth: Truth, scores: Scores, cuts: Any) -> Ratio:
    """Compare F1 of the first labels with that of a sort."""
    part, sorted_part, theirs = truth[:, :BLOCK], scores[:, :BLOCK], np.empty(BLOCK)
    rivals.argsort_cuts(part, sorted_part, np.array([0]), theirs)
    ours, sorts = (rivals.f1_by_label(part, sorted_part, each) for each in (cuts[:BLOCK], theirs))
    return same(f"F1 of a label, and by argsort, first labels of {name_shape(scores.shape)}", ours, sorts)


def time_together(name: str, matrices: list[tuple[Truth, Scores]], clock: Clock, quick: bool) -> Measured:
    """Time fits of several sizes in interleaved rounds, small ones several times in each; compare F1 of some labels."""
    rules = [fit(*pair) for pair in matrices]  # The first calls, which compile.
    names = [f"macro, growing {name}, {name_shape(scores.shape)}" for _, scores in matrices]
    for _ in range(1 if quick else ROUNDS):
        for label, pair in zip(names, matrices, strict=True):
            for _ in range(1 if quick or pair[1].size >= LONG_CELLS else SMALL_ROUNDS):
                clock.time(label, partial(fit, *pair))
    sizes = [scores.size for _, scores in matrices]
    slope = np.polyfit(np.log(sizes), np.log([clock.median(label) for label in names]), 1)[0]
    on = " to ".join(name_shape(matrices[k][1].shape) for k in (0, -1))
    checked = [pair for pair in zip(matrices, rules, strict=True) if len(pair[0][1]) <= MOST_SORTED]
    return (
        [Row(f"exponent of time in {name}, macro", float(slope), at_most=1.05, on=on)],
        [check_block(*pair, rule.thresholds) for pair, rule in checked],
    )


def measure_growth(quick: bool, clock: Clock) -> Measured:
    """Measure more samples, as the first rows of one matrix, and then more labels: 5 GB each."""
    sizes, widths = (QUICK_SAMPLES, QUICK_LABELS) if quick else (SAMPLES, LABELS)
    truth, scores = make_data(sizes[-1], widths[0])
    rows, checks = time_together("samples", [(truth[:n], scores[:n]) for n in sizes], clock, quick)
    del truth, scores
    more, compared = time_together("labels", [make_data(sizes[0], width) for width in widths], clock, quick)
    return rows + more, checks + compared


def measure_wide(quick: bool, clock: Clock) -> Measured:
    """Measure the wide fit; of the labels one block in some is sorted, once, and the time scaled."""
    shape = QUICK_WIDE if quick else WIDE
    truth, scores = make_data(*shape)
    rule = fit(truth, scores)  # The first call, which compiles.
    for _ in range(1 if quick else ROUNDS):
        clock.time("macro", partial(fit, truth, scores))
    starts, cuts = np.arange(0, shape[1] - BLOCK + 1, BLOCK * EVERY), np.full(shape[1], np.nan)
    rivals.argsort_cuts(truth[:64], scores[:64], starts[:1], cuts)
    clock.time(ARGSORT, partial(rivals.argsort_cuts, truth, scores, starts, cuts))
    scaled = clock.total(ARGSORT) * shape[1] / (starts.size * BLOCK)
    ratio = scaled / clock.median("macro")
    ours, theirs = (rivals.f1_by_label(truth, scores, each) for each in (rule.thresholds, cuts))
    sorts = ~np.isnan(cuts)
    name = f"{ARGSORT} (an eighth of them, scaled) / macro"
    checks = [
        same("F1 of a label, macro and argsort, wide", ours[sorts], theirs[sorts]),
        same("macro F1, claimed and counted, wide", rule.objective, ours.mean()),
    ]
    return [Row(name, ratio, at_least=20, on=name_shape(shape))], checks
