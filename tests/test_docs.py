"""What the documentation shows is what happens."""

import doctest
import json
import re
import runpy
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from rules import RULES

import thresholds
from thresholds._checks import AVERAGES
from thresholds.demo import demonstration
from thresholds.rule import Rule

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_readme_python_runs_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "rule.json").exists()


@pytest.mark.parametrize("page", ["metrics", "probabilities", "guards"])
def test_pages_show_what_is_printed(page: str) -> None:
    found = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0


def test_readme_shows_the_report_of_averages() -> None:
    shown = re.search(r">>> print\(thresholds.metrics.averages_report.*?\n(.*?)```", README, re.DOTALL)
    page = (ROOT / "docs" / "metrics.md").read_text().replace("<BLANKLINE>", "")
    assert shown
    assert shown.group(1).strip() in page


def test_readme_shows_the_demonstration() -> None:
    shown = re.search(r"\$ thresholds demo\n(.*?)```", README, re.DOTALL)
    assert shown
    printed = demonstration()
    for line in shown.group(1).splitlines():
        assert line in printed.splitlines()


def test_readme_says_what_the_platypus_costs() -> None:
    from thresholds.demo import load_demo
    from thresholds.metrics import f1_score

    data = load_demo()
    fit, judge, _ = data.halves()
    rule = thresholds.fit_empirical(data.y_true[fit], data.y_score[fit], label_names=data.label_names)
    without = rule.replace({"random draw, 1 %": float("inf")})
    truth, scores = data.y_true[judge], data.y_score[judge]
    change = {
        average: f1_score(truth, without.predict(scores), average=average, zero_division=0)
        - f1_score(truth, rule.predict(scores), average=average, zero_division=0)
        for average in ("macro", "micro")
    }
    assert "costs .001 of macro-F1 and gains .05 of micro-F1" in re.sub(r"\s+", " ", README)
    assert change["macro"] == pytest.approx(-0.001, abs=0.0005)
    assert change["micro"] == pytest.approx(0.05, abs=0.005)


def test_readme_says_how_usual_the_platypus_is() -> None:
    about = json.loads(str(np.load(Path(thresholds.__file__).parent / "demo.npz")["meta"]))["random_label"]
    low, median, high = (f"{share:.0%}".rstrip("%") for share in about["quartiles"]["macro"])
    text = re.sub(r"\s+", " ", README)
    assert f"Over {about['draws']} draws, macro-F1 predicts it on {low}, {median} and {high} %" in text
    assert about["kept_rank_from_weakest"] == 0.75 * about["draws"]
    assert about["quartiles"]["micro"] == [0, 0, 0]


def test_local_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(notebook))
    cells = json.loads(notebook.with_suffix(".ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for line in notebook.read_text().splitlines():
        assert not line or line.startswith("#") or line in code, "the pair has drifted apart: run jupytext --sync"


def test_saved_rules_keep_to_the_published_schema(tmp_path: Path) -> None:
    schema = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
    y_true, y_score = np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0.9, -np.inf, 0.1], [0.2, -np.inf, 0.3]])
    rules: list[Rule] = [
        thresholds.fit_empirical(y_true, y_score, average, label_names=["a", "b", "c"])
        for average in ("macro", "micro", "weighted")
    ]
    rules.append(thresholds.fit_empirical(y_true, y_score, "samples", per_label=False, missing=-np.inf))
    rules += [thresholds.fit_top_k(y_true, y_score), thresholds.FixedRule(0.5, 3), thresholds.TopKRule(2)]
    p = np.array([[0.9, 0.0, 0.1], [0.2, 0.0, 0.3]])
    rules += [thresholds.fit_expected(p, average, label_names=["a", "b", "c"]) for average in AVERAGES]
    rules += [thresholds.fit_expected(p, exact=True), thresholds.fit_expected(p, "samples", per_label=False)]
    rules += [thresholds.InstanceRule(), thresholds.RegionRule([[-np.inf, 0.5], []], missing=-np.inf)]
    rules += [thresholds.fit_regions(y_true, y_score, average, missing=-np.inf) for average in ("macro", "micro")]
    for rule in rules:
        rule.save(tmp_path / "rule.json")
        jsonschema.validate(json.loads((tmp_path / "rule.json").read_text()), schema)


@pytest.mark.parametrize("name", RULES)
def test_rules_of_every_kind_keep_to_the_published_schema(name: str, tmp_path: Path) -> None:
    schema = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
    RULES[name].save(tmp_path / "rule.json")
    jsonschema.validate(json.loads((tmp_path / "rule.json").read_text()), schema)


def test_the_page_on_guards_shows_what_was_measured() -> None:
    """Gains stand in `docs/guards.md` as the experiment wrote them."""
    measured = (ROOT / "experiments" / "guards" / "results.md").read_text().replace("-", "−")
    page = (ROOT / "docs" / "guards.md").read_text()
    gains = re.findall(r"[+−]\d+\.\d\d \(\d\.\d\d\), \d+/\d+", page)
    assert len(gains) == 30
    for gain in gains:
        assert gain.replace("),", ")") in measured
