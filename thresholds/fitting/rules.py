"""THE list of rules: what each is called, maximises, takes and costs, and to which changes of scores it is indifferent.

`fit`, `cross_fit`, `compare`, `select_rule`, the scikit-learn estimator, the command line and docs/rules.md read it. A
name says what is maximised, then how: "macro, shrink"; "in-sample" is the best on the rows of the fit, without a guard.
A bare average, "macro", asks for the rule with the guard that suits it. To add a rule, add a `NamedRule` here, and the
way it is fitted to `fitting/by_name.py` if that is new.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from thresholds import _checks
from thresholds._checks import Average, InputError
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds.guards.names import GUARDS, USUAL_GUARD, guard_of

Method = Literal["thresholds", "top_k", "fixed", "regions", "expected", "calibrated"]
Calibration = Literal["platt", "isotonic"]

# What scores may go through without a change of the decisions about the rows of the fit.
_ANY_MAP_OF_LABELS = "any rising map of a label's scores, and another for each label"
_ANY_MAP_OF_ROWS = "any rising map of a row's scores, and another for each row"
_ONE_MAP = "one rising map of all scores"
_LINEAR_MAP = "one rising linear map of all scores"
_LINEAR_MAP_OF_LOGITS = f"{_LINEAR_MAP}, unless they lie in [0, 1]"
_NEARLY_LINEAR_MAP = f"{_LINEAR_MAP_OF_LOGITS}, but for few decisions"
_NO_MAP = "nothing: scores are taken for probabilities"

# Options that all rules take; beta and zero_division are of the F by which one that is not fitted is judged.
OF_ALL = ("beta", "zero_division", "max_predicted_per_row", "n_jobs", "progress")
LIMITS = ("max_overprediction", "min_precision", "min_recall")
_PROMISES = ("confidence", "family")
OF_ROWS = ("min_precision", "min_recall", "confidence")  # floors of all labels together
_OF_CUTS = ("placement", "keep_sparse")

IN_SAMPLE = "in-sample"  # how thresholds of each label without a guard are called, behind what they maximise

_CALIBRATIONS = {"platt": "Platt", "isotonic": "isotonic"}  # as they are written

# Costs, for n rows and m labels.
_SORTED = "n m log n; dense scores n m"
_TWICE = "twice that of the rule without a guard"
_COUNTED = "n m"


@record
class NamedRule(Result):
    """A rule that can be had by its name.

    Attributes
    ----------
    name : how it is asked for; case and spaces around the comma do not matter
    about : what it decides by, in one line
    method : how it is fitted, and so its kind
    average : the F-measure that it maximises; None for a rule that is not fitted
    per_label : whether each label is decided by a threshold of its own
    guard : "shrink" or "pool", which its thresholds are fitted under; None for none
    calibration : "platt" or "isotonic", by which scores become probabilities first; None for none
    exact : whether the expectation over outcomes is maximised, not F of expected counts
    options : names of options of fits that it takes, besides those that its name settles
    exactness : in what sense it is the best
    invariance : what scores may go through without a change of the decisions about the rows of the fit
    cost : of the fit, for n rows and m labels
    is_usual : whether `compare` shows it without being asked for all
    """

    name: str
    about: str
    method: Method
    average: Average | None
    exactness: str
    invariance: str
    cost: str
    options: tuple[str, ...]
    per_label: bool = True
    guard: str | None = None
    calibration: Calibration | None = None
    exact: bool = False
    is_usual: bool = False

    @property
    def needs_labels(self) -> bool:
        """Whether it is fitted on labels."""
        return self.method not in ("fixed", "expected")

    @property
    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1], as they are taken for probabilities."""
        return self.method == "expected"

    @property
    def is_promised_of_rows(self) -> bool:
        """Whether it takes floors of all labels together, which are promised on new rows."""
        return (
            self.method == "thresholds"
            and "family" not in self.options
            and "confidence" in self.options
        )

    @property
    def row_by_row(self) -> bool:
        """Whether the best set of labels is found for each row by itself."""
        of_probabilities = self.method in ("expected", "calibrated")
        return of_probabilities and self.average == "samples" and self.per_label

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the attributes, and what it needs."""
        needs = {
            "needs_labels": self.needs_labels,
            "needs_probabilities": self.needs_probabilities,
        }
        return super().to_dict() | needs

    def _rows(self) -> list[dict[str, Any]]:
        """Return what is known of it, in one row."""
        return [self.to_dict()]

    def _sentences(self) -> Iterable[str]:
        """Say what it decides by, in what sense it is best, what it is indifferent to, and what it costs."""
        lines = [
            f"{self.name}: {self.about}",
            f"exactness: {self.exactness}",
            f"the same for: {self.invariance}",
            f"cost: {self.cost}",
        ]
        yield "\n".join(lines)


def _thresholds(average: Average, how: str, **more: Any) -> NamedRule:
    """Describe thresholds that are fitted on labels."""
    guard = how if how in GUARDS else None
    is_shared = how == "shared"
    budget = () if guard else ("max_predicted",)
    limits: tuple[str, ...] = ()
    if average in ("macro", "weighted") and not is_shared:
        limits = (*LIMITS, *_PROMISES)
    elif average in ("micro", "samples") and guard is None:
        limits = OF_ROWS
    return NamedRule(
        name=f"{average}, {how}",
        method="thresholds",
        average=average,
        per_label=not is_shared,
        guard=guard,
        options=(*_OF_CUTS, *limits, *budget, *OF_ALL),
        **more,
    )


def _expected(average: Average, how: str = "", **more: Any) -> NamedRule:
    """Describe a rule that is found from probabilities alone."""
    first = "instance" if average == "samples" and not how.startswith("shared") else average
    return NamedRule(
        name=", ".join(filter(None, (first, how, "label-free"))),
        method="expected",
        average=average,
        per_label=how != "shared",
        options=OF_ALL,
        invariance=_NO_MAP,
        **more,
    )


def _calibrated(average: Average, calibration: Calibration, **more: Any) -> NamedRule:
    """Describe a rule for probabilities that scores are turned into first."""
    by_row = average == "samples"
    first = "instance" if by_row else average
    about = {
        "macro": "thresholds for the highest macro F to expect",
        "micro": "one threshold for the highest micro F to expect",
        "samples": "the set of highest expected F of each row",
    }[average]
    return NamedRule(
        name=f"{first}, {calibration}",
        about=f"{about}, after {_CALIBRATIONS[calibration]} calibration",
        method="calibrated",
        average=average,
        calibration=calibration,
        options=(*(() if by_row else ("keep_sparse",)), *OF_ALL),
        exactness="as the label-free rule, for the probabilities of the calibration",
        invariance=_LINEAR_MAP_OF_LOGITS if calibration == "platt" else _ONE_MAP,
        cost="that of the calibration, n m log n, and of the label-free rule",
        **more,
    )


_SHARED_CUT = "the best one threshold for all labels"
_RULES = (
    NamedRule(
        name="fixed 0.5",
        about="0.5 for each label: nothing is fitted",
        method="fixed",
        average=None,
        options=OF_ALL,
        exactness="not fitted",
        invariance=_NO_MAP,
        cost="none",
        is_usual=True,
    ),
    NamedRule(
        name="top-k",
        about="the best number of labels, the same in every row",
        method="top_k",
        average="samples",
        options=OF_ALL,
        exactness="the best number on the rows of the fit",
        invariance=_ANY_MAP_OF_ROWS,
        cost="n m log m",
        is_usual=True,
    ),
    _thresholds(
        "macro",
        IN_SAMPLE,
        about="the best threshold of each label",
        exactness="the best thresholds on the rows of the fit",
        invariance=_ANY_MAP_OF_LABELS,
        cost=_SORTED,
        is_usual=True,
    ),
    _thresholds(
        "macro",
        "shrink",
        about="the best threshold of each label, drawn towards what suits labels with as many positives",
        exactness="no optimum: it is to hold on new rows",
        invariance=_NEARLY_LINEAR_MAP,
        cost=_TWICE,
        is_usual=True,
    ),
    _thresholds(
        "macro",
        "shared",
        about=f"{_SHARED_CUT}, by macro F",
        exactness="the best shared threshold on the rows of the fit",
        invariance=_ONE_MAP,
        cost="n m log(n m)",
    ),
    NamedRule(
        name="macro, regions",
        about="intervals of scores for each label",
        method="regions",
        average="macro",
        options=OF_ALL,
        exactness="the best unions of bins of scores on the rows of the fit",
        invariance=_ANY_MAP_OF_LABELS,
        cost="n m log n",
    ),
    _expected(
        "macro",
        about="a threshold of each label, half of its best F1 to expect",
        exactness="the highest F of expected counts, for calibrated probabilities",
        cost=_COUNTED,
        is_usual=True,
    ),
    _expected(
        "macro",
        "exact",
        about="a threshold of each label, by the expectation of F over outcomes",
        exactness="the highest expectation, for calibrated probabilities of independent rows",
        cost="some thirty times that of F of expected counts",
        exact=True,
    ),
    _calibrated("macro", "platt"),
    _calibrated("macro", "isotonic"),
    _thresholds(
        "weighted",
        IN_SAMPLE,
        about="the best threshold of each label, as for macro F",
        exactness="the best thresholds on the rows of the fit",
        invariance=_ANY_MAP_OF_LABELS,
        cost=_SORTED,
    ),
    _thresholds(
        "weighted",
        "shrink",
        about="the best threshold of each label, drawn towards what suits labels with as many positives",
        exactness="no optimum: it is to hold on new rows",
        invariance=_NEARLY_LINEAR_MAP,
        cost=_TWICE,
    ),
    _thresholds(
        "weighted",
        "shared",
        about=f"{_SHARED_CUT}, by weighted F",
        exactness="the best shared threshold on the rows of the fit",
        invariance=_ONE_MAP,
        cost="n m log(n m)",
    ),
    _thresholds(
        "micro",
        IN_SAMPLE,
        about="thresholds of each label, the best together",
        exactness="the best thresholds on the rows of the fit",
        invariance=_ANY_MAP_OF_LABELS,
        cost=_SORTED,
        is_usual=True,
    ),
    _thresholds(
        "micro",
        "pool",
        about="the best thresholds together, each drawn towards one that all labels share",
        exactness="no optimum: it is to hold on new rows",
        invariance=_LINEAR_MAP,
        cost="n m log n, some ten times that of the rule without a guard",
        is_usual=True,
    ),
    _thresholds(
        "micro",
        "shared",
        about=f"{_SHARED_CUT}, by micro F",
        exactness="the best shared threshold on the rows of the fit",
        invariance=_ONE_MAP,
        cost="n m log(n m); dense scores n m",
        is_usual=True,
    ),
    NamedRule(
        name="micro, regions",
        about="intervals of scores for each label, the best together",
        method="regions",
        average="micro",
        options=OF_ALL,
        exactness="the best unions of bins of scores on the rows of the fit",
        invariance=_ANY_MAP_OF_LABELS,
        cost="n m log n",
    ),
    _expected(
        "micro",
        about="one threshold for all labels, half of the best micro F1 to expect",
        exactness="the highest F of expected counts, for calibrated probabilities",
        cost=_COUNTED,
        is_usual=True,
    ),
    _calibrated("micro", "platt"),
    _calibrated("micro", "isotonic"),
    _thresholds(
        "samples",
        "shared",
        about=f"{_SHARED_CUT}, by the mean F of the rows",
        exactness="the best shared threshold on the rows of the fit",
        invariance=_ONE_MAP,
        cost="n m log(n m)",
        is_usual=True,
    ),
    _expected(
        "samples",
        "shared",
        about="one threshold for all labels, by the mean of the rows' F of expected counts",
        exactness="the highest F of expected counts, for calibrated probabilities",
        cost="n m log(n m)",
    ),
    _expected(
        "samples",
        about="the set of highest expected F of each row",
        exactness="the highest expectation, for calibrated probabilities of independent labels",
        cost="none; a decision takes m log m and 32 m",
        is_usual=True,
    ),
    _calibrated("samples", "platt", is_usual=True),
    _calibrated("samples", "isotonic"),
)

RULES: Mapping[str, NamedRule] = {rule.name: rule for rule in _RULES}
USUAL_RULES: tuple[str, ...] = tuple(rule.name for rule in _RULES if rule.is_usual)


def bare_average(name: object) -> str | None:
    """Return the average that is asked for as a rule by its bare name, "macro"; None for a rule's whole name."""
    plain = _plain(name) if isinstance(name, str) else None
    return plain if plain in USUAL_GUARD else None


