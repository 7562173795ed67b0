"""Contents of reports with made-up figures, for tests of the page: of few labels, of many, of hostile names."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from thresholds._results.result import rows_of
from thresholds.diagnosis.sentences import are_on_border, sentence
from thresholds.diagnosis.states import STATES
from thresholds.diagnosis.verdicts import VERDICTS
from thresholds.metrics.curves import Curve
from thresholds.metrics.intervals import score_interval, share_interval
from thresholds.metrics.jackknife import Interval
from thresholds.report.content import (
    BORDER,
    DISTRUSTED,
    LABELS,
    MOVED,
    OPEN,
    TRUSTED,
    Against,
    Change,
    Content,
    Figure,
    Group,
    OtherRows,
    PerRow,
    Summary,
)
from thresholds.report.page.forms import Form, Forms, with_ends, written

HOSTILE = (
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\">",
    "</td></table><h1>broken</h1>",
    "\"quoted\" and 'quoted' & &amp; {{ 7 * 7 }} {% raw %}",
    "first line\nsecond line\u2028third line",
    "\u202eright to left",
    "حمى الضنك",
    "🫀👩‍⚕️ heart",
    "long " * 100,
    "",
    "of",
    "100",
    "rows marked",
    "C:\\new\\table $& $1 %s {0}",
    "javascript:alert(1)",
    "-->",
    "<!--<script>",
    "]]>",
    "\x00\x1b[31mred",
)
_SYLLABLES = (
    "an",
    "ar",
    "car",
    "ce",
    "di",
    "en",
    "gra",
    "he",
    "ine",
    "is",
    "ko",
    "li",
    "neo",
    "phy",
    "ra",
    "sis",
    "the",
)
_N_SAMPLES = 20_000


def names(n_labels: int, seed: int = 0) -> list[str]:
    """So many names such as a thesaurus has, no two the same."""
    rng = np.random.default_rng(seed)
    syllables = np.array(_SYLLABLES)
    made: dict[str, None] = {}
    while len(made) < n_labels:
        drawn = rng.choice(syllables, (n_labels, 9))
        has_two_words = rng.random(n_labels) < 0.6
        for parts, is_long in zip(drawn.tolist(), has_two_words.tolist(), strict=True):
            words = ["".join(parts[:4]), "".join(parts[4:])] if is_long else ["".join(parts[:5])]
            made[" ".join(words).capitalize()] = None
    return list(made)[:n_labels]


def content(label_names: Sequence[str], *, n_curves: int = 40, with_old: bool = False, seed: int = 0) -> Content:
    """A report on labels of these names, whose figures are drawn."""
    rng = np.random.default_rng(seed)
    labels = _labels(label_names, rng)
    wrong = labels["predicted"] - labels["tp"]
    order = np.argsort(-wrong, kind="stable")
    distrusted = order[labels["trust"][order] == DISTRUSTED]
    worst = distrusted[:8]
    most_predicted = np.argsort(-labels["predicted"], kind="stable")[:200]
    first = dict.fromkeys([*worst.tolist(), *order[:50].tolist(), *most_predicted.tolist(), *distrusted.tolist()])
    return Content(
        title="Report on rule.json",
        about=(
            f"scores.npz: {_N_SAMPLES:,} rows, {labels.size:,} labels.",
            "Rule: rule.json, fitted to maximise macro F1 on 20,000 other rows.",
        ),
        words=("A row is one image.", "A row is marked if the rule predicts the label there."),
        summary=_summary(labels),
        worst=worst,
        per_row=_per_row(),
        other_rows=OtherRows(
            measure="macro F1",
            in_sample=0.5123,
            out_of_fold=0.4421,
            here=Interval(0.4387, 0.4301, 0.4473),
            n_fitted=20_000,
            n_folds=5,
            sentences=("On the rows of its fit the rule looks better than it is, by .070.",),
        ),
        false_positives=order[wrong[order] > 0][:50],
        labels=labels,
        meanings={word: f"what {word} means" for word in (TRUSTED, DISTRUSTED, BORDER, OPEN, *VERDICTS, *STATES)},
        curves={label: _curve(labels[label], rng) for label in list(first)[:n_curves]},
        n_samples=_N_SAMPLES,
        beta=1.0,
        confidence=0.95,
        on_own_rows=False,
        by_folds=False,
        whose_marks="",
        min_f=0.5,
        min_skill=0.25,
        has_thresholds=True,
        command="thresholds report scores.npz --rule rule.json -o report.html",
        version="0.1",
        date="2026-03-31",
        against=_against(labels) if with_old else None,
    )


def put_together(taken: Forms, label_names: Sequence[str]) -> list[str]:
    """The sentences that were taken apart, as the script of the page puts them together again."""
    numbers = [iter(columns.T.tolist()) for columns in taken.numbers]
    return [
        "".join(_texts(taken.forms[k], name, iter(next(numbers[k]))))
        for k, name in zip(taken.form.tolist(), label_names, strict=True)
    ]


def _texts(form: Form, name: str, numbers: Iterator[int]) -> Iterator[str]:
    """The text of each part of a form."""
    for part in form:
        if part is None:
            yield name
        elif isinstance(part, str):
            yield part
        elif isinstance(part, int):
            yield written(next(numbers), part)
        else:
            yield with_ends(name, part)


def _labels(label_names: Sequence[str], rng: Generator) -> np.ndarray:
    """Figures of each label that fit together, as far as a page can tell."""
    n_labels = len(label_names)
    positives = np.minimum(rng.geometric(0.01, n_labels) - 1, _N_SAMPLES)
    predicted = np.minimum((positives * rng.lognormal(0, 0.8, n_labels)).astype(np.int64), _N_SAMPLES)
    tp = rng.binomial(np.minimum(positives, predicted), rng.beta(2, 2, n_labels))
    auroc = np.where(positives > 0, rng.beta(8, 2, n_labels), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = tp / predicted
        recall = tp / positives
        f = 2 * tp / (predicted + positives)
    f_low, f_high = score_interval(tp, predicted, positives, 1.0, 0.95)
    verdict = np.select(
        [f_low > 0.5, (f_high < 0.5) & (auroc < 0.7), (f_high < 0.5) & (auroc > 0.9), f_high < 0.5],
        ["usable", "useless", "missed", "weak"],
        "unproven",
    )
    over = predicted > 3 * positives
    state = np.select(
        [over & (auroc < 0.6), over & (positives < 5), positives == 0, over],
        ["platypus", "suspect", "unsupported", "overpredicted"],
        "restrained",
    )
    doubtful = np.isin(state, ("backwards", "platypus", "suspect"))
    needed = np.where(verdict == "unproven", 10.0 * positives + 12, np.nan)
    figures = {"verdict": verdict, "f_low": f_low, "f_high": f_high, "positives_needed": needed}
    on_border = are_on_border(figures) & ~doubtful
    conditions = [verdict == "usable", on_border, (verdict != "unproven") | doubtful]
    trust = np.select(conditions, [TRUSTED, BORDER, DISTRUSTED], OPEN)
    columns = {
        "name": np.array(label_names, object),
        "trust": trust,
        "verdict": verdict,
        "state": state,
        "positives": positives,
        "marked": predicted,
        "predicted": predicted,
        "tp": tp,
        "threshold": np.where(predicted > 0, rng.random(n_labels), np.inf),
        "base_rate": positives / _N_SAMPLES,
        "precision": precision,
        "recall": recall,
        "f": f,
        "f_low": f_low,
        "f_high": f_high,
        "best_f": np.minimum(f + 0.02, 1),
        "auroc": auroc,
        "bar": np.full(n_labels, 0.5),
        "f_out_of_fold": np.clip(f - 0.05, 0, 1),
        "positives_needed": needed,
    }
    columns["sentence"] = np.array(_sentences(columns), object)
    return rows_of({name: columns[name] for name in LABELS})


def _sentences(columns: dict[str, np.ndarray]) -> list[str]:
    """The sentence on each label, by the library's own words."""
    precision_low, precision_high = share_interval(columns["tp"], columns["predicted"], 0.95)
    recall_low, recall_high = share_interval(columns["tp"], columns["positives"], 0.95)
    rows = rows_of(
        columns
        | {
            "n_positives": columns["positives"],
            "predicted_positive": columns["predicted"],
            "precision_low": precision_low,
            "precision_high": precision_high,
            "recall_low": recall_low,
            "recall_high": recall_high,
            "top_predicted": columns["positives"],
            "top_tp": columns["positives"] // 2,
        }
    )
    return [sentence(row, is_backwards=False, on_own_rows=False) for row in rows]


