"""Opitz and Burst 2019: two numbers are called macro F1, how far they are apart, and how they rank classifiers.

    python experiments/paper/f_of_averages.py [FILE ...] [--quick] [--output FOLDER]

AF is the mean of the classes' F1, FA the F1 of mean precision and mean recall.

- Tables 1 to 3 and their ranking; footnote 1: what the post recommends and what scikit-learn has.
- Claims 1 to 3, on small and random tables and on decisions of seven rules on score files, fitted on half of the rows.
- Claim 4: the mean gap. The post gives its analysis elsewhere, so the tables are ours: given the gold class,
  predictions are shared out uniformly (a flat Dirichlet distribution), alone or beside as many hits; gold classes are
  equally frequent, or their shares are uniform as well ("imbalanced").
- Claim 5: errors between two classes are moved to one side, AF staying as it is. Claim 6: shares of tables with a gap.

`af_fa.svg`, left: FA against AF of random tables, of real decisions and of tables 1 to 3, between the two bounds.
Right: the mean gap of random tables over the number of classes, beside the figure of claim 4.
"""

from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from sklearn import metrics as scikit_learn

from thresholds.metrics import confusion_counts, f1_score

from claims import VERY_LIKELY, Claim, Options, Results, main, printed_number, progress, short, statement
from decisions import decided_files
from pictures import BLUE, COLOURS, GREY, LIGHT_GREY, ORANGE, PAGE, figure

Floats = npt.NDArray[np.float64]
TABLES = {
    "1": ([[100, 10_000], [0, 100]], "0.02", "0.5"),
    "2": ([[3_500, 2_500, 1_500], [5_000, 5_000, 5_000], [1_500, 2_500, 3_500]], "0.4", "0.41"),
    "3": ([[2_000, 1_000, 0], [8_000, 8_000, 8_000], [0, 1_000, 2_000]], "0.36", "0.47"),
}
CLASSES = (2, 3, 5, 10, 20)
KINDS = {"guesses": 0.0, "half right": 0.5}  # the sure share of hits
FAMILIES = {
    f"{gold}, {kind}": (gold == "imbalanced", KINDS[kind]) for gold in ("balanced", "imbalanced") for kind in KINDS
}
MEASURES = ("mean", "error", "highest", "at least .01", "ranked differently")
SMALL = 1e-12  # of sums in floating point
ABOUT_2_POINTS = 0.025  # what rounds to .02
SOURCE = "Opitz & Burst"
Found = dict[str, npt.NDArray[Any]]
Family = dict[int, dict[str, float]]


