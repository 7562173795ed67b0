"""Planted labels: what `diagnose` flags by mistake, what it finds, and how often its tests reject what is true.

All bounds are kept up to four standard errors of the simulated means. `experiments/diagnosis/planted.py` draws the
labels; it has the full sizes.
"""

import json
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from thresholds import diagnose, fit_empirical
from thresholds.metrics import auroc

SCRIPT = Path(__file__).parents[2] / "experiments" / "diagnosis" / "planted.py"
EXPERIMENT: dict[str, Any] = runpy.run_path(str(SCRIPT))
EXPERIMENT["main"].__globals__["one_run"] = ONE_RUN = cache(EXPERIMENT["one_run"])  # each run is done once
MIXES = {mix.name: mix for mix in EXPERIMENT["MIXES"]}
DIAGNOSED, FALSE, FALSE_BY_AUROC, FOUND = EXPERIMENT["DIAGNOSED"], *EXPERIMENT["FIGURES"][:3]
NAIVE = ("predicted on > 1/3 of the rows", "predictions > 3 positives", "Mann-Whitney p > .05")
FIRST, N_RUNS = 3, 5  # the first seed, and how many

each_mix = pytest.mark.parametrize("mix", MIXES)


def simulated(mix: str, n_samples: int = 3000, n_runs: int = N_RUNS) -> dict[str, Any]:
    """The means of one mix over some runs."""
    seeds = range(FIRST, FIRST + n_runs)
    return EXPERIMENT["summary"]([ONE_RUN(MIXES[mix], n_samples, seed) for seed in seeds])


@pytest.mark.each_value(mix=1)
@each_mix
def test_few_flags_are_false(mix: str) -> None:
    rules = simulated(mix)["rules"]
    mean, error = rules[DIAGNOSED][FALSE if MIXES[mix].all_count else FALSE_BY_AUROC]
    assert mean - 4 * error <= 0.05
    assert all(rules[DIAGNOSED][FALSE][0] < of[FALSE][0] for name, of in rules.items() if name != DIAGNOSED)


@pytest.mark.soak
@pytest.mark.parametrize("naive", NAIVE)
@each_mix
def test_naive_rules_flag_many_by_mistake(mix: str, naive: str) -> None:
    mean, error = simulated(mix)["rules"][naive][FALSE]
    assert mean - 4 * error > 0.05


@pytest.mark.soak
@pytest.mark.parametrize(
    ("mix", "n_samples", "n_runs", "least"),
    [
        *((mix, 3000, N_RUNS, 0.5) for mix in ("mixed", "least favourable", "top-heavy", "listed")),
        *((mix, 20_000, 2, 0.75) for mix in ("mixed", "least favourable")),
        *((mix, 10_000, 2, 0.75) for mix in ("top-heavy", "listed")),
    ],
)
def test_most_planted_labels_are_found(mix: str, n_samples: int, n_runs: int, least: float) -> None:
    """Some .9 of them are, with a standard error of about .03 in one run of 20,000 rows."""
    mean, error = simulated(mix, n_samples, n_runs)["rules"][DIAGNOSED][FOUND]
    assert mean + 4 * error >= least


@each_mix
def test_labels_have_the_auroc_that_is_stated(mix: str) -> None:
    drawn = EXPERIMENT["draw"](MIXES[mix], 25_000, np.random.default_rng(9), n_labels=50)
    positives = drawn.truth.sum(axis=0)
    often = positives >= 200
    found = auroc(drawn.truth, drawn.scores)
    assert (np.abs(found - drawn.auroc)[often] < 4 * 0.5 / np.sqrt(positives[often])).all()
    assert np.abs(found - drawn.auroc)[often].mean() < 0.02


@pytest.mark.each_value(mix=2)
@each_mix
def test_over_predicted_planted_labels_are_found_or_suspected(mix: str) -> None:
    found = simulated(mix)
    flagged = sum(found["rules"][name][FOUND][0] for name in (DIAGNOSED, "diagnose: suspect"))
    assert 0.9 < flagged <= 1 + 1e-12
    assert found["planted"]["overpredicted"] < 0.05 * sum(found["planted"].values())
    assert found["others"]["platypus"] < 0.04 * sum(found["others"].values())


