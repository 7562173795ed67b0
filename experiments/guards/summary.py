"""What the runs of `compare_guards.py` say together: means over data sets, and whether the claims hold.

A data set counts once: the mean over the runs of each score key, then over its keys. `NAME` and `NAME_weak` are one
data set. A standard error is the standard deviation over data sets of the mean paired difference, divided by the root
of their number; repeats are not independent data. All figures are in points, F x 100.
"""

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import earlier
import numba
import numpy as np
import scipy
from earlier import SIZES

import thresholds

SUPPORTS = (1, 4, 10, 30, 100)  # where the classes of positives in the calibration rows begin
SUBSETS = {"pubmed_mesh"}  # columns of pubmed_mesh_all: shown, but in no mean
BASES = ("plain, score", "plain, low")
MOST_LOST = 0.1  # points that the guard may lose against a plain optimum, in the mean of any data set

EARLIER = """\
Gains over "plain, score"; platypus and optimism are those of the two tables above. The earlier figures come from an
earlier implementation and other subsamples; some are means over score keys instead of data sets. micromacro is a
re-implementation in both, and not the same."""

Means = dict[str, float]


@dataclass(frozen=True)
class Record:
    """One method in one run."""

    file: str
    key: str
    size: str
    repeat: int
    swapped: bool
    method: str
    macro: float  # over labels with positives in calibration and test rows
    macro_tested: float  # over labels with positives in the test rows
    micro: float
    optimism: float
    platypus: float  # share of the labels with positives in the test rows
    f_by_support: list[float]  # sums of F over the labels of each class
    n_by_support: list[int]

    @property
    def data_set(self) -> str:
        """The data set of the file."""
        return self.file.removesuffix("_weak")


@dataclass(frozen=True)
class Gain:
    """A mean paired difference over data sets, in points."""

    mean: float
    error: float
    won: int
    of: int

    @classmethod
    def between(cls, these: Means, those: Means) -> "Gain":
        """Compare two means of each data set."""
        found = np.array([100 * (these[name] - those[name]) for name in these if name not in SUBSETS])
        error = found.std(ddof=1) / np.sqrt(found.size) if found.size > 1 else np.nan
        return cls(float(found.mean()) if found.size else np.nan, float(error), int((found > 0).sum()), found.size)

    def __str__(self) -> str:
        error = "" if np.isnan(self.error) else f" ({self.error:.2f})"
        return f"{self.mean:+.2f}{error} {self.won}/{self.of}" if self.of else ""


@dataclass(frozen=True)
class Claim:
    """A sentence and whether it holds."""

    text: str
    holds: bool

    def __str__(self) -> str:
        return f"- {'holds' if self.holds else '**fails**'}: {self.text}"


