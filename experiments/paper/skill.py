"""Sections 2.2, 9 and 10: macro skill beside macro-F1: what they reward, and at which threshold.

    python experiments/paper/skill.py [FILE ...] [--quick] [--output FOLDER]

- 2.2: skill as a function of accuracy, on every outcome of small samples of one label.
- 9: what lies between a trivial and a perfect classifier at each base rate; what a perfect label adds to each average;
  whether .5 is the best threshold, on labelled data of exactly calibrated scores and in expectation over a batch.
- 10: which of seven rules macro-F1 and macro skill prefer on score files, on which rules are fitted on one half of the
  rows and judged on the other.

`skill.svg`, left: what is to be gained, from the best trivial classifier to a perfect one, in F1, accuracy and skill,
over the base rate. Right: macro-F1 and macro skill of every rule on every file; a line joins the rule that macro-F1
prefers and the one that macro skill prefers.
"""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy.stats import binom

from thresholds import FixedRule, fit_empirical
from thresholds.metrics import confusion_counts, f1_score, macro_auroc, macro_skill_score, skill_score

from claims import STRONGLY, Claim, Options, Results, main, short, statement
from decisions import decided_files
from pictures import BLUE, GREEN, GREY, LIGHT_GREY, ORANGE, PAGE, figure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SMALL = 1e-12  # of sums in floating point
BASE_RATES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
KINK = "Section 2.2: skill is not linear in accuracy, and 0/0 where a label has one class"


def columns(n: int, ones: npt.ArrayLike) -> Ints:
    """One label for each number of ones, which come first."""
    return (np.arange(n)[:, None] < np.asarray(ones)).astype(np.int64)


def every_outcome(n: int) -> dict[int, tuple[Floats, Floats]]:
    """Accuracy and skill of every number of hits and false alarms among n rows, by the number of positives."""
    found = {}
    for a in range(n + 1):
        hits, alarms = (x.ravel() for x in np.meshgrid(np.arange(a + 1), np.arange(n - a + 1)))
        row = np.arange(n)[:, None]
        decided = ((row < hits) | ((row >= a) & (row < a + alarms))).astype(np.int64)
        truth = columns(n, np.full(hits.size, a))
        found[a] = confusion_counts(truth, decided).accuracy(), skill_score(truth, decided)
    return found


def is_linear(x: Floats, y: Floats) -> bool:
    """Whether points lie on one line."""
    return bool(np.ptp(y - np.polyval(np.polyfit(x, y, 1), x)) < 1e-9) if np.ptp(x) > 0 else True


def as_a_function(n: int) -> list[Claim]:
    """Section 2.2: linear, defined, monotone?"""
    found = every_outcome(n)
    linear, above, rises, undefined = [], [], [], []
    for a, (accuracy, skill) in found.items():
        if np.isnan(skill).any():
            undefined.append(a)
            continue
        high = accuracy >= max(a, n - a) / n
        linear.append(is_linear(accuracy, skill))
        above.append(is_linear(accuracy[high], skill[high]) and not skill[~high].any())
        order = np.argsort(accuracy, kind="stable")
        steps = np.diff(accuracy[order]) > SMALL
        rises.append(bool(np.all((np.diff(skill[order]) > SMALL) == (steps & high[order][:-1]))))
    never_falls, only_one = all(rises), undefined == [0, n]
    return [
        statement(
            "Section 2.2",
            "skill is a linear function of accuracy",
            f"for {sum(linear)} of {len(linear)} numbers of positives among {n} rows; from the majority class's"
            f" accuracy on for {sum(above)}",
            holds=all(linear),
            only_if=("accuracy is at least that of the majority class (else skill is 0)", all(above)),
            erratum=KINK,
        ),
        statement(
            "Section 2.2",
            "skill is defined for every gold standard",
            f"0/0 with {' and '.join(map(str, undefined))} positives among {n} rows",
            holds=not undefined,
            only_if=("both classes occur", only_one),
            erratum=KINK,
        ),
        statement(
            "Section 9",
            "skill is a monotonically increasing function of accuracy",
            "never falls, and is 0 up to the accuracy of the majority class" if never_falls else "falls somewhere",
            holds=never_falls and all(linear),
            only_if=("accuracy is at least that of the majority class (else skill is 0)", never_falls),
            erratum=KINK,
        ),
    ]