@pytest.mark.each_value(spread=1, n_positives=1)
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n_positives", [5, 12, 60])
def test_the_least_auroc_is_seldom_rejected(n_positives: int, spread: float) -> None:
    """Labels of exactly the least AUROC, .7, their positives spread less or more than the negatives."""
    rng = np.random.default_rng([6, n_positives, int(10 * spread)])
    n, m = 600, 1200
    truth = np.zeros((n, m), np.uint8)
    truth[:n_positives] = 1
    scores = rng.standard_normal((n, m))
    scores[:n_positives] = spread * scores[:n_positives] + ndtri(0.7) * np.sqrt(1 + spread**2)
    p = p_values(truth, scores, "p_uninformative")
    assert np.mean(p <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / m)


# Every pair of two of these is tried, not every triple.
USELESS = [
    (n_positives, (0, 1, 17)[(i + j) % 3], listed)
    for i, n_positives in enumerate((1, 3, 20))
    for j, listed in enumerate((0.01, 0.05, 0.3, 1.0))
]


@pytest.mark.each_value(n_positives=2, decimals=2, listed=2)
@pytest.mark.parametrize(("n_positives", "decimals", "listed"), USELESS)
def test_useless_labels_are_seldom_informative(n_positives: int, decimals: int, listed: float) -> None:
    """P(p <= x) <= x for scores that say nothing, tied or not, also in lists that leave out most rows."""
    rng = np.random.default_rng([7, n_positives, decimals, int(100 * listed)])
    n, m = 400, 1000
    truth = np.zeros((n, m), np.uint8)
    truth[:n_positives] = 1
    scores = np.round(rng.standard_normal((n, m)), decimals)
    p = p_values(truth, np.where(rng.random((n, m)) < listed, scores, -5.0), "p_informative")
    for level in (0.002, 0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level * (1 - level) / m)


def p_values(truth: NDArray[np.uint8], scores: NDArray[np.float64], column: str) -> NDArray[np.float64]:
    """A column of p-values, all of them defined."""
    p = diagnose(truth, scores, fit_empirical(truth, scores)).table[column]
    assert ((p >= 0) & (p <= 1)).all()
    return p


def test_no_useless_label_is_informative_among_many() -> None:
    """Where all labels say nothing, a false discovery is any: it happens in at most 5 % of the draws."""
    happened = []
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        truth = (rng.random((300, 40)) < np.geomspace(0.02, 0.3, 40)).astype(np.uint8)
        scores = rng.standard_normal((300, 40))
        happened.append(diagnose(truth, scores, fit_empirical(truth, scores)).table["informative"].any())
    assert np.mean(happened) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.soak
def test_the_experiment_prints_its_tables_and_writes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "planted.json"
    monkeypatch.setattr(sys, "argv", ["planted.py", "--quick", "--seed", str(FIRST), "--json", str(file)])
    assert EXPERIMENT["main"]() == 0
    printed = capsys.readouterr().out
    assert all(f"\n{mix}: 3,000 rows, 400 labels" in printed for mix in MIXES)
    written = json.loads(file.read_text())
    assert (written["runs"], written["seed"], written["bounds"]) == (N_RUNS, FIRST, [])
    found = {f"{mix}, 3,000 rows": simulated(mix) for mix in MIXES}
    assert written["results"] == json.loads(json.dumps(found))


def test_missed_bounds_are_told() -> None:
    found = simulated("mixed")
    false, least = EXPERIMENT["bounds"](MIXES["mixed"], 3000, found)
    assert false.holds
    assert least.holds
    of_naive = found | {"rules": {DIAGNOSED: found["rules"]["predictions > 3 positives"]}}
    assert not EXPERIMENT["bounds"](MIXES["mixed"], 3000, of_naive)[0].holds
