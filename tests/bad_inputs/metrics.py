"""What the metrics must refuse, in the form of `arguments.py`: matrices, vectors of classes, and every option.

`MATRICES` and `CLASSES` hold every public metric by what it takes, with good input but for what is given.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from operator import add

import numpy as np

from tests.bad_inputs.arguments import (
    BAD_FLAGS,
    BAD_JOBS,
    BAD_MISSING,
    BAD_SHARES,
    BAD_TWO_NAMES,
    BAD_WEIGHTS,
    BETAS_OF_NOTHING,
    HUGE,
    MATRIX,
    NO_WEIGHT,
    SWAPPED,
    TWO,
    BadInput,
    Functions,
    Values,
    each,
    every,
    matrices,
)
from tests.bad_inputs.matrices import (
    BAD_ANYWHERE,
    BAD_SCORES,
    BAD_TRUTH,
    COO,
    CSR,
    NOT_SAID,
    ONES,
    SPARSE,
    UNSAYABLE,
    Frame,
    NotAvailable,
    S,
    Table,
    TwoLines,
    Y,
    inf,
    nan,
)
from thresholds import metrics

BINARY = np.array([0, 1, 1, 0])
STRINGS = np.array(["cat", "dog", "dog", "cat"])
MANY = np.array([0, 1, 2, 0])
MASKED = np.ma.array(BINARY, mask=[0, 0, 1, 0])

# Every metric by what it takes

FBETA = {"precision_recall_fscore_support": {}, "fbeta_score": {"beta": 2.0}}
FIGURES = {"f1_score": {}, "precision_score": {}, "recall_score": {}, "jaccard_score": {}} | FBETA
COUNTED = {"averages_report": {}, "confusion_counts": {}}
ANY = {"accuracy_score": {}, "skill_score": {}}
CELLS = {"multilabel_accuracy": {}, "macro_skill_score": {}}
RANKED = {"auroc": {}, "macro_auroc": {}}


def on(names: Mapping[str, Mapping[str, object]], what: str = "", **usual: object) -> Functions:
    """The metrics of these names, of usual arguments but for what is given."""
    return {f"{name}{what}": partial(getattr(metrics, name), **usual, **own) for name, own in names.items()}


def figures(y: object, average: object, what: str = "") -> Functions:
    """Precision, recall, F-beta and Jaccard of good predictions."""
    return on(FIGURES, what, y_true=y, y_pred=y, average=average)


def counted(y: object, what: str = "") -> Functions:
    """What takes `labels`, of good predictions."""
    return figures(y, None, what) | on(COUNTED, what, y_true=y, y_pred=y)


MATRICES = counted(Y) | on(ANY | CELLS, y_true=Y, y_pred=Y)
F1 = {"f1_score": {}}
BY_ROW = on(
    {"f1_score": {"average": "samples"}, "confusion_counts": {"samplewise": True}}, ", by row", y_true=Y, y_pred=Y
)
BOTH_SPARSE = {
    f"{name}, sparse": partial(f, y_true=CSR(Y), y_pred=CSR(Y))
    for name, f in (MATRICES | BY_ROW).items()
    if name not in FIGURES or name in F1
}
AUROC = on(RANKED, y_true=Y, y_score=S)
AUROC_SPARSE = on(RANKED, ", sparse", y_true=CSR(Y), y_score=CSR(S))
CLASSES = counted(BINARY, ", classes") | on(ANY, ", classes", y_true=BINARY, y_pred=BINARY)
ONE_CLASS = figures(BINARY, "binary", ", binary")

# Matrices

OF_MATRICES = [
    *matrices(MATRICES, "y_true", BAD_ANYWHERE | BAD_TRUTH | NOT_SAID),
    *matrices(MATRICES, "y_pred", BAD_ANYWHERE | BAD_TRUTH),
    *matrices(BOTH_SPARSE, "y_true", SPARSE),
    *matrices(BOTH_SPARSE, "y_pred", SPARSE),
    *matrices(AUROC, "y_true", BAD_ANYWHERE | BAD_TRUTH),
    *matrices(AUROC, "y_score", BAD_ANYWHERE | BAD_SCORES),
    *matrices(AUROC_SPARSE, "y_true", SPARSE),
    *matrices(AUROC_SPARSE, "y_score", SPARSE),
    *matrices(
        on(F1, y_pred=Y, average=None),
        "y_true",
        {
            "frame, no names": (
                Frame,
                "is a Frame frame, expected one of pandas, Polars or PyArrow: convert it(?! and label_names=)",
            )
        },
    ),
]

# Vectors of classes: the third row is spoiled

KINDS = "expected (classes: )?integers(, truth values)? or strings"
LIMIT = r".*, expected .*(int64|2\*\*63)"
MIXED = "mixes strings with other values, expected one kind"
MASKS = "has masked cells, expected none(?!.*-inf)"
BAD_CLASSES: Table = {
    "empty list": (list, r"is empty, shape \(0,\), expected at least one"),
    "no columns": (lambda: np.ones((4, 0)), r"is empty, shape \(4, 0\), expected at least one"),
    "three dimensions": (lambda: np.ones((4, 2, 1)), r"has shape \(4, 2, 1\), expected"),
    "three dimensions, of one column": (lambda: np.ones((4, 1, 1)), r"has shape \(4, 1, 1\), expected"),
    "one sparse dimension": (lambda: COO(np.ones(4)), r"has shape \(4,\), expected"),
    "number": (lambda: 1, r"(is 1|has shape \(\)), expected"),
    "text": (lambda: "cat", r"(is 'cat'|has shape \(\)), expected"),
    "None": (lambda: None, "(is|has) None.*, expected"),
    "set": (lambda: {0, 1}, r"(is|has) \{0, 1\}.*, expected"),
    "dictionary": (lambda: {0: 1}, r"(is|has) \{0: 1\}.*, expected"),
    "generator": (lambda: (k for k in BINARY), "(is|has) <generator .*, expected"),
    "NaN": (lambda: [0, 1, nan, 0], f"has nan at row 2, {KINDS}"),
    "NaN in float16": (lambda: np.array([0, 1, nan, 0], "f2"), f"has nan at row 2, {KINDS}"),
    "infinity": (lambda: [0, 1, inf, 0], f"has inf at row 2, {KINDS}"),
    "a half": (lambda: [0, 1, 0.5, 0], f"has 0.5 at row 2, {KINDS}"),
    "a half in float16": (lambda: np.array([0, 1, 0.5, 0], "f2"), f"has 0.5 at row 2, {KINDS}"),
    "a half in a column": (lambda: [[0], [1], [0.5], [0]], f"has 0.5 at row 2, {KINDS}"),
    "a half in a sparse column": (
        lambda: CSR([[0], [1], [0.5], [0]]),
        "has 0.5 at row 2, label 0, expected only 0 and 1",
    ),
    "a third as a fraction": (lambda: [0, 1, Fraction(1, 3), 0], f"has .* at row 2, {KINDS}"),
    "too large an integer": (lambda: [0, 1, 2**63, 0], f"has 9{LIMIT}"),
    "too large an unsigned integer": (lambda: np.array([0, 1, 2**63, 0], "u8"), f"has 9223372036854775808{LIMIT}"),
    "too large an integer for any dtype": (
        lambda: [0, 1, 2**70, 0],
        f"has (the integer )?1180591620717411303424{LIMIT}",
    ),
    "integer that no float holds": (lambda: [0, 1, HUGE, 0], f"has (the integer )?10000{LIMIT}"),
    "bytes": (lambda: [b"cat", b"dog", b"dog", b"cat"], rf"has dtype \|S3, {KINDS}"),
    "complex": (lambda: [0, 1, 1j, 0], f"has dtype complex128, {KINDS}"),
    "complex, sparse": (lambda: CSR(ONES[:, :1] + 0j), "has dtype complex128, expected"),
    "dates": (lambda: np.full(4, np.datetime64("2014-02-08")), rf"has dtype datetime64\[D\], {KINDS}"),
    "records": (lambda: np.ones(4, [("a", "f8")]), rf"has dtype \[\('a', '<f8'\)\], {KINDS}"),
    "None in a cell": (lambda: [0, 1, None, 0], f"has None.*{KINDS}"),
    "NA in a cell": (lambda: [0, 1, NotAvailable(), 0], f"has <NA>.*{KINDS}"),
    "two lines in a cell": (lambda: [0, 1, TwoLines(), 0], f"has one line.*{KINDS}"),
    "None among strings": (lambda: ["cat", "dog", None, "cat"], f"(has None.*{KINDS}|{MIXED})"),
    "number among strings": (lambda: ["cat", "dog", 1, "cat"], MIXED),
    "NaN among strings": (lambda: ["cat", "dog", nan, "cat"], MIXED),
    "number among strings, object": (
        lambda: np.array(["cat", "dog", 1, "cat"], object),
        rf"(has 1\b.*{KINDS}|{MIXED})",
    ),
    "number among strings, column": (lambda: [["cat"], ["dog"], [1], ["cat"]], MIXED),
    "masked cell": (lambda: MASKED, MASKS),
    "masked strings": (lambda: np.ma.array(STRINGS, mask=[0, 0, 1, 0]), MASKS),
    "ragged list": (lambda: [[0], [1, 1], [1], [0]], "cannot be read as an array"),
    "frame": (Frame, "is a Frame frame, expected one of pandas, Polars or PyArrow"),
}
if hasattr(np.dtypes, "StringDType"):  # NumPy 2
    STRING_OR_NAN = np.dtypes.StringDType(na_object=nan)
    BAD_CLASSES["NaN among NumPy's strings"] = (
        lambda: np.array(["cat", "dog", nan, "cat"], STRING_OR_NAN),
        f"(has nan.*{KINDS}|{MIXED})",
    )


def pair(name: str, what: str, y_true: object, y_pred: object, message: str, **given: object) -> BadInput:
    """Truth and predictions that disagree."""
    return BadInput(f"{name}: {what}", lambda: getattr(metrics, name)(y_true=y_true, y_pred=y_pred, **given), message)


SHAPE_OR_BINARY = (
    r"(y_pred has shape \({}\), expected \({}\) as y_true|average is 'binary' with 2 labels, expected None)"
)
OF_CLASSES = [
    *(
        row
        for functions in (CLASSES, {"f1_score, binary": ONE_CLASS["f1_score, binary"]})
        for argument in ("y_true", "y_pred")
        for row in matrices(functions, argument, BAD_CLASSES)
    ),
    *(
        row
        for name in ("f1_score", "averages_report", "confusion_counts", "accuracy_score", "skill_score")
        for row in (
            pair(name, "fewer rows", BINARY, BINARY[:3], "y_pred has 3 rows, expected 4 as y_true has"),
            pair(name, "more rows", BINARY[:3], BINARY, "y_pred has 4 rows, expected 3 as y_true has"),
            pair(name, "numbers for strings", STRINGS, BINARY, "y_pred has integers, expected strings as y_true has"),
            pair(name, "strings for numbers", BINARY, STRINGS, "y_pred has strings, expected integers as y_true has"),
            pair(name, "vector for matrix", Y, BINARY, SHAPE_OR_BINARY.format("4,", "4, 2")),
            pair(name, "matrix for vector", BINARY, Y, SHAPE_OR_BINARY.format("4, 2", "4,")),
            pair(name, "sparse for vector", BINARY, CSR(Y), SHAPE_OR_BINARY.format("4, 2", "4,")),
        )
    ),
    *(
        row
        for name, own in {"f1_score": {"average": None}, "skill_score": {}, "multilabel_accuracy": {}}.items()
        for row in (
            pair(name, "other rows", Y, Y[:3], r"y_pred has shape \(3, 2\), expected \(4, 2\) as y_true has", **own),
            pair(name, "other labels", Y, Y[:, :1], r"y_pred has shape \(4, 1\), expected \(4, 2\)", **own),
            pair(name, "other rows, sparse", CSR(Y), CSR(Y)[:3], r"y_pred has shape \(3, 2\), expected", **own),
            pair(name, "scores", Y, S, "y_pred has 0.9 at row 0, label 0, expected only 0 and 1", **own),
        )
    ),
    *(
        row
        for name in CELLS
        for row in (
            pair(name, "strings", STRINGS, STRINGS, "y_true has dtype <U3, expected real numbers"),
            pair(name, "many classes", MANY, MANY, "y_true has 2 at row 2, label 0, expected only 0 and 1"),
            pair(name, "vector for matrix", Y, BINARY, r"y_pred has shape \(4, 1\), expected \(4, 2\) as y_true has"),
        )
    ),
    *(
        BadInput(f"{name}: {what}", lambda f=f, given=given: f(**given), message)
        for name, f in AUROC.items()
        for what, given, message in (
            ("swapped", {"y_true": S, "y_score": Y}, SWAPPED),
            ("other rows", {"y_score": S[:3]}, r"y_score has shape \(3, 2\), expected \(4, 2\) as y_true has"),
            ("one score a row", {"y_score": S[:, 0]}, r"y_score has shape \(4, 1\), expected \(4, 2\) as y_true has"),
            ("many classes", {"y_true": MANY}, "y_true has 2 at row 2, label 0, expected only 0 and 1"),
            ("strings", {"y_true": STRINGS}, "y_true has dtype <U3, expected real numbers"),
        )
    ),
]

# Labels: columns of a matrix, or classes

COLUMNS = "expected the numbers of some columns in a list"
BAD_ANYHOW: Values = [
    ([0, "cat", {0, 1}, np.array(0), TwoLines()], "is .*, expected"),
    ([[0, "cat"]], f"({MIXED}|is .*, expected)"),
    ([MASKED], MASKS),
    ([[0, [1, 2]]], "cannot be read as an array"),
]
BAD_COLUMN_LABELS: Values = [
    *BAD_ANYHOW,
    ([[], range(0), ["cat"], [[0, 1]], [[0], [1]], MATRIX, [0.0, 1.0], [nan], [True, False]], f"is .*, {COLUMNS}"),
    ([[None], [b"cat"], [2**70], [TwoLines()]], f"is .*, {COLUMNS}"),
    ([[0, 0], np.array([0, 1, 0])], "has 0 twice, expected each once"),
    ([[0, 2], [2**63]], "has [29].*, expected columns from 0 to 1"),
    ([[-1], [-1, 0]], "has -1.*, expected columns from 0 to 1"),
]
BAD_CLASS_LABELS: Values = [
    *BAD_ANYHOW,
    ([[], range(0)], "is .*, expected"),
    ([[[0, 1]], [[0], [1]], MATRIX], "(has shape|is) .*, expected"),
    ([[0.5], [nan], [inf]], f"has (0.5|nan|inf)(?! at row).*{KINDS}"),
    ([[None], [NotAvailable()], [TwoLines()]], f"has (None|<NA>|one line).*{KINDS}"),
    ([[b"cat"], [1j]], f"has dtype .*, {KINDS}"),
    ([[2**63], [2**70]], f"has .*{LIMIT}"),
]
NUMBERS: Values = [
    ([[0, 0], [0, 0.0], [False, 0]], "has 0 twice, expected each once"),
    ([["cat"]], "has 'cat', expected integers as y_true has"),
]
NAMES: Values = [
    ([["cat", "cat"]], "has 'cat' twice, expected each once"),
    ([[0], [True]], "has .*, expected strings as y_true has"),
]
LABELS = [
    *every(counted(Y) | {"f1_score, sparse": BOTH_SPARSE["f1_score, sparse"]}, "labels", BAD_COLUMN_LABELS),
    *every(counted(BINARY, ", classes"), "labels", [*BAD_CLASS_LABELS, *NUMBERS]),
    *every(counted(STRINGS, ", strings"), "labels", [*BAD_CLASS_LABELS, *NAMES]),
    *each(ONE_CLASS, "labels", [0, "cat", TwoLines()], "labels is .*, expected"),
]

# The positive class

NO_CLASS = [[1], {}, MATRIX, np.array([1]), 1j, b"cat", TwoLines(), NotAvailable()]
ONLY = figures(np.ones(4), "binary", ", one class") | figures(Y, "macro") | figures(BINARY, "macro", ", classes")
LONG = np.array(["cat" * 100, "dog" * 100])
POS_LABEL = [
    *each(ONE_CLASS, "pos_label", [5, "cat", None, nan, 0.5, *NO_CLASS], "pos_label is .*, expected .*0 or 1$"),
    *each(
        figures(STRINGS, "binary", ", binary strings"),
        "pos_label",
        ["cow", 1, True, None, *NO_CLASS],
        "pos_label is .*, expected .*'cat' or 'dog'$",
    ),
    *each(ONLY, "pos_label", NO_CLASS, "pos_label is .*, expected"),
    *each(figures(LONG, "binary", ", long names"), "pos_label", ["cat"], "pos_label is 'cat', expected .{0,200}$"),
]

# Averages

NO_AVERAGE = ["mean", "Macro", 1, True, b"macro", ["macro"], np.array("macro"), TWO, TwoLines()]
EVERY_AVERAGE = "expected None, 'binary', 'micro', 'macro', 'weighted'"
JACCARD = {"jaccard_score": {}}
AVERAGE = [
    *each(figures(Y, None), "average", NO_AVERAGE, f"average is .*, {EVERY_AVERAGE}"),
    *each(on(JACCARD, ", F", y_true=Y, y_pred=Y), "average", ["f1"], f"average is 'f1', {EVERY_AVERAGE}(?!.*f_of)"),
    *each(on(JACCARD, y_true=Y, y_pred=Y), "average", ["f_of_averages"], "average is 'f_of_averages'.*, expected"),
    *each(
        figures(Y, None) | figures(CSR(Y), None, ", sparse"),
        "average",
        ["binary"],
        "average is 'binary' with 2 labels, expected None, or an average over labels",
    ),
    *each(
        figures(MANY, None, ", many classes") | figures(LONG[[0, 1, 1, 0]].tolist(), None, ", long names"),
        "average",
        ["samples"],
        "average is 'samples' for vectors of classes, expected",
    ),
    *each(
        figures(MANY, None, ", many classes"),
        "average",
        ["binary"],
        "average is 'binary' with 3 classes, expected None, or an average over classes",
    ),
]

# Everything else

BETA = on(FBETA | {"averages_report": {}}, y_true=Y, y_pred=Y) | {
    "ConfusionCounts.f_score": metrics.confusion_counts(Y, Y).f_score
}
NO_VALUE = [2, 0.5, -1, True, "zero", "nan", None, inf, HUGE, [0], 1j, MATRIX, TwoLines()]
REPORT = on({"averages_report": {}}, y_true=Y, y_pred=Y)
OF_THREE = partial(metrics.averages_report, y_true=MANY, y_pred=MANY)
NO_FIGURES = ["precision", b"recall", None, 1, True, ["accuracy"], ["fscore"], [1], [["recall"]], MATRIX, TwoLines()]
SOME_FIGURES = "expected some of precision, recall, f-score"
ONE_FIGURE = on({"precision_recall_fscore_support": {}}, y_true=Y, y_pred=Y)
MEANS = on({"macro_skill_score": {}}, y_true=Y, y_pred=Y) | on({"macro_auroc": {}}, y_true=Y, y_score=S)
FLOAT32 = on(RANKED, ", float32", y_true=Y, y_score=S.astype("f4"))
WEIGHTED = MATRICES | BY_ROW | CLASSES | AUROC
OPTIONS = [
    *every(WEIGHTED, "unknown", UNSAYABLE),
    *every(WEIGHTED, "sample_weight", BAD_WEIGHTS),
    *every({name: f for name, f in WEIGHTED.items() if "counts" not in name}, "sample_weight", NO_WEIGHT),
    *every(BETA, "beta", BETAS_OF_NOTHING),
    *each(figures(Y, None), "zero_division", NO_VALUE, "zero_division is .*, expected 'warn', 0, 1 or nan"),
    *each(REPORT, "zero_division", [*NO_VALUE, "warn", "x" * 500], "zero_division is .{1,70}, expected 0, 1 or nan"),
    *each(ONE_FIGURE, "warn_for", NO_FIGURES, f"warn_for is .*, {SOME_FIGURES}"),
    BadInput(
        "precision_recall_fscore_support: warn_for is read once",
        lambda: metrics.precision_recall_fscore_support(Y, Y, warn_for=iter(["recall"])),
        f"warn_for is .*, {SOME_FIGURES}",
    ),
    *every(REPORT, "label_names", BAD_TWO_NAMES),
    *each({"averages_report, three": OF_THREE}, "label_names", [("cat", "dog")], "label_names has 2 names, expected 3"),
    *every(on({"accuracy_score": {}}, y_true=Y, y_pred=Y), "normalize", BAD_FLAGS),
    *every(on({"confusion_counts": {}}, y_true=Y, y_pred=Y), "samplewise", BAD_FLAGS),
    *every({"confusion_counts, classes": CLASSES["confusion_counts, classes"]}, "samplewise", BAD_FLAGS),
    *each(
        {"confusion_counts, classes": CLASSES["confusion_counts, classes"]},
        "samplewise",
        [True],
        "samplewise is True for vectors of classes, expected False",
    ),
    *every(MEANS, "return_undefined", BAD_FLAGS),
    *every(AUROC, "n_jobs", BAD_JOBS),
    *every(AUROC, "missing", BAD_MISSING),
    *each(FLOAT32, "missing", [1e39, -1e39], r"missing is -?1e\+39, expected a score of dtype float32, or -inf"),
]

# Bounds of F from counts

INTERVAL = {"f_interval": partial(metrics.f_interval, tp=1, predicted=2, positives=2)}
NO_COUNTS = [-1, nan, inf, [1, -1], [[nan]]]
SHAPES = r"tp, predicted and positives have the shapes \[\(3,\), \(2,\), \(\)\], expected such as broadcast"
BOUNDS = [
    *(
        row
        for name in ("tp", "predicted", "positives")
        for row in (
            *each(INTERVAL, name, NO_COUNTS, f"{name} has negative or infinite values or NaN, expected counts"),
            *each(INTERVAL, name, ["3", None, 1j], f"{name} has .*, expected real numbers"),
        )
    ),
    *each(INTERVAL, "tp", [3, [0, 3]], "tp is more than predicted or positives somewhere, expected at most as many"),
    BadInput("f_interval: shapes", lambda: metrics.f_interval([1, 1, 1], [2, 2], 2), SHAPES),
    *every(INTERVAL, "beta", BETAS_OF_NOTHING),
    *every(INTERVAL, "confidence", BAD_SHARES),
]

# Counts that do not add up

COUNTS = {y: metrics.confusion_counts(y, y) for y in ((0, 1), (1, 2), (0, 1, 2))}
TWO_LABELS = metrics.confusion_counts(Y, Y)
SUMS = [
    BadInput(f"ConfusionCounts: {what}", lambda first=first, second=second: add(first, second), message)
    for what, first, second, message in (
        (
            "more labels",
            TWO_LABELS,
            COUNTS[0, 1, 2],
            r"counts to be added are of labels \[0, 1, 2\], expected \[0, 1\]",
        ),
        (
            "fewer labels",
            COUNTS[0, 1, 2],
            TWO_LABELS,
            r"counts to be added are of labels \[0, 1\], expected \[0, 1, 2\]",
        ),
        ("other classes", COUNTS[0, 1], COUNTS[1, 2], r"counts to be added are of labels \[1, 2\], expected \[0, 1\]"),
    )
]

BAD_METRICS = [*OF_MATRICES, *OF_CLASSES, *LABELS, *POS_LABEL, *AVERAGE, *OPTIONS, *BOUNDS, *SUMS]
