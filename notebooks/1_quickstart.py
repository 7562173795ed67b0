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
# # Quickstart
#
# A multi-label classifier gives every instance a score for every label. This notebook turns scores into decisions
# that maximise F1, on data that come with the package: scores of handwritten digits for 17 labels, one of which is
# a random draw that the pixels say nothing about.

# %%
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import thresholds
from thresholds.demo import load_demo

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"figure.figsize": (6.5, 2.8), "figure.dpi": 110, "figure.constrained_layout.use": True})

data = load_demo()
fit_rows, test_rows, _ = data.halves()  # one half to fit on, the other to judge on
names = data.label_names
y_true, y_score = data.y_true[fit_rows].toarray(), data.y_score[fit_rows]
new_true, new_score = data.y_true[test_rows].toarray(), data.y_score[test_rows]
print(y_score.shape, y_true.shape)

# %% [markdown]
# ## Fit
#
# One threshold for each label, so that the mean of the labels' F1 ("macro") or F1 of all decisions pooled ("micro") is
# as high as it can be on these rows. The objective is the F1 that `predict` reaches on them, exactly.

# %%
macro = thresholds.fit_empirical(y_true, y_score, "macro", label_names=names)
micro = thresholds.fit_empirical(y_true, y_score, "micro", label_names=names)
print(macro)
print(micro)
reached = thresholds.metrics.f1_score(y_true, macro.predict(y_score), average="macro")
print("claimed and reached:", macro.objective, reached)

# %% [markdown]
# What a fit does: for three of the labels, F1 over all thresholds, and the one that was chosen. Seldom is it 0.5.


# %%
def f1_at(j, threshold):
    """F1 of label j on the rows of the fit, at one threshold."""
    decided = y_score[:, j] >= threshold
    return thresholds.metrics.f1_score(y_true[:, j], decided, average="binary", zero_division=0)


grid = np.linspace(0, 1, 401)
fig, ax = plt.subplots()
for name, colour, style in (("even", BLUE, "-"), ("digit 0", GREEN, "--"), ("digit 8", ORANGE, "-.")):
    j = names.index(name)
    ax.plot(grid, [f1_at(j, t) for t in grid], style, color=colour, label=name)
    ax.plot(macro.thresholds[j], f1_at(j, macro.thresholds[j]), "o", color=colour)
ax.set(xlabel="threshold", ylabel="F1 on the rows of the fit", xlim=(0, 1), ylim=(0, 1))
ax.axvline(0.5, color="0.8", zorder=0)
_ = ax.legend(title="dot: the\nthreshold\nchosen", loc="center left", bbox_to_anchor=(1, 0.5))

# %% [markdown]
# ## Judge on other rows
#
# Rules are compared on rows that none of them has seen. The first table has what each reaches, how far that may be
# luck (+-), and a star on what cannot be told apart from the best of its column; the second, how much more that is than
# the first rule reaches. `macro` beats the fixed threshold in macro-F1, `micro` in both; each of the two is well behind
# the other in the average that the other maximises.

# %%
rules = {"fixed 0.5": thresholds.FixedRule(0.5, len(names)), "macro": macro, "micro": micro}
judged = thresholds.compare(rules, new_true, new_score)
print(judged)

# %%
reached = {row.rule: row for row in judged.measures}
print(f"macro-F1 of macro: claimed {macro.objective:.4f}, on other rows {reached['macro'].macro:.4f}")
print(f"micro-F1 of micro: claimed {micro.objective:.4f}, on other rows {reached['micro'].micro:.4f}")

# %% [markdown]
# The best thresholds on a sample are best there in part by luck, so on other rows one must expect less than was
# claimed. On a single split the other half may happen to be the easier one, as here for micro; `cross_fit`, below,
# judges every row in turn.

# %% [markdown]
# ## The platypus
#
# Macro-F1 counts every label alike, and for a label that the scores say nothing about the best to be had is from
# predicting it (almost) always. The average does not show it; the share of rows does.

# %%
true_share = new_true.mean(axis=0)
fig, ax = plt.subplots()
ax.axline((0.01, 0.01), (0.1, 0.1), color="0.7", zorder=0)
for name, colour, marker, size in (("macro", ORANGE, "o", 8), ("micro", BLUE, "x", 5)):
    share = rules[name].predict(new_score).mean(axis=0)
    heights = np.maximum(share, 0.002)
    ax.plot(true_share, heights, marker, color=colour, markersize=size, markerfacecolor="none", label=name)
    for j in np.flatnonzero(share > 3 * true_share):
        ax.annotate(f"{names[j]}: {share[j]:.0%}", (true_share[j], share[j]), (8, -3), textcoords="offset points")
