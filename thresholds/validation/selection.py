"""Which rule is best for my data, by the average that I am judged by? Chosen out of fold, with a test against luck.

All rules are cross-fitted over the same folds. Of two dozen figures the highest is high in part by luck, so the choice
begins with a reference that does well on most data, and leaves it only for a gain that is shown (`contest.py`):

    average      macro            weighted            micro          samples
    reference    macro, shrink    weighted, shrink    micro, pool    instance, platt

A fit without a guard is not chosen where the same fit with its guard takes part: where many labels are rare its
out-of-fold figure is too high, by more than its standard error knows.

On 21 real sets of scores, chosen on one half and judged on the other, both ways, the choice was .12 to .20 points of F1
behind the rule that was best there in hindsight, on average (the reference alone .20 to .47). By macro and micro F1 it
was never worse than the reference. Of 36 times that another rule was chosen it reached more there in 35. With other
folds it was .12 to .25 points behind, and of 33 times 29 reached more, the others at most .03 points less
(`experiments/selection/best.txt`, docs/choosing.md). By micro F1 the reference was "micro, in-sample" then: where rows
are few the choice that begins from "micro, pool" reaches 1.4 points more (`few_rows.txt` there).

References
----------
Breiman, Friedman, Olshen and Stone 1984, "Classification and regression trees", section 3.4.3: the simplest within one
standard error of the best. Cawley and Talbot 2010, "On over-fitting in model selection and subsequent selection bias in
performance evaluation".
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.threads import ProgressBar
from thresholds._arrays.types import Ints
from thresholds._checks import AVERAGES, Average, InputError, group_numbers
from thresholds._results.fields import record, value
from thresholds._results.result import Result, rows_of
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.words import counted, figure, n_more
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.fitting.by_name import Calibrators, why_not
from thresholds.fitting.options import (
    DEFAULTS,
    FIT_OPTIONS,
    SAID_BY_NAME,
    FitArguments,
    FitOptions,
    with_fit_options,
)
from thresholds.fitting.rules import LIMITS, RULES, NamedRule, find_rules
from thresholds.validation.contest import Contest, Entry, hold_contest
from thresholds.validation.cross_fit import CrossFit, cross_fit_rows, in_folds
from thresholds.validation.held_out import decide_out_of_fold, rules_of_folds

REFERENCES: Mapping[str, str] = {
    "macro": "macro, shrink",
    "weighted": "weighted, shrink",
    "micro": "micro, pool",
    "samples": "instance, platt",
}


@record
class RuleSelection(Result):
    """The rule that is best for an average, fitted on all rows, and why it was chosen.

    Attributes
    ----------
    name : of the rule that is chosen
    average, beta : of the F-measure it is chosen by
    reference : the name of the rule that is chosen unless another is shown to be better
    out_of_fold : the F-measure of the chosen rule's decisions about rows that it was not fitted on
    out_of_fold_of_choice : the same of rules chosen, in the same way, without the fold that they are judged on
        `out_of_fold` is the figure of one that was chosen among many by such figures; this one had no part in the
        choice. If it is much lower, luck had one. NaN with a single fold.
    candidates : structured array, one row a rule, in the order in which ties are settled: name, out_of_fold, gain (over
        the reference), standard_error (of the gain), lowest (the one-sided 95 % bound of the gain), chosen, and why (it
        is chosen or not, in words); NaN for rules that do not apply
    cross_fit : CrossFit of the chosen rule, with the rule itself, fitted on all rows, and what is known of its labels
        Its figures, and `rule.out_of_fold`, are of the average that the rule is fitted for, which may be another.
    """

    name: str
    average: str
    beta: float
    reference: str
    out_of_fold: float
    out_of_fold_of_choice: float
    candidates: npt.NDArray[Any]
    cross_fit: CrossFit = value(repr=False)

    @property
    def rule(self) -> Any:
        """The chosen rule, fitted on all rows."""
        return self.cross_fit.rule

    def _rows(self) -> npt.NDArray[Any]:
        """Return the candidates."""
        return self.candidates

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Say which rule is chosen, why, and how far its figure may be trusted; lay out the k best candidates."""
        yield "\n".join((self._choice(), self._reason(), self._honesty()))
        order = self._best(k)
        columns = (
            Column("name", f"by {self._measure}", is_words=True),
            Column("out_of_fold", ("out of", "fold"), figure),
            Column("gain", ("gain over", self.reference), _signed),
            Column("standard_error", ("standard", "error"), figure),
            Column("lowest", ("lower bound", "(95 %)"), _signed),
            Column("why", ("",), is_words=True),
        )
        note = n_more(self.candidates.size, k, "rule")
        yield tabulate(self.candidates[order], columns, note=note)

    def _best(self, k: int) -> Ints:
        """Return the rows of the k best candidates, the best first; the chosen one and the reference are among them."""
        order = np.argsort(-self.candidates["out_of_fold"], kind="stable")  # NaN last
        ranked = self.candidates[order]
        is_needed = ranked["chosen"] | (ranked["name"] == self.reference)
        return order[np.sort(np.argsort(~is_needed, kind="stable")[:k])]

    @property
    def _measure(self) -> str:
        """The F-measure in words."""
        return f"{self.average} F{self.beta:g}"

    def _choice(self) -> str:
        """Say which rule is chosen."""
        folds = f"{counted(len(self.cross_fit.fold_thresholds), 'fold')}, {self.cross_fit.how}"
        return f"{self._measure}: {self.name} is chosen, and reaches {self.out_of_fold:.4f} out of fold ({folds})"

    def _reason(self) -> str:
        """Say why."""
        if np.isfinite(self.candidates["out_of_fold"]).sum() == 1:
            return "No other rule takes part"
        if self.name == self.reference:
            return "No other rule that may be chosen is shown to reach more (one-sided, 95 %)"
        row = self.candidates[self.candidates["chosen"]][0]
        return (
            f"That is {row['gain']:.4f} more than {self.reference} (standard error {row['standard_error']:.4f}), and"
            f" shown to be at least {row['lowest']:.4f} (one-sided, 95 %)"
        )

    def _honesty(self) -> str:
        """Say what the choice itself reaches."""
        if np.isnan(self.out_of_fold_of_choice):
            return "With one fold nothing tells how far its figure, chosen among many, is too high"
        return (
            f"The choice repeated without each fold, and judged on that fold, reaches {self.out_of_fold_of_choice:.4f}:"
            " this figure had no part in the choice"
        )


