# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Decisions from probabilities alone
#
# If scores are calibrated probabilities (of all cells with .3, three in ten are positive), they say what to predict,
# and how good that will be. No gold labels are needed. This notebook draws probabilities, then labels from them, so
# that promises can be held against what happens; then it breaks the calibration.

# %%
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

import thresholds

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"figure.figsize": (6.5, 2.8), "figure.dpi": 110, "figure.constrained_layout.use": True})
rng = np.random.default_rng(0)

rates = np.geomspace(0.02, 0.4, 10)
spread = rng.permutation(np.linspace(0.3, 3, 10))  # how much the model knows of each label
p = expit(logit(rates) + spread * rng.normal(size=(5000, 10)))  # what the model says
y_true = rng.random(p.shape) < p  # what happens: the probabilities are calibrated
found = thresholds.measure_calibration(y_true, p)
print(f"sum of probabilities / number of positives {found.sum_over_positives:.3f} (ideal: 1)")
print(f"calibration slope {found.slope:.3f} (ideal: 1)")

# %% [markdown]
# ## The best threshold is half of the best F1
#
# For each label, F1 of expected counts over all thresholds. Its maximum F\* lies where the threshold is F\*/2: on the
# grey line. So a label with a poor model gets a low threshold, and .5 would only be right for a perfect one.

# %%
rule = thresholds.fit_expected(p, "macro")
grid = np.linspace(0.001, 0.999, 250)
fig, ax = plt.subplots()
chosen = np.argsort(rule.thresholds)[[0, 3, 6, 9]]
for j, colour, style in zip(chosen, (ORANGE, PINK, GREEN, BLUE), ("-.", ":", "--", "-"), strict=True):
    f = [thresholds.expected_f(p[:, j], p[:, j] >= t) for t in grid]
    best = thresholds.expected_f(p[:, j], p[:, j] >= rule.thresholds[j])
    ax.plot(grid, f, style, color=colour, label=f"label {j}, base rate {p[:, j].mean():.0%}")
    ax.plot(rule.thresholds[j], best, "o", color=colour)
    print(f"label {j}: best F1 {best:.4f}, half of it {best / 2:.4f}, threshold {rule.thresholds[j]:.4f}")
ax.plot([0, 0.5], [0, 1], color="0.8", zorder=0)
ax.annotate("F1 = 2 × threshold", (0.45, 0.9), (8, 0), textcoords="offset points", color="0.5", va="center")
ax.set(xlabel="threshold", ylabel="F1 of expected counts", xlim=(0, 1), ylim=(0, 1))
_ = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown]
# ## Promised and realised
#
# `expected_f` says what to expect of any decisions: exactly, if probabilities are calibrated and labels independent.
# Four rules that have seen no label, and what they reach on the labels that were drawn:

# %%
rules = {
    "fixed 0.5": thresholds.FixedRule(0.5, p.shape[1]),
    "macro": rule,
    "micro": thresholds.fit_expected(p, "micro"),
    "per instance": thresholds.InstanceRule(),
}


def reached(truth, decided, average):
    """F1 on labels, with 0/0 counted as 0."""
    return thresholds.metrics.f1_score(truth, decided, average=average, zero_division=0)


print("promised / realised       macro              micro            samples")
for name, decide in rules.items():
    decided = decide.predict(p)
    averages = ("macro", "micro", "samples")
    pairs = [(thresholds.expected_f(p, decided, a, exact=True), reached(y_true, decided, a)) for a in averages]
    print(f"{name:18}", "    ".join(f"{promised:.3f} / {realised:.3f}" for promised, realised in pairs))

# %% [markdown]
# Promises hold up to chance, and each rule is the best by the average it is made for.
#
# ## Row by row
#
# `InstanceRule` finds, for each row, the set of labels with the highest expectation of that row's F1. No common
# threshold does that: a probability is judged by its company.

# %%
few = np.array([[0.9, 0.8, 0.35, 0.1], [0.35, 0.1, 0.05, 0.05], [0.5, 0.5, 0.4, 0.4], [0.1, 0.02, 0.02, 0.02]])
for row, decided in zip(few, thresholds.InstanceRule().predict(few), strict=True):
    print(
        row, "->", decided, f"expected F1 {thresholds.expected_f(row[None], decided[None], 'samples', exact=True):.3f}"
    )
print("with zero_division=1.0, the last row ->", thresholds.InstanceRule(zero_division=1.0).predict(few)[-1])

# %% [markdown]
# A probability of .35 is left out beside .9 and .8, and predicted in the second row, where nothing is more probable.
# With the default `zero_division=0` each row gets a label, as an empty prediction can only have F1 0; with 1.0, an
# empty one is right where nothing is there.
#
# ## The batch decides too
#
# The same holds for one label over rows: the best decision about an instance depends on those decided with it. Take a
# probability of .1, among others. The line is the probability from which the instance would be predicted; it is
# predicted where the line is below .1.

# %%
company = {
    "others at .5": (np.full(999, 0.5), BLUE, "o-"),
    "others spread from 0 to .4": (rng.uniform(0, 0.4, 999), GREEN, "s--"),
    "others at .05": (np.full(999, 0.05), ORANGE, "^:"),
}
sizes = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]


