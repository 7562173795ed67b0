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
# # The winner's curse, and guards
#
# A threshold is chosen because it did best on a sample. It did best there in part by luck, so on new rows it does worse
# than was claimed: the winner's curse. This notebook simulates data of which everything is known, measures the curse
# over the size of the sample and over the number of positives, and shows what guards, limits and cross-fitting do
# about it.

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import thresholds

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"figure.figsize": (6.5, 2.8), "figure.dpi": 110, "figure.constrained_layout.use": True})
rng = np.random.default_rng(0)
rates = np.geomspace(0.004, 0.3, 60)  # base rates of 60 labels
distance = rng.permutation(np.linspace(0, 3, 60))  # of the positives' mean score, in standard deviations


def draw(rows):
    """Truth and scores of so many new rows."""
    y_true = rng.random((rows, len(rates))) < rates
    return y_true, rng.normal(size=y_true.shape) + distance * y_true


def f1(truth, decided, average="macro"):
    """F1 of decisions, with 0/0 counted as 0."""
    return thresholds.metrics.f1_score(truth, decided, average=average, zero_division=0)


new_true, new_score = draw(10_000)  # where all rules are judged

# %% [markdown]
# ## Claimed and realised
#
# Samples of 100 to 10,000 rows, several of each size. Three rules: the exact optimum of the sample; the same with the
# limit that no label is predicted more than three times as often as it is true; and the guard "shrink".

# %%
RULES = {"optimum": {}, "at most 3 x": {"max_overprediction": 3}, "guard shrink": {"guard": "shrink"}}
REPEATS = {100: 16, 300: 10, 1000: 6, 3000: 4, 10_000: 3}
found = {}
for rows, repeats in REPEATS.items():
    for _ in range(repeats):
        truth, scores = draw(rows)
        for name, settings in RULES.items():
            rule = thresholds.fit_empirical(truth, scores, "macro", **settings)
            found.setdefault((name, rows), []).append((rule.objective, f1(new_true, rule.predict(new_score))))

fig, axes = plt.subplots(1, 2, sharey=True)
styles = {"optimum": (ORANGE, "o-"), "at most 3 x": (PINK, "^:"), "guard shrink": (BLUE, "s--")}
for k, title in enumerate(("claimed, on the rows of the fit", "realised, on new rows")):
    for name, (colour, style) in styles.items():
        values = [np.array(found[name, rows])[:, k] for rows in REPEATS]
        errors = [2 * v.std(ddof=1) / np.sqrt(len(v)) for v in values]
        axes[k].errorbar(list(REPEATS), [v.mean() for v in values], errors, fmt=style, color=colour, label=name)
    axes[k].set(xscale="log", xlabel="rows of the fit")
    axes[k].set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
    axes[k].set_title(title, fontsize=9, loc="left")
axes[0].set_ylabel("macro-F1")
_ = axes[0].legend(loc="lower right")

# %%
print("points of macro-F1, and in brackets the standard error of the last")
print("   rows  optimum claims too much  shrink claims too much  shrink gains on new rows")
for rows, repeats in REPEATS.items():
    plain, shrunk = (100 * np.array(found[name, rows]) for name in ("optimum", "guard shrink"))
    gain = shrunk[:, 1] - plain[:, 1]
    claims = [np.mean(pairs[:, 0] - pairs[:, 1]) for pairs in (plain, shrunk)]
    print(f"{rows:7} {claims[0]:24.1f} {claims[1]:23.1f} {gain.mean():19.1f} ({gain.std(ddof=1) / repeats**0.5:.1f})")

# %% [markdown]
# (Bars: two standard errors.) The claim of the optimum is far too high on small samples; with many more rows it comes
# down, while what is reached goes up. The guard claims much less. On small samples it also reaches more; the gain
# shrinks with the number of rows, and at 10,000 it is lost in chance (last column). The limit does little for F1.
#
# ## Where the curse sits: labels with few positives
#
# Claim minus what is realised, label by label, over the number of positives that the label had in its sample of 300
# rows; 15 samples, bars of two standard errors.

# %%
gaps = {name: [] for name in RULES}
positives = []
for _ in range(15):
    truth, scores = draw(300)
    positives.append(truth.sum(axis=0))
    for name, settings in RULES.items():
        rule = thresholds.fit_empirical(truth, scores, "macro", **settings)
        gaps[name].append(f1(truth, rule.predict(scores), None) - f1(new_true, rule.predict(new_score), None))
positives = np.concatenate(positives)
edges = np.array([1, 2, 4, 8, 16, 32, 64, 128])
group = np.digitize(positives, edges)  # 0: labels without positives, left out

fig, ax = plt.subplots()
for name, (colour, style) in styles.items():
    gap = np.concatenate(gaps[name])
    groups = [gap[group == k] for k in range(1, len(edges))]
    errors = [2 * g.std(ddof=1) / np.sqrt(len(g)) for g in groups]
    ax.errorbar(range(1, len(edges)), [g.mean() for g in groups], errors, fmt=style, color=colour, label=name)
ax.axhline(0, color="0.7", zorder=0)
ticks = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in pairwise(edges)]
ax.set_xticks(range(1, len(edges)), ticks)
ax.set(xlabel="positives of the label among 300 rows", ylabel="F1 claimed − realised")
_ = ax.legend()

