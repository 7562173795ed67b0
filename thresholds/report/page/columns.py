"""What the script of a page is given of each label, and of each curve, in no more bytes than what is shown needs.

What follows from true positives, predictions and positives is computed by the script: precision, recall, F-beta, wrong
marks. Other figures from 0 to 1 are shown to three digits, and kept so. Of sentences, numbers are kept (`forms`).
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Floats
from thresholds._results.text import on_one_line
from thresholds.diagnosis.states import NOT_OVER, STATES
from thresholds.metrics.curves import Curve
from thresholds.report.content import BORDER, DISTRUSTED, OPEN, TRUSTED, Content
from thresholds.report.page.forms import forms_of
from thresholds.report.page.packing import Column, fewest_bytes, texts

# Words that are kept as their places here: the worst first, as the table sorts them.
WORDS = {
    "trust": (DISTRUSTED, BORDER, OPEN, TRUSTED),
    "verdict": ("useless", "missed", "weak", "unproven", "usable"),
    "state": STATES,
}

_COUNTS = ("positives", "predicted", "tp")
_FROM_0_TO_1 = ("f_low", "f_high", "best_f", "auroc", "bar", "f_out_of_fold")
_UNKNOWN = 65_535  # in place of NaN among thousandths
_BITS_DROPPED = 10  # of the 23 of a threshold of a curve, which is shown to three digits
_LARGEST = 1e38  # of float32, and a little room to round in


def label_columns(content: Content) -> dict[str, Column]:
    """Return columns of all labels, in the order of the rule, and `facts` that hold for all of them."""
    labels = content.labels
    names = [on_one_line(str(name)) for name in labels["name"]]
    forms = forms_of([str(sentence) for sentence in labels["sentence"]], names)
    facts = {
        "n_samples": content.n_samples,
        "beta": content.beta,
        "confidence": content.confidence,
        "by_folds": content.by_folds,
        "words": WORDS,
        "titles": titles_of(content),
        "unremarkable": NOT_OVER,  # a state that the page does not name
        "meanings": dict(content.meanings),
        "forms": forms.forms,
    }
    return {
        "facts": texts([json.dumps(facts)]),
        "name": texts(names),
        **{name: _places(labels[name], words) for name, words in WORDS.items()},
        **{name: fewest_bytes(labels[name]) for name in _COUNTS},
        **{name: _thousandths(labels[name]) for name in _FROM_0_TO_1},
        "threshold": _narrowed(labels["threshold"]),
        "form": fewest_bytes(forms.form),
        "number": fewest_bytes(_one_after_another(forms.numbers)),
    }


def titles_of(content: Content) -> dict[str, str]:
    """Return what each group of labels is called on the page."""
    return {group.trust: group.title for group in content.summary.groups}


def curve_columns(curves: Mapping[int, Curve], n_curves: int) -> dict[str, Column]:
    """Return columns of the first so many curves, with one value for each curve or for each point of each."""
    chosen = dict(islice(curves.items(), n_curves))
    of = chosen.values()
    return {
        "label": fewest_bytes(list(chosen)),
        "n_points": fewest_bytes([curve.threshold.size for curve in of]),
        "threshold": _fewer_bits(_one_after_another(curve.threshold for curve in of)),
        # Counts rise along a curve: by how much is less to keep.
        "more_predicted": fewest_bytes(_one_after_another(_rises(curve.predicted) for curve in of)),
        "more_tp": fewest_bytes(_one_after_another(_rises(curve.tp) for curve in of)),
    }


def _places(words: npt.NDArray[np.str_], known: tuple[str, ...]) -> Column:
    """Return the place of each word among those that are known."""
    place = {word: k for k, word in enumerate(known)}
    return np.array([place[str(word)] for word in words], np.uint8)


def _thousandths(figures: Floats) -> Column:
    """Return figures from 0 to 1 to three digits, as whole numbers."""
    rounded = np.round(1000 * figures)
    return np.where(np.isnan(rounded), _UNKNOWN, rounded).astype(np.uint16)


def _narrowed(thresholds: Floats) -> Column:
    """Return thresholds as float32, finite ones as such however large they are."""
    kept = np.clip(thresholds, -_LARGEST, _LARGEST)
    return np.where(np.isinf(thresholds), thresholds, kept).astype(np.float32)


def _fewer_bits(thresholds: Floats) -> Column:
    """Round thresholds to so many bits that they show right in three digits."""
    bits = _narrowed(thresholds).view(np.uint32)
    half = np.uint32(1 << (_BITS_DROPPED - 1))
    return ((bits + half) >> _BITS_DROPPED << _BITS_DROPPED).view(np.float32)


def _rises(counts: Floats) -> Floats:
    """Return by how much each count is above the one before, the first above 0."""
    return np.diff(counts, prepend=0.0)


def _one_after_another(arrays: Iterable[npt.NDArray[np.generic]]) -> Column:
    """Return all values of some arrays, the first array's first."""
    return np.concatenate([np.zeros(0), *(np.ravel(array) for array in arrays)])
