"""Section 7 and Figure 8: what rules for macro-, micro- and per-instance F1 predict from the same real scores.

    python experiments/paper/case_study.py [FILE.npz ...] [--quick] [--output FOLDER]

The demo data and every score matrix of the files are cases. Rules are fitted on one half of the rows, judged on the
other. Claims, for each case:

- Figure 8: thresholds are half of the highest F1, of scores as they are and calibrated on labels.
- Section 1: rules for macro- and micro-F1 predict markedly dissimilar cells if most of what either predicts is
  predicted by one alone, and more than where the same rule is fitted on other rows. Judged on all cases together, since
  this "can" be.
- Section 7: very rare labels (base rate below 2 %) are predicted for more than a third of the rows under macro-F1, not
  under micro-F1, nor with a guard; decisions depend on the average; restricting the rank makes it worse. Sections 7 and
  7.1 presume that rare labels are left of which the scores say nothing: not shown better than chance, p > .05.
- Section 6.3: rare labels with poor scores (both below the median label) are over-predicted, compared with micro-F1.
- Section 7.1: macro-F1 conceals the labels that `diagnose` flags on the fitted half (platypus or suspect).

Lists of the highest scores of each row leave most scores out; those count as 0, one large tie. `--quick` is the same.

`figure_8.svg`: the share of rows on which each label is predicted over its base rate, by both rules, for the files.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from half_of_f1 import best_by_sorting, half_lies_at_the_cut
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thresholds import InstanceRule, ThresholdRule, calibrate, diagnose, fit_empirical, fit_expected
from thresholds.diagnosis.result import Diagnosis
from thresholds.metrics import auroc, f1_score

from claims import Claim, LabelledFile, Options, Results, dense, main, progress, short, statement
from pictures import BLUE, COLUMN, GREY, LIGHT_GREY, ORANGE, PAGE, figure

Cells = npt.NDArray[Any]
Judged = tuple[list[Claim], Any]  # claims, and the numbers behind them

SAYS = {  # source and claim
    "half": ("Figure 8", "half of its highest F1 lies at the best cut of each label (scores taken for probabilities)"),
    "calibrated": ("Corollary 5.2", "on labelled data, calibrated scores are predicted from half of the highest F1"),
    "macro": (
        "Section 7",
        "macro-F1: labels of very low base rate are predicted for more than a third of all documents",
    ),
    "micro": ("Section 7", "micro-F1: no irregularities, no such label"),
    "guard": (
        "Library",
        'guard "shrink", towards what suits similar labels: no such label, and no macro-F1 lost (2 SE)',
    ),
    "ratio": ("Section 6.3", "rare labels with less informative classifiers are over-predicted compared with micro-F1"),
    "concealed": ("Section 7.1", "extreme thresholding takes place on a subset of labels, and macro-F1 conceals it"),
    "diagnosis": ("Library", "`diagnose` flags such labels, and flagged labels have AUROC below .7 on other rows"),
    "own": ("Section 7", "three plug-in rules maximise macro-, micro- and per-instance F1, each its own (within 2 SE)"),
    "dissimilar": (
        "Section 1",
        "the same beliefs can produce markedly dissimilar predictions, depending on the metric (macro and micro share"
        " less than half of what either predicts, and less than each with itself fitted on other rows)",
    ),
    "rank": ("Section 7", "restricting the rank loses signals of rare labels: more are over-predicted under macro-F1"),
}

VERY_RARE, OFTEN, ONE_POINT = 0.02, 1 / 3, 0.01
LEVEL = 0.05  # of the test that shows scores better than chance
OWN = {"macro": "macro", "micro": "micro", "samples": "rows"}  # the rule that is to maximise each average


@dataclass(frozen=True)
class Case:
    """A score matrix, cut in two (rows to fit on, and others), with the decisions of each rule on both halves."""

    name: str
    truth: tuple[Cells, Cells]
    scores: tuple[Cells, Cells]
    probabilities: tuple[Cells, Cells]  # by Platt's curves
    macro: ThresholdRule
    decided: dict[str, tuple[Cells, Cells]]
    found: Diagnosis  # of the macro rule, on the fitted half
    flagged: Cells  # labels found to be a platypus or suspect

    @property
    def unknown(self) -> Cells:
        """Labels of very low base rate whose scores are not shown better than chance, on the fitted half."""
        some = self.truth[0].any(axis=0) & (self.truth[0].mean(axis=0) < VERY_RARE)
        return some & (self.found.table["p_informative"] > LEVEL)

    @property
    def all_known(self) -> tuple[str, bool]:
        """What sections 7 and 7.1 presume, if it is absent."""
        return "no label below 2 % whose scores say nothing", not self.unknown.any()

    def f1(self, rule: str, average: str | None = None) -> Any:
        """F1 on the other half."""
        return f1_of(self.truth[1], self.decided[rule][1], average)

    def often(self, rule: str) -> list[Cells]:
        """On either half, the labels of very low base rate that are predicted on more than a third of the rows."""
        return [(self.truth[0].mean(axis=0) < VERY_RARE) & (h.mean(axis=0) > OFTEN) for h in self.decided[rule]]


def claim(case: Case, key: str, found: str, **verdict: Any) -> Claim:
    """Judge one claim on one case."""
    return statement(f"{SAYS[key][0]}, {case.name}", SAYS[key][1], found, **verdict)


def f1_of(truth: Cells, decided: Cells, average: str | None = None) -> Any:
    """F1, with 0/0 as 0."""
    return f1_score(truth, decided, average=average, zero_division=0)


def paired(differences: Cells) -> tuple[float, float]:
    """The mean of differences and its standard error."""
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(differences.size))


def case_of(data: LabelledFile) -> Case:
    """Fit every rule on the first half, and let it decide both."""
    halves = data.halves()[:2]
    truth = tuple(dense(data.y_true[rows]) for rows in halves)
    stored = tuple(data.y_score[rows] for rows in halves)
    scores = tuple(map(dense, stored))
    p = tuple(map(calibrate(truth[0], scores[0], "platt", "label").transform, scores))
    of_scores = {
        "macro": fit_empirical(truth[0], scores[0], label_names=data.label_names),
        "micro": fit_empirical(truth[0], scores[0], "micro"),
        "one threshold": fit_empirical(truth[0], scores[0], "samples", per_label=False),
        "shrink": fit_empirical(truth[0], scores[0], guard="shrink"),
    }
    decided = {name: tuple(rule.predict(s) for s in scores) for name, rule in of_scores.items()}
    within = fit_empirical(truth[0], stored[0], keep_sparse=True)
    decided["within lists"] = tuple(within.predict(s) for s in scores)
    for name, rule in {"rows": InstanceRule(), "macro, label-free": fit_expected(p[0])}.items():
        decided[name] = tuple(rule.predict(q) for q in p)
    found, where = diagnose(truth[0], scores[0], of_scores["macro"]), f"{data.name} {data.score_key}"
    return Case(where, truth, scores, p, of_scores["macro"], decided, found, found.platypus | found.suspect)


def half_of_the_best(case: Case) -> Judged:
    """Hold half of the best F1 over all cuts, found by sorting, beside the scores next to the best cut."""
    p = case.scores[0]
    best, last, following = best_by_sorting(p)
    there = half_lies_at_the_cut(best, last, following)
    top = np.argsort(-np.sum(p >= last, axis=0), kind="stable")[:3]
    shown = ", ".join(
        f"{case.found.table['name'][j]} {short(best[j])} ({short(following[j])} to {short(last[j])})" for j in top
    )
    found = f"in {there.sum():,} of {there.size:,} labels; F1 of the most predicted, and the scores on either side"
    found += f" of the cut: {shown}"
    return [claim(case, "half", found, holds=bool(there.all()))], {"labels with half of F1 at the cut": there.sum()}


def most_predicted(case: Case) -> list[dict[str, Any]]:
    """The labels predicted most by the rule for macro-F1, on the fitted half, as figure 8 has them."""
    columns = {"name": "label", "n_positives": "true", "predicted_positive": "predicted", "best_f": "max F1"}
    columns |= {"threshold": "threshold", "auroc": "AUROC", "state": "state"}
    return [{columns[name]: row[name] for name in columns} for row in case.found.most_predicted(8).table]


def calibrated_half(case: Case) -> Judged:
    """Replace fitted thresholds by half of the F1 they reach, on scores calibrated in two ways."""
    truth, p = case.truth, case.probabilities
    steps = calibrate(truth[0], case.scores[0], "isotonic", "label").transform(case.scores[0])
    best = f1_of(truth[0], case.decided["macro"][0])
    exact = f1_of(truth[0], (steps >= best / 2) & (best > 0)) == best
    rule = fit_empirical(truth[0], p[0])
    reached = f1_of(truth[0], rule.predict(p[0]))
    ratios = np.quantile(2 * rule.thresholds[reached > 0] / reached[reached > 0], [0.25, 0.5, 0.75])
    fitted, half = (f1_of(truth[1], h) for h in (rule.predict(p[1]), (p[1] >= reached / 2) & (reached > 0)))
    change, error = paired(half - fitted)
    found = f"isotonic: the same F1 for {exact.sum():,} of {exact.size:,} labels; Platt: thresholds over half of F1 are"
    found += f" {', '.join(map(short, ratios))} (quartiles), half of F1 changes macro-F1 on other rows by"
    found += f" {change:+.4f} (SE {error:.4f})"
    exactly = ("the sample is calibrated exactly (isotonic)", bool(exact.all()))
    judged = claim(case, "calibrated", found, holds=exactly[1] and abs(change) <= 2 * error, only_if=exactly)
    return [judged], {"threshold over half of F1, quartiles": ratios, "change of macro-F1": change, "SE": error}


def irregular(case: Case) -> Judged:
    """Count very rare labels predicted for more than a third of the rows, under macro- and micro-F1."""
    counts = {name: [int(often.sum()) for often in case.often(name)] for name in case.decided}
    macro, kept = counts["macro"], counts["within lists"]
    base, share = case.truth[0].mean(axis=0), case.decided["macro"][1].mean(axis=0)
    rare = base < VERY_RARE
    order = np.flatnonzero(rare)[np.argsort(-share[rare], kind="stable")][:3]
    shown = "; ".join(f"{case.found.table['name'][j]} (true {base[j]:.2%}, predicted {share[j]:.1%})" for j in order)
    change, error = paired(case.f1("shrink") - case.f1("macro"))
    note = "" if kept == macro else f"; {kept[0]} and {kept[1]} if what lists leave out is never predicted"
    of_macro = (
        f"{macro[0]} of {rare.sum():,} labels below 2 %, {macro[1]} on the other half{note}; {case.unknown.sum()}"
    )
    of_macro += f" of them not shown better than chance; most: {shown}"
    of_micro, of_guard = (f"{counts[x][0]}, and {counts[x][1]} on the other half" for x in ("micro", "shrink"))
    of_guard += f"; macro-F1 {change:+.4f} (SE {error:.4f})"
    as_tie = ("scores that lists leave out count as one tie", min(macro) > 0)
    claims = [
        claim(case, "macro", of_macro, holds=min(kept) > 0, only_if=as_tie, absent=case.all_known),
        claim(case, "micro", of_micro, holds=max(counts["micro"]) == 0, absent=case.all_known),
        claim(case, "guard", of_guard, holds=max(counts["shrink"]) == 0 and change >= -2 * error),
    ]
    return claims, counts


def over_predicted(case: Case) -> Judged:
    """Compare predictions over positives on the other half, in four groups of labels."""
    truth, base, ranks = case.truth[1], case.truth[0].mean(axis=0), np.asarray(auroc(case.truth[1], case.scores[1]))
    rare, poor, known = base < np.median(base), ranks < np.nanmedian(ranks), ~np.isnan(ranks)
    table = {}
    for name, of in {"rare, poor": rare & poor, "rare, good": rare & ~poor, "common, poor": ~rare & poor}.items():
        counts = {rule: case.decided[rule][1][:, of & known].sum() for rule in ("macro", "micro")}
        table[name] = {rule: count / max(truth[:, of & known].sum(), 1) for rule, count in counts.items()}
    shown = "; ".join(f"{name} {short(row['macro'])} and {short(row['micro'])}" for name, row in table.items())
    most = max(table, key=lambda name: table[name]["macro"] - table[name]["micro"])
    holds = most == "rare, poor" and table[most]["macro"] > 1
    return [claim(case, "ratio", f"predictions over positives, macro and micro: {shown}", holds=bool(holds))], table


def concealed(case: Case) -> Judged:
    """Never predict the labels that `diagnose` flags on the fitted half, or cap them, and judge on the other half."""
    found, truth, scores, flagged = case.found, case.truth[1], case.scores[1], case.flagged
    both = ("platypus", "suspect")
    mended = {action: found.repair(case.macro, action, states=both).rule.predict(scores) for action in ("never", "cap")}
    change = {name: {a: f1_of(truth, h, a) - case.f1("macro", a) for a in OWN} for name, h in mended.items()}
    share = 1 - mended["never"].sum() / case.decided["macro"][1].sum()
    ranks = np.asarray(auroc(truth, scores))[flagged & truth.any(axis=0)]
    upper = ranks.mean() + 1.96 * (paired(ranks)[1] if ranks.size > 1 else 0) if ranks.size else 0.0
    missed = np.count_nonzero(case.often("macro")[0] & ~flagged)
    of_averages = ", ".join(f"{name} {row['macro']:+.4f} and {row['micro']:+.4f}" for name, row in change.items())
    shown = f"{flagged.sum()} of {flagged.size:,} labels flagged, {share:.0%} of all predictions; change of macro- and"
    shown += f" micro-F1 if predicted {of_averages} (hidden if macro-F1 changes by less than a point)"
    counted = ", ".join(f"{np.sum(found.state == state)} {state}" for state in np.unique(found.state))
    of_states = f"{counted}; {missed} not flagged" + (f"; upper end of mean AUROC {upper:.3f}" if ranks.size else "")
    hidden = share > flagged.mean() and abs(change["never"]["macro"]) < min(ONE_POINT, change["never"]["micro"])
    shown = shown if flagged.any() else "no label is flagged"
    claims = [claim(case, "concealed", shown, holds=bool(hidden), absent=case.all_known)]
    if flagged.any() or missed:
        claims.append(claim(case, "diagnosis", of_states, holds=bool(missed == 0 and upper < 0.7)))
    return claims, {"flagged": flagged.sum(), "share of predictions": share, "change of F1": change}


def lead(case: Case, average: str, other: str) -> tuple[float, float]:
    """How far the rule for an average is ahead of another one in it, on the other half, and the standard error."""
    truth, decided = case.truth[1], (case.decided[OWN[average]][1], case.decided[other][1])
    if average == "micro":  # no mean of anything: take that of every fiftieth row
        parts = [[f1_of(truth[k::50], h[k::50], "micro") for k in range(50)] for h in decided]
    else:
        parts = [f1_of(truth, h) if average == "macro" else f1_of(truth.T, h.T) for h in decided]
    return paired(np.subtract(*parts))


def three_rules(case: Case) -> Judged:
    """What each rule gets in each average, and how alike their decisions are."""
    truth, decided = case.truth[1], {name: halves[1] for name, halves in case.decided.items()}
    table = {rule: {a: case.f1(rule, a) for a in OWN} for rule in decided}
    leads = [lead(case, a, other) for a, rule in OWN.items() for other in OWN.values() if other != rule]
    shown = "; ".join(f"{a} " + ", ".join(f"{table[rule][a]:.3f}" for rule in OWN.values()) for a in OWN)
    between = np.sum(decided["macro"] & decided["micro"]) / np.sum(decided["macro"] | decided["micro"])
    refitted = {a: fit_empirical(truth, case.scores[1], a).predict(case.scores[1]) for a in ("macro", "micro")}
    same = {a: np.sum(decided[a] & h) / np.sum(decided[a] | h) for a, h in refitted.items()}
    own = claim(case, "own", f"F1 of the three on other rows: {shown}", holds=all(a > -2 * se for a, se in leads))
    return [own], {"F1": table, "shared by macro and micro": between, "shared by each with itself refitted": same}


def dissimilar(found: dict[str, dict[str, Any]]) -> Claim:
    """Judge on all cases whether macro- and micro-F1 can lead to markedly dissimilar predictions."""
    between = {name: behind["shared by macro and micro"] for name, behind in found.items()}
    same = {name: behind["shared by each with itself refitted"] for name, behind in found.items()}
    markedly = [name for name in found if between[name] < min(0.5, *same[name].values())]
    shown = "; ".join(
        f"{between[name]:.0%}, refitted {same[name]['macro']:.0%} and {same[name]['micro']:.0%} ({name})"
        for name in found
    )
    source, says = SAYS["dissimilar"]
    told = f"in {len(markedly)} of {len(found)} cases: macro and micro share {shown}"
    return statement(source, says, told, holds=bool(markedly), of_files=True)


def rank_restriction(ordinary: Case, restricted: Case) -> Judged:
    """Compare two score matrices of the same labels on the other half."""
    truth, cases = ordinary.truth[1], (ordinary, restricted)
    over = [case.decided["macro"][1].sum(axis=0) > 3 * truth.sum(axis=0) for case in cases]
    ranks = [float(np.nanmean(np.asarray(auroc(truth, case.scores[1])))) for case in cases]
    more, fewer = int(np.sum(over[1] & ~over[0])), int(np.sum(over[0] & ~over[1]))
    found = f"{over[1].sum()} of {over[0].size} labels predicted over three times too often, {over[0].sum()} without"
    found += f" ({more} only with, {fewer} only without); mean AUROC {short(ranks[1])} and {short(ranks[0])}"
    judged = claim(restricted, "rank", found, holds=bool(more - fewer > 2 * np.sqrt(more + fewer)))
    return [judged], {"over-predicted": [labels.sum() for labels in over], "mean AUROC": ranks}


def draw(cases: list[Case]) -> Figure:
    """Draw the share of rows predicted over the base rate, a panel for each case."""
    drawn = figure(PAGE if len(cases) > 1 else COLUMN, 2.8)
    axes = np.ravel(drawn.subplots(1, len(cases), sharex=True, sharey=True))
    for ax, case in zip(axes, cases, strict=True):
        panel(ax, case)
    axes[0].set(ylabel="share of rows predicted")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5 if len(cases) > 1 else 3)
    return drawn


def panel(ax: Axes, case: Case) -> None:
    """Draw one case; labels that are never predicted lie on the lowest line."""
    base, never, size = case.truth[0].mean(axis=0), 1e-4, 14 if len(case.macro.thresholds) < 50 else 4
    ax.plot([1e-4, 1], [1e-4, 1], color=LIGHT_GREY, linewidth=0.8, label="as often as true")
    ax.axhline(OFTEN, color=GREY, linewidth=0.6, linestyle=":", label="a third")
    shares = {rule: np.maximum(case.decided[rule][1].mean(axis=0), never) for rule in ("micro", "macro")}
    ax.scatter(base, shares["micro"], size, BLUE, marker="x", label="micro-F1", linewidths=0.6, rasterized=True)
    ax.scatter(base, shares["macro"], 3 * size, ORANGE, marker=".", linewidths=0, label="macro-F1", rasterized=True)
    x, y = base[case.flagged], shares["macro"][case.flagged]
    ax.scatter(x, y, 3 * size, "none", edgecolors="black", label="flagged", linewidths=0.6, rasterized=True)
    ax.set(xscale="log", yscale="log", xlabel="base rate", xlim=(8e-4, 1), ylim=(7e-5, 1.3))
    ax.set_xticks([1e-3, 1e-2, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
    ax.set_yticks([never, 1e-3, 1e-2, 0.1, 1], ["never", "0.1 %", "1 %", "10 %", "100 %"])
    ax.minorticks_off()
    ax.set_title(case.name.replace(" ", "\n"), loc="left")


def run(options: Options) -> Results:
    """Judge every case, and pairs of ordinary and rank-restricted scores of one file."""
    parts = (half_of_the_best, calibrated_half, irregular, over_predicted, concealed, three_rules)
    cases, claims, numbers, files = {}, [], {}, list(options.score_files()) if options.files else []
    for k, data in enumerate(progress([*Options().score_files(), *files], "cases")):
        case = case_of(data)
        found = {part.__name__: part(case) for part in parts}
        cases[case.name] = case
        claims += [replace(one, of_files=k > 0) for some, _ in found.values() for one in some]
        numbers[case.name] = {name: behind for name, (_, behind) in found.items()}
    for name in [name for name in cases if f"{name}_weak" in cases]:
        some, numbers[f"{name}, rank restriction"] = rank_restriction(cases[name], cases[f"{name}_weak"])
        claims += [replace(one, of_files=True) for one in some]
    claims.append(dissimilar({name: numbers[name]["three_rules"] for name in cases}))
    drawn = {"figure_8.svg": draw(list(cases.values())[bool(files) :])}
    return Results(
        claims,
        numbers,
        drawn,
        {
            f"Labels predicted most by the rule for macro-F1, {name}": most_predicted(case)
            for name, case in cases.items()
        },
    )


if __name__ == "__main__":
    main(__file__, run)
