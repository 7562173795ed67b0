"""Macro thresholds from probabilities alone against xCOLUMNs; `expected.py` has more."""

from functools import partial

from expected import ASCENT, COLUMNS, QUICK_COLUMNS, block_coordinate_ascent, counted_f1, draw_columns
from measuring import THREADS, Clock, Measured, Row, name_shape
from rivals import no_higher, same

import thresholds

ROUNDS = 5
READ, FIT, PREDICT = "one read of the probabilities", "`fit_expected` macro", "`fit_expected` macro and `predict`"


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds; the ascent, on one thread as it comes, once."""
    columns = draw_columns(*(QUICK_COLUMNS if quick else COLUMNS))
    fit = partial(thresholds.fit_expected, columns, n_jobs=THREADS)
    rule = fit()  # The first call, which compiles.
    predicted = rule.predict(columns)
    block_coordinate_ascent(columns[:500], 0, seed=0)
    rounds = 1 if quick else ROUNDS
    for turn in range(rounds):
        clock.time(READ, columns.max)
        clock.time(FIT, fit)
        clock.time(PREDICT, lambda: fit().predict(columns))
        if turn == rounds // 2:
            ascended = clock.time(ASCENT, partial(block_coordinate_ascent, columns, 0, seed=0))
    best, theirs = counted_f1(columns, predicted), counted_f1(columns, ascended)
    row = partial(Row, on=name_shape(columns.shape))
    rows = [
        row(f"{ASCENT} / {FIT}", clock.median(ASCENT) / clock.median(FIT), at_least=100),
        row(f"{ASCENT} / {PREDICT}", clock.median(ASCENT) / clock.median(PREDICT)),
        row(f"{FIT} / {READ}", clock.median(FIT) / clock.median(READ)),
    ]
    checks = [
        no_higher(f"mean F1 of expected counts by {ASCENT}", theirs.mean(), best.mean()),
        same("mean F1 of expected counts, claimed and counted", rule.objective, best.mean()),
    ]
    return rows, checks
