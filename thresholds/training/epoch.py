"""What is fitted, and what is reported, when an epoch has seen all of its validation rows.

The best F on the rows of a fit is too high, the more so with many rare labels (the winner's curse; Lipton et al. 2013,
section 8), so that the epochs with the luckiest rows would be taken for the best ones. So `EpochFit` reports F out of
fold: each row is decided by a rule that was fitted without it, while the rule that is kept is fitted on all rows. Test
rows are judged by the rule that is there, and nothing is fitted.
"""

from typing import Unpack

from thresholds import _checks
from thresholds._checks import Average
from thresholds._engine.problem import Problem
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.fitting.options import (
    DEFAULTS,
    FitArguments,
    FitOptions,
    with_fit_options,
)
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import Rule
from thresholds.training.accumulator import Accumulator
from thresholds.validation.cross_fit import cross_fit

IN_SAMPLE = "_in_sample"  # what the name of a figure ends with, if it is of the rows of the fit


class EpochFit:
    """How thresholds are fitted and judged when an epoch ends; options are checked when it is made.

    Parameters
    ----------
    average, rule, and the options from `beta` on : as in `cross_fit`, with its defaults
    cv : number of folds, at least 2
        Rows may come in another order in each epoch, so that folds cannot be given row by row.
    random_state : seed of the folds
        The same rows in the same order have the same folds in each epoch, so that figures can be compared.

    Attributes
    ----------
    name : what the figure is called: "macro_f1", "micro_f2", "samples_f0.5"

    Raises
    ------
    InputError
        As `cross_fit`, for options that are of no use.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> from thresholds.training.epoch import EpochFit
    >>> rng = np.random.default_rng(0)
    >>> rows = thresholds.Accumulator()
    >>> for _ in range(10):
    ...     y_true = rng.random((32, 5)) < 0.2
    ...     rows.update(y_true, rng.normal(size=(32, 5)) + y_true)
    >>> epoch = EpochFit("macro")
    >>> rule, figures = epoch.fit(rows)
    >>> {name: round(value, 3) for name, value in figures.items()}
    {'macro_f1': 0.5, 'macro_f1_in_sample': 0.52}
    >>> epoch.judge(rule, rows)["macro_f1"] == figures["macro_f1_in_sample"]
    True
    """

    @with_fit_options(DEFAULTS)
    def __init__(
        self,
        average: Average = "macro",
        *,
        rule: str | None = None,
        cv: int = N_SPLITS,
        random_state: int = SEED,
        **options: Unpack[FitArguments],
    ) -> None:
        self._options = FitOptions(average=average, rule=rule, **options)
        self._given = options
        self._cv = _checks.count(cv, "cv", 2)
        self._random_state = _checks.count(random_state, "random_state", 0)
        self.name = f"{self._options.average}_f{self._options.beta:g}"

    def fit(self, rows: Accumulator) -> tuple[Rule, dict[str, float]]:
        """Fit a rule on all rows, and say what it reaches.

        Parameters
        ----------
        rows : all validation rows of the epoch, those of other processes included

        Returns
        -------
        rule : fitted on all rows; its `out_of_fold` has the first figure, and is saved with it
        figures : F by name, both in [0, 1]
            "macro_f1", out of fold: what to report, and to choose the best epoch by.
            "macro_f1_in_sample", of the rule on the rows of its fit: too high.

        Raises
        ------
        InputError
            Without rows, with fewer rows than folds, and as `cross_fit`.
        """
        crossed = cross_fit(
            rows.y_true,
            rows.y_score,
            self._options.average,
            rule=self._options.rule,
            cv=self._cv,
            random_state=self._random_state,
            sample_weight=rows.sample_weight,
            missing=rows.missing,
            unknown=rows.unknown,
            label_names=rows.label_names,
            verdicts=False,
            **self._given,
        )
        figures = {self.name: crossed.out_of_fold, self.name + IN_SAMPLE: crossed.in_sample}
        return crossed.rule, figures

    def judge(self, rule: Rule, rows: Accumulator) -> dict[str, float]:
        """Say what a rule reaches on rows, and fit nothing.

        Parameters
        ----------
        rule : finds its labels by name, where both have names
        rows : rows that the rule was not fitted on; on those of its fit the figure is too high

        Returns
        -------
        F by name, such as "macro_f1", with `beta` and `zero_division` as in `fit`

        Raises
        ------
        InputError
            Without rows, and for rows that the rule cannot take: of other labels, or no probabilities where needed.

        Warns
        -----
        ScoreChangeWarning
            When scores differ gravely from those that the rule was fitted on, as `rule.predict` warns.
        """
        # Weights and truth are those of the rows, what a sparse matrix leaves out is the rule's.
        problem = Problem.of(
            rows.y_true,
            rows.y_score,
            sample_weight=rows.sample_weight,
            missing=rows.missing,
            unknown=rows.unknown,
            label_names=rows.label_names,
        )
        rule.validate(problem.scores)
        order = _checks.places(
            problem.label_names, rule.label_names, "y_score", "the labels of the rule"
        )
        rule.warn_if_changed(problem.scores, order=order)
        options = self._options
        judged = judge(rule, problem, by_row=options.average == "samples")
        reached = f_measure(
            judged, problem.sample_weight, options.average, options.beta, options.zero_division
        )
        return {self.name: reached}

    def out_of_fold(self, rule: Rule) -> float | None:
        """Return the figure of the epoch that fitted a rule, which the rule keeps; None where it keeps no such one."""
        options = self._options
        is_same = (rule.average, rule.beta, rule.zero_division) == (
            options.average,
            options.beta,
            options.zero_division,
        )
        return rule.out_of_fold.f if is_same and rule.out_of_fold is not None else None
