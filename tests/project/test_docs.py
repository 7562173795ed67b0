"""What the documentation shows is what happens."""

import doctest
import json
import re
import runpy
from itertools import product, takewhile
from pathlib import Path

import jsonschema
import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from threadpoolctl import threadpool_limits

import thresholds
from tests.rules import RULES
from thresholds._checks import AVERAGES
from thresholds.cli.listing import maximised, needed, own_options
from thresholds.demo import demonstration
from thresholds.rule import Rule

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUARDS_PAGE = (ROOT / "docs" / "guards.md").read_text()


def in_one_line(text: str) -> str:
    """A page without its line breaks."""
    return re.sub(r"\s+", " ", text)


def test_readme_python_runs_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "rule.json").exists()


PAGES = [
    *("annotation", "base_rates", "choosing", "files", "guarantees", "guards", "inputs", "metrics", "monitoring"),
    *("plots", "probabilities", "report", "rules", "scale", "serving", "unknown"),
    pytest.param("scikit_learn", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_what_is_printed(page: str) -> None:
    with threadpool_limits(1):  # of scikit-learn's classifiers: several test processes would be in each other's way
        found = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False)
    pyplot.close("all")
    assert found.attempted > 0
    assert found.failed == 0


def test_readme_shows_the_demonstration() -> None:
    shown = re.search(r"\$ thresholds demo\n(.*?)```", README, re.DOTALL)
    assert shown
    printed = demonstration()
    for line in shown.group(1).splitlines():
        assert line in printed.splitlines()


def test_the_page_on_rules_lists_all_of_them() -> None:
    page = (ROOT / "docs" / "rules.md").read_text().splitlines()
    for rule in thresholds.RULES.values():
        options = ", ".join(f"`{name}`" for name in own_options(rule))
        assert f"| {rule.name} | {maximised(rule)} | {needed(rule)} | {rule.about} |" in page
        assert f"| {rule.name} | {options} | {rule.exactness} | {rule.invariance} | {rule.cost} |" in page
    assert sum(line.startswith("| ") for line in page) == 2 * len(thresholds.RULES) + 12, "and nothing else"


def test_the_page_on_guards_says_what_the_platypus_costs() -> None:
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
    assert "costs .001 of macro-F1 and gains .05 of micro-F1" in in_one_line(GUARDS_PAGE)
    assert change["macro"] == pytest.approx(-0.001, abs=0.0005)
    assert change["micro"] == pytest.approx(0.05, abs=0.005)


def test_the_page_on_guards_says_how_usual_the_platypus_is() -> None:
    about = json.loads(str(np.load(Path(thresholds.__file__).parent / "demo.npz")["meta"]))["random_label"]
    low, median, high = (f"{share:.0%}".rstrip("%") for share in about["quartiles"]["macro"])
    text = in_one_line(GUARDS_PAGE)
    assert f"Over {about['draws']} draws, macro-F1 predicts it on {low}, {median} and {high} %" in text
    assert about["kept_rank_from_weakest"] == 0.75 * about["draws"]
    assert about["quartiles"]["micro"] == [0, 0, 0]


def test_local_links_lead_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "notebooks", "experiments") for page in ROOT.glob(f"{folder}/*.md")),
    ]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.mark.soak