def predicted_from(others):
    """The lowest probability that is predicted beside others, by halving."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        batch = np.r_[middle, others]
        if thresholds.fit_expected(batch, exact=True).predict(batch)[0]:
            high = middle
        else:
            low = middle
    return high


fig, ax = plt.subplots()
for name, (others, colour, style) in company.items():
    cuts = [predicted_from(others[: size - 1]) for size in sizes]
    ax.plot(sizes, cuts, style, color=colour, label=name, markersize=4)
    print(f"{name:27} predicted in batches of", [size for size, cut in zip(sizes, cuts, strict=True) if cut <= 0.1])
ax.axhline(0.1, color="0.6", zorder=0)
ax.annotate("its probability, .1", (1000, 0.1), (0, 3), textcoords="offset points", ha="right", color="0.4")
ax.set(xscale="log", xlabel="rows in the batch", ylabel="predicted from", ylim=(-0.01, 0.4))
ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
_ = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown]
# In a batch of its own it is predicted. Among many others it is left out unless these are so improbable that half of
# the best F1 is below .1.
#
# Thresholds may be found anew for each batch. Below are three days with cases of different gravity; the probability .3
# is predicted on some and not on others. That is what maximises the F1 of each day. Whoever wants the same decision
# tomorrow fits one rule on many rows and keeps it, which costs most on the day that differs most.

# %%
days = {"monday": rng.beta(1, 30, 500), "tuesday": rng.beta(1, 3, 500), "wednesday": rng.beta(2, 1, 500)}
of_day = np.repeat(list(days), 501)
everyone = np.concatenate([np.r_[0.3, cases] for cases in days.values()])
by_batch = np.concatenate([thresholds.fit_expected(p).predict(p) for p in np.split(everyone, 3)])
kept = thresholds.fit_expected(everyone)
by_kept = kept.predict(everyone)
for day in days:
    here = of_day == day
    by_itself = thresholds.expected_f(everyone[here], by_batch[here], exact=True)
    by_one = thresholds.expected_f(everyone[here], by_kept[here], exact=True)
    print(f"{day:10} .3 is {'predicted' if by_batch[here][0] else 'left out'};", end=" ")
    print(f"expected F1 of the day {by_itself:.3f}, with one threshold for all days {by_one:.3f}")
print(f"one threshold for all days: {kept.thresholds[0]:.3f}")

# %% [markdown]
# ## If probabilities are not calibrated
#
# Now the model is over-confident: its log-odds are multiplied by a factor above 1 (below 1: not confident enough). The
# order of the scores stays the same, so the same F1 is within reach. What is promised, and what is realised on other
# rows, as the scores are and after Platt calibration on 500 labelled rows?

# %%
with_labels, others = slice(500), slice(500, None)
factors = [0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5]
lines = {"promised": [], "realised": [], "promised, calibrated": [], "realised, calibrated": []}
slopes = []
for factor in factors:
    scores = expit(factor * logit(p))
    calibrator = thresholds.calibrate(y_true[with_labels], scores[with_labels], "platt")
    for probabilities, after in ((scores[others], ""), (calibrator.transform(scores[others]), ", calibrated")):
        plain = thresholds.fit_expected(probabilities, "macro")
        lines["promised" + after].append(plain.objective)
        lines["realised" + after].append(reached(y_true[others], plain.predict(probabilities), "macro"))
        slopes.append(thresholds.measure_calibration(y_true[others], probabilities).slope)

fig, ax = plt.subplots()
styles = ((ORANGE, "o:"), (ORANGE, "o-"), (BLUE, "s:"), (BLUE, "s-"))
for (name, values), (colour, style) in zip(lines.items(), styles, strict=True):
    ax.plot(factors, values, style, color=colour, label=name, markersize=4)
ax.set(xscale="log", xlabel="log-odds multiplied by", ylabel="macro-F1")
ax.set_xticks(factors, [f"{factor:g}" for factor in factors])
ax.minorticks_off()
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
print("factor  slope as it is  calibrated   realised as it is  calibrated")
for k, factor in enumerate(factors):
    was, now = lines["realised"][k], lines["realised, calibrated"][k]
    print(f"{factor:6}  {slopes[2 * k]:14.2f}  {slopes[2 * k + 1]:10.2f}  {was:18.3f}  {now:10.3f}")

# %% [markdown]
# The calibration slope (1 is calibrated, less is over-confident) tells it, and `compare` prints it beside every rule
# that takes scores for probabilities. In the picture, what over-confident scores promise rises while what they reach
# falls: at a factor of 2 they promise far more than can be had. Scores that are not confident enough (left) reach less
# than they promise, too. Platt calibration undoes this distortion whatever the factor is, since it is of the form that
# Platt's two parameters describe; others may take `"isotonic"`, a rising curve of any form. At a factor of 1, where
# nothing is wrong, it costs next to nothing: the parameters of all labels are drawn towards each other, and here they
# are alike.
#
# If the model becomes over-confident after a rule was fitted, that shows without labels: the rule keeps what the scores
# of its fit looked like. (Whether those were calibrated, only labels can tell.)

# %%
before, after = p[:2500], expit(2 * logit(p[2500:]))
kept = thresholds.fit_expected(before, "macro")
print(fill(kept.check(after).findings[0].sentence, 110))

# %% [markdown]
# With labelled rows at hand there is another way: `fit_empirical` looks at the order of scores only, and needs no
# calibration. Where labels are scarce it over-fits, which is what [notebook 4](4_winners_curse_and_guards.ipynb) is
# about:

# %%
empirical = thresholds.fit_empirical(y_true[with_labels], p[with_labels], "macro", guard="shrink")
on_others = reached(y_true[others], empirical.predict(p[others]), "macro")
print(f"fit_empirical with a guard, 500 labelled rows: macro-F1 {on_others:.3f}")
print(f"Platt calibration, 500 labelled rows:          macro-F1 {lines['realised, calibrated'][0]:.3f}")
print(f"calibrated probabilities, no labels:           macro-F1 {lines['realised'][factors.index(1)]:.3f}")
