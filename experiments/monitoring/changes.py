"""How often `rule.check` raises a false alarm, and how often it names what has changed.

    python experiments/monitoring/changes.py [--pairs N] [--trials N] [FOLDER]

1. False alarms: two samples of one distribution, a rule fitted on the first, the second checked. Printed is how many
   pairs are not `ok`, and after how many `predict` warns, for several numbers of rows and labels, guards, ties, masks,
   sparse lists of the ten highest scores, and scores of a row that depend on each other.
2. Changes: 50 labels, 2,000 rows of the fit, 1,000 new rows that were changed. Printed is how often anything is found,
   how often anything grave, how often a finding names the cause, and how often `predict` warns.
3. With a FOLDER of real score files: rows are split at random, so that both samples have one distribution; false
   alarms, grave ones apart, and the same changes. Permuted columns are named only where labels can be told apart. Where
   all scores are shifted alike so that the rule predicts 31 % more labels: how often anything is grave.

The scores of a simulated label are normal with a mean of its own, around -2; its positives, .5 to 30 % of rows, score
higher by .5 to 3.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

import thresholds
from thresholds._results.text import aligned
from thresholds.files import read_labelled
from thresholds.rule import ThresholdRule

FILES = (
    "bibtex",
    "chestxray14_chexnet",
    "code_ecg",
    "corel5k",
    "delicious",
    "emotions",
    "litcovid_bc7",
    "ohsumed23",
    "ptbxl_xresnet1d101",
    "pubmed_mesh",
    "pubmed_mesh_all",
    "yeast",
)
ONE = float(np.nextafter(np.float32(1), np.float32(0)))


class Design(NamedTuple):
    """Two samples of one distribution, and how the rule is fitted on the first."""

    n_labels: int
    n_fit: int
    n_new: int
    kind: str = "independent"
    average: str = "macro"
    guard: str | None = None


DESIGNS = (
    Design(20, 300, 50),
    Design(20, 2000, 1000),
    Design(20, 2000, 1000, guard="shrink"),
    Design(50, 50, 1000),
    Design(50, 2000, 1000, "dependent", "micro"),
    Design(50, 2000, 1000, "tied"),
    Design(50, 2000, 1000, "masked"),
    Design(200, 300, 50),
    Design(200, 1000, 1000, guard="shrink"),
    Design(200, 1000, 3000, "sparse"),
    Design(1000, 300, 300, "sparse"),
    Design(1000, 300, 300),
)


class World:
    """Labels, of which rows can be drawn."""

    def __init__(self, rng: np.random.Generator, n_labels: int, kind: str = "independent") -> None:
        self.rng = rng
        self.kind = kind
        self.mean = rng.normal(-2, 1, n_labels)
        self.gap = rng.uniform(0.5, 3, n_labels)
        self.base_rate = rng.uniform(0.005, 0.3, n_labels)

    def rows(self, n: int, base_rate: Any = None) -> tuple[Any, Any]:
        """Draw truth and scores."""
        shape = (n, self.mean.size)
        truth = self.rng.random(shape) < (self.base_rate if base_rate is None else base_rate)
        scores = self.rng.normal(size=shape) + self.mean + truth * self.gap
        if self.kind == "dependent":
            scores += 2 * self.rng.normal(size=(n, 1))
        if self.kind == "tied":
            scores = np.round(scores)
        if self.kind == "masked":
            scores[self.rng.random(shape) < 0.2] = -np.inf
        if self.kind == "sparse":
            least = np.partition(scores, -10, axis=1)[:, -10:-9]
            scores = sparse.csr_array(np.where(scores >= least, expit(scores), 0))
        return truth, scores


class Change(NamedTuple):
    """What happens to scores, and what a finding should say of it."""

    name: str
    of: Callable[[Any, np.random.Generator], Any]
    kind: str
    words: str
    on_probabilities: bool = False


def permuted(scores: Any, rng: np.random.Generator) -> Any:
    """Put the columns in random order."""
    return scores[:, rng.permutation(scores.shape[1])]


def swapped(scores: Any, rng: np.random.Generator) -> Any:
    """Swap two columns of which the scores differ, the first and that of the farthest median."""
    medians = np.median(scores, axis=0)
    other = int(np.argmax(np.abs(medians - medians[0])))
    order = np.arange(scores.shape[1])
    order[[0, other]] = order[[other, 0]]
    return scores[:, order]


CHANGES = (
    Change("probabilities for logits", lambda s, _: expit(s), "scale", "look like probabilities"),
    Change("logits for probabilities", lambda s, _: logit(s), "scale", "look like logits", True),
    Change("percent for fractions", lambda s, _: 100 * s, "scale", "look like percent", True),
    Change("log-probabilities for probabilities", lambda s, _: np.log(s), "scale", "look like logarithms", True),
    Change("shifted by .1", lambda s, _: s + 0.1, "moved", "higher"),
    Change("shifted by .3", lambda s, _: s + 0.3, "moved", "higher"),
    Change("doubled", lambda s, _: 2 * s, "moved", "times"),
    Change("doubled logits of probabilities", lambda s, _: expit(2 * logit(s)), "moved", "their logits", True),
    Change("columns reversed", lambda s, _: s[:, ::-1], "order", "reverse order"),
    Change("columns one to the right", lambda s, _: np.roll(s, 1, axis=1), "order", "too far to the right"),
    Change("columns permuted", permuted, "order", "wrong places"),
    Change("two columns swapped", swapped, "order", "wrong places"),
)
RATES = "positives of 10 labels 3 times as frequent"


def fitted(truth: Any, scores: Any, average: str = "macro", guard: str | None = None) -> ThresholdRule:
    """Fit a rule, one that keeps sparse scores sparse."""
    return thresholds.fit_empirical(truth, scores, average, guard=guard, keep_sparse=True, n_jobs=1)


def false_alarms(n_pairs: int) -> str:
    """Count pairs of samples of one distribution that are not found alike."""
    body = []
    for design in DESIGNS:
        kinds: dict[str, int] = {}
        n_alarms = n_warnings = 0
        for seed in range(n_pairs):
            world = World(np.random.default_rng([seed, design.n_labels]), design.n_labels, design.kind)
            rule = fitted(*world.rows(design.n_fit), design.average, design.guard)
            new = world.rows(design.n_new)[1]
            check = rule.check(new)
            n_alarms += not check.ok
            n_warnings += warns(rule, new)
            for finding in check.findings:
                kinds[finding.kind] = kinds.get(finding.kind, 0) + 1
        said = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        shares = (f"{n / n_pairs:.1%}" for n in (n_alarms, n_warnings))
        cells = (design.kind, str(design.guard), *map(str, design[:3]), *shares, said)
        body.append(cells)
    head = [("scores", "guard", "labels", "fit", "new", "not ok", "warns", "findings")]
    return f"False alarms, {n_pairs:,} pairs each\n{aligned(head, body, left=(0, 1, 7))}"


def warns(rule: ThresholdRule, scores: Any) -> bool:
    """Tell whether `predict` warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.predict(scores)
    return bool(caught)


