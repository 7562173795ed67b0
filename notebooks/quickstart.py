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
import numpy as np

import thresholds
from thresholds.demo import load_demo

data = load_demo()
calibration, test, _ = data.halves()
y_true, y_score = data.y_true[calibration], data.y_score[calibration]
print(y_score.shape, y_true.shape)

# %% [markdown]
# ## Fit
#
# One threshold for each label, so that the mean of the labels' F1 is as high as it can be on these rows. The
# objective is the F1 that `predict` reaches on them, exactly.

# %%
macro = thresholds.fit_empirical(y_true, y_score, "macro", label_names=data.label_names)
micro = thresholds.fit_empirical(y_true, y_score, "micro", label_names=data.label_names)
print(macro)
print(micro)

# %% [markdown]
# ## Judge on other rows
#
# On new rows both are lower: the best threshold on a sample is luck in part.

# %%
rules = {"fixed 0.5": thresholds.FixedRule(0.5, y_score.shape[1]), "macro": macro, "micro": micro}
print(thresholds.compare(rules, data.y_true[test], data.y_score[test]))

# %% [markdown]
# ## The platypus
#
# Macro-F1 counts every label alike, and for a label that the scores say nothing about the best it can do is to
# predict it (almost) always. The average does not show it; the share of rows does.

# %%
share = {name: rule.predict(data.y_score[test]).mean(axis=0) for name, rule in rules.items()}
true_share = data.y_true[test].toarray().mean(axis=0)
for j in np.argsort(-share["macro"] / true_share)[:3]:
    print(f"{data.label_names[j]:18} true on {true_share[j]:5.1%}, ", end="")
    print(f"predicted by macro on {share['macro'][j]:5.1%}, by micro on {share['micro'][j]:5.1%}")

# %% [markdown]
# `diagnose` finds such labels, with error control: over-predicted, and the scores shown to know nothing of them.

# %%
diagnosis = thresholds.diagnose(data.y_true[test], data.y_score[test], macro)
print(diagnosis)

# %% [markdown]
# ## Thresholds that hold on new data
#
# The guard "shrink" draws the number predicted towards what suits similar labels. `cross_fit` holds F on the rows of a
# fit against F on rows left out.

# %%
guarded = thresholds.fit_empirical(y_true, y_score, "macro", guard="shrink", label_names=data.label_names)
print(guarded.guard_report)
for guard in (None, "shrink"):
    print(thresholds.cross_fit(y_true, y_score, guard=guard, random_state=0))

# %% [markdown]
# ## Mend and keep
#
# A diagnosis mends a rule, a threshold can be replaced by hand, and a rule is saved as JSON; loading it and predicting
# needs NumPy alone.

# %%
mended, changes = diagnosis.repair(macro)
beside = {"macro": macro, "mended": mended, "guarded": guarded}
print(thresholds.compare(beside, data.y_true[test], data.y_score[test]))
