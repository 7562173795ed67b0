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
# # The platypus problem
#
# A label is rare, and the scores say nothing about it. Which decisions give it the highest F1? To predict it always.
# Lipton, Elkan and Naryanaswamy (2013) found "Platypus" predicted for more than a third of the biomedical articles in
# their test data. This notebook makes such labels, shows why it happens and why macro-F1 hides it, then finds and mends
# them.

# %%
import matplotlib.pyplot as plt
import numpy as np

import thresholds
from thresholds.demo import load_demo

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"figure.figsize": (6.5, 2.8), "figure.dpi": 110, "figure.constrained_layout.use": True})
rng = np.random.default_rng(0)

# %% [markdown]
# ## Why F1 wants it predicted always
#
# Let a label be true with probability b, whatever the scores are. Whoever predicts it on a share u of the rows is right
# on a share b of these, so precision is b and recall is u: F1 = 2bu/(b + u). That rises with u. Predicting all rows is
# best, with F1 = 2b/(1 + b). Left: lines are the formula, dots are one sample of 100,000 rows with random scores.
# Right: the F1 of predicting always.

# %%
rows = 100_000
luck = rng.random(rows)  # scores that know nothing
share = np.linspace(0.001, 1, 300)
fig, (left, right) = plt.subplots(1, 2)
for b, colour, marker, offset in ((0.2, BLUE, "o", -14), (0.05, GREEN, "s", 4), (0.01, ORANGE, "^", 4)):
    truth = rng.random(rows) < b
    left.plot(share, 2 * b * share / (b + share), color=colour)
    for u in (0.02, 0.1, 0.25, 0.5, 0.75, 1):
        f = thresholds.metrics.f1_score(truth, luck < u, average="binary", zero_division=0)
        left.plot(u, f, marker, color=colour, markersize=4)
        if u == 1:
            right.plot(b, f, marker, color=colour)
    left.annotate(f"b = {b:.0%}", (0.6, 2 * b * 0.6 / (b + 0.6)), (0, offset), textcoords="offset points", color=colour)