ax.set(xscale="log", yscale="log", xlabel="share of rows where the label is true", ylabel="share of rows predicted")
ax.set_yticks([0.002, 0.01, 0.1, 1], ["never", "1 %", "10 %", "100 %"])
ax.set_xticks([0.01, 0.1, 0.5], ["1 %", "10 %", "50 %"])
_ = ax.legend(loc="lower right")

# %% [markdown]
# Each dot is a label; on the line it is predicted as often as it is true.
#
# ## Which labels to rely on
#
# `diagnose` asks two questions about each label. May it be relied on? The *verdict* says so, with a sentence for those
# who know no statistics: usable, weak, unproven (shown neither way), missed (the scores know it, and the rule does not
# use them) or useless. Is it predicted too often? That is its *state*. The random draw is a "platypus": predicted more
# than three times as often as true, while the scores know little of it. A label that is not predicted too often is
# "restrained", which says nothing of how good it is.

# %%
diagnosis = thresholds.diagnose(new_true, new_score, macro)
print(diagnosis.verdicts.in_brief())
for name in ("even", "digit 8", "has a loop", "random draw, 1 %"):
    row = diagnosis.table[names.index(name)]
    print(f"\n{name}: {row['verdict']}, {row['state']}", fill(row["sentence"], 100), sep="\n")

# %% [markdown]
# `print(diagnosis)` sums up all labels, and says what to do about them. "Usable" is an F1 shown to be at least .5, and
# well above that of predicting every row; `min_f=0.7` would ask for more.

# %% [markdown]
# ## Thresholds that hold on new data
#
# The guard "shrink" draws the number predicted towards what suits similar labels. `cross_fit` holds F on the rows of a
# fit against F on rows left out: what the guard claims is nearer to what it then reaches. It does not promise a higher
# macro-F1 on any one data set. On the other half (next tables) it has slightly less than the optimum, by no more than
# chance (the interval holds 0), and more micro-F1. For micro-F1 the guard is "pool".

# %%
guarded = thresholds.fit_empirical(y_true, y_score, "macro", guard="shrink", label_names=names)
print(guarded.guard_report)
for guard in (None, "shrink"):
    found = thresholds.cross_fit(y_true, y_score, guard=guard, random_state=0)
    print(f"\nguard {guard}: in the sample {found.in_sample:.4f}, out of fold {found.out_of_fold:.4f}")

# %% [markdown]
# ## Mend and keep
#
# A diagnosis mends a rule: platypuses are never predicted again. What the mended rule reaches is judged here on the
# rows of the diagnosis, which flatters it a little; keep a third set of rows for a figure to publish.

# %%
mended, changes = diagnosis.repair(macro)
for change in changes:
    print(f"{change['name']}: predicted on {change['predicted_before']} rows, now on {change['predicted_after']}")
beside = {"macro": macro, "mended": mended, "guarded": guarded}
print(thresholds.compare(beside, new_true, new_score))

# %% [markdown]
# (A label counts as a platypus from three times as many predictions as positives on. The guard predicts the random
# draw far less than before, but more often than that.)
#
# A rule is saved as JSON by `rule.save("rule.json")`; `thresholds.load_rule("rule.json").predict(scores)` needs NumPy
# alone. `rule.replace` sets a threshold by hand.

# %%
by_hand = mended.replace({"digit 8": 0.5})
print(by_hand.predict(new_score)[:3])

# %% [markdown]
# A rule also keeps what the scores of its fit looked like. `rule.check` holds new ones against that, without labels,
# and `predict` warns if they have changed gravely. Below are scores as before, then percent instead of fractions.

# %%
print(guarded.check(new_score))
changed = guarded.check(100 * new_score)
print(f"{changed.findings[0].severity}: {changed.findings[0].sentence}")

# %% [markdown]
# Next: [which rule to use](2_which_rule.ipynb), [the platypus](3_platypus.ipynb),
# [the winner's curse and guards](4_winners_curse_and_guards.ipynb),
# [decisions from probabilities alone](5_probabilities_alone.ipynb).