def find_rule(name: object, argument: str = "rule") -> NamedRule:
    """Return the rule of a name, whatever its case and spaces; refuse other names, and say which are near.

    A bare average is the rule with the guard that suits it.
    """
    if not isinstance(name, str):
        raise InputError(f"{argument} is {_checks.shown(name)}, expected the name of a rule")
    average = bare_average(name)
    if average is not None:
        return RULES[name_of(average, True, guard_of(average))]
    plain = _plain(name)
    by_plain = {_plain(known): known for known in RULES}
    if plain in by_plain:
        return RULES[by_plain[plain]]
    import difflib  # which most callers do without

    near = difflib.get_close_matches(plain, [*USUAL_GUARD, *by_plain], n=3, cutoff=0.5)
    names = [by_plain.get(close, close) for close in near] or list(RULES)
    listed = ", ".join(map(repr, names))
    more = "" if len(names) == len(RULES) else "; the command `thresholds rules` lists all of them"
    raise InputError(
        f"{argument} is {_checks.shown(name)}, expected the name of a rule, as {listed}{more}"
    )


def find_rules(names: Iterable[object], argument: str) -> list[NamedRule]:
    """Return the rules of some names; refuse none, and the same twice."""
    names = list(names)
    rules = [find_rule(name, argument) for name in names]
    if not rules:
        raise InputError(f"{argument} is empty, expected at least one name")
    for k, rule in enumerate(rules):
        if rule in rules[:k]:
            bare = bare_average(names[k]) or bare_average(names[rules.index(rule)])
            other = f"; without a guard it is {name_of(bare, True, None)!r}" if bare else ""
            raise InputError(f"{argument} has {rule.name!r} twice, expected each rule once{other}")
    return rules


def name_of(average: str, per_label: bool, guard: str | None) -> str:
    """Return the name of the rule that options of a fit of thresholds ask for."""
    how = guard or (IN_SAMPLE if per_label else "shared")
    return f"{average}, {how}"


def rules_that_take(option: str) -> list[str]:
    """Return the names of the rules that take an option of fits."""
    return [rule.name for rule in _RULES if option in rule.options]


def rules_for(average: str) -> list[str]:
    """Return the names of the rules that maximise an average."""
    return [rule.name for rule in _RULES if rule.average == average]


def calibrated_form(named: NamedRule) -> str:
    """Return the name of the rule that calibrates scores first, in place of one that takes them for probabilities."""
    return next(rule.name for rule in _RULES if rule.calibration and rule.average == named.average)


def _plain(name: str) -> str:
    """Return a name in lower case, with single spaces, and none before a comma."""
    parts = [" ".join(part.split()) for part in name.lower().split(",")]
    return ", ".join(parts)