def outcome(rule: ThresholdRule, scores: Any, kind: str, words: str) -> tuple[bool, bool, bool, bool]:
    """Tell whether anything is found, anything grave, the cause, and whether `predict` warns."""
    check = rule.check(scores)
    named = any(finding.kind == kind and words in finding.sentence for finding in check.findings)
    return not check.ok, bool(check.grave), named, warns(rule, scores)


def as_shares(found: list[tuple[bool, bool, bool, bool]]) -> tuple[str, ...]:
    """Return shares of trials as text."""
    return tuple(f"{share:.1%}" for share in np.mean(found, axis=0))


def changes(n_trials: int) -> str:
    """Count how often changes are found and named."""
    body = []
    for change in CHANGES:
        found = []
        for seed in range(n_trials):
            rng = np.random.default_rng([seed, 50])
            world = World(rng, 50)
            truth, scores = world.rows(2000)
            new = world.rows(1000)[1]
            if change.on_probabilities:
                scores, new = expit(scores), expit(new)
            found.append(outcome(fitted(truth, scores), change.of(new, rng), change.kind, change.words))
        body.append((change.name, *as_shares(found)))
    found = []
    for seed in range(n_trials):
        world = World(np.random.default_rng([seed, 50]), 50)
        more = np.where(np.arange(50) < 10, 3, 1) * world.base_rate
        rule = fitted(*world.rows(2000))
        found.append(outcome(rule, world.rows(1000, more)[1], "rates", "predicted more often"))
    body.append((RATES, *as_shares(found)))
    head = [("change", "found", "grave", "named", "predict warns")]
    return f"Changes, {n_trials:,} trials each\n{aligned(head, body)}"


def with_more(rule: ThresholdRule, scores: Any, times: float) -> Any:
    """Shift all scores alike, so far that the rule predicts so many times as many labels."""
    n_wanted = times * rule.decide(scores).sum()
    low, high = 0.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2
        if rule.decide(scores + middle).sum() < n_wanted:
            low = middle
        else:
            high = middle
    return scores + high


def real(folder: Path, n_splits: int) -> str:
    """Split real files at random; count false alarms, and changes that are named."""
    body = []
    names = [change.name for change in CHANGES if not change.on_probabilities]
    for file in FILES:
        data = read_labelled(folder / f"{file}.npz", "y_score")
        n = data.y_score.shape[0]
        size = min(1000, n // 2)
        n_alarms = n_grave = n_grave_of_more = 0
        named = dict.fromkeys(names, 0)
        is_sparse = sparse.issparse(data.y_score)
        for seed in range(n_splits):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(n)[: 2 * size]
            first, second = np.sort(rows[:size]), np.sort(rows[size:])
            scores = data.y_score
            if not is_sparse and scores.min() >= 0 and scores.max() <= 1:
                scores = logit(np.clip(scores.astype(np.float64), 1e-7, ONE))
            rule = fitted(data.y_true[first], scores[first])
            new = scores[second]
            check = rule.check(new)
            n_alarms += not check.ok
            n_grave += bool(check.grave)
            if is_sparse or seed >= 5:
                continue
            for change in CHANGES:
                if not change.on_probabilities:
                    named[change.name] += outcome(rule, change.of(new, rng), change.kind, change.words)[2]
            n_grave_of_more += bool(rule.check(with_more(rule, new, 1.31)).grave)
        shares = ["" if is_sparse else f"{named[name]}/{min(n_splits, 5)}" for name in names]
        more = "" if is_sparse else f"{n_grave_of_more}/{min(n_splits, 5)}"
        body.append((file, str(size), f"{n_alarms}/{n_splits}", f"{n_grave}/{n_splits}", more, *shares))
    head = [("file", "rows", "not ok", "grave", "31% more", *names)]
    cells = aligned(head, body, left=())  # Names of files are not shortened.
    return f"Real scores, as logits where they are fractions; how often the change is named\n{cells}"


def main() -> int:
    """Simulate, split, print."""
    parser = argparse.ArgumentParser(description="False alarms of rule.check, and changes that it names.")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="holds real score files")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    print(false_alarms(options.pairs), changes(options.trials), sep="\n\n", flush=True)
    if options.folder is not None:
        print(f"\n{real(options.folder, 20)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