@dataclass(frozen=True)
class Summary:
    """All runs."""

    records: list[Record]
    versions: dict[str, str]
    repeats: int
    complete: bool = True  # all files: claims are judged

    @cached_property
    def data_sets(self) -> set[str]:
        """Data sets that are in the means."""
        return {record.data_set for record in self.records} - SUBSETS

    @property
    def comparable(self) -> bool:
        """Whether the data sets are those of the earlier figures."""
        return self.data_sets == earlier.DATA_SETS

    @cached_property
    def methods(self) -> list[str]:
        """Methods in the order of the runs."""
        return list(dict.fromkeys(record.method for record in self.records))

    @cached_property
    def by_case(self) -> dict[tuple[str, str], list[Record]]:
        """Records of each method and size."""
        found: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            found.setdefault((record.method, record.size), []).append(record)
        return found

    def means(self, method: str, size: str, field: str) -> Means:
        """Give the mean of a measure on each data set."""

        def mean(runs: list[Record]) -> float:
            return float(np.mean([getattr(run, field) for run in runs]))

        return _by_data_set(self.by_case.get((method, size), []), mean)

    def means_by_support(self, method: str, place: int) -> Means:
        """Give the mean F on each data set of the labels of a class, all sizes together."""

        def mean_f(runs: list[Record]) -> float:
            n = sum(run.n_by_support[place] for run in runs)
            return sum(run.f_by_support[place] for run in runs) / n if n else np.nan

        runs = [record for size in SIZES for record in self.by_case.get((method, size), [])]
        return _by_data_set(runs, mean_f)

    def gain(self, method: str, base: str, size: str, field: str = "macro") -> Gain:
        """Compare a method with another."""
        return Gain.between(self.means(method, size, field), self.means(base, size, field))

    def gain_by_support(self, method: str, base: str, place: int) -> Gain:
        """Compare a method with another on the labels of a class."""
        return Gain.between(self.means_by_support(method, place), self.means_by_support(base, place))

    def claims(self) -> list[Claim]:
        """Judge what is said of the guard "shrink"."""
        found = []
        for size, (gain, error) in zip(SIZES, earlier.MACRO["shrink"], strict=True) if self.comparable else ():
            ours = self.gain("shrink", BASES[0], size)
            gains = f"{ours.mean:+.2f} ({ours.error:.2f}) at {size} rows, earlier {gain:+.2f} ({error:.2f})"
            found.append(Claim(f'"shrink" gains {gains}', bool(abs(ours.mean - gain) <= np.hypot(ours.error, error))))
        for base in BASES:
            lost, name, size = min(self._differences(base))
            text = f'"shrink" is never more than {MOST_LOST:.1f} below "{base}": least {lost:+.2f} ({name}, {size})'
            found.append(Claim(text, bool(lost >= -MOST_LOST)))
        return found

    def _differences(self, base: str) -> Iterator[tuple[float, str, str]]:
        """Give the gain of "shrink" on each data set at each size."""
        for size in SIZES:
            ours, theirs = (self.means(method, size, "macro") for method in ("shrink", base))
            for name in ours:
                yield 100 * (ours[name] - theirs[name]), name, size

    def markdown(self) -> str:
        """Show everything."""
        parts = [
            *self._introduction(),
            *self._gains(BASES[0], "macro", "macro F1, labels with positives in calibration and test rows"),
            *self._gains(BASES[1], "macro", "macro F1, labels with positives in calibration and test rows"),
            *self._gains(BASES[0], "macro_tested", "macro F1, all labels with positives in the test rows"),
            *self._gains(BASES[0], "micro", "micro F1"),
            *self._supports(),
            *self._shares("platypus", "Labels predicted more than 3 times too often at F below 1.5 x predict-all, %"),
            *self._shares("optimism", "Macro F1 on the rows of the fit minus test macro F1"),
            *self._data_sets(),
            *self._earlier(),
            *self._claims(),
            ", ".join(f"{name} {version}" for name, version in self.versions.items()),
        ]
        return "\n".join(parts)

    def _introduction(self) -> list[str]:
        """Say what was run."""
        drawn = "subsample" if self.repeats == 1 else "subsamples"
        return [
            "# Which way of choosing thresholds holds on new data\n",
            "Made by `python experiments/guards/compare_guards.py FOLDER`; do not edit. Thresholds are chosen on",
            "random subsamples of one half of the rows (300, 1000, or 80 % of the half) and judged on the other half,",
            f"in both directions, {self.repeats} {drawn} each, the same for every method. All figures are in points",
            f"(F x 100), means over {len(self.data_sets)} data sets of paired differences; in parentheses their",
            "standard errors (spread over data sets), then the number of data sets won. At the sizes 300 and 1000 data",
            "sets are left out whose half is not a third larger.\n",
        ]

    def _gains(self, base: str, field: str, title: str) -> list[str]:
        """Tabulate gains by size."""
        rows = (
            (name, *(str(self.gain(name, base, size, field)) for size in SIZES))
            for name in self.methods
            if name != base
        )
        return _table(f'Gain over "{base}": {title}', ("method", *SIZES), rows)

    def _supports(self) -> list[str]:
        """Tabulate gains by positives in the calibration rows."""
        base, ends = BASES[0], (*SUPPORTS[1:], None)
        heads = [f"{low}-{high - 1}" if high else f">= {low}" for low, high in zip(SUPPORTS, ends, strict=True)]
        rows = [
            (name, *(str(self.gain_by_support(name, base, place)) for place in range(len(SUPPORTS))))
            for name in self.methods
            if name != base
        ]
        title = f'Gain over "{base}" in F1 by positives in the calibration rows, all sizes together'
        return _table(title, ("method", *heads), rows)

    def _shares(self, field: str, title: str) -> list[str]:
        """Tabulate means over data sets."""
        rows = ((name, *(_share(self._mean(name, size, field)) for size in SIZES)) for name in self.methods)
        return _table(title, ("method", *SIZES), rows)

    def _mean(self, method: str, size: str, field: str) -> float:
        """Give the mean over data sets of a measure, in points."""
        values = [100 * value for name, value in self.means(method, size, field).items() if name not in SUBSETS]
        return float(np.mean(values)) if values else np.nan

    def _data_sets(self) -> list[str]:
        """Tabulate macro gains of the guard on each data set."""
        found = {base: {(name, size): gain for gain, name, size in self._differences(base)} for base in BASES}
        names = dict.fromkeys(name for gains in found.values() for name, _ in gains)
        rows = (
            (
                name + (" (in no mean)" if name in SUBSETS else ""),
                *(_signed(found[base].get((name, size), np.nan)) for base in BASES for size in SIZES),
            )
            for name in names
        )
        heads = ("data set", *(f"{base}: {size}" for base in BASES for size in SIZES))
        return _table('Gain of "shrink" in macro F1 on each data set, over', heads, rows)

    def _earlier(self) -> list[str]:
        """Tabulate gains beside the earlier ones."""
        if not self.comparable:
            return []
        rows = []
        for name, values in earlier.MACRO.items():
            rows.append((f"{name}: macro", *self._beside(name, "macro", values)))
            rows.append((f"{name}: micro", *self._beside(name, "micro", [(v, None) for v in earlier.MICRO[name]])))
        for name, values in earlier.TESTED.items():
            rows.append((f"{name}: macro, all labels tested", *self._beside(name, "macro_tested", values)))
        for field, figures in (("platypus", earlier.PLATYPUS), ("optimism", earlier.OPTIMISM)):
            for name, shares in figures.items():
                ours = (_share(self._mean(name, size, field)) for size in SIZES)
                cells = (f"{mine} / {share:.1f}" for mine, share in zip(ours, shares, strict=True))
                rows.append((f"{name}: {field}", *cells))
        by_size = _table("Here / earlier (standard error)", ("measure", *SIZES), rows)
        by_size.insert(1, EARLIER + "\n")
        rows = []
        for name, values in earlier.SUPPORT.items():
            gains = [self.gain_by_support(name, BASES[0], place) for place in range(len(SUPPORTS))]
            rows.append((name, *(_beside(gain.mean, *value) for gain, value in zip(gains, values, strict=True))))
        heads = ("method", *(f"from {low}" for low in SUPPORTS))
        return by_size + _table("The same by positives in the calibration rows", heads, rows)

    def _claims(self) -> list[str]:
        """List the claims."""
        if not self.complete:
            return []
        told = "A gain is reproduced if it differs from the earlier one by at most both standard errors together."
        return ["## Claims\n", f"{told}\n", *map(str, self.claims()), ""]

    def _beside(self, method: str, field: str, values: Iterable[tuple[float, float | None]]) -> list[str]:
        """Write gains beside earlier ones."""
        return [
            _beside(self.gain(method, BASES[0], size, field).mean, *value)
            for size, value in zip(SIZES, values, strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        """Give the means of each data set, in F, and the claims."""
        fields = ("macro", "macro_tested", "micro", "optimism", "platypus")
        return {
            "versions": self.versions,
            "repeats": self.repeats,
            "claims": {claim.text: claim.holds for claim in self.claims()},
            "means": {
                method: {size: {field: _rounded(self.means(method, size, field)) for field in fields} for size in SIZES}
                for method in self.methods
            },
            "by_support": {
                method: [_rounded(self.means_by_support(method, place)) for place in range(len(SUPPORTS))]
                for method in self.methods
            },
        }


def versions() -> dict[str, str]:
    """Name what was run."""
    return {
        "thresholds": thresholds.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def _by_data_set(runs: list[Record], mean: Callable[[list[Record]], Any]) -> Means:
    """Average over the runs of each score key, then over the keys of each data set; NaN is left out."""
    by_key: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        by_key.setdefault((run.data_set, run.file + run.key), []).append(run)
    by_name: dict[str, list[float]] = {}
    for (name, _), found in by_key.items():
        of_key = float(mean(found))
        if not np.isnan(of_key):
            by_name.setdefault(name, []).append(of_key)
    return {name: float(np.mean(found)) for name, found in by_name.items()}


def _table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Write a Markdown table under a heading."""
    heads = list(heads)
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] + ["---:"] * (len(heads) - 1), *rows)]
    return [f"## {title}\n", *lines, ""]


def _signed(value: float) -> str:
    """Write a gain; nothing where there is none."""
    return "" if np.isnan(value) else f"{value:+.2f}"


def _share(value: float) -> str:
    """Write a mean; nothing where there is none."""
    return "" if np.isnan(value) else f"{value:.1f}"


def _beside(ours: float, theirs: float, error: float | None) -> str:
    """Write a gain beside an earlier one."""
    return f"{_signed(ours)} / {theirs:+.2f}" + (f" ({error:.2f})" if error is not None else "")


def _rounded(means: Means) -> Means:
    """Leave digits that mean something."""
    return {name: round(value, 6) for name, value in means.items()}
