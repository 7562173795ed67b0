"""A macro rule for many rare labels: what `diagnose` flags, how good those labels are on other rows, what repair does.

Made for the MeSH headings of Lipton et al. 2013, section 7.1: scores of a rank-restricted linear regression. The exact
macro optimum is fitted and diagnosed on one half of a score file, repaired, and judged on the other half; then the
halves change places. Printed are

- labels and predictions by state, and the labels predicted most (their figure 8);
- the AUROC of the flagged labels (platypus and suspect) on the other half: its mean, and the upper end of its 95 %
  interval over labels, beside that of all labels;
- macro-F1 (with its standard error over labels) and micro-F1 on the other half: of the rule, repaired in both ways, and
  of a rule with the guard "shrink".

It fails if the upper end is .7 or more, or if capping the flagged labels costs more macro-F1 than two standard errors.

    python experiments/diagnosis/headings.py FILE.npz [--score-key KEY]
"""

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

import thresholds
from thresholds._results.text import aligned
from thresholds.diagnosis import Diagnosis
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import auroc, f1_score

Rows = npt.NDArray[np.int64]

MIN_AUROC = 0.7


def judge(data: LabelledFile, rule: thresholds.ThresholdRule, rows: Rows) -> tuple[npt.NDArray[np.float64], float]:
    """Give F1 of each label, and micro-F1."""
    predicted = rule.predict(data.y_score[rows], dense=rule.predicts_missing)
    by_label, micro = (
        f1_score(data.y_true[rows], predicted, average=average, zero_division=0) for average in (None, "micro")
    )
    return by_label, micro


def show_repairs(data: LabelledFile, found: Diagnosis, rule: thresholds.ThresholdRule, fit: Rows, rest: Rows) -> bool:
    """Print what each way of mending reaches on the other half; tell whether the cap is free."""
    both = ("platypus", "suspect")
    mended = {
        "never, platypus": found.repair(rule, "never").rule,
        "never, both": found.repair(rule, "never", states=both).rule,
        "cap, both": found.repair(rule, "cap").rule,
        "guard shrink": thresholds.fit_empirical(data.y_true[fit], data.y_score[fit], guard="shrink"),
    }
    before, micro = judge(data, rule, rest)
    body, free = [("as it was", f"{before.mean():.4f}", "", f"{micro:.4f}")], True
    for name, changed in mended.items():
        after, micro = judge(data, changed, rest)
        gain, error = (after - before).mean(), (after - before).std(ddof=1) / np.sqrt(before.size)
        body.append((name, f"{after.mean():.4f}", f"{gain:+.4f} ({error:.4f})", f"{micro:.4f}"))
        free &= name != "cap, both" or gain >= -2 * error
    print(aligned([("repair", "macro-F1", "change (SE)", "micro-F1")], body))
    return free


def one_way(data: LabelledFile, fit: Rows, rest: Rows) -> bool:
    """Fit and diagnose on some rows, judge on others; tell whether the bounds hold."""
    # The exact optimum may predict scores that sparse lists leave out.
    truth, scores = data.y_true[fit], data.y_score[fit]
    rule = thresholds.fit_empirical(truth, scores, label_names=data.label_names, keep_sparse=False)
    found = thresholds.diagnose(truth, scores, rule)
    print(f"{rule}\n\n{found}\n\n{found.most_predicted()}\n")
    flagged = found.platypus | found.suspect
    there: Any = auroc(data.y_true[rest], data.y_score[rest])
    kept = there[flagged & ~np.isnan(there)]
    upper = kept.mean() + 1.96 * kept.std(ddof=1) / np.sqrt(kept.size)
    print(
        f"AUROC on the {len(rest):,} other rows: {kept.mean():.3f} for {kept.size} flagged labels (upper end of 95 %:"
        f" {upper:.3f}), {np.nanmean(there):.3f} for all\n"
    )
    return show_repairs(data, found, rule, fit, rest) and upper < MIN_AUROC


def main() -> int:
    """Run both ways."""
    parser = argparse.ArgumentParser(description="Diagnose a macro rule on one half of a file, judge on the other.")
    parser.add_argument("file", metavar="FILE.npz")
    parser.add_argument("--score-key", metavar="KEY")
    options = parser.parse_args()
    data = read_labelled(options.file, options.score_key)
    first, second, how = data.halves()
    print(f"{data.name}, {how}\n")
    held = [one_way(data, first, second)]
    print("\n\nThe halves change places.\n")
    held.append(one_way(data, second, first))
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
