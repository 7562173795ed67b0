"""Rules of all kinds are diagnosed by what they decide; what is said of thresholds is said of those that have some."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.rules import MadeWhenAsked
from tests.words import flat
from thresholds import ThresholdRule, cli
from thresholds.diagnosis.result import Diagnosis

NAMES = ("ant", "bee", "cat", "dog")
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((600, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(np.uint8)
SCORES = 1 / (1 + np.exp(-RNG.normal(size=(600, 4)) - 3 * TRUTH + 1.5))
HALF = slice(0, 300), slice(300, 600)

KINDS = ("macro, shrink", "macro, regions", "top-k", "instance, label-free", "instance, platt", "macro, isotonic")
RULES = MadeWhenAsked(
    {name: partial(thresholds.fit, TRUTH[HALF[0]], SCORES[HALF[0]], name, label_names=NAMES) for name in KINDS}
)
WITHOUT_THRESHOLDS = KINDS[1:]


def as_thresholds(decided: Any) -> Diagnosis:
    """The diagnosis of a rule of thresholds that decides the same, on scores with these decisions in front."""
    return thresholds.diagnose(TRUTH[HALF[1]], decided, thresholds.FixedRule(0.5, 4, label_names=NAMES))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", KINDS)
def test_counts_and_figures_are_those_of_the_decisions(name: str, kind: Any) -> None:
    truth, scores = TRUTH[HALF[1]], kind(SCORES[HALF[1]])
    found = thresholds.diagnose(truth, scores, RULES[name]).table
    decided = RULES[name].predict(scores, dense=True)
    expected = as_thresholds(decided.astype(float)).table
    for column in ("predicted_positive", "precision", "recall", "f", "overprediction", "f_low", "f_high", "bar"):
        np.testing.assert_array_equal(found[column], expected[column])
    assert found["auroc"].tolist() == thresholds.metrics.auroc(truth, scores).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_own_rows_are_known(name: str) -> None:
    """But for a rule that looked at no labels, which they cannot flatter."""
    own, other = (thresholds.diagnose(TRUTH[half], SCORES[half], RULES[name]).verdicts for half in HALF)
    assert own.on_own_rows == (name != "instance, label-free")
    assert not other.on_own_rows


@pytest.mark.parametrize("name", KINDS)
def test_a_column_of_thresholds_is_for_those_that_have_some(name: str) -> None:
    found = thresholds.diagnose(TRUTH[HALF[1]], SCORES[HALF[1]], RULES[name])
    has_thresholds = isinstance(RULES[name], ThresholdRule)
    assert np.isfinite(found.table["threshold"]).any() == has_thresholds
    assert ("threshold" in str(found.most_predicted(3))) == has_thresholds
    assert found.verdicts.has_thresholds == has_thresholds
    assert len(str(found.most_predicted(3)).splitlines()) == 5


def test_what_to_do_about_a_missed_label_depends_on_the_rule() -> None:
    """The scores of the last label are perfect; the rule does not mark it once."""
    truth, scores = TRUTH.copy(), SCORES.copy()
    scores[:, 3] = 0.1 * truth[:, 3]
    of_thresholds = thresholds.diagnose(truth, scores, thresholds.FixedRule(0.5, 4))
    of_rows = thresholds.diagnose(truth, scores, thresholds.TopKRule(1))
    for found, remedy, to_do in (
        (of_thresholds, "a new threshold", "fit again, or another rule"),
        (of_rows, "a threshold of its own", "choose another rule"),
    ):
        assert found.verdict[3] == "missed"
        assert found.table["sentence"][3].endswith(f", so that {remedy} would do better.")
        assert to_do in str(found)


@pytest.mark.parametrize("name", WITHOUT_THRESHOLDS)
def test_there_is_nothing_to_repair_without_thresholds(name: str) -> None:
    found = thresholds.diagnose(TRUTH, SCORES, RULES[name])
    with pytest.raises(
        thresholds.InputError, match=r"expected one with a threshold for each label, as thresholds\.fit"
    ):
        found.repair(RULES[name])  # type: ignore[arg-type]


# The commands


@pytest.fixture
def scores(tmp_path: Path) -> str:
    """A file of scores and truth."""
    path = tmp_path / "scores.npz"
    np.savez(path, y_true=TRUTH, y_score=SCORES, label_names=np.array(NAMES), test_idx=np.arange(300, 600))
    return str(path)


@pytest.mark.parametrize("name", KINDS)
def test_commands_take_all_kinds(name: str, scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "rule.json")
    RULES[name].save(path)
    for arguments, shown in (
        (["diagnose", scores, "--rule", path], "judged on the 300 rows of test_idx"),
        (["diagnose", scores, "--rule", path, "--json"], '"labels"'),
        (["monitor", path, scores], "compared with 300 rows of the fit"),
        (["predict", path, scores, "-o", str(tmp_path / "out.npz")], "labels per row"),
        (["compare", scores, "--rule", path], "judged on"),
    ):
        assert cli.main(arguments) == 0, arguments
        assert shown in flat(capsys.readouterr().out)


@pytest.mark.parametrize("name", WITHOUT_THRESHOLDS)
def test_the_command_says_what_can_be_repaired(
    name: str, scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RULES[name].save(tmp_path / "rule.json")
    mended = tmp_path / "mended.json"
    arguments = ["diagnose", scores, "--rule", str(tmp_path / "rule.json"), "--repair", str(mended)]
    assert cli.main(arguments) == 1
    said = capsys.readouterr()
    assert f"a rule of the kind '{RULES[name].kind}', which has no thresholds to mend" in said.err
    assert "thresholds fit --rule 'macro, shrink'" in said.err
    assert said.out == ""
    assert not mended.exists()
