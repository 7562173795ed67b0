"""How often is a range in a sentence of a report wrong, where rows belong to patients?

A sentence says "of 100 rows marked X, probably between 29 and 37 truly are": 95 % of such ranges should hold what is
true of the population. Here the population is known: all rows of ChestX-ray14 in SCORES.npz, and a rule that is fitted
on its calibration rows and not changed any more. Patients are drawn from it with replacement, each with all of its
images, and `make_report` is asked about the rows drawn: without groups, as if rows were independent, and with the
patients as groups. As many rows, each drawn by itself, show what the sentences reach where rows are independent.

Printed are, over draws and labels, the shares of ranges that do not hold the population's precision or recall, in whole
numbers of 100 as sentences have them, and of bounds of F1 that do not hold its F1, of all labels; then the same of
ranges that stand in sentences. These are fewer: a label has ranges in its sentence where its F1 is shown to be above
the bar or below, so that by luck more of them are too high or too low. Last, how wide ranges of all labels are.
The run fails where ranges of all labels that count patients miss in more than 6 % of cases: 5 %, and chance.

    python experiments/report/patients.py SCORES.npz | tee experiments/report/patients.txt
"""

import argparse
import re
import sys
import warnings

import numpy as np

import thresholds
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled
from thresholds.metrics.clusters import IndependentShares, independent_shares
from thresholds.metrics.intervals import score_interval, share_interval
from thresholds.metrics.judging import count_decisions, decide_all

DRAWS = 400
REPORTS = 100  # of the draws, of which sentences are read
CONFIDENCE = 0.95
N_PATIENTS = (300, 1_000, 3_000)
RANGE = re.compile(r"probably between (\d+) and (\d+) (truly|are marked)")
MEASURES = {"truly": "precision", "are marked": "recall"}
MOST = {"precision": 0.06, "recall": 0.06, "F1": 0.06}


def figures(truth: np.ndarray, decided: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is true of all rows, (n_labels,) each."""
    tp, marked, positives = (truth & decided).sum(0), decided.sum(0), truth.sum(0)
    return {"precision": tp / marked, "recall": tp / positives, "F1": 2 * tp / (marked + positives)}


def ranges_of_all(
    rule: thresholds.ThresholdRule, truth: np.ndarray, scores: np.ndarray, groups: np.ndarray | None
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the bounds of all labels, of precision and recall in whole hundredths."""
    problem = Problem.of(truth, scores)
    judged = count_decisions(decide_all(rule, problem), problem)
    shares = IndependentShares(*np.ones((3, truth.shape[1])))
    if groups is not None:
        shares = independent_shares(judged.decided, problem, groups, 1.0, CONFIDENCE)
    tp, marked, positives = judged.by_label.sums.astype(float)
    found = {"F1": score_interval(tp * shares.f, marked * shares.f, positives * shares.f, 1.0, CONFIDENCE)}
    for measure, whole, share in (("precision", marked, shares.precision), ("recall", positives, shares.recall)):
        low, high = share_interval(tp * share, whole * share, CONFIDENCE)
        found[measure] = np.floor(100 * low) / 100, np.ceil(100 * high) / 100
    return found


def ranges_said(labels: np.ndarray) -> list[tuple[str, int, float, float]]:
    """Return the measure, the label and the bounds of each range in the sentences of a report."""
    return [
        (MEASURES[of], j, int(low) / 100, int(high) / 100)
        for j, sentence in enumerate(labels["sentence"])
        for low, high, of in RANGE.findall(sentence)
    ]


def main() -> None:
    """Print a table for each number of patients."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scores")
    data = read_labelled(parser.parse_args().scores, groups_key="patient_id")
    truth = np.asarray(data.y_true.todense() if hasattr(data.y_true, "todense") else data.y_true)
    calibration = data.calib_idx
    rule = thresholds.fit(truth[calibration], data.y_score[calibration], "macro, shrink")
    decided = np.asarray(rule.predict(data.y_score))
    true = figures(truth.astype(int), decided.astype(int))
    _, patient = np.unique(data.groups, return_inverse=True)
    images = np.split(np.argsort(patient, kind="stable"), np.cumsum(np.bincount(patient))[:-1])
    warnings.simplefilter("ignore")  # Few rows may look changed.

    rng = np.random.default_rng(0)
    too_many = False
    for n_patients in N_PATIENTS:
        missed: dict[tuple[str, str], list[bool]] = {}
        widths: dict[tuple[str, str], list[float]] = {}
        for k_draw in range(DRAWS):
            drawn = [images[k] for k in rng.integers(0, len(images), n_patients)]
            rows = np.concatenate(drawn)
            alone = rng.integers(0, truth.shape[0], rows.size)
            group = np.repeat(np.arange(n_patients), [len(of_one) for of_one in drawn])
            for way, chosen, groups in (
                ("rows drawn, rows count", alone, None),
                ("patients drawn, rows count", rows, None),
                ("patients drawn, patients count", rows, group),
            ):
                given = truth[chosen], data.y_score[chosen]
                for measure, (low, high) in ranges_of_all(rule, *given, groups).items():
                    is_missed = (true[measure] < low) | (true[measure] > high)
                    missed.setdefault((way, measure), []).extend(is_missed.tolist())
                    widths.setdefault((way, measure), []).extend((high - low).tolist())
                if k_draw >= REPORTS:
                    continue
                report = thresholds.make_report(*given, rule, groups=groups)
                for measure, j, low, high in ranges_said(report.labels):
                    missed.setdefault((way, f"said {measure}"), []).append(not low <= true[measure][j] <= high)
        print(f"{f'{n_patients:,} patients':<32}{'misses, %':>30}{'in sentences, %':>20}{'width':>30}")
        measures = [*MOST, *MEASURES.values(), *MOST]
        print(f"{'':<32}" + "".join(f"{measure:>10}" for measure in measures))
        for way in dict.fromkeys(way for way, _ in missed):
            of = {measure: np.mean(cases) for (other, measure), cases in missed.items() if other == way}
            cells = [f"{100 * of[measure]:.1f}" for measure in MOST]
            cells += [f"{100 * of[f'said {measure}']:.1f}" for measure in MEASURES.values()]
            cells += [f"{np.mean(widths[way, measure]):.3f}" for measure in MOST]
            print(f"{way:<32}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
            if way.endswith("patients count"):
                too_many |= any(of[measure] > most for measure, most in MOST.items())
        print()
    sys.exit(too_many)


if __name__ == "__main__":
    main()
