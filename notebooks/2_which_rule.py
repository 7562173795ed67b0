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
# # Which rule should I use?
#
# Several averages are called F1, and the decisions that suit one are poor at another. Here every rule of the library is
# fitted on the same rows and judged by every average, so that you can see what each choice buys and what it costs.

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import thresholds
from thresholds.demo import load_demo

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"figure.figsize": (6.5, 2.8), "figure.dpi": 110, "figure.constrained_layout.use": True})

data = load_demo()  # handwritten digits: 17 labels, scores are probabilities of a weak model
fit_rows, test_rows, _ = data.halves()
names = data.label_names
y_true, y_score = data.y_true[fit_rows].toarray(), data.y_score[fit_rows]
new_true, new_score = data.y_true[test_rows].toarray(), data.y_score[test_rows]

# %% [markdown]
# ## The averages
#
# | average | what it is | who counts |
# |---|---|---|
# | micro | F1 of all decisions pooled | every positive cell alike, so frequent labels most |
# | macro | the mean of the labels' F1 | every label alike, however rare |
# | weighted | the same mean, labels weighted by their positives | frequent labels most |
# | samples | the mean of the rows' F1 | every row (instance) alike |
#
# ## The rules
#
# The first group finds thresholds on labelled rows. `per_label=False` gives one threshold to all labels. The last group
# takes the scores for calibrated probabilities: `fit_expected` and `InstanceRule` never see a gold label, and
# `CalibratedRule` uses labels only to calibrate.

# %%
fit = thresholds.fit_empirical
platt = thresholds.calibrate(y_true, y_score, "platt")
rules = {
    "fixed 0.5": thresholds.FixedRule(0.5, len(names)),
    "macro": fit(y_true, y_score, "macro"),
    "macro, guarded": fit(y_true, y_score, "macro", guard="shrink"),
    "weighted": fit(y_true, y_score, "weighted"),
    "micro": fit(y_true, y_score, "micro"),
    "micro, guarded": fit(y_true, y_score, "micro", guard="pool"),
    "micro, shared": fit(y_true, y_score, "micro", per_label=False),
    "samples, shared": fit(y_true, y_score, "samples", per_label=False),
    "top-k": thresholds.fit_top_k(y_true, y_score),
    "macro, label-free": thresholds.fit_expected(y_score, "macro"),
    "micro, label-free": thresholds.fit_expected(y_score, "micro"),
    "per instance": thresholds.InstanceRule(),
    "per instance, Platt": thresholds.CalibratedRule(platt, thresholds.InstanceRule()),
}
judged = thresholds.compare(rules, new_true, new_score)
print(replace(judged, differences=()))  # without the differences to the first rule

# %% [markdown]
# ## What each buys and what it costs
#
# The same as a picture: points of F1 behind the best rule of each column. On the left are the rows of the fit. There
# `macro`, `weighted` and `micro` are each the best of their column, as no thresholds can do better there.
# `macro` and `weighted` choose the same thresholds: weights of labels do not change what is best for each. On the right
# are other rows. There luck has a say: what cannot be told apart from the best is set in bold (it has a star above).

# %%
AVERAGES = ("micro", "macro", "weighted", "samples")


def f1(truth, decided, average):
    """F1 of decisions, with 0/0 counted as 0."""
    return thresholds.metrics.f1_score(truth, decided, average=average, zero_division=0)


def table(truth, scores):
    """F1 of every rule (rows) by every average (columns), in points."""
    decided = [rule.predict(scores) for rule in rules.values()]
    return 100 * np.array([[f1(truth, cells, average) for average in AVERAGES] for cells in decided])


def behind(points):
    """How many points each rule is behind the best of its column."""
    return points.max(axis=0) - points


on_fit, on_new = table(y_true, y_score), table(new_true, new_score)
close = np.array([[rule in judged.best(average) for average in AVERAGES] for rule in rules])

# %%
fig, axes = plt.subplots(1, 2, figsize=(6.5, 4.2), sharey=True)
for ax, points, title in zip(axes, (on_fit, on_new), ("rows of the fit", "other rows"), strict=True):
    shown = behind(points)
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=12, aspect="auto")
    for (i, j), value in np.ndenumerate(shown):
        weight = "bold" if points is on_new and close[i, j] else "normal"
        ax.text(j, i, f"{value:.1f}", ha="center", va="center", color="w" if value > 7 else "k", weight=weight)
    ax.set_xticks(range(len(AVERAGES)), [f"{average}\nF1" for average in AVERAGES])
    ax.set_yticks(range(len(rules)), list(rules))
    ax.tick_params(length=0)
    ax.set_title(f"{title}: points behind the best", fontsize=9, loc="left")
    ax.spines[:].set_visible(False)

