"""Benchmark: rules from probabilities alone, against a quadratic recursion, xCOLUMNs and sorting.

Rows. Each row's logits are Gaussian with standard deviation 2.5, shifted so that the probabilities add up to a mean
number of labels that is log-uniform between 1 and 30 (or a third of all, if fewer); float64. Our
`InstanceRule().predict` finds the set of highest expected F1 of each row, under independence. The rival gives the value
of all top-k sets of a row by the recursions of Ye, Chai, Lee & Chieu (2012, "Optimizing F-measure: a tale of two
approaches"), quadratic in the number of labels:

    f_k = sum_s 2 s Pr(S_1..k = s) E[1 / (k + s + S_k+1..n)]

It is compiled, runs along contiguous arrays that stay in cache, may use SIMD as the processor allows, and finds order
and cut by NumPy's sort of values, which carries no indices. A second version stops it where no larger set can win, by
a bound as in our rule: still quadratic, and not in the paper.

Columns. 200,000 x 400 float32 probabilities, calibrated by construction: base rates are log-uniform between 0.3 and
1e-4, scores are Gaussian, those of positives higher by 0 to 3 standard deviations, and each probability is that of a
positive given the score. `fit_expected(probabilities, "macro")` maximises F1 of expected counts of every label. Rivals:

- the block coordinate ascent of xCOLUMNs with no budget of labels, as it comes, once, on one thread, as it runs;
- sorting each label's column and taking the best cumulative sum: in blocks of columns, each copied to be contiguous,
  sorted by Numba's compiled sort or by NumPy's, and read once by a compiled loop that stops at the best cut. NumPy
  sorts float32 with AVX-512 instructions where the processor has them, some thirty times as fast as any loop: against
  that there is no bound, as a sorted column costs little more than two reads of it.

Measured in one run, interleaved, after all kernels are compiled, on two threads unless noted, each the median of the
rounds. Also one read of the columns, `probabilities.max()`, and a million rows of 7 labels.

The run also compares values: of the sets chosen, by the quadratic recursion; of `expected_f`; and of expected counts,
by NumPy. It fails if a required ratio is missed; a quick run only compares values.

    pip install -e ".[bench]"
    python experiments/speed/expected.py [--quick] [--json FILE]
"""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import Ratio, Scores, Truth, describe_machine, seconds, show_ratios, unbounded, write_json
from numba import njit
from xcolumns.block_coordinate import predict_optimizing_macro_f1_score_using_bc as block_coordinate_ascent

import thresholds

Floats = npt.NDArray[np.float64]

COLUMNS, QUICK_COLUMNS = (200_000, 400), (10_000, 40)
ROWS = {100: 40_000, 300: 16_000, 1000: 6_000, 5000: 200}  # rows for each number of labels
QUICK_ROWS = {100: 200, 300: 100, 1000: 40, 5000: 4}
REQUIRED_LABELS = 1000  # at which the ratio to the quadratic recursion has a bound
SHORT, QUICK_SHORT = (1_000_000, 7), (10_000, 7)
ROUNDS = 7
THREADS = 2
CHECKED = 100  # rows of each length whose expected F is checked one by one
BLOCK, STRIP = 25, 512  # columns that a thread copies together to sort them, and rows that it copies at a time
WHOLE_TABLE = 2000  # labels up to which the quadratic recursion keeps all distributions
SPREAD = 2.5  # standard deviation of the logits of a row
READ, FIT, PREDICT, ALONE = "read of the columns", "macro fit", "macro fit and predict", "macro fit, 1 thread"
QUADRATIC, STOPPED = "quadratic recursion", "quadratic, stopped"
SORT, COMPILED = "np.sort of the columns", "compiled sort of the columns"
ASCENT = "xCOLUMNs block coordinate ascent"


def sigmoid(logits: Floats) -> Floats:
    """Give probabilities of logits."""
    return 1 / (1 + np.exp(-logits))  # type: ignore[no-any-return]