# %% [markdown]
# The optimum claims most too much where positives are few. The guard's claim is nearer to the truth in every group,
# and too low with a single positive.
#
# ## Where thresholds land when scores know nothing
#
# For such labels predicting all rows is best on new data ([notebook 3](3_platypus.ipynb)). On a sample, the empirical
# optimum lands there only if the label has very many positives. Below are 120 useless labels for each base rate, on
# 10,000 rows: how many rows does the chosen threshold predict?

# %%
BINS = [0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 1.001]
fig, axes = plt.subplots(1, 2, sharey=True)
for ax, guard in zip(axes, (None, "shrink"), strict=True):
    for k, (b, colour) in enumerate(((0.1, BLUE), (0.02, GREEN), (0.005, ORANGE))):
        truth, luck = rng.random((10_000, 120)) < b, rng.random((10_000, 120))
        share = thresholds.fit_empirical(truth, luck, "macro", guard=guard).predict(luck).mean(axis=0)
        counts = np.histogram(share, BINS)[0] / len(share)
        ax.bar(np.arange(len(counts)) + 0.27 * (k - 1), counts, 0.25, color=colour, label=f"base rate {b:.1%}")
        print(f"guard {guard}, base rate {b:.1%}: median share of rows predicted {np.median(share):.1%}")
    ax.set_xticks(np.arange(len(BINS)) - 0.5, ["0", "0.1", "1", "10", "50", "90", "99", "100"])
    ax.set_xlabel("share of rows predicted, in %")
    ax.set_title("no guard" if guard is None else "guard shrink", fontsize=9, loc="left")
axes[0].set_ylabel("share of the labels")
_ = axes[0].legend()

# %% [markdown]
# Without a guard, thresholds of a useless label of .5 % (some 50 positives) lie almost anywhere, from predicting less
# than 1 row in 100 to more than every second. The guard sees that its cuts would reach less F1, on average over these
# labels, than predicting them always. So it falls back on always, the best that F1 knows for useless labels, and
# `rule.guard_report` says so. Whether such labels should be predicted at all is for `diagnose` to ask.
#
# ## What a guard did
#
# Every guarded rule carries a report: which thresholds were moved, how far and why, and what that costs on the sample.

# %%
y_true, y_score = draw(600)
names = [f"label {j}, {b:.1%}" for j, b in enumerate(rates)]
guarded = thresholds.fit_empirical(y_true, y_score, "macro", guard="shrink", label_names=names)
print(guarded.guard_report)

# %% [markdown]
# Limits are kept on the rows of the fit, alone or with a guard, and are reported the same way.

# %%
limited = thresholds.fit_empirical(y_true, y_score, "macro", max_overprediction=3, min_precision=0.1, label_names=names)
print(limited.guard_report)

# %% [markdown]
# ## What to expect on new rows: `cross_fit`
#
# With one sample and no new rows, `cross_fit` fits on four fifths, decides the last fifth, and so on round. Its out-of-
# fold figure is the one to report. The last column is what one does not have in practice: the F1 on 10,000 new rows.

# %%
for average, guard in (("macro", None), ("macro", "shrink"), ("micro", None), ("micro", "pool")):
    crossed = thresholds.cross_fit(y_true, y_score, average, guard=guard, random_state=0)
    realised = f1(new_true, crossed.rule.predict(new_score), average)
    print(f"{average}, guard {guard!s:6}  in the sample {crossed.in_sample:.3f}", end="")
    print(f"  out of fold {crossed.out_of_fold:.3f}  on new rows {realised:.3f}")

# %% [markdown]
# Out of fold, the figure comes down to about what new rows give. It is an estimate from 600 rows and may be off by a
# point or two: enough to see that a claim is too high, not to choose between guard and no guard, which are close here.
#
# Micro-F1 over-fits as well. Its guard, "pool", draws each label's threshold towards the one that suits all labels
# together. Here that changes little; with fewer rows it does more.
#
# ## Which labels to rely on
#
# An average over 60 labels says little about any one of them. From the same out-of-fold decisions `cross_fit` gives
# each label a verdict: is it shown to be good enough, by default an F1 of at least .5 (more for common labels)? The new
# rows tell whether the verdicts are right.

# %%
crossed = thresholds.cross_fit(y_true, y_score, "macro", guard="shrink", random_state=0, label_names=names)
print(crossed.verdicts.in_brief())
realised = f1(new_true, crossed.rule.predict(new_score), None)
is_enough = realised >= crossed.verdicts.table["bar"]
for verdict in ("usable", "weak", "unproven", "useless"):
    found = crossed.verdicts.table["verdict"] == verdict
    print(f"{verdict:8}  good enough on new rows: {is_enough[found].sum():2} of {found.sum()};", end=" ")
    print(f"median number of positives {np.median(crossed.verdicts.table['n_positives'][found]):.0f}")

# %% [markdown]
# What is called usable is good enough on new rows, what is called weak or useless is not, and labels of both kinds are
# unproven: they have too few positives, or lie on the border. `crossed.verdicts.table["positives_needed"]` says how
# many positives would probably settle it.
#
# These data are simulated, and smooth. On eleven public data sets the guard gained 2.2 points of macro-F1 on other rows
# at 300 rows and less with more; for micro-F1, "pool" gained about 4 points at 100 rows, and 1 to 2 at 300. Figures and
# methods are in [docs/guards.md](../docs/guards.md).