# %% [markdown]
# Read it by columns to choose a rule for the average you are judged by, and by rows for what that costs elsewhere.
# The differences between rules made for one average are small; those between averages are not. `macro` pays for its
# macro-F1 with many points of micro and samples F1. How much of that is due to the one label that the scores know
# nothing of ([notebook 3](3_platypus.ipynb))? The last line never predicts that label.

# %%
costs = dict(zip(rules, on_new, strict=True))
tamed = fit(y_true, y_score, "macro", label_names=names).replace({"random draw, 1 %": np.inf}).predict(new_score)
costs["macro but for one"] = 100 * np.array([f1(new_true, tamed, average) for average in AVERAGES])
for name in ("macro, guarded", "micro", "per instance, Platt", "macro but for one"):
    change = ", ".join(f"{average} {x:+.1f}" for average, x in zip(AVERAGES, costs[name] - costs["macro"], strict=True))
    print(f"{name:20} instead of macro, points of F1 on other rows: {change}")

# %% [markdown]
# That one label is worth a tenth of a point of macro-F1 and costs about five of micro-F1, more than half of what micro
# is ahead.
#
# ## Label by label
#
# Where does the difference between macro and micro come from? Labels in the order of their base rates:

# %%
order = np.argsort(new_true.mean(axis=0))
fig, ax = plt.subplots(figsize=(6.5, 3.2))
for name, colour, marker in (("macro", ORANGE, "o"), ("micro", BLUE, "x"), ("per instance", GREEN, "+")):
    of_labels = f1(new_true, rules[name].predict(new_score), None)
    ax.plot(of_labels[order], marker, color=colour, label=name, markersize=7, markerfacecolor="none")
labels = [f"{names[j].removesuffix(', 1 %')} ({new_true[:, j].mean():.0%})" for j in order]
ax.set_xticks(range(len(names)), labels, rotation=45, ha="right", rotation_mode="anchor", fontsize=8)
ax.set(ylabel="F1 on other rows", ylim=(-0.05, 1.05))
ax.grid(axis="x", color="0.92")
_ = ax.legend(ncol=3, loc="lower center", bbox_to_anchor=(0.5, 1))

# %% [markdown]
# On most labels the rules hardly differ. The two on the left are those whose scores say least: micro-F1 gives them up,
# as a prediction there is more likely to lower the pooled F1 than to raise it; macro-F1 predicts them very often.
#
# ## Row by row
#
# Judged by rows, it matters how many labels each row gets. Thresholds leave some rows empty; top-k gives every row the
# same number; `InstanceRule` gives every row a set of its own and, with the default `zero_division=0`, never an empty
# one.

# %%
counts = {"gold": new_true.sum(axis=1)}
counts |= {name: rules[name].predict(new_score).sum(axis=1) for name in ("micro", "top-k", "per instance")}
fig, ax = plt.subplots()
for k, ((name, per_row), colour) in enumerate(zip(counts.items(), ("0.6", BLUE, PINK, GREEN), strict=True)):
    share = np.bincount(per_row, minlength=11) / len(new_true)
    ax.bar(np.arange(len(share)) + 0.2 * (k - 1.5), share, 0.2, color=colour, label=name)
ax.set(xlabel="labels of a row", ylabel="share of rows", ylim=(0, 0.7), xticks=range(11))
ax.legend()
for name, per_row in counts.items():
    print(f"{name:13} {per_row.mean():.2f} labels a row, {np.mean(per_row == 0):.1%} of the rows without any")

# %% [markdown]
# (The bar of top-k is cut off: all rows have as many.)
#
# ## A guide
#
# | you | rule | keep in mind |
# |---|---|---|
# | are judged by macro-F1 | `fit_empirical(..., "macro", guard="shrink")` | look at `diagnose`, [3](3_platypus.ipynb) |
# | are judged on the rows of the fit | `fit_empirical(..., "macro")` | the optimum there, and only there |
# | are judged by micro-F1 | `fit_empirical(..., "micro", guard="pool")` | poor labels may never be predicted |
# | are judged by weighted F1 | `fit_empirical(..., "weighted", guard="shrink")` | thresholds as for macro |
# | show each user a set of labels | `CalibratedRule(calibrator, InstanceRule())` | rows without labels: see below |
# | need equally many labels everywhere | `fit_top_k(...)` | no row is empty, none is longer |
# | want one number in a configuration | `per_label=False` | scores of labels must be comparable |
# | have calibrated probabilities, no labels | `fit_expected`, `InstanceRule` | see [5](5_probabilities_alone.ipynb) |
# | have few labelled rows | a guard | see [4](4_winners_curse_and_guards.ipynb) |
#
# Where many rows have no label at all, as in screening, use `InstanceRule(zero_division=1.0)`: it counts a row right if
# nothing is predicted and nothing is there. `calibrator` is `thresholds.calibrate(y_true, y_score, "platt")`.
#
# All differences above are of one data set with 17 labels. `thresholds compare scores.npz` on the command line prints
# the table for your own scores.