def _signed(gain: float) -> str:
    """Write a gain with its sign; nothing for NaN."""
    return "" if math.isnan(gain) else f"{gain:+.4f}"


@with_fit_options({name: value for name, value in DEFAULTS.items() if name not in SAID_BY_NAME})
def select_rule(
    y_true: object,
    y_score: object,
    average: Average = "macro",
    *,
    rules: Iterable[str] | None = None,
    cv: object = N_SPLITS,
    groups: object = None,
    random_state: int | None = SEED,
    sample_weight: object = None,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    verdicts: bool = True,
    **options: Unpack[FitArguments],
) -> RuleSelection:
    """Fit the rule that is best for an average: chosen out of fold, with a test against luck.

    Parameters
    ----------
    y_true, y_score : as in `fit`
    average : "macro", "weighted", "micro" or "samples": which F-measure you are judged by
    rules : names of rules to choose from, as in `thresholds.RULES`
        None (default), or "all" as in `compare`: all that apply to these scores.
    cv, groups, random_state : as in `cross_fit`; gains are paired by groups, if there are any, else by rows
        Guards, and promises, are fitted with the groups of their rows.
    sample_weight, missing, unknown, label_names : as in `fit_empirical`
    verdicts : tell which labels may be relied on, in the `cross_fit` of the chosen rule, as `cross_fit` does
    options : those of fits, as in `fit`
        `max_overprediction`, `min_precision` and `min_recall` leave the rules that keep them. Other options are for the
        rules that take them.

    Returns
    -------
    RuleSelection
        1. The reference is, by the average, "macro, shrink", "weighted, shrink", "micro, pool" or "instance, platt".
           Where that one takes no part, it is the first of `rules` that is fitted for the average, or else the first,
           but a fit with its guard comes before the same without.
        2. Another rule is chosen only if its gain over the reference is shown to be above 0, one-sided at 5 %: the one
           with the largest gain; of equal ones a rule that is fitted for the average, then the earlier of `rules`.

    Raises
    ------
    InputError
        As `cross_fit`; for names that are no rules, or twice the same; if none of the rules applies.

    Notes
    -----
    It takes as long as six fits of each rule with five folds. The standard error is that of the jackknife, paired by
    rows or groups; each gain is tested by itself, with no allowance for the number of rules. A fit without a guard, as
    "macro, in-sample", is not chosen over the reference where the same with its guard takes part, as "macro, shrink":
    with many rare labels its out-of-fold figure is too high. On other rows of 21 real sets of scores the choice was .12
    to .25 points behind the best rule in hindsight, on average, and at most .03 behind the reference, which by micro F1
    was the fit without a guard then (docs/choosing.md).

    References
    ----------
    Cawley and Talbot 2010, "On over-fitting in model selection and subsequent selection bias in performance
    evaluation". Tsamardinos, Greasidou and Borboudakis 2018, "Bootstrapping the out-of-sample predictions for efficient
    and accurate cross-validation", for the second figure.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((500, 6)) < [0.5, 0.3, 0.2, 0.1, 0.1, 0.1]
    >>> y_score = rng.normal(size=(500, 6)) + 2 * y_true
    >>> found = thresholds.select_rule(y_true, y_score, "samples", rules=["top-k", "instance, platt"])
    >>> found.name
    'instance, platt'
    """
    _checks.option(average, "average", AVERAGES)
    _checks.option(verdicts, "verdicts", (True, False))
    _refuse_other_options(options)
    named = in_order(rules, average)

    # The same rows and folds for all rules.
    able = [rule for rule in named if _lacking(rule, options) is None]
    fit_of = {rule.name: options_for(rule, options) for rule in able}
    rows = in_folds(
        y_true,
        y_score,
        cv=cv,
        groups=groups,
        random_state=random_state,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=options.get("keep_sparse", DEFAULTS["keep_sparse"]),
    )
    reasons = {rule.name: _lacking(rule, options) or why_not(rule, rows.problem) for rule in named}
    applying = [rule for rule in named if reasons[rule.name] is None]
    if not applying:
        name, reason = next(iter(reasons.items()))
        raise InputError(
            f"rules has none that applies ({name!r}: {reason}); expected at least one that does"
        )

    # Each decides the rows that it was not fitted on.
    beta = options.get("beta", DEFAULTS["beta"])
    zero_division = options.get("zero_division", DEFAULTS["zero_division"])
    paired = None if groups is None else group_numbers(rows.groups, rows.folds.size)
    calibrators = [Calibrators() for _ in rows.pairs]  # of each fold
    bar = ProgressBar("rules", len(applying)) if options.get("progress", False) else None
    decided = {}
    for rule in applying:
        of_folds = rules_of_folds(
            rows.problem, fit_of[rule.name], rows.pairs, rows.given_weights, calibrators
        )
        decided[rule.name] = decide_out_of_fold(of_folds, rows.problem, rows.pairs)
        if bar is not None:
            bar.step()
    contest = hold_contest(
        decided,
        rows.problem,
        rows.folds,
        paired,
        average,
        beta,
        zero_division,
        barred=[rule.name for rule in applying if guarded_form(rule, applying) is not None],
    )

    chosen = contest.winner
    return RuleSelection(
        name=chosen.name,
        average=average,
        beta=beta,
        reference=contest.entries[0].name,
        out_of_fold=chosen.figure,
        out_of_fold_of_choice=contest.figure_of_choice,
        candidates=_candidates(contest, reasons),
        cross_fit=cross_fit_rows(rows, fit_of[chosen.name], verdicts=verdicts),
    )


