"""Corollary 5.2: of calibrated probabilities, what is at least half of the best F1 is predicted.

    python experiments/paper/half_of_f1.py [--quick] [--output FOLDER] [FILE ...]

- Scores with P(t = 1 | s) = s and beta-distributed s: the best threshold by searching F1 of the population, and by
  `fit_expected` on a sample, against half of the F1 reached.
- What is printed as calibration, p₁(s) = s and p₀(s) = 1 - s, taken literally; and the scores of section 8.
- Labels and scores alone: after isotonic calibration on the same rows, the corollary is exact (`fit_empirical`).
- Real scores (FILE, default: the demo data): thresholds t found on labels against F1/2, as figure 8 has t = F/2; of the
  scores as they are, and after calibration on the other half of the rows.

`corollary_5_2.svg`, left: F1 against the threshold for three distributions, best at half of its height. Right: best
thresholds of real scores against half of F1, one point for each label with at least 100 positives.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy import optimize, stats

from thresholds import InputError, calibrate, fit_empirical, fit_expected
from thresholds.metrics import f1_score

from claims import Claim, Options, Results, dense, main, progress, short, statement
from pictures import BLUE, COLOURS, GREY, ORANGE, PAGE, figure

Floats = npt.NDArray[np.float64]

CALIBRATED = 'Corollary 5.2: "calibrated" must mean P(t=1|s) = s, and a score of exactly F1/2 may be left out'
SHAPES = ((1.0, 9.0), (0.5, 4.5), (2.0, 2.0))  # of beta distributions of calibrated probabilities
FEWEST = 100  # positives of a label, for its best threshold to be more than luck


def f1_above(threshold: Floats | float, a: float, b: float) -> Floats | float:
    """F1 of predicting s >= threshold, s being calibrated and beta(a, b): tp = E(s; s >= t)."""
    mean = a / (a + b)
    tp = mean * stats.beta.sf(threshold, a + 1, b)
    return 2 * tp / (mean + stats.beta.sf(threshold, a, b))


def best_by_sorting(p: npt.NDArray[np.floating[Any]]) -> tuple[Floats, Floats, Floats]:
    """The highest F1 of expected counts of each column, over all cuts; the last that is predicted there, and the next.

    Nothing here knows of the corollary, so that half of F1 may lie anywhere.
    """
    ordered = -np.sort(-p.astype(np.float64), axis=0)
    f1 = 2 * np.cumsum(ordered, axis=0) / (ordered.sum(axis=0) + np.arange(1, len(p) + 1)[:, None])
    at = np.argmax(f1, axis=0)[None]
    ordered = np.concatenate([ordered, np.zeros_like(ordered[:1])])
    best, last, following = (np.take_along_axis(*x, axis=0)[0] for x in ((f1, at), (ordered, at), (ordered, at + 1)))
    return best, last, following


def half_lies_at_the_cut(best: Floats, last: Floats, following: Floats) -> npt.NDArray[np.bool_]:
    """Is half of the highest F1 between the last probability predicted and the next, but for rounding?"""
    return (last >= best / 2 * (1 - 1e-9)) & (following <= best / 2 * (1 + 1e-9))


def on_populations(n: int) -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """Best thresholds of calibrated probabilities, searched and fitted."""
    rng = np.random.default_rng(521)
    found, searched_off, fitted_off = {}, 0.0, 0.0
    for a, b in SHAPES:
        grid = np.linspace(1e-4, 0.6, 600)
        near = grid[np.argmax(f1_above(grid, a, b))]
        best = optimize.minimize_scalar(
            lambda t, a=a, b=b: -f1_above(t, a, b),
            bounds=(near - 2e-3, near + 2e-3),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        f1 = f1_above(best, a, b)
        rule = fit_expected(rng.beta(a, b, n))
        found[f"beta({a:g}, {b:g})"] = {"threshold": best, "f1": f1, "fitted": rule.thresholds[0]}
        searched_off = max(searched_off, abs(best - f1 / 2))
        fitted_off = max(fitted_off, abs(rule.thresholds[0] - rule.objective / 2))
    pairs = ", ".join(f"{short(of['threshold'])} for F1 {short(of['f1'])}" for of in found.values())
    claims = [
        statement(
            "Corollary 5.2",
            "an instance is predicted iff s ≥ F1/2: population, s calibrated",
            f"best thresholds {pairs}: at most {searched_off:.0g} from half",
            holds=searched_off < 1e-5,
        ),
        statement(
            "Library",
            "… and the threshold of fit_expected, which goes by F1 of expected counts, is half of its objective",
            f"off by at most {fitted_off:.0g}, {n:,} probabilities",
            holds=fitted_off < 1e-15,
            by_construction="it cuts there",
        ),
    ]
    return claims, found


def literally() -> list[Claim]:
    """p₁(s) = s and p₀(s) = 1 - s as densities in (3); and a score of exactly F1/2."""
    b, jaccard = 0.1, 0.25
    f1 = 2 * jaccard / (1 + jaccard)
    literal = optimize.brentq(lambda s: b * s / ((1 - b) * (1 - s)) - jaccard, 0, 1 - 1e-9)
    posterior = optimize.brentq(lambda s: s / (1 - s) - jaccard, 0, 1 - 1e-9)
    truth, scores = [1, 1, 0, 0, 0], [1.0, 1 / 3, 1 / 3, 1 / 3, 0.0]
    rule = fit_empirical(truth, scores)
    at_half = bool(np.isclose(rule.objective / 2, 1 / 3)) and rule.predict(np.array([1 / 3])).tolist() == [0]
    as_well = bool(np.isclose(f1_score(truth, np.array(scores) >= 1 / 3), rule.objective))
    return [
        statement(
            "Corollary 5.2",
            "calibrated: p₁(s) = s and p₀(s) = 1 - s, the densities given the label",
            f"for b = .1 and J = 1/4 they give the threshold {short(literal)}, P(t = 1 | s) = s"
            f" gives {short(posterior)}; F1/2 is {short(f1 / 2)}",
            holds=bool(np.isclose(literal, f1 / 2)),
            right=("P(t = 1 | s) = s", bool(np.isclose(posterior, f1 / 2))),
            erratum=CALIBRATED,
        ),
        statement(
            "Corollary 5.2",
            "… and if s = F1/2, it is predicted",
            "three scores of 1/3, one of them positive, beside a certain hit: F1 2/3 with and without them"
            if as_well
            else "it must",
            holds=not (at_half and as_well),
            erratum=CALIBRATED,
        ),
    ]


def of_noise(b: float, sigma: float, n: int) -> Claim:
    """Section 8's scores b + noise, of which it says that F1/2 lies at the threshold if they are calibrated."""
    scores = b + sigma * np.random.default_rng(522).standard_normal(n)
    best = 2 * b / (1 + b)  # of predicting everything
    above = scores >= best / 2
    at_half = 2 * b * above.mean() / (b + above.mean())
    return statement(
        "Section 8",
        "scores b + noise of an uninformative model: the threshold is at F1/2, as they are calibrated",
        f"b = {short(b)}, deviation {short(sigma)}: {above.mean():.0%} of them are above F1/2 = {short(best / 2)},"
        f" with F1 {short(at_half)}; the best, {short(best)}, is that of the lowest score, {scores.min():.2f}",
        holds=bool(np.isclose(at_half, best)),
        erratum="Section 8: scores b + noise are not calibrated, so that F1/2 is not their threshold",
    )