def decisions(table: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Gold and predicted classes of a table with predictions in rows."""
    counts = np.asarray(table)
    predicted, truth = np.indices(counts.shape)
    return np.repeat(truth, counts.ravel()), np.repeat(predicted, counts.ravel())


def of_tables(tables: npt.NDArray[Any]) -> Found:
    """AF and FA of many tables of one size: every class of every table is a class of one count; 0/0 counts 0."""
    n, k, _ = tables.shape
    classes = np.arange(n * k).reshape(n, k)
    predicted, truth = (np.broadcast_to(c, tables.shape).ravel() for c in (classes[:, :, None], classes[:, None, :]))
    counts = confusion_counts(truth, predicted, sample_weight=tables.ravel())
    p, r, f = (np.nan_to_num(x).reshape(n, k) for x in (counts.precision(), counts.recall(), counts.f_score()))
    af, p, r = (x.mean(axis=1) for x in (f, p, r))
    fa = 2 * p * r / np.where(p + r > 0, p + r, 1)
    sums = {name: getattr(counts, name).reshape(n, k) for name in ("tp", "positives", "predicted")}
    return {"af": af, "fa": fa, "gap": fa - af, **sums}


def random_tables(rng: np.random.Generator, k: int, n: int, imbalanced: bool, hits: float) -> Floats:
    """Draw n tables of k classes as the first lines of this file say; `hits` is the sure share of right decisions."""
    gold = rng.dirichlet(np.ones(k), n) if imbalanced else np.full((n, k), 1 / k)
    given_gold = hits * np.eye(k) + (1 - hits) * rng.dirichlet(np.ones(k), (n, k))
    return np.swapaxes(gold[:, :, None] * given_gold, 1, 2)


def simulate(n: int) -> tuple[dict[str, Family], list[Found]]:
    """Gaps and rankings of n/k random tables of each kind and number of classes k."""
    rng, summary, found = np.random.default_rng(0), {}, []
    for name, k in progress(list(product(FAMILIES, CLASSES)), "random tables"):
        drawn = of_tables(random_tables(rng, k, n // k, *FAMILIES[name]))
        differences = [x[: n // k // 2] - x[-(n // k // 2) :] for x in (drawn["af"], drawn["fa"])]
        gap, flipped = drawn["gap"], np.mean(np.prod(differences, axis=0) < 0)
        row = gap.mean(), gap.std() / np.sqrt(n // k), gap.max(), np.mean(gap >= 0.01), flipped
        summary.setdefault(name, {})[k] = dict(zip(MEASURES, row, strict=True))
        found.append(drawn)
    return summary, found


def printed_tables() -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """Tables 1 to 3, their ranking, and footnote 1."""
    claims, found = [], {}
    for name, (table, af, fa) in TABLES.items():
        found[name] = {key: f1_score(*decisions(table), average=key) for key in ("macro", "f_of_averages")}
        for says, printed, x in zip(("AF", "FA"), (af, fa), found[name].values(), strict=True):
            claims.append(printed_number(f"{SOURCE}, table {name}", says, printed, x))
    gold = np.sum([TABLES[name][0] for name in ("2", "3")], axis=1)
    (af2, fa2), (af3, fa3) = (found[name].values() for name in ("2", "3"))
    flip = statement(
        f"{SOURCE}, tables 2 and 3",
        "data are balanced; AF and FA rank the two classifiers differently",
        f"{gold.min():,} of each class; AF {short(af2)} against {short(af3)}, FA {short(fa2)} against {short(fa3)}",
        holds=bool(np.ptp(gold) == 0 and (af2 - af3) * (fa2 - fa3) < 0),
    )
    return [*claims, flip, *footnote_1(found)], found


def footnote_1(mine: dict[str, dict[str, float]]) -> list[Claim]:
    """What scikit-learn has, and which of the two meets the demand of the post's last paragraph."""
    theirs = {name: scikit_learn.f1_score(*decisions(x[0]), average="macro") for name, x in TABLES.items()}
    best, (af, fa) = max(f1_score(*decisions(TABLES["1"][0]), average=None)), mine["1"].values()
    return [
        statement(
            f"{SOURCE}, footnote 1",
            "AF is what scikit-learn has",
            f"average='macro' of scikit-learn gives {', '.join(map(short, theirs.values()))} for tables 1 to 3",
            holds=all(abs(x - mine[name]["macro"]) < SMALL for name, x in theirs.items()),
        ),
        statement(
            f"{SOURCE}, footnote 1",
            "FA is what the post recommends (no high score where every class's F1 is low)",
            f"table 1: no class has F1 above {short(best)}; AF is {short(af)}, FA {short(fa)}: that demand leads to AF",
            holds=bool(fa <= best + SMALL),
            erratum="Footnote 1: FA is not what the post recommends",
        ),
    ]


def order_and_equality(random: list[Found], real: list[dict[str, Any]], most: int) -> list[Claim]:
    """Claims 1 and 2, the latter on all tables of two classes with entries up to `most`."""
    tables = of_tables(np.array(list(product(range(most + 1), repeat=4)))[1:].reshape(-1, 2, 2))
    gaps = np.concatenate([x["gap"] for x in (*random, tables)] + [[x["fa"] - x["af"] for x in real]])
    hit, equal = tables["tp"] > 0, np.abs(tables["gap"]) < SMALL
    # Quotients of small whole numbers are equal in floating point iff they are equal.
    ratio = tables["positives"] / np.where(hit, tables["predicted"], 1)
    one_ratio, ones = ~hit.all(axis=1) | (ratio[:, 0] == ratio[:, 1]), (~hit | (ratio == 1)).all(axis=1)
    labels = [f1_score([[1, 1], [0, 0]], [[1, 1], [1, 1]], average=a) for a in ("macro", "f_of_averages")]
    return [
        statement(
            f"{SOURCE}, claim 1",
            "FA is always greater than or equal to AF",
            f"FA − AF is at least {short(gaps.min() if abs(gaps.min()) > SMALL else 0.0)} in {len(gaps):,} cases,"
            f" {len(real)} of them real",
            holds=bool(gaps.min() > -SMALL),
        ),
        statement(
            f"{SOURCE}, claim 2",
            "AF and FA are equal only if precision = recall for every class",
            f"of {np.sum(equal):,} small tables with AF = FA, {np.sum(equal & ~ones):,} have other precisions than"
            f" recalls; two labels with precision 1/2 and recall 1 have {short(labels[0])} and {short(labels[1])}",
            holds=not np.any(equal & ~ones) and labels[0] != labels[1],
            right=("iff all classes with hits have one ratio of precision to recall", np.array_equal(equal, one_ratio)),
            erratum="Claim 2: AF = FA iff all classes have one ratio of precision to recall",
        ),
    ]


def greatest(random: list[Found]) -> list[Claim]:
    """Claim 3: towards one half, and at it."""
    sizes = 10 ** np.arange(1, 7)
    gaps = of_tables(np.array([[[1, n], [0, 1]] for n in sizes]))["gap"]
    highest = max(float(x["gap"].max()) for x in random)
    p, r = np.meshgrid(*[np.arange(1, 101) / 100] * 2)
    wrong = np.sum(p + r - 1 > 2 * p * r / (p + r) + SMALL) + np.sum(2 * p * r / (p + r) > (p + r) / 2 + SMALL)
    pair, averages = ([0] * 3, [1] * 3), ("f_of_averages", "macro")
    at_0_over_0 = np.subtract(*[f1_score(*pair, average=name, zero_division=1) for name in averages])
    erratum = "Claim 3: a difference of 0.5 is a bound, reached only where 0/0 counts as 1"
    return [
        statement(
            f"{SOURCE}, claim 3",
            "the difference can be as high as 0.5",
            f"{short(gaps[0])} for rows (1, 10), (0, 1), .5 − {0.5 - gaps[-1]:.1e} for (1, {sizes[-1]:,}), (0, 1);"
            f" {short(at_0_over_0)} for 0, 0, 0 predicted as 1, 1, 1 if 0/0 counts as 1",
            holds=bool(gaps.max() >= 0.5),
            only_if=("0/0 counts as 1", bool(at_0_over_0 == 0.5 and np.all(np.diff(gaps) > 0))),
            printed="0.5",
            erratum=erratum,
        ),
        statement(
            f"{SOURCE}, footnote 3",
            "it is never higher (proof: precision + recall − 1 ≤ F1 ≤ their mean)",
            f"highest of random tables {short(highest)}; {wrong} exceptions to the inequalities at {p.size:,} points",
            holds=bool(wrong == 0 and max(highest, gaps.max()) < 0.5),
            erratum=erratum,
        ),
    ]


def in_average(summary: dict[str, Family], real: list[dict[str, Any]]) -> list[Claim]:
    """Claim 4, on random tables and on real decisions."""
    highest = {name: max(x["mean"] for x in family.values()) for name, family in summary.items()}
    balanced = all(x < ABOUT_2_POINTS for name, x in highest.items() if name.startswith("balanced"))
    gaps = np.array([x["fa"] - x["af"] for x in real])
    where, says = f"{SOURCE}, claim 4", "in average cases, the difference can be as high as 0.02 (mean)"
    found = "highest mean over 2 to 20 classes: " + ", ".join(f"{short(x)} ({name})" for name, x in highest.items())
    holds, low = (bool(x < ABOUT_2_POINTS) for x in (max(highest.values()), gaps.mean()))
    if_balanced = ("gold classes are equally frequent", balanced)
    of_real = f"mean {short(gaps.mean())}, median {short(np.median(gaps))}, highest {short(gaps.max())} of {len(gaps)}"
    return [
        statement(where, f"{says}: our random tables", found, holds=holds, only_if=if_balanced, printed="0.02"),
        statement(where, f"{says}: real", of_real, holds=low, printed="0.02", of_files=True),
    ]


def skewed_errors(hits: int = 100, errors: int = 1000) -> tuple[Claim, dict[str, Any]]:
    """Claim 5: two classes, so many hits each, and ever more of the errors on one side."""
    one_way = np.linspace(errors / 2, errors, 11).astype(int)
    found = of_tables(np.array([[[hits, x], [errors - x, hits]] for x in one_way]))
    af, even, one_sided = map(short, (found["af"][0], *found["fa"][[0, -1]]))
    claim = statement(
        f"{SOURCE}, claim 5",
        "FA rewards classifiers which produce skewed error type distributions",
        f"AF is {af} however {errors} errors are shared out, FA goes from {even} (evenly) to {one_sided} (all one way)",
        holds=bool(np.ptp(found["af"]) < SMALL and np.all(np.diff(found["fa"]) > 0)),
    )
    return claim, {"errors of one kind": one_way, "af": found["af"], "fa": found["fa"]}


def imbalance(summary: dict[str, Family], n: int) -> Claim:
    """Claim 6: how often the gap is at least one point."""
    share = {name: np.array([x["at least .01"] for x in family.values()]) for name, family in summary.items()}
    margin = 4 * np.sqrt(0.5 * np.array(CLASSES) / n)  # four standard errors, at most, of a difference of two shares
    positive = all(x["mean"] > 4 * x["error"] for family in summary.values() for x in family.values())
    likely = {}
    for kind in KINDS:
        most, few = share[f"imbalanced, {kind}"], share[f"balanced, {kind}"]
        likely[kind] = positive & (most > few + margin) & (most >= VERY_LIKELY)
    found = ", ".join(f"{', '.join(map(short, x))} ({name})" for name, x in share.items())
    return statement(
        f"{SOURCE}, claim 6",
        "differences are very likely on imbalanced data (.01 or more in nine tenths of our tables), small ones possible"
        " on balanced data",
        f"share of tables with .01 or more, of {', '.join(map(str, CLASSES))} classes: {found}",
        holds=bool(np.all(list(likely.values()))),
        only_if=(
            "there are five classes or more, and classifiers do not merely guess",
            bool(likely["half right"][np.array(CLASSES) >= 5].all()),
        ),
    )


def rankings(summary: dict[str, Family], real: list[dict[str, Any]]) -> tuple[Claim, dict[str, list[int]]]:
    """How often AF and FA rank two tables, or two rules on a file, differently; of how many pairs of rules, by file."""
    by_file: dict[str, list[int]] = {}
    for one, other in combinations(real, 2):
        if one["file"] == other["file"]:
            flipped = (one["af"] - other["af"]) * (one["fa"] - other["fa"]) < 0
            by_file.setdefault(one["file"], []).append(int(flipped))
    rules = np.concatenate(list(by_file.values()))
    shares = {name: np.mean([x["ranked differently"] for x in family.values()]) for name, family in summary.items()}
    random = ", ".join(f"{short(x)} ({name})" for name, x in shares.items())
    says = "AF and FA do not necessarily produce the same classifier ranking"
    found = f"{rules.sum()} of {rules.size} pairs of rules are ranked differently; of random tables, {random}"
    claim = statement(SOURCE, says, found, holds=bool(rules.any() or any(shares.values())))
    return claim, {name: [sum(x), len(x)] for name, x in by_file.items()}


def draw(random: list[Found], real: list[dict[str, Any]], tables: Any, summary: Any) -> Figure:
    """Both panels."""
    drawn = figure(PAGE, 2.9)
    left, right = drawn.subplots(1, 2)
    af, fa = (np.concatenate([x[key][:200] for x in random]) for key in ("af", "fa"))
    left.plot(af, fa, ".", color=LIGHT_GREY, markersize=1.5, rasterized=True, label="random tables")
    left.plot([x["af"] for x in real], [x["fa"] for x in real], "o", color=BLUE, markersize=2.5, label="real decisions")
    for end, style, text, *at in ((0, "-", "FA = AF", 0.75, 0.67, 45), (0.5, "--", "FA = (1 + AF)/2", 0.3, 0.67, 26.6)):
        left.plot([0, 1], [end, 1], style, color=GREY, linewidth=0.8)
        left.text(*at[:2], text, color=GREY, rotation=at[2], rotation_mode="anchor", fontsize=7)
    for (name, place), offset in zip(tables.items(), ((6, -3), (4, -8), (-9, 3)), strict=True):
        left.plot(*place.values(), "D", color=ORANGE, label="tables 1 to 3" if name == "1" else None)
        left.annotate(name, tuple(place.values()), offset, textcoords="offset points", color=ORANGE)
    left.set(xlabel="AF, the mean of F1", ylabel="FA, F1 of means", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    left.legend(loc="lower right")
    left.set_title("Two numbers called macro F1", loc="left")
    right.set_title("Their mean difference, random tables", loc="left")
    for (name, family), colour, style in zip(summary.items(), COLOURS, ("o-", "s-", "o--", "s--"), strict=False):
        right.plot(list(family), [x["mean"] for x in family.values()], style, color=colour, label=name)
    right.plot(CLASSES, [0.02] * len(CLASSES), ":", color=GREY, linewidth=0.8, label="claim 4")
    right.set(
        xscale="log", xlabel="classes", ylabel="mean of FA − AF", ylim=(0, 0.085), xticks=CLASSES, xticklabels=CLASSES
    )
    right.minorticks_off()
    right.legend(loc="upper right", ncols=2)
    return drawn


def run(options: Options) -> Results:
    """Judge the claims of the page and draw FA against AF."""
    n, most = (6_000, 4) if options.quick else (100_000, 9)
    (summary, random), averages = simulate(n), {"af": "macro", "fa": "f_of_averages"}
    real = [
        {"file": file.name, "rule": rule}
        | {key: f1_score(file.truth, decided, average=a, zero_division=0) for key, a in averages.items()}
        for file in decided_files(options)
        for rule, decided in file.by_rule.items()
    ]
    claims, tables = printed_tables()
    claims += order_and_equality(random, real, most) + greatest(random) + in_average(summary, real)
    (skew, by_skew), (ranking, by_file) = skewed_errors(), rankings(summary, real)
    numbers = {"tables": tables, "random": summary, "real": real, "skewed errors": by_skew, "rankings": by_file}
    claims += [skew, imbalance(summary, n), ranking]
    return Results(claims, numbers, {"af_fa.svg": draw(random, real, tables, summary)})


if __name__ == "__main__":
    main(__file__, run)