def _refuse_other_options(options: FitArguments) -> None:
    """Refuse options that are none, or that the name of a rule says, and values that no rule takes."""
    for name, given in options.items():
        if name not in FIT_OPTIONS or name in SAID_BY_NAME:
            raise TypeError(f"select_rule() got an unexpected keyword argument {name!r}")
        FIT_OPTIONS[name].metadata["check"](given, name)


def in_order(names: Iterable[str] | None, average: str) -> list[NamedRule]:
    """Return the rules to choose from in the order in which ties are settled, the reference first.

    Of those for an average, a fit comes last whose guarded form is among them: it is not to be the reference of others.
    """
    if names is None or (isinstance(names, str) and names == "all"):
        rules = list(RULES.values())
    elif isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"rules is {_checks.shown(names)}, expected names of rules, 'all' or None")
    else:
        rules = find_rules(names, "rules")

    def place(rule: NamedRule) -> tuple[bool, ...]:
        is_bare = guarded_form(rule, rules) is not None
        return rule.name != REFERENCES[average], rule.average != average, is_bare

    return sorted(rules, key=place)


def options_for(rule: NamedRule, options: FitArguments) -> FitOptions:
    """Return the options of a rule's fit: of those asked for, what it takes."""
    taken: Any = {name: value for name, value in options.items() if name in rule.options}
    return FitOptions(rule=rule.name, **(taken | {"progress": False}))