@dataclass(frozen=True)
class Label:
    """The best threshold of one label of a file, the F1 it reaches on its rows, and that of a cut at F1/2."""

    file: str
    calibrated: bool
    threshold: float
    f1: float
    f1_of_half: float


def on_real_scores(options: Options) -> tuple[list[Claim], dict[str, list[Label]]]:
    """Thresholds on one half of the rows, calibration on the other half; labels with enough positives."""
    labels: list[Label] = []
    exact, total = 0, 0
    for data in progress(options.score_files(), "files"):
        fit, other, _ = data.halves()
        enough = np.flatnonzero(np.asarray(data.y_true[fit].sum(axis=0)).ravel() >= FEWEST)
        truth, scores = (dense(part)[:, enough] for part in (data.y_true, data.y_score))
        if not enough.size:
            continue
        name = f"{data.name} {data.score_key or ''}".strip()
        on_other = calibrate(truth[other], scores[other], "platt", "label").transform(scores[fit])
        for calibrated, used in ((False, scores[fit]), (True, on_other)):
            rule = fit_empirical(truth[fit], used, placement="mid")
            reached = f1_score(truth[fit], rule.predict(used), average=None)
            of_half = f1_score(truth[fit], used >= reached / 2, average=None)
            found = zip(rule.thresholds.tolist(), reached.tolist(), of_half.tolist(), strict=True)
            labels += [Label(name, calibrated, *of_label) for of_label in found]
        isotonic = calibrate(truth[fit], scores[fit], by="label").transform(scores[fit])
        by_half = isotonic >= reached_by_best(truth[fit], scores[fit]) / 2 - 1e-12
        best = f1_score(truth[fit], fit_empirical(truth[fit], scores[fit]).predict(scores[fit]), average=None)
        exact += int(np.isclose(f1_score(truth[fit], by_half, average=None), best, rtol=1e-12).sum())
        total += enough.size
    if not labels:
        raise InputError(f"no label of the files has {FEWEST} positives in the first half of the rows, expected some")
    return [empirical_form(exact, total), *half_on_real(labels)], {"labels": labels}