def ranges(n: int) -> tuple[list[Claim], dict[str, Floats]]:
    """Section 9: from the best trivial classifier to a perfect one, at every base rate."""
    truth = columns(n, np.round(BASE_RATES * n))
    nothing = np.zeros(truth.shape)
    all_or_none = [np.ones_like(truth), np.zeros_like(truth)]
    by_f1 = fit_empirical(truth, nothing).predict(nothing)
    accuracy = np.max([confusion_counts(truth, x).accuracy() for x in all_or_none], axis=0)
    gain = {
        "F1": f1_score(truth, truth, average=None) - f1_score(truth, by_f1, average=None),
        "accuracy": 1 - accuracy,
        "skill": skill_score(truth, truth) - np.max([skill_score(truth, x) for x in all_or_none], axis=0),
    }
    text = {name: f"{short(x.min())} to {short(x.max())}" for name, x in gain.items()}
    where = f"at base rates {short(BASE_RATES[0])} to {short(BASE_RATES[-1])}"
    return [
        statement(
            "Section 9",
            "from a trivial to a perfect classifier, skill varies equally for all labels, whatever the base rate",
            f"skill gains {text['skill']} {where}, accuracy {text['accuracy']}",
            holds=bool(np.ptp(gain["skill"]) < SMALL < np.ptp(gain["accuracy"])),
            by_construction="skill is defined as 0 for the majority class, the best trivial guess, and 1 for truth",
        ),
        statement(
            "Section 1",
            "in F1, that difference depends strongly on the base rate (by more than half of the range of F1)",
            f"F1 gains {text['F1']} {where}",
            holds=bool(np.all(np.diff(gain["F1"]) < 0) and np.ptp(gain["F1"]) > STRONGLY),
        ),
    ], gain


