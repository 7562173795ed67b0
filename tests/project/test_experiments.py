"""The experiments on the claims of the sources: quick runs reach the verdicts that are committed, and all is told."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAPER, RESULTS = ROOT / "experiments" / "paper", ROOT / "experiments" / "results"
sys.path.insert(0, str(PAPER))

claims: Any = importlib.import_module("claims")
table: Any = importlib.import_module("table")
run_all: Any = importlib.import_module("run_all")
BESIDE = ("batches", "claims", "decisions", "pictures", "run_all", "table")
NUMBER = r"-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?"
QUICK = json.loads((RESULTS / "quick.json").read_text("utf-8"))
COMMITTED = {name: json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in run_all.SCRIPTS}


@pytest.mark.slow
@pytest.mark.each_value(name=4)
@pytest.mark.parametrize("name", run_all.SCRIPTS)
def test_a_quick_run_reaches_the_same_verdicts(name: str, tmp_path: Path) -> None:
    claims.perform(f"{name}.py", importlib.import_module(name).run, claims.Options(quick=True), tmp_path)
    quick = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
    assert quick["pictures"] == COMMITTED[name]["pictures"]
    assert all((tmp_path / picture).stat().st_size > 0 for picture in quick["pictures"])
    assert verdicts(quick) == verdicts(COMMITTED[name])
    found = [claim["found"] for claim in quick["claims"] if not claim["of_files"]]
    assert [re.sub(NUMBER, "#", text) for text in found] == [re.sub(NUMBER, "#", text) for text in QUICK[name]]
    for now, then in zip(found, QUICK[name], strict=True):
        assert numbers(now) == pytest.approx(numbers(then), rel=0.02, abs=1e-5), (now, then)


def numbers(text: str) -> list[float]:
    """The numbers in what was found: the same draws give the same ones, up to rounding."""
    return [float(number.replace(",", "")) for number in re.findall(NUMBER, text)]


def verdicts(found: dict[str, Any]) -> list[list[str]]:
    """What a quick run has in common with a full one."""
    common = ("source", "says", "printed", "verdict", "by_construction")
    return [[claim[key] for key in common] for claim in found["claims"] if not claim["of_files"]]


def test_every_script_is_run() -> None:
    assert {path.stem for path in PAPER.glob("*.py")} == {*run_all.SCRIPTS, *BESIDE}


def test_the_table_is_that_of_the_results() -> None:
    text = (ROOT / "experiments" / "README.md").read_text("utf-8")
    assert table.table(run_all.SCRIPTS) in text
    assert not any(found["quick"] for found in COMMITTED.values())


def test_every_erratum_is_shown_by_the_script_it_names() -> None:
    entries = re.findall(r"^### (.+)\n((?:(?!^#).*\n)+)", (ROOT / "docs" / "errata.md").read_text("utf-8"), re.M)
    named = {title: set(re.findall(r"experiments/paper/(\w+)\.py", text)) for title, text in entries}
    shown: dict[str, set[str]] = {title: set() for title in named}
    for name, found in COMMITTED.items():
        for claim in found["claims"]:
            if claim["erratum"]:
                shown[claim["erratum"]].add(name)
    assert shown == named


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.py")), ids=lambda path: path.stem)
def test_only_the_public_interface_is_used(path: Path) -> None:
    modules = set(re.findall(r"^(?:from|import) (thresholds\S*)", path.read_text("utf-8"), re.M))
    types = {"thresholds.diagnosis.result"}  # of what public functions return
    assert modules <= {"thresholds", "thresholds.metrics", "thresholds.demo", "thresholds.files"} | types


@pytest.mark.parametrize(
    ("printed", "found", "verdict"),
    [
        (".84", 0.8333, "differs"),
        (".84", 0.8351, "as printed"),
        ("7.71e-5", 7.7185e-5, "differs"),
        ("0", 0, "as printed"),
    ],
)
def test_printed_numbers_are_compared_in_their_last_digit(printed: str, found: float, verdict: str) -> None:
    assert claims.printed_number("a", "b", printed, found).verdict == verdict
    assert claims.printed_number("a", "b", ".5", 0.5, exact=True).verdict == "as printed"
    assert claims.printed_number("a", "b", ".5", 0.54, exact=True).verdict == "differs"


def test_statements_are_judged_by_what_held() -> None:
    for holds, where, verdict in ((True, True, "holds"), (False, True, "only if x"), (False, False, "does not hold")):
        assert claims.statement("a", "b", "c", holds=holds, only_if=("x", where)).verdict == verdict
    for correct, verdict in ((True, "wrong; right: x"), (False, "does not hold")):
        assert claims.statement("a", "b", "c", holds=False, right=("x", correct)).verdict == verdict
    assert claims.statement("a", "b", "c", holds=False).verdict == "does not hold"


def test_a_statement_is_not_applicable_where_what_it_presumes_is_absent() -> None:
    for holds in (True, False):
        for missing, verdict in ((True, "not applicable: no x"), (False, "holds" if holds else "does not hold")):
            assert claims.statement("a", "b", "c", holds=holds, absent=("no x", missing)).verdict == verdict


def test_what_cannot_fail_is_told_from_what_was_measured() -> None:
    fixed = claims.statement("a", "b", "c", holds=True, by_construction="x is y")
    assert (fixed.verdict, fixed.found) == ("holds by construction", "c; could not come out otherwise: x is y")
    assert claims.statement("a", "b", "c", holds=False, by_construction="x is y").verdict == "does not hold"


def test_the_summary_counts_what_cannot_fail_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        claims.statement("a", "b", "c", holds=True),
        claims.statement("a", "b", "c", holds=True, by_construction="x is y"),
        claims.statement("a", "b", "c", holds=False, right=("x", True), by_construction="x is y"),
        claims.statement("a", "b", "c", holds=True, absent=("no x", True)),
        claims.statement("Library", "b", "c", holds=True),
    ]
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    (tmp_path / "one.json").write_text(json.dumps({"claims": [claims.asdict(claim) for claim in found]}))
    assert table.tally(["one"]) == (
        "4 claims of the sources. Judged by what could have come out otherwise, 1: 1 holds. Fixed by construction, 2: 1"
        " holds by construction, 1 wrong, with what is right. Not applicable to the data, 1. Beside them 1 of the"
        " library: 1 holds."
    )


# Verdicts that could come out otherwise


def test_macro_skill_keeps_incentives_only_where_every_label_has_a_cut_of_precision_above_one_half() -> None:
    discussion: Any = importlib.import_module("discussion")
    truth = np.array([[1, 1], [0, 0], [0, 1], [0, 0], [0, 0]])
    scores = np.array([[0.9, 0.9], [0.5, 0.8], [0.4, 0.7], [0.3, 0.6], [0.2, 0.5]])
    for ranked, unharmed, verdict in (
        (scores, [False, False], "holds"),
        (np.c_[-scores[:, 0], scores[:, 1]], [True, False], "only if some cut of every label is more accurate"),
    ):
        found = discussion.Everywhere.of(truth, ranked)
        assert found.unharmed.tolist() == unharmed
        assert discussion.incentives("a", {"x": found}).verdict.startswith(verdict)


def test_half_of_f1_is_looked_for_where_it_need_not_be() -> None:
    half: Any = importlib.import_module("half_of_f1")
    p = np.random.default_rng(0).beta(0.5, 2, (50, 4))
    best, last, following = half.best_by_sorting(p)
    assert half.half_lies_at_the_cut(best, last, following).all()
    for wrong in (2 * following - 1e-3, 2 * last + 1e-3):
        assert not half.half_lies_at_the_cut(wrong, last, following).any()


@pytest.mark.parametrize(
    ("between", "refitted", "verdict"),
    [(0.4, 0.6, "holds"), (0.6, 0.8, "does not hold"), (0.4, 0.3, "does not hold")],
)
def test_markedly_dissimilar_is_less_than_half_and_less_than_chance(
    between: float, refitted: float, verdict: str
) -> None:
    case_study: Any = importlib.import_module("case_study")
    refits = {"macro": refitted, "micro": 0.9}
    shared = {"shared by macro and micro": between, "shared by each with itself refitted": refits}
    assert case_study.dissimilar({"x": shared}).verdict == verdict


def test_the_errata_quote_what_was_found() -> None:
    text = " ".join((ROOT / "docs" / "errata.md").read_text("utf-8").split())
    up_to = COMMITTED["uninformative"]["numbers"]["zero_division_1"]["nothing_is_best_up_to_n"]
    assert f"at b = .01 predicting nothing is best up to n = {up_to}" in text
    unharmed = COMMITTED["discussion"]["numbers"]["unharmed"]
    three = [round(100 * unharmed[name]) for name in ("bibtex", "pubmed_mesh", "chestxray14_chexnet")]
    assert f"{min(three)} to {max(three)} % of the labels" in text
    assert f"{round(100 * max(unharmed.values()))} % in the worst case" in text