def _summary(labels: np.ndarray) -> Summary:
    """The first screen."""
    groups = []
    titles = {
        DISTRUSTED: "not to be trusted",
        BORDER: "on the border",
        OPEN: "too early to say",
        TRUSTED: "to be trusted",
    }
    n_predicted = max(int(labels["predicted"].sum()), 1)
    for trust, title in titles.items():
        of_group = labels[labels["trust"] == trust]
        predicted = int(of_group["predicted"].sum())
        groups.append(
            Group(
                trust,
                title,
                of_group.size,
                predicted,
                predicted,
                int(of_group["tp"].sum()),
                int(of_group["positives"].sum()),
                of_group.size / labels.size,
                predicted / n_predicted,
            )
        )
    distrusted = groups[0]
    return Summary(
        rule=("The rule marks a row with a label if the score of the label reaches the label's own threshold.",),
        bar=("Good enough is an F1 of at least 0.5.",),
        ranges="Ranges count rows.",
        headline=f"{distrusted.n_labels:,} of {labels.size:,} labels are not to be trusted: they make"
        f" {distrusted.share_of_marked:.0%} of all marks.",
        how_good=(
            "Of 100 marks, about 58 are right (57 to 59).",
            "Of 100 labels that are true, about 61 are marked (60 to 62).",
        ),
        cautions=("Rows count as independent; images of one patient are not.",),
        to_do=(
            "Do not use the marks of labels that are not to be trusted.",
            "Have the marks of labels checked for which it is too early to say.",
            "Judge them again once more rows have been labelled.",
        ),
        groups=tuple(groups),
        figures=tuple(
            Figure(measure, name, value, value - 0.01, value + 0.01, f"What {name} is, in a sentence.")
            for measure, name, value in [
                ("precision", "micro precision", 0.583),
                ("recall", "micro recall", 0.611),
                ("micro", "micro F1", 0.597),
                ("macro", "macro F1", 0.439),
                ("samples", "samples F1", 0.553),
            ]
        ),
        confidence=0.95,
    )