@each_notebook
def test_notebooks_run(notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with matplotlib.rc_context():
        runpy.run_path(str(notebook))
        pyplot.close("all")


@each_notebook
def test_notebooks_are_shown_as_they_ran(notebook: Path) -> None:
    cells = json.loads(notebook.with_suffix(".ipynb").read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    written = re.findall(r"# %%\n(.*?)\n*(?=\n# %%|\Z)", notebook.read_text("utf-8"), re.DOTALL)
    assert code == written, "the pair has drifted apart: run jupytext --to ipynb --execute"
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
    assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 1


def test_every_notebook_is_in_the_index() -> None:
    index = (ROOT / "notebooks" / "README.md").read_text("utf-8")
    assert re.findall(r"\(([^)]*)\.ipynb\)", index) == [notebook.stem for notebook in NOTEBOOKS]


SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
)


def test_saved_rules_keep_to_the_published_schema(tmp_path: Path) -> None:
    SCHEMA.check_schema(SCHEMA.schema)
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
        SCHEMA.validate(json.loads((tmp_path / "rule.json").read_text()))


@pytest.mark.parametrize("name", RULES)
def test_rules_of_every_kind_keep_to_the_published_schema(name: str, tmp_path: Path) -> None:
    RULES[name].save(tmp_path / "rule.json")
    SCHEMA.validate(json.loads((tmp_path / "rule.json").read_text()))


def cells_of(text: str, heading: str) -> dict[str, list[str]]:
    """Rows of the first table after a heading, by their first cell."""
    lines = text[text.index(heading) :].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rows = [line.strip("| ").split(" | ") for line in takewhile(lambda line: line.startswith("|"), lines[start:])]
    return {name: cells for name, *cells in rows}


GUARD_ROWS = {
    '`guard="shrink"`': "shrink",
    "`Shrink(probabilities=False)`": "shrink, no probabilities",
    "the label alone: `Shrink(siblings=False, probabilities=False)`": "shrink, label alone",
    "shrink and `max_overprediction=3`": "shrink, at most 3x",
    'plain optimum, `placement="low"`': "plain, low",
    "plain optimum and `max_overprediction=3`": "plain, at most 3x",
    '"micromacro" of Lin and Lin 2023, as in LibMultiLabel (a re-implementation, for given scores)': "micromacro",
    "SCutFBR.1 of Lewis et al. 2004 and Fan and Lin 2007, with exact cuts and regard to ties": "fbr",
    "threshold .5": "fixed .5",
}
GUARD_RESULTS = (ROOT / "experiments" / "guards" / "results.md").read_text()
OF_MACRO = '## Gain over "plain, score": macro F1, labels with positives in calibration and test rows'
OPTIMISM = "## Macro F1 on the rows of the fit minus test macro F1"


def test_the_page_on_guards_shows_what_was_measured() -> None:
    """Figures stand in `docs/guards.md` where the experiment wrote them, row by row."""

    def as_on_the_page(cells: list[str]) -> list[str]:
        return [cell.replace("-", "−").replace(") ", "), ") for cell in cells]

    shown, measured = cells_of(GUARDS_PAGE, "### What it gains"), cells_of(GUARD_RESULTS, OF_MACRO)
    assert {name: shown[name] for name in GUARD_ROWS} == {
        name: as_on_the_page(measured[row]) for name, row in GUARD_ROWS.items()
    }
    more = cells_of(GUARDS_PAGE, "| micro-F1 of the rules fitted for macro-F1")
    micro, platypus, claimed = more.values()
    assert micro == as_on_the_page(cells_of(GUARD_RESULTS, '## Gain over "plain, score": micro F1')["shrink"])
    for row, heading in ((platypus, "## Labels predicted more than 3 times too often"), (claimed, OPTIMISM)):
        found = cells_of(GUARD_RESULTS, heading)
        assert row == [f"{a}, {b}" for a, b in zip(found["plain, score"], found["shrink"], strict=True)]


def test_the_readme_rounds_what_was_measured() -> None:
    gains = [float(cell.split()[0]) for cell in cells_of(GUARD_RESULTS, OF_MACRO)["shrink"]]
    claimed = cells_of(GUARD_RESULTS, OPTIMISM)
    plain, shrunk = ([float(cell) for cell in claimed[name]] for name in ("plain, score", "shrink"))
    text = in_one_line(README)
    assert f"{gains[0]:.1f} points more at 300 rows, {gains[1]:.1f} at 1,000 and {gains[2]:.2f} at 80 %" in text
    assert f"claims {plain[0]:.0f} points of macro-F1 more than it reaches on other rows" in text
    assert f"with the guard it is {shrunk[0]:.1f}" in text


def test_the_readme_says_what_is_gained_over_one_half() -> None:
    """A threshold of .5 against the plain optimum: at 300 rows, at 1,000 and at 80 % of a half."""
    cells = [re.split(r"[ ()/]+", cell) for cell in cells_of(GUARD_RESULTS, OF_MACRO)["fixed .5"]]
    gains, errors = ([-float(cell[0]) for cell in cells], [float(cell[1]) for cell in cells])
    won, tried = zip(*((int(cell[2]), int(cell[3])) for cell in cells), strict=True)
    text = in_one_line(README)
    assert f"{gains[0]:.1f} points with 300 rows to choose on ({tried[0]} of the data sets" in text
    assert f"{gains[1]:.1f} with 1,000 ({tried[1]}) and {gains[2]:.1f} with 80 % of a half (all {tried[2]})" in text
    assert f"this gains {gains[2]:.1f} points of macro-F1 over 0.5 on average" in text
    assert f"are {min(errors):.1f} to {max(errors):.1f} points" in text
    assert set(won) == {0}
    assert "0.5 was better on none" in text


def test_the_page_on_choosing_shows_what_was_measured() -> None:
    """Three ways of choosing by four averages, as the experiment printed them for all halves."""
    page = (ROOT / "docs" / "choosing.md").read_text()
    printed = (ROOT / "experiments" / "selection" / "best.txt").read_text()
    ways = {"the reference alone": "the reference", "**a gain that is shown**": "a gain that is shown"}
    shown = [re.split(r" *\| *", line)[1:-1] for line in page.splitlines() if re.match(r"\| (ma|we|mi|sa)", line)]
    assert len(shown) == 12
    for average, way, behind, most, counts, above in shown:
        block = printed[printed.index(f"\n{average.split(',')[0]} ") :].splitlines()
        line = next(line for line in block if re.match(f"{ways.get(way, way)} +all", line))
        cells = re.split(r" {2,}", line)[3:]
        worse, better = counts.split(", ")
        found = [cells[1], cells[2], cells[4], cells[6], cells[7].replace("-", "−")]
        assert found == [behind, most, worse, better, above]


def test_what_guards_gain_on_other_groups_is_shown_as_it_was_measured() -> None:
    printed = (ROOT / "experiments" / "guards" / "groups.txt").read_text()
    cells = cells_of((ROOT / "docs" / "guards.md").read_text(), "hardly any difference within one")
    names = ("pool, groups over pool", "pool, groups over the better of two", "chosen over", "shrink, groups over")
    measured = [re.search(rf"^{name}.*", printed, re.MULTILINE)[0].split()[-3:] for name in names]
    shown = [[cell.strip(" |").replace("−", "-") for cell in row] for row in list(cells.values())[2:]]
    assert shown == measured
    assert f"gains {float(measured[0][0]):.1f} points by it on average" in in_one_line(README)


def test_what_bins_change_is_shown_as_it_was_measured() -> None:
    """Means, standard errors, and the furthest of the halves, of both guards."""
    printed = (ROOT / "experiments" / "guards" / "bins.txt").read_text().splitlines()[1:]
    measured = [re.split(r" {2,}", line.replace("-", "−")) for line in printed]
    shown = cells_of(GUARDS_PAGE, "| scores | macro, shrink | furthest |")
    assert [[name, *cells] for name, cells in list(shown.items())[2:]] == measured


def test_a_choice_that_begins_from_pool_is_shown_as_it_was_measured() -> None:
    printed = (ROOT / "experiments" / "selection" / "few_rows.txt").read_text()
    of_rules, of_choice = re.findall(r"ahead in (\d+) of (\d+) cells.*?; \+([\d.]+) points", printed)
    page = in_one_line((ROOT / "docs" / "choosing.md").read_text())
    ahead, cells, points = of_rules
    assert f'"micro, pool" reaches more than "micro, in-sample" in {ahead} of {cells} cells, by {points} points' in page
    assert f"begins from it {of_choice[2]} points more" in page


def test_tables_of_speed_are_the_last_ones_measured() -> None:
    folder = ROOT / "experiments" / "speed"
    for part, results in (("speed table", "results.md"), ("best cuts", "best_cuts.md")):
        marks = rf"<!-- {part} -->.*<!-- end of {part} -->"
        shown, measured = (
            re.search(marks, page.read_text(), re.DOTALL)[0]
            for page in (ROOT / "docs" / "performance.md", folder / results)
        )
        assert shown == measured


def test_speed_is_told_as_it_was_measured() -> None:
    lines = (ROOT / "experiments" / "speed" / "best_cuts.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    ratios = {tuple(row[:3]): float(row[4]) for row in rows if len(row) == 6 and row[2].startswith("fifteen")}
    memory = {row[0]: row[1] for row in rows if len(row) == 3}
    small = ratios["1,000 x 20", "macro", "fifteen lines of NumPy"]
    large = ratios["200,000 x 100", "macro", "fifteen lines of NumPy"]
    for said in (
        f"{small:.1f} times as long as these lines",
        f"{large:.2f} times as long",
        f"{memory['macro 200,000 x 100']} MB of memory beside 80 MB of scores",
    ):
        assert said in in_one_line(README)


def test_flags_of_planted_labels_are_shown_as_they_were_counted() -> None:
    found = json.loads((ROOT / "experiments" / "diagnosis" / "planted.json").read_text())["results"]
    mixes = ("mixed", "least favourable", "top-heavy", "few", "listed")
    naive = ("predicted on > 1/3 of the rows", "predictions > 3 positives", "Mann-Whitney p > .05")
    lines = GUARDS_PAGE[GUARDS_PAGE.index("| the other labels |") :].splitlines()[2:12]
    for line, (n, mix) in zip(lines, product(("3,000", "20,000"), mixes), strict=True):
        rules = found[f"{mix}, {n} rows"]["rules"]
        (false, error), (share, _) = (rules["diagnose: platypus"][name] for name in ("false", "found"))
        others = [f"{100 * rules[name]['false'][0]:.0f} %" for name in naive]
        expected = [n, f"{100 * false:.1f} % ({100 * error:.1f})", f"{100 * share:.0f} %", *others]
        assert line.strip("| ").split(" | ")[1:] == expected, mix
    worst = max(
        found[f"{mix}, {n} rows"]["rules"]["diagnose: platypus"]["false"][0]
        for n in ("3,000", "20,000")
        for mix in mixes[:3]
    )
    assert f"at most {100 * worst:.1f} % of such flags were wrong" in in_one_line(GUARDS_PAGE)


def test_labels_that_rank_backwards_are_shown_as_they_were_counted() -> None:
    found = json.loads((ROOT / "experiments" / "diagnosis" / "planted.json").read_text())["backwards"]
    shown = GUARDS_PAGE[GUARDS_PAGE.index("| negated; scores that say nothing") :].splitlines()[2:8]
    for line, (title, figures) in zip(shown, found.items(), strict=True):
        wrong, any_wrong, share = (figures[name][0] for name in ("false", "any false", "found"))
        n = title.split(", ")[1].removesuffix(" rows")
        if title.startswith("nothing known"):
            expected = [n, "", "", f"{100 * any_wrong:.0f} %"]
        else:
            expected = [n, f"{100 * share:.0f} %", f"{100 * wrong:.1f} %", f"{100 * any_wrong:.0f} %"]
        assert [cell.strip() for cell in line.strip("|").split("|")][1:] == expected, title


def test_figures_of_micro_f1_are_shown_as_they_were_measured() -> None:
    text = (ROOT / "experiments" / "guards" / "micro.txt").read_text()
    means = re.findall(r"^(\d+ sets) +(\w+) +(.*)$", text, re.MULTILINE)  # by group: as they are, then stretched
    chosen, confirmed = means[:4], means[8:12]
    shown = GUARDS_PAGE[GUARDS_PAGE.index("| micro-F1 | rows |") :].splitlines()[2:10]
    for line, (group, found) in zip(shown, product(("chosen on", "confirmed on"), range(4)), strict=True):
        sets, rows, figures = (chosen if group == "chosen on" else confirmed)[found]
        cells = line.strip("| ").split(" | ")
        assert cells == [f"{group}, {sets}", rows, *(f"{float(f):.3f}" for f in figures.split()[:6])]


def test_what_ranges_of_a_report_miss_is_what_the_experiment_found() -> None:
    of_few, _, of_many = (ROOT / "experiments" / "report" / "patients.txt").read_text().split("\n\n")[:3]
    page = " ".join((ROOT / "docs" / "report.md").read_text("utf-8").split())
    ways = [line.split()[-8:] for line in of_many.splitlines()[3:]]
    for counted, cells in zip(("rows", "patients"), ways, strict=True):
        assert f"| {counted} | {cells[3]} % | {cells[4]} % |" in page
    cells = of_few.splitlines()[-1].split()[-8:]
    assert f"of 300 patients {cells[4]} % of the ranges of recall in sentences miss, and {cells[1]} % of those" in page


def test_intervals_of_differences_hold_as_often_as_is_said() -> None:
    text = (ROOT / "experiments" / "gate" / "intervals.txt").read_text()
    covered = [float(share) for share in re.findall(r"([01]\.\d{3}) \(", text)]
    assert len(covered) == 18 * 5
    real, bootstrap = text.split("real files: ")[1].split("macro-F1 of a sample")
    agree = [float(share) for share in re.findall(r"([01]\.\d{3})", real)]
    assert len(agree) == 7 * 5
    flat = in_one_line(GUARDS_PAGE)
    assert f"held the true difference in {100 * min(covered):.0f} % of the samples or more" in flat
    assert f"agreed within them in {100 * min(agree):.0f} to {100 * max(agree):.0f} %" in flat
    of_sample, of_bootstrap = bootstrap.split()[-2:]
    assert f"with macro-F1 {of_sample[1:]} have one of {of_bootstrap[1:]}" in flat


def test_news_is_as_rare_and_as_sure_as_is_said() -> None:
    lines = (ROOT / "experiments" / "gate" / "news.txt").read_text().splitlines()[5:]
    simulated = [line for line in lines if "rows" in line]
    real = [line for line in lines if "rows" not in line]
    same = [re.search(r"(\d+) of (\d+)", line).groups() for line in lines]
    assert {news for news, _ in same[: len(simulated)]} == {"0"}
    news, labels = (sum(int(pair[k]) for pair in same[len(simulated) :]) for k in (0, 1))
    flat = in_one_line(GUARDS_PAGE)
    assert f"in {5 * len(real)} pairs of halves of seven real sets {news} of {labels:,} were" in flat
    found = [[int(share) for share in re.findall(r"(\d+)%", line)][-2:] for line in simulated if line[:5] == "1000,"]
    for_some, for_many = ([row[k] for row in found] for k in (0, 1))
    assert f"for {min(for_many)} to {max(for_many)} % of the labels with 100 positives or more" in flat
    assert f"for {min(for_some)} to {max(for_some)} % of those with 30 to 100" in flat


def test_updates_are_shown_as_they_were_measured() -> None:
    simulated, real = (ROOT / "experiments" / "gate" / "update.txt").read_text().split("\n\nhalves of ")
    lines = simulated.splitlines()[3:]
    shown = GUARDS_PAGE[GUARDS_PAGE.index("| rows of the old fit, new rows |") :].splitlines()[2 : 2 + len(lines)]
    for line, row in zip(lines, shown, strict=True):
        drift, old, fresh, updated, _, _, moved, others = line[16:].split()
        assert [cell.strip() for cell in row.strip("|").split("|")] == [
            line[:16].strip(), drift, old, fresh, updated, moved, others
        ]  # fmt: skip
    rows = [line.split() for line in real.splitlines()[2:]]
    labels, moved = (sum(int(row[k]) for row in rows) for k in (1, 4))
    gain = np.array([float(row[7]) - float(row[6]) for row in rows])
    flat = in_one_line(GUARDS_PAGE)
    assert f"of eleven real sets, {moved} of {labels:,} thresholds moved" in flat
    error = gain.std(ddof=1) / np.sqrt(gain.size)
    assert f"reached {gain.mean():.2f} points more than the fresh fit on average (standard error {error:.2f};" in flat


def test_out_of_fold_figures_are_shown_as_they_were_measured() -> None:
    text = (ROOT / "experiments" / "guards" / "out_of_fold.txt").read_text()
    shown = cells_of(GUARDS_PAGE, "| macro-F1 minus that on the other half")
    for figure in ("in the sample", "out of fold"):
        lines = [line for line in text.splitlines() if figure in line[:30]]
        for line, cell in zip(lines, shown[figure], strict=False):  # The last line is prose.
            mean, error, largest = line.split(figure)[1].split()
            short = f"{mean} {error}, at most {float(largest):+.1f}".replace("-", "−")
            assert cell == re.sub(r"(?<!\d)0\.", ".", short)
    sets, in_sample, out_of_fold = re.search(r"(\d+) sets.* in (\d+) by .* in (\d+) by", text).groups()
    flat = in_one_line(GUARDS_PAGE)
    assert f"On {sets} sets of scores" in flat
    assert f"in {out_of_fold} of {sets} sets (by the figures in the sample in {in_sample})" in flat


def test_base_rates_page_has_the_figures_of_weaker_scores() -> None:
    page = (ROOT / "docs" / "base_rates.md").read_text()
    shown = re.findall(r"^\| ((?:distance|rates) .*) \|$", page, re.MULTILINE)
    results = (ROOT / "experiments" / "base_rates" / "weakened.txt").read_text().splitlines()
    of_page = [re.split(r"\s{2,}", line.strip())[2:] for line in results if line.startswith("    20  3,000  ")]
    expected = [" | ".join(cells).replace("-", "−") for cells in of_page if cells[0] != "all of these"]
    assert len(shown) == 9
    assert shown == expected