left.set(xlabel="share of rows predicted, u", ylabel="F1", ylim=(0, 0.4))
base = np.geomspace(0.001, 1, 200)
right.plot(base, 2 * base / (1 + base), color="0.4", zorder=0)
right.set(xscale="log", xlabel="base rate, b", ylabel="F1 of predicting always", ylim=(0, 1))
right.set_xticks([0.001, 0.01, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
for b in (0.01, 0.5):
    print(f"b = {b:.0%}: always predicting it has F1 {2 * b / (1 + b):.3f}")

# %% [markdown]
# The scale differs from label to label, and nothing in a single F1 of .02 says "this is the best that can be done
# without information".
#
# ## Macro against micro
#
# Twenty labels with useful scores, and five whose scores are noise. Rows are split in three: to fit, to diagnose, to
# judge.

# %%
useful_rates = rng.permutation(np.geomspace(0.01, 0.5, 20))
useless_rates = np.array([0.005, 0.01, 0.02, 0.05, 0.4])
rates = np.r_[useful_rates, useless_rates]
distance = np.r_[
    rng.uniform(1, 3.5, 20), np.zeros(5)
]  # of positives' mean score from negatives', in standard deviations
names = [f"useful, {b:.1%}" for b in useful_rates] + [f"useless, {b:.1%}" for b in useless_rates]
useless = distance == 0
y_true = rng.random((90_000, len(rates))) < rates
y_score = rng.normal(size=y_true.shape) + distance * y_true
fit, check, judge = slice(30_000), slice(30_000, 60_000), slice(60_000, None)

macro = thresholds.fit_empirical(y_true[fit], y_score[fit], "macro", label_names=names)
micro = thresholds.fit_empirical(y_true[fit], y_score[fit], "micro", label_names=names)
predicted = {name: rule.predict(y_score[judge]).mean(axis=0) for name, rule in (("macro", macro), ("micro", micro))}

fig, axes = plt.subplots(1, 2, sharey=True)
for ax, (name, found) in zip(axes, predicted.items(), strict=True):
    ax.axline((0.01, 0.01), (0.1, 0.1), color="0.8", zorder=0)
    height = np.maximum(found, 0.001)
    ax.plot(rates[~useless], height[~useless], "o", color=BLUE, label="useful scores", markerfacecolor="none")
    ax.plot(rates[useless], height[useless], "X", color=ORANGE, label="useless scores")
    ax.set(xscale="log", yscale="log", xlabel="base rate")
    ax.set_title(f"best {name}-F1", fontsize=9, loc="left")
    ax.set_xticks([0.005, 0.02, 0.1, 0.5], ["0.5 %", "2 %", "10 %", "50 %"])
    ax.set_yticks([0.001, 0.01, 0.1, 1], ["never", "1 %", "10 %", "100 %"])
axes[0].set_ylabel("share of rows predicted")
_ = axes[0].legend(loc="lower right")

# %%
for j in np.flatnonzero(useless):
    by = ", ".join(f"{name} {found[j]:6.1%}" for name, found in predicted.items())
    print(f"{names[j]:15} predicted by {by};  2b = {2 * rates[j]:.2f}")
print(f"micro-F1 reached: {micro.objective:.3f}")

# %% [markdown]
# Macro-F1 takes each label by itself, so it predicts the useless ones far too often. How often exactly is a matter of
# luck for the rarest, since many thresholds are about equally good on a sample: that is
# [notebook 4](4_winners_curse_and_guards.ipynb).
#
# Micro-F1 pools all cells. More predictions at random move it towards 2b, so (but for luck on the sample) it leaves a
# useless label alone exactly if 2b is less than the micro-F1 reached. The rare ones it never predicts; the common one,
# with 2b above, it predicts nearly always, too. "Micro never predicts what it knows nothing of" would be wrong.
#
# ## What the average hides
#
# Nobody looks at 25 labels, let alone 10,000; one looks at macro-F1. `most_predicted` is the table in which the authors
# found the platypus: the labels that a rule predicts most often, with the highest F1 that they can have.

# %%
diagnosis = thresholds.diagnose(y_true[check], y_score[check], macro)
print(diagnosis.most_predicted(8))

# %% [markdown]
# ## Diagnose
#
# `diagnose` asks about every label: do the positives score higher than chance would have it, and is the AUROC shown to
# be below .7? If the answers are no and yes, with control of false discoveries over all labels, the *verdict* is
# "useless". If such a label is also predicted more than three times as often as it is true, its *state* is "platypus".

# %%
print(diagnosis.verdicts.in_brief())
for row in diagnosis.table[useless]:
    print(f"{row['name']:15} verdict {row['verdict']}, state {row['state']}")

# %% [markdown]
# All five useless labels are found. The common one is no platypus: at a base rate of 40 % not even predicting it always
# is three times too often. Its state, "restrained", says just that. Its verdict says what matters: of 100 rows where it
# is predicted about 40 are right, and so are 40 of 100 rows taken blindly. No other label is called useless.
#
# `print(diagnosis)` sums up all labels, explains some of each verdict in a sentence, and says what to do. It
# ends with the tests of the labels that are predicted too often:

# %%
print(str(diagnosis).split("\n\n")[-1])

# %% [markdown]
# It takes rows to show that scores are useless. The first 500 of these rows show of the rare ones that most of what is
# predicted is wrong ("weak"), and cannot settle whether the scores are to blame ("suspect"):

# %%
few = slice(30_000, 30_500)
on_few = thresholds.diagnose(y_true[few], y_score[few], macro)
for j in np.flatnonzero(useless):
    positives = on_few.table["n_positives"][j]
    before, after = (f"{found.verdict[j]}, {found.state[j]}" for found in (on_few, diagnosis))
    print(f"{names[j]:15} {before:20} with {positives:3} positives; {after:20} on all rows")
print("useful labels flagged:", int((on_few.platypus | on_few.suspect)[~useless].sum()), "of", int((~useless).sum()))

# %% [markdown]
# ## Repair
#
# `repair` never predicts platypuses again; `repair(rule, "cap")` lets them be predicted at most three times as often as
# they are true. Judged on the third part of the rows, which neither the fit nor the diagnosis has seen:

# %%
mended, changes = diagnosis.repair(macro)
capped, _ = diagnosis.repair(macro, "cap")
guarded = thresholds.fit_empirical(y_true[fit], y_score[fit], "macro", guard="shrink", label_names=names)
rules = {"macro": macro, "macro, guarded": guarded, "macro, capped": capped, "macro, mended": mended, "micro": micro}
judged = thresholds.compare(rules, y_true[judge], y_score[judge])
print(judged)

# %%
rare = useless & (rates < 0.1)
wasted = []
for rule in rules.values():
    volume = rule.predict(y_score[judge]).sum(axis=0, dtype=int)
    wasted.append(volume[rare].sum() / volume.sum())
bars = {"macro-F1": [row.macro for row in judged.measures], "micro-F1": [row.micro for row in judged.measures]}
bars["share of all predictions that fall on rare useless labels"] = wasted
fig, ax = plt.subplots()
for k, ((name, heights), colour) in enumerate(zip(bars.items(), (BLUE, GREEN, ORANGE), strict=True)):
    drawn = ax.bar(np.arange(len(rules)) + 0.27 * (k - 1), heights, 0.25, color=colour, label=name)
    ax.bar_label(drawn, [f"{height:.2f}" for height in heights], fontsize=8)
ax.set_xticks(range(len(rules)), [name.replace(", ", ",\n") for name in rules])
ax.set(ylim=(0, 0.85), ylabel="F1, or share")
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3)
always = 2 * rates[rare] / (1 + rates[rare])
print(f"always predicting the {rare.sum()} rare useless labels is worth {always.sum() / len(rates):.4f} of macro-F1")

# %% [markdown]
# Mending costs macro-F1 about what always predicting the useless labels is worth, and takes all of their predictions
# away; micro-F1 gains much more. By macro-F1 alone, one would prefer the first rule to the mended one.
#
# The common useless label is no platypus, so `repair` leaves it as it is. `rule.replace({"useless, 40.0%": np.inf})`
# would stop it, at the cost of its F1 of .57, which it owes to its base rate alone.
#
# The guard "shrink" is made for another problem, thresholds that over-fit: it holds back labels with few positives. The
# labels of 2 and 5 % have some 600 and 1,500 positives here, and the more a label has, the more it decides for itself.
# So the guard does not replace a diagnosis.
#
# ## The embedded data
#
# The same on real scores, of handwritten digits. One of the labels is a random draw, true on 1 % of the rows.

# %%
data = load_demo()
on, off, _ = data.halves()
rule = thresholds.fit_empirical(data.y_true[on], data.y_score[on], "macro", label_names=data.label_names)
found = thresholds.diagnose(data.y_true[off], data.y_score[off], rule)
print(found.most_predicted(4))
for j in np.flatnonzero(found.platypus):
    print(f"\n{data.label_names[j]}: {found.table['reason'][j]}")