def _lacking(rule: NamedRule, options: FitArguments) -> str | None:
    """Say which limit that is asked for a rule does not keep; None if it keeps all."""
    # It does without other options.
    for name in (*LIMITS, "max_predicted"):
        if options.get(name) is not None and name not in rule.options:
            return f"it does not keep {name}"
    # A floor is one of each label here: no rule is chosen that keeps one of all labels together.
    for name in ("min_precision", "min_recall"):
        if options.get(name) is not None and rule.is_promised_of_rows:
            return f"it does not keep {name} of each label"
    return None


def guarded_form(rule: NamedRule, rules: Iterable[NamedRule]) -> NamedRule | None:
    """Return the same fit with a guard, if it is one of some rules; None for a fit that has one."""
    if rule.method != "thresholds" or rule.guard is not None:
        return None
    fit = (rule.method, rule.average, rule.per_label)
    alike = (other for other in rules if (other.method, other.average, other.per_label) == fit)
    return next((other for other in alike if other.guard is not None), None)


def _candidates(contest: Contest, reasons: Mapping[str, str | None]) -> npt.NDArray[Any]:
    """Lay out all rules, and why each was chosen or not."""
    entries = {entry.name: entry for entry in contest.entries}
    chosen = contest.winner
    rows: list[tuple[Any, ...]] = []
    for name, reason in reasons.items():
        if reason is None:
            entry = entries[name]
            why = _why(entry, contest.entries[0], chosen)
            rows.append((name, entry.figure, *entry.gains[0], entry is chosen, why))
        else:
            rows.append((name, *[math.nan] * 4, False, f"does not apply: {reason}"))
    names = ("name", "out_of_fold", "gain", "standard_error", "lowest", "chosen", "why")
    columns = zip(*rows, strict=True)
    return rows_of({name: np.array(column) for name, column in zip(names, columns, strict=True)})


def _why(entry: Entry, reference: Entry, chosen: Entry) -> str:
    """Say why a rule was chosen or not."""
    gain = entry.gains[0]
    if entry is reference:
        return "chosen: no other is shown to reach more" if entry is chosen else "the reference"
    if entry is chosen:
        return "chosen: the largest gain that is shown"
    if not gain.is_shown:
        return "gain not shown" if gain.value > 0 else "no gain"
    if not entry.may_win:
        return "no guard: its figure is too high where labels are rare"
    is_equal = gain.value == chosen.gains[0].value
    return "the same gain, later in order" if is_equal else "a smaller gain is shown"
