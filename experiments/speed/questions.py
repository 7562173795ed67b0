"""Other questions than a plain fit: against a macro fit of the same data, their own fit, or a rival of their own."""

from collections.abc import Sequence
from functools import partial

import calls
import numpy as np
import rivals
from measuring import THREADS, Clock, Measured, Ratio, Row, Scores, Truth, make_data, name_shape, shared_data
from rivals import LOOP

import thresholds

ROUNDS, QUICK_ROUNDS = 3, 1
COMPARED_SHAPE = (100_000, 100)
USELESS_SHAPE, USELESS_RATE = (200_000, 12), 0.3
PARTITION = "`np.argpartition`"
USELESS = f"`diagnose` of useless labels of base rate {USELESS_RATE}"
BOUNDS = {  # of a call against a macro fit
    calls.WEIGHTS: 2.0,
    calls.PRECISION: 2.5,
    calls.LIMITS: 2.5,
    calls.SHRUNK: 2.5,
    calls.POOLED: None,
    calls.DIAGNOSED: 3.0,
    calls.ISOTONIC: 12.0,
    calls.PLATT: 12.0,
}
OWN_FITS = {calls.FOLDS: calls.MACRO, calls.FOLDS_SHRUNK: calls.SHRUNK, calls.FOLDS_POOLED: calls.POOLED}
FOLDS_BOUND = 2.0


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure questions of the shared data, then those with data of their own."""
    truth, scores = shared_data(quick)
    on = name_shape(scores.shape)
    time_calls([calls.MACRO, *BOUNDS, *OWN_FITS], truth, scores, clock, quick)
    rows = [
        Row(f"{name} / macro", clock.median(name) / clock.median(calls.MACRO), at_most=bound, on=on)
        for name, bound in BOUNDS.items()
    ]
    rows += [
        Row(f"{name} / its own fit", clock.median(name) / clock.median(own), at_most=FOLDS_BOUND, on=on)
        for name, own in OWN_FITS.items()
    ]
    top_rows, checks = measure_top(scores, clock, quick)
    return [*rows, *top_rows, measure_useless(clock, quick), measure_comparison(clock, quick)], checks


def time_calls(names: Sequence[str], truth: Truth, scores: Scores, clock: Clock, quick: bool) -> None:
    """Time calls in turn, each of them compiled by a call before."""
    for name in names:
        calls.CALLS[name](truth, scores)
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        for name in names:
            clock.time(name, partial(calls.CALLS[name], truth, scores))


def measure_top(scores: Scores, clock: Clock, quick: bool) -> tuple[list[Row], list[Ratio]]:
    """Measure the highest labels of each row against NumPy, which finds the same where no scores tie."""
    n_labels = scores.shape[1]

    def partition() -> rivals.Ints:
        return np.argpartition(scores, n_labels - calls.N_PREDICTED, axis=1)[:, n_labels - calls.N_PREDICTED :]

    rule = thresholds.TopKRule(calls.N_PREDICTED)
    ours = rule.predict(scores)
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        theirs = clock.time(PARTITION, partition)
        clock.time(calls.TOP, partial(rule.predict, scores))
    # Rows with ties at the last place are left out: NumPy promises nothing there.
    lowest = np.take_along_axis(scores, theirs, axis=1).min(axis=1, keepdims=True)  # (n_samples, 1)
    clear = (scores >= lowest).sum(axis=1) == calls.N_PREDICTED  # (n_samples,)
    marks = np.zeros(scores.shape, np.uint8)
    np.put_along_axis(marks, theirs, 1, axis=1)
    differences = np.count_nonzero(marks[clear] != np.asarray(ours)[clear])
    row = Row(
        f"{calls.TOP} / {PARTITION}",
        clock.median(calls.TOP) / clock.median(PARTITION),
        at_most=1,
        on=name_shape(scores.shape),
    )
    return [row], [Ratio(f"cells decided by {calls.TOP} and {PARTITION}", float(differences), at_most=0)]


def measure_useless(clock: Clock, quick: bool) -> Row:
    """Measure labels of which scores know nothing, whose best F1 chance nearly reaches."""
    n_samples, n_labels = (2_000, 2) if quick else USELESS_SHAPE
    rng = np.random.default_rng(2)
    truth = (rng.random((n_samples, n_labels)) < USELESS_RATE).astype(np.uint8)
    scores = rng.standard_normal((n_samples, n_labels), np.float32)
    labels, cuts = np.arange(n_labels), np.empty(n_labels)
    rule = thresholds.fit_empirical(truth, scores, n_jobs=THREADS)
    thresholds.diagnose(truth, scores, rule, n_jobs=THREADS)
    loop = f"{LOOP}, useless labels"
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        clock.time(loop, partial(rivals.sklearn_cuts, truth, scores, labels, cuts))
        clock.time(USELESS, partial(thresholds.diagnose, truth, scores, rule, n_jobs=THREADS))
    ratio = clock.median(loop) / clock.median(USELESS)
    return Row(f"{LOOP} / {USELESS}", ratio, at_least=1, on=name_shape(scores.shape))


def measure_comparison(clock: Clock, quick: bool) -> Row:
    """Measure all rules, those from probabilities too, fitted and compared."""
    truth, scores = make_data(*((2_000, 10) if quick else COMPARED_SHAPE))
    probabilities = 1 / (1 + np.exp(-scores))
    macro = f"{calls.MACRO}, {name_shape(scores.shape)}"
    for turn in range(1 + (QUICK_ROUNDS if quick else ROUNDS)):
        spent = Clock() if turn == 0 else clock  # The first round compiles.
        spent.time(macro, partial(calls.fit, truth, probabilities))
        spent.time(calls.COMPARED, partial(calls.compare_rules, truth, probabilities))
    ratio = clock.median(calls.COMPARED) / clock.median(macro)
    return Row(f"{calls.COMPARED} / macro", ratio, at_most=40, on=name_shape(scores.shape))