def _per_row() -> PerRow:
    """Rows by how many labels they have."""
    return PerRow(
        lowest=np.array([0, 1, 2, 3, 4, 5, 8, 16]),
        highest=41,
        predicted=np.array([2100, 3900, 5200, 3600, 2300, 1900, 900, 100]),
        true=np.array([4800, 6100, 4400, 2500, 1300, 800, 100, 0]),
        mean_predicted=2.87,
        mean_true=1.72,
        sentences=("A row has 2.87 marks on average, and 1.72 labels that are true.",),
    )


def _curve(row: np.void, rng: Generator) -> Curve:
    """A curve that passes through what the rule does."""
    most = max(int(row["predicted"]), 1)
    above = np.unique(np.geomspace(1, most, 40).astype(np.int64))
    below = np.unique(np.geomspace(most + 1, _N_SAMPLES, 40).astype(np.int64))
    predicted = np.concatenate([above, below])
    n_left = int(row["positives"]) - int(row["tp"])
    tp = np.concatenate([above * int(row["tp"]) // most, row["tp"] + n_left * below // _N_SAMPLES])
    threshold = np.sort(rng.random(predicted.size))[::-1]
    return Curve(
        threshold, tp.astype(float), predicted.astype(float), float(row["positives"]), _N_SAMPLES, above.size - 1
    )


def _against(labels: np.ndarray) -> Against:
    """What changed: the first labels moved."""
    few = labels[:12]
    moved = rows_of(
        {
            "label": np.arange(few.size),
            "name": few["name"],
            "reason": np.resize(np.array(["news", "noise", "settings", ""]), few.size),
            "old_threshold": few["threshold"],
            "new_threshold": few["threshold"] * 0.9,
            "predicted_before": few["predicted"],
            "predicted_after": few["predicted"] + 20,
            "rows_changed": np.full(few.size, 20),
        }
    )
    assert moved.dtype.names == MOVED
    return Against(
        old="old.json",
        sentences=("Of 30 thresholds 12 moved.",),
        changes=(
            Change("micro", "micro F1", 0.581, 0.597, Interval(0.016, 0.011, 0.021), "This is more than chance."),
            Change("macro", "macro F1", 0.441, 0.439, Interval(-0.002, -0.006, 0.002), "This may be chance."),
        ),
        settings=(("guard", "None", "shrink"),),
        moved=moved,
        n_moved=12,
        part="threshold",
        new=("A new label",),
        lost=("A lost <b>label</b>",),
        reasons={"news": "the rows changed", "noise": "within chance", "settings": "other options", "unknown": ""},
    )
