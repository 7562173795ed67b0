"""How large partial sums are on their way to the driver, and what the network carries, by the shape of the tree.

64 shards of 1,024 rows and 100 labels, one positive label a row on average, lie on 8 workers. The statistic of each
shard is made and added up for real; sizes are those of its `nbytes`. Nothing is timed.

* all to one: each shard's statistic is sent to the driver, which adds them up.
* worker first: each worker adds up its own 8 shards, and sends one sum to the driver.
* by two: each worker adds up its own; then sums are added two by two, three times; one is sent to the driver.
* by label: each worker adds up its own; then each is sent an eighth of the labels by every other, adds up these
  (`Counts.labels`), and sends them to the driver, which puts them side by side (`Counts.joined`).

Then, for labels of which one row in 2,000 is positive, which part of the candidates a second counting pass is left with
where a first one counted at some quantiles.

    python experiments/scale/tree.py > experiments/scale/tree.txt
"""

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thresholds import Candidates, Counts
from thresholds.metrics import macro_auroc

N_WORKERS, SHARDS_OF_WORKER, N_ROWS, N_LABELS = 8, 8, 1024, 100
BASE_RATE = 1 / N_LABELS
N_QUANTILES = 32
RARE, QUANTILES = 0.0005, (32, 256, 1024)

Part = Any  # Candidates or Counts


class Traffic(NamedTuple):
    """What is sent, in bytes."""

    total: int
    busiest: int  # into the node, a worker or the driver, that is sent most


def main() -> None:
    """Make the statistics of all shards, add them up in each shape, and print sizes."""
    shards = [make_shard(number) for number in range(N_WORKERS * SHARDS_OF_WORKER)]
    candidates = reduce(add, (Candidates.of(*shard) for shard in shards))
    quantiles = candidates.quantiles(N_QUANTILES)
    statistics: dict[str, Callable[[Any, Any], Part]] = {
        "candidates, float32": Candidates.of,
        "counts at all of them": partial(Counts.of, candidates=candidates),
        f"counts at {N_QUANTILES} of each label": partial(Counts.of, candidates=quantiles),
        "tie groups, float32": Counts.of,
        "tie groups, float16": lambda truth, scores: Counts.of(truth, scores.astype(np.float16)),
        "tie groups, 3 decimals": lambda truth, scores: Counts.of(truth, scores.round(3)),
    }
    shapes = {"all to one": all_to_one, "worker first": worker_first, "by two": by_two, "by label": by_label}

    n_cells = len(shards) * N_ROWS * N_LABELS
    print(
        f"{len(shards)} shards of {N_ROWS:,} rows and {N_LABELS} labels on {N_WORKERS} workers;"
        f" {candidates.n_candidates:,} candidates; all scores as float32: {megabytes(4 * n_cells).strip()} MB\n"
    )
    print(f"{'MB':28}{'sum of one':>12}{'sum of a':>12}{'sum of':>12}    sent in all; of it into the busiest node")
    print(f"{'':28}{'shard':>12}{'worker':>12}{'all':>12}  " + "".join(f"{name:>19}" for name in shapes))
    for name, of in statistics.items():
        parts = [of(*shard) for shard in shards]
        of_worker = [parts[worker::N_WORKERS] for worker in range(N_WORKERS)]
        sums = [reduce(add, own) for own in of_worker]
        sizes = (largest(parts), largest(sums), reduce(add, sums).nbytes)
        sent = [shape(of_worker, sums) for shape in shapes.values()]
        print(
            f"{name:28}{''.join(f'{megabytes(size):>12}' for size in sizes)}  "
            + "".join(f"{megabytes(found.total):>11}{megabytes(found.busiest):>8}" for found in sent)
        )


def show_what_is_left() -> None:
    """Count a label at quantiles, and print how many candidates are left, as a share."""
    print(f"\none row in {1 / RARE:,.0f} positive; candidates that are left after counting at so many quantiles")
    print(f"{'rows':>12}{'AUROC':>8}{'candidates':>12}" + "".join(f"{n:>9}" for n in QUANTILES))
    for n_rows in (10**6, 10**7):
        for distance in (2.0, 3.0, 4.0):
            rng = np.random.default_rng(0)
            truth = rng.random((n_rows, 1)) < RARE
            scores = (rng.normal(size=truth.shape) + distance * truth).astype(np.float32)
            candidates = Candidates.of(truth, scores)
            cells = f"{n_rows:>12,}{macro_auroc(truth, scores):>8.3f}{candidates.n_candidates:>12,}"
            for n in QUANTILES:
                first = candidates.quantiles(n)
                needed = Counts.of(truth, scores, first).needed_for("macro", candidates=candidates)
                n_left = 0 if needed is None else needed.n_candidates - first.n_candidates
                cells += f"{n_left / candidates.n_candidates:>9.1%}"
            print(cells)


def make_shard(number: int) -> tuple[Any, Any]:
    """Draw truth and probabilities of one shard, both (N_ROWS, N_LABELS)."""
    rng = np.random.default_rng(number)
    truth = rng.random((N_ROWS, N_LABELS)) < BASE_RATE
    logits = rng.normal(size=truth.shape, loc=-5 + 4 * truth)
    return truth, (1 / (1 + np.exp(-logits))).astype(np.float32)


def all_to_one(of_worker: list[list[Part]], sums: list[Part]) -> Traffic:
    """Send everything to the driver."""
    total = sum(part.nbytes for parts in of_worker for part in parts)
    return Traffic(total, total)


def worker_first(of_worker: list[list[Part]], sums: list[Part]) -> Traffic:
    """Send the sum of each worker to the driver."""
    total = sum(part.nbytes for part in sums)
    return Traffic(total, total)


def by_two(of_worker: list[list[Part]], sums: list[Part]) -> Traffic:
    """Send the sums of every second worker to the one before, until one is left, which goes to the driver."""
    received = [0] * N_WORKERS
    step = 1
    while step < N_WORKERS:
        for worker in range(0, N_WORKERS, 2 * step):
            received[worker] += sums[worker + step].nbytes
            sums = [*sums[:worker], sums[worker] + sums[worker + step], *sums[worker + 1 :]]
        step *= 2
    received.append(sums[0].nbytes)
    return Traffic(sum(received), max(received))


def by_label(of_worker: list[list[Part]], sums: list[Part]) -> Traffic:
    """Send each worker its labels of all sums, then their sum to the driver."""
    edges = np.linspace(0, N_LABELS, N_WORKERS + 1).astype(int).tolist()
    received, to_driver = [], 0
    for worker in range(N_WORKERS):
        pieces = [part.labels(edges[worker], edges[worker + 1]) for part in sums]
        received.append(sum(piece.nbytes for piece in pieces) - pieces[worker].nbytes)
        to_driver += reduce(add, pieces).nbytes
    received.append(to_driver)
    return Traffic(sum(received), max(received))


def largest(parts: list[Part]) -> int:
    """Return the size of the largest part."""
    return max(part.nbytes for part in parts)


def megabytes(size: int) -> str:
    """Return a number of bytes in millions."""
    return f"{size / 1e6:,.2f}"


if __name__ == "__main__":
    main()
    show_what_is_left()