def draw_rows(n_rows: int, n_labels: int, seed: int = 0) -> Floats:
    """Draw rows; each one's shift is found by bisection."""
    rng = np.random.default_rng(seed)
    wanted = np.exp(rng.uniform(0, np.log(min(30, n_labels / 3)), n_rows))
    logits = SPREAD * rng.standard_normal((n_rows, n_labels))
    low, high = np.full((2, n_rows), [[-60.0], [60.0]])
    for _ in range(50):
        middle = (low + high) / 2
        above = sigmoid(logits + middle[:, None]).sum(axis=1) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return sigmoid(logits + low[:, None])


def draw_columns(n_samples: int, n_labels: int, seed: int = 0) -> Scores:
    """Draw columns, a block of rows at a time."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(np.log(1e-4), np.log(0.3), n_labels))
    separations = rng.uniform(0, 3, n_labels)
    probabilities = np.empty((n_samples, n_labels), np.float32)
    for start in range(0, n_samples, 4096):
        part = probabilities[start : start + 4096]
        scores = rng.standard_normal(part.shape) + separations * (rng.random(part.shape) < rates)
        part[:] = sigmoid(np.log(rates / (1 - rates)) + separations * (scores - separations / 2))
    return probabilities


@njit(nogil=True, fastmath=True)  # type: ignore[untyped-decorator]
def fill_distributions(p: Any, start: int, stop: int, table: Any) -> None:
    """Give in row k - start of `table` the distribution of the number of ones among the first k; row 0 is given."""
    for k in range(start + 1, stop + 1):
        before, after, q = table[k - 1 - start], table[k - start], p[k - 1]
        r = 1 - q
        after[0] = before[0] * r
        for s in range(1, k):
            after[s] = before[s] * r + before[s - 1] * q
        after[k] = before[k - 1] * q


@njit(nogil=True)  # type: ignore[untyped-decorator]
def make_room(n: int) -> Any:
    """Give the arrays that `value_prefixes` works in."""
    size = n if n <= WHOLE_TABLE else 32
    marks, table = np.empty(((n - 1) // size + 1, n + 1)), np.empty((size + 1, n + 1))
    return np.arange(n + 1).astype(np.float64), np.empty(2 * n + 2), marks, table


@njit(nogil=True, fastmath=True)  # type: ignore[untyped-decorator]
def value_prefixes(p: Any, most: int, room: Any, values: Any) -> None:
    """Give the expected F1 of predicting the first k, for all k up to `most`.

    `rest[a]` is E[1 / (a + S_k+1..n)]. Long rows keep the distribution of ones among the first k for some k only, in
    `marks`, and compute those between twice, which is faster than a table beyond the cache.
    """
    whole, rest, marks, table = room
    n, size = p.size, table.shape[0] - 1
    last = (most - 1) // size
    table[0, 0] = 1.0
    for block in range(last + 1):
        marks[block, : block * size + 1] = table[0, : block * size + 1]
        fill_distributions(p, block * size, min(most, (block + 1) * size), table)
        if block < last:
            table[0, : (block + 1) * size + 1] = table[size, : (block + 1) * size + 1]
    for a in range(1, most + n + 1):
        rest[a] = 1.0 / a
    for k in range(n, most, -1):
        q = p[k - 1]
        r = 1 - q
        for a in range(1, most + k):
            rest[a] = r * rest[a] + q * rest[a + 1]
    for block in range(last, -1, -1):
        start, stop = block * size, min(most, (block + 1) * size)
        if block < last:
            table[0, : start + 1] = marks[block, : start + 1]
            fill_distributions(p, start, stop, table)
        for k in range(stop, start, -1):
            q = p[k - 1]
            r, ones, used, total = 1 - q, table[k - start], rest[k + 1 :], 0.0
            for a in range(1, k + 1):
                rest[a] = r * rest[a] + q * rest[a + 1]
            for s in range(k):
                x = used[s]
                total += whole[s + 1] * ones[s + 1] * x
                used[s] = r * x + q * used[s + 1]
            values[k] = 2 * total


@njit(nogil=True)  # type: ignore[untyped-decorator]
def last_useful(p: Any) -> int:
    """Give a k beyond which no top-k can win: E F1 is between 2 m / (mean + k + 1) and 2 m / (m + k), m their sum."""
    mean, m, reached = p.sum(), 0.0, 0.0
    for k in range(1, p.size + 1):
        m += p[k - 1]
        if 2 * m < reached * (m + k):
            return k - 1
        reached = max(reached, 2 * m / (mean + k + 1))
    return int(p.size)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def choose_sets(probabilities: Any, upward: Any, stopped: bool, decisions: Any) -> None:
    """Mark in each row the top k of highest expected F1; `upward` holds the sorted rows."""
    n_rows, n = probabilities.shape
    room, values = make_room(n), np.zeros(n + 1)
    for i in range(n_rows):
        downward = upward[i, ::-1]
        most = last_useful(downward) if stopped else n
        value_prefixes(downward, most, room, values)
        best = values[: most + 1].argmax()
        cut = downward[best - 1]
        equals = best - np.sum(upward[i] > cut)
        for j in range(n):
            p = probabilities[i, j]
            decisions[i, j] = p > cut or (p == cut and equals > 0)
            equals -= p == cut


@njit(nogil=True)  # type: ignore[untyped-decorator]
def value_sets(probabilities: Any, decisions: Any, values: Any) -> None:
    """Give the expected F1 of any set of each row, by the same recursions: its members come first."""
    n = probabilities.shape[1]
    room, prefixes = make_room(n), np.zeros(n + 1)
    for i in range(len(values)):
        inside = decisions[i] > 0
        members = probabilities[i][inside]
        value_prefixes(np.append(members, probabilities[i][~inside]), n, room, prefixes)
        values[i] = prefixes[members.size]


def on_threads(function: Callable[..., object], *arrays: npt.NDArray[Any]) -> None:
    """Apply a function to pieces of the rows of arrays."""
    with ThreadPoolExecutor(THREADS) as pool:
        pieces = (np.array_split(array, min(len(array), 8 * THREADS)) for array in arrays)
        list(pool.map(function, *pieces))


def quadratic_sets(probabilities: Floats, stopped: bool = False) -> Truth:
    """Find the best sets by the quadratic recursion."""
    decisions = np.empty(probabilities.shape, np.uint8)
    on_threads(lambda part, chosen: choose_sets(part, np.sort(part, axis=1), stopped, chosen), probabilities, decisions)
    return decisions


def quadratic_values(probabilities: Floats, decisions: Truth) -> Floats:
    """Give the expected F1 of sets."""
    values = np.empty(len(probabilities))
    on_threads(value_sets, probabilities, decisions, values)
    return values


def our_sets(probabilities: Floats) -> Truth:
    """Find the best sets by our rule."""
    return thresholds.InstanceRule().predict(probabilities, n_jobs=THREADS)  # type: ignore[no-any-return]


@njit(nogil=True)  # type: ignore[untyped-decorator]
def copy_columns(probabilities: Any, start: int, columns: Any) -> None:
    """Copy some columns so that each is contiguous, a strip of rows at a time."""
    width, n = columns.shape
    for low in range(0, n, STRIP):
        for j in range(width):
            for i in range(low, min(n, low + STRIP)):
                columns[j, i] = probabilities[i, start + j]


@njit(nogil=True, fastmath=True)  # type: ignore[untyped-decorator]
def best_of_sorted(upward: Any) -> Any:
    """Give the highest F1 of expected counts of one label: one more cell raises F while it exceeds F / 2."""
    positives, tp, f = 0.0, 0.0, 0.0
    for i in range(upward.size):
        positives += np.float64(upward[i])
    for predicted in range(1, upward.size + 1):
        p = np.float64(upward[upward.size - predicted])
        if 2 * p <= f:
            break
        tp += p
        f = 2 * tp / (positives + predicted)
    return f


def simd_sorted(column: Scores) -> Scores:
    """Sort one column by NumPy, in place."""
    column.sort()
    return column


@njit(nogil=True)  # type: ignore[untyped-decorator]
def compiled_sorted(column: Any) -> Any:
    """Sort one column by Numba, in place."""
    column.sort()
    return column


def sorted_f1(probabilities: Scores, sort: Callable[[Scores], Scores]) -> Floats:
    """Give the highest F1 of expected counts of every label by sorting."""
    n_samples, n_labels = probabilities.shape
    best = np.empty(n_labels)

    def fit_blocks(thread: int) -> None:
        room = np.empty((BLOCK, n_samples), np.float32)
        for start in range(thread * BLOCK, n_labels, THREADS * BLOCK):
            columns = room[: n_labels - start]
            copy_columns(probabilities, start, columns)
            best[start : start + BLOCK] = [best_of_sorted(sort(column)) for column in columns]

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fit_blocks, range(THREADS)))
    return best


def counted_f1(probabilities: Scores, decisions: npt.NDArray[Any]) -> Floats:
    """Give F1 of expected counts of every label, by NumPy."""
    f1 = np.empty(probabilities.shape[1])
    for j in range(f1.size):
        p, chosen = probabilities[:, j].astype(np.float64), decisions[:, j] > 0
        f1[j] = 2 * p[chosen].sum() / (p.sum() + np.count_nonzero(chosen))
    return f1


def fit(probabilities: Scores, n_jobs: int = THREADS) -> Any:
    """Fit our rule."""
    return thresholds.fit_expected(probabilities, "macro", n_jobs=n_jobs)


def contenders(columns: Scores, rows: dict[int, Floats], short: Floats) -> dict[str, Callable[[], Any]]:
    """Give what is timed in every round, by name."""
    calls: dict[str, Callable[[], Any]] = {
        READ: columns.max,
        FIT: lambda: fit(columns),
        PREDICT: lambda: fit(columns).predict(columns),
        ALONE: lambda: fit(columns, 1),
        SORT: lambda: sorted_f1(columns, simd_sorted),
        COMPILED: lambda: sorted_f1(columns, compiled_sorted),
        name_short(short): lambda: our_sets(short),
    }
    for part in rows.values():
        calls[name_rows(part)] = partial(our_sets, part)
        calls[name_rows(part, QUADRATIC)] = partial(quadratic_sets, part)
        calls[name_rows(part, STOPPED)] = partial(quadratic_sets, part, stopped=True)
    return calls


def name_short(short: Floats) -> str:
    """Name the short rows."""
    return f"{len(short):,} rows of {short.shape[1]} labels"


def name_rows(rows: Floats, who: str = "ours") -> str:
    """Name a contender for rows."""
    return f"{who}, {rows.shape[1]} labels"


def compare_columns(columns: Scores, ascent: npt.NDArray[Any]) -> list[Ratio]:
    """Compare values of the fits of columns; the ascent may be worse than the maximum."""
    rule = fit(columns)
    best = counted_f1(columns, rule.predict(columns))
    by_sorting = np.array([sorted_f1(columns, sort) for sort in (simd_sorted, compiled_sorted)])
    excess = counted_f1(columns, ascent).mean() - best.mean()
    return [
        Ratio("largest difference to sorting, F1 of a label", np.abs(by_sorting - best).max(), at_most=1e-12),
        Ratio("difference to the objective", abs(rule.objective - best.mean()), at_most=1e-12),
        Ratio(f"F1 of {ASCENT} - ours", excess, at_most=1e-9),
    ]


def compare_rows(rows: Sequence[Floats]) -> list[Ratio]:
    """Compare values of the sets of rows, and of `expected_f` on all rows of a length and on some one by one."""
    of_sets, of_function = [], []
    for part in rows:
        ours = our_sets(part)
        values = quadratic_values(part, ours)
        for stopped in (False, True):
            theirs = quadratic_values(part, quadratic_sets(part, stopped))
            of_sets.append(np.abs(theirs - values).max())
        of_function.append(abs(thresholds.expected_f(part, ours, "samples", exact=True) - values.mean()))
        for i in range(min(CHECKED, len(part))):
            alone = thresholds.expected_f(part[i : i + 1], ours[i : i + 1], "samples", exact=True)
            of_function.append(abs(alone - values[i]))
    return [
        Ratio("largest difference in value of a row's set", max(of_sets), at_most=1e-11),
        Ratio("largest difference of expected_f", max(of_function), at_most=1e-11),
    ]


def compare_times(median: dict[str, float], rows: dict[int, Floats], short: Floats) -> list[Ratio]:
    """Give all ratios of times."""
    ratios = []
    for rival, (n_labels, part) in product((QUADRATIC, STOPPED), rows.items()):
        required = 10 if rival == QUADRATIC and n_labels == REQUIRED_LABELS else None
        name = f"{rival} / ours, rows of {n_labels} labels"
        ratios.append(Ratio(name, median[name_rows(part, rival)] / median[name_rows(part)], at_least=required))
    return [
        *ratios,
        Ratio(f"{ASCENT} / {PREDICT}", median[ASCENT] / median[PREDICT], at_least=50),
        Ratio(f"{ASCENT} / {ALONE}", median[ASCENT] / median[ALONE]),
        Ratio(f"{COMPILED} / {FIT}", median[COMPILED] / median[FIT], at_least=5),
        Ratio(f"{SORT} / {FIT}", median[SORT] / median[FIT]),
        Ratio(f"{FIT} / {READ}", median[FIT] / median[READ]),
        Ratio(f"microseconds a row, {name_short(short)}", median[name_short(short)] / len(short) * 1e6),
    ]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time rules from probabilities alone against their rivals.")
    parser.add_argument("--quick", action="store_true", help="a small size, which compares values but checks no ratio")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    sizes = QUICK_ROWS if options.quick else ROWS
    columns = draw_columns(*(QUICK_COLUMNS if options.quick else COLUMNS))
    rows = {n_labels: draw_rows(n_rows, n_labels) for n_labels, n_rows in sizes.items()}
    short = draw_rows(*(QUICK_SHORT if options.quick else SHORT))
    for call in contenders(columns[:2000], {2: rows[100][:20]}, short[:20]).values():
        call()  # Which compiles.
    calls = contenders(columns, rows, short)
    times: dict[str, list[float]] = {name: [] for name in (*calls, ASCENT)}
    ascent: list[npt.NDArray[Any]] = []
    for turn in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(seconds(call))
        if turn == ROUNDS // 2:
            times[ASCENT].append(seconds(lambda: ascent.append(block_coordinate_ascent(columns, 0, seed=0))))
    compared = compare_rows(list(rows.values())) + compare_columns(columns, ascent[0])
    timed = compare_times({name: float(np.median(each)) for name, each in times.items()}, rows, short)
    ratios, machine = compared + (unbounded(timed) if options.quick else timed), describe_machine()
    machine["xcolumns"] = metadata.version("xcolumns")
    print(f"{columns.shape[0]:,} x {columns.shape[1]} columns, {ROUNDS} rounds, {THREADS} threads unless noted\n")
    for name, each in times.items():
        print(f"{name:<34}{np.median(each):9.4f} s, median ({min(each):.4f} to {max(each):.4f})")
    show_ratios(ratios, machine)
    write_json(options.json, ratios, machine, shape=columns.shape, rows=sizes, seconds=times)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