def reached_by_best(truth: npt.NDArray[np.generic], scores: npt.NDArray[np.generic]) -> Floats:
    """The best empirical F1 of each label."""
    return np.asarray(f1_score(truth, fit_empirical(truth, scores).predict(scores), average=None))


def empirical_form(exact: int, total: int) -> Claim:
    """The corollary for labels and scores, without any assumption."""
    return statement(
        "Corollary 5.2, empirical",
        "isotonic probabilities of the same rows, cut at half of the best F1, are the optimum",
        f"the same F1 for {exact} of {total} labels of real scores",
        holds=exact == total,
        of_files=True,
    )


def by_file(labels: list[Label], calibrated: bool) -> dict[str, dict[str, float]]:
    """Medians of t / (F1/2) over the labels of a score matrix, and the mean F1 lost by a cut at F1/2."""
    of_file: dict[str, list[Label]] = {}
    for label in labels:
        if label.calibrated == calibrated:
            of_file.setdefault(label.file, []).append(label)
    return {
        name: {
            "ratio": float(np.median([2 * label.threshold / label.f1 for label in group])),
            "f1_lost": float(np.mean([label.f1 - label.f1_of_half for label in group])),
            "labels": len(group),
        }
        for name, group in of_file.items()
    }


def within_a_tenth(ratios: list[float]) -> bool:
    """Are all of them between .9 and 1.1?"""
    return bool(np.abs(np.array(ratios) - 1).max() < 0.1)


def half_on_real(labels: list[Label]) -> list[Claim]:
    """How far t is from F1/2, before and after calibration."""
    ratio = {calibrated: [of["ratio"] for of in by_file(labels, calibrated).values()] for calibrated in (False, True)}
    lost = {c: np.mean([of.f1 - of.f1_of_half for of in labels if of.calibrated == c]) for c in (False, True)}
    return [
        statement(
            "Figure 8",
            "real scores: thresholds found on labels are half of the F1 they reach, within a tenth",
            f"median of t/(F1/2) over labels {min(ratio[False]):.2f} to {max(ratio[False]):.2f} in {len(ratio[False])}"
            f" score matrices, {min(ratio[True]):.2f} to {max(ratio[True]):.2f} after Platt calibration on other rows;"
            f" a cut at F1/2 loses {short(lost[False])} and {short(lost[True])} of F1",
            holds=within_a_tenth(ratio[False]),
            only_if=("scores are calibrated", within_a_tenth(ratio[True])),
            of_files=True,
        )
    ]


def draw(labels: list[Label]) -> Figure:
    """F1 of three distributions, and real thresholds."""
    drawn = figure(PAGE, 2.9)
    left, right = drawn.subplots(1, 2)
    t = np.linspace(1e-3, 0.999, 300)
    for (a, b), colour, style in zip(SHAPES, COLOURS, ("-", "--", "-."), strict=False):
        f1 = f1_above(t, a, b)
        left.plot(t, f1, color=colour, linestyle=style, label=f"beta({a:g}, {b:g})")
        left.plot(t[np.argmax(f1)], f1.max(), "o", color=colour)
    left.plot([0, 0.5], [0, 1], color=GREY, linestyle=":", label="F1 = 2t")
    left.set(xlabel="threshold t on the probability", ylabel="F1", xlim=(0, 1), ylim=(0, 1))
    left.legend(title="distribution of probabilities", title_fontsize=7)
    left.set_title("Best where the curve meets F1 = 2t", loc="left")
    for calibrated, colour, marker, name in ((False, ORANGE, "s", "as scored"), (True, BLUE, "o", "calibrated")):
        of = [label for label in labels if label.calibrated == calibrated]
        right.plot(
            [label.f1 / 2 for label in of],
            [label.threshold for label in of],
            linestyle="none",
            marker=marker,
            markersize=2.2,
            alpha=0.6,
            markeredgewidth=0,
            color=colour,
            label=name,
            rasterized=len(of) > 300,
        )
    right.plot([0, 0.5], [0, 0.5], color=GREY, linestyle=":", label="t = F1/2")
    right.set(xlabel="half of the best F1", ylabel="best threshold t on labels", xlim=(0, 0.52), ylim=(0, 1))
    right.legend(loc="upper left")
    right.set_title("Real scores, a point for each label", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge corollary 5.2 and draw it."""
    claims, found = on_populations(20_000 if options.quick else 1_000_000)
    real, numbers = on_real_scores(options)
    labels = numbers["labels"]
    table = {name: by_file(labels, calibrated) for calibrated, name in ((False, "as_scored"), (True, "calibrated"))}
    return Results(
        [*claims, *literally(), of_noise(0.1, 0.1, 1_000_000), *real],
        {"populations": found, **table},
        {"corollary_5_2.svg": draw(labels)},
    )


if __name__ == "__main__":
    main(__file__, run)