def equal_weight(n: int = 1000) -> Claim:
    """Section 9: what either label of section 6.2 adds when it becomes perfect."""
    truth = columns(n, [n // 2, n // 10])
    scores = [np.zeros(truth.shape), truth * [1.0, 0.0], truth * [0.0, 1.0]]
    f1 = [fit_empirical(truth, s).objective for s in scores]
    decided = [FixedRule(0.5, 2).predict(s) for s in scores]
    skill = [macro_skill_score(truth, x) for x in decided]
    accuracy = [confusion_counts(truth, x).accuracy().mean() for x in decided]
    added = {name: np.array(x)[1:] - x[0] for name, x in (("macro-F1", f1), ("accuracy", accuracy), ("skill", skill))}
    return statement(
        "Section 9",
        "macro skill weighs labels equally, as is one goal of macro-F1",
        "a perfect label at base rate .5, and one at .1, add "
        + "; ".join(f"{short(x[0])}, {short(x[1])} of {name}" for name, x in added.items()),
        holds=bool(np.ptp(added["skill"]) < SMALL < min(np.ptp(added["accuracy"]), np.ptp(added["macro-F1"]))),
        by_construction="a mean over labels, each of which goes from 0 to 1",
    )


def calibrated_regret(shape: Floats, steps: int = 20) -> float:
    """How much skill the cut at .5 loses to the best one, where a share k/20 of the rows of score k/20 is positive."""
    level = np.arange(steps + 1)
    sizes = (shape * steps).astype(int)  # each a multiple of `steps` rows, so that shares are exact
    scores = np.repeat(level / steps, sizes * steps)
    truth = np.concatenate([np.arange(size * steps) < size * k for size, k in zip(sizes, level, strict=True)])
    cuts = level / steps
    decided = (scores[:, None] >= cuts).astype(np.int64)
    skill = skill_score(np.repeat(truth[:, None], cuts.size, axis=1), decided)
    return float(skill.max() - skill[steps // 2])


def expected_skill(groups: int, chosen: int) -> float:
    """Expected skill of predicting so many of the likeliest rows of a batch of groups with probabilities .4, .2, .2."""
    n, first = 3 * groups, min(chosen, groups)
    sizes = (first, chosen - first), (groups - first, 2 * groups - chosen + first)
    hits, rest = (
        np.convolve(*[binom.pmf(np.arange(k + 1), k, p) for k, p in zip(x, (0.4, 0.2), strict=True)]) for x in sizes
    )
    h, g = np.ogrid[: hits.size, : rest.size]
    majority = np.maximum(h + g, n - h - g)
    skill = np.maximum(h + n - chosen - g - majority, 0) / np.maximum(n - majority, 1)
    return float(hits @ skill @ rest)


def same_threshold() -> tuple[Claim, dict[str, Any]]:
    """Section 9: .5 on given labels, and in expectation over batches of 3, 30 and 300 rows."""
    level = np.linspace(0, 1, 21)
    given = [calibrated_regret(shape) for shape in (1 + 0 * level, 1 + 9 * (1 - level), 1 + 9 * level)]
    batches = {3 * m: [expected_skill(m, k) for k in range(3 * m + 1)] for m in (1, 10, 100)}
    best = {n: max(values) for n, values in batches.items()}
    regret = np.array([best[n] - batches[n][0] for n in batches])
    claim = statement(
        "Section 9",
        "the same optimal threshold, .5 for calibrated probabilities, applies to skill",
        f"on calibrated labelled data it loses {short(max(given))}; in expectation over 3 rows (.4, .2, .2) it has"
        f" skill {short(batches[3][0])}, predicting the first {short(best[3])}; with 30 and 300 rows it loses"
        f" {short(regret[1])} and {short(regret[2])}",
        holds=bool(max(given) < SMALL and regret.max() < SMALL),
        only_if=(
            "labels are given, or the batch is large",
            bool(max(given) < SMALL and np.all(np.diff(regret) < 0) and regret[-1] < 0.01),
        ),
        erratum="Section 9: skill keeps the threshold 1/2 on given labels, not in expectation over a batch",
    )
    most = [int(np.argmax(values)) for values in batches.values()]
    return claim, {"rows": list(batches), "lost by .5": regret, "best to predict": most}


def on_real_scores(options: Options) -> dict[str, dict[str, Any]]:
    """Macro-F1 and macro skill of every rule, and AUROC of the scores, by file."""
    found = {}
    for file in decided_files(options):
        f1 = {rule: f1_score(file.truth, x, average="macro", zero_division=0) for rule, x in file.by_rule.items()}
        skill = {rule: macro_skill_score(file.truth, x) for rule, x in file.by_rule.items()}
        found[file.name] = {"macro-F1": f1, "macro skill": skill, "macro AUROC": macro_auroc(file.truth, file.scores)}
    return found


def preferred(values: dict[str, float]) -> list[str]:
    """The rules of the highest value."""
    return [rule for rule, value in values.items() if value == max(values.values())]


def preferences(real: dict[str, dict[str, Any]]) -> Claim:
    """Section 10: which rule either measure prefers."""
    chosen = {name: [preferred(x[name]) for x in real.values()] for name in ("macro-F1", "macro skill")}
    differ = sum(set(one).isdisjoint(other) for one, other in zip(*chosen.values(), strict=True))
    found = [f"on {differ} of {len(real)} score files they prefer different rules"]
    for name, rules in chosen.items():
        counts = Counter(x[0] if len(x) == 1 else "several alike" for x in rules).most_common()
        found.append(f"{name}: " + ", ".join(f"{rule} ({count})" for rule, count in counts))
    areas = [x["macro AUROC"] for x in real.values()]
    found.append(f"AUROC, {short(min(areas))} to {short(max(areas))}, is the same whatever the rule")
    says = "a change of metric can alter optimal thresholding"
    return statement("Section 10", says, "; ".join(found), holds=differ > 0, of_files=True)


def draw(gain: dict[str, Floats], real: dict[str, dict[str, Any]]) -> Figure:
    """Both panels."""
    drawn = figure(PAGE, 2.6)
    left, right = drawn.subplots(1, 2)
    for (name, values), colour, style in zip(gain.items(), (ORANGE, GREEN, BLUE), ("o-", "s--", "^-"), strict=True):
        left.plot(BASE_RATES, values, style, color=colour, label=name)
    left.set(xlabel="base rate", ylabel="gain, from trivial to perfect", xlim=(-0.02, 1.02), ylim=(0, 1.05))
    left.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
    left.set_title("What is to be gained on a label", loc="left")
    right.set_title("Rules on score files", loc="left")
    for x in real.values():
        f1, skill = x["macro-F1"], x["macro skill"]
        one, other = ((f1[rule], skill[rule]) for rule in (preferred(f1)[0], preferred(skill)[0]))
        right.plot(list(f1.values()), list(skill.values()), ".", color=LIGHT_GREY, markersize=3)
        right.plot(*zip(one, other, strict=True), "-", color=GREY, linewidth=0.7)
        right.plot(*one, "o", color=ORANGE, label="preferred by macro-F1")
        right.plot(*other, "^", color=BLUE, label="preferred by macro skill")
    right.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0)), np.square))
    right.set(xlabel="macro-F1", ylabel="macro skill (square root scale)", xlim=(0, 1), ylim=(-1e-4, 0.9))
    right.set_yticks([0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
    handles, labels = right.get_legend_handles_labels()
    right.legend(handles[:2], labels[:2], loc="upper left")
    return drawn


def run(options: Options) -> Results:
    """Judge the claims on skill, and draw it beside F1."""
    n = 1_000 if options.quick else 10_000
    (of_ranges, gain), (threshold, regret) = ranges(n), same_threshold()
    real = on_real_scores(options)
    claims = [*as_a_function(8 if options.quick else 20), *of_ranges, equal_weight(), threshold, preferences(real)]
    numbers = {"base rates": BASE_RATES, "gain": gain, "expected skill": regret, "real decisions": real}
    return Results(claims, numbers, {"skill.svg": draw(gain, real)})


if __name__ == "__main__":
    main(__file__, run)
