"""A classifier and its rule, fitted together: the rule on scores of rows that the scoring model never saw.

References
----------
Stone 1974, "Cross-validatory choice and assessment of statistical predictions". scikit-learn's
`TunedThresholdClassifierCV`, which this follows, takes a single label.
"""

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import _fit_context, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import indexable
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metadata_routing import _raise_for_params, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from thresholds import _checks
from thresholds._checks import Average, InputError, Placement
from thresholds._checks.floors import Floor
from thresholds._engine.unknown import UNKNOWN
from thresholds.data.folds import SEED
from thresholds.fitting.options import FIT_OPTIONS, FitOptions
from thresholds.guards.base import Guard
from thresholds.metrics import accuracy_score
from thresholds.rule import ThresholdRule
from thresholds.sklearn.deciding import Deciding
from thresholds.sklearn.fitting import Fold, fit_fold
from thresholds.sklearn.outputs import METHODS, method_of, refuse_margins, scores_of
from thresholds.sklearn.pooling import Pooled, fit_rule, pool
from thresholds.sklearn.splits import groups_of, make_splits, seed_of
from thresholds.sklearn.targets import Target, as_predictions
from thresholds.sklearn.wrapper import Wrapper

# Pooled scores are dense; n_jobs is of the fits of classifiers.
_NOT_TAKEN = {"keep_sparse", "n_jobs", "progress"}
_TAKEN = tuple(name for name in FIT_OPTIONS if name not in _NOT_TAKEN)


class MultilabelThresholdClassifierCV(Deciding, Wrapper):
    """Fit a multi-label classifier, and one threshold for each label, or another rule, on out-of-fold scores.

    The classifier is fitted on all folds but one and scores the one left out; the rule is fitted on these scores,
    pooled; then the classifier is fitted on all rows. Binary targets are taken too.

    Parameters
    ----------
    estimator : a classifier with `predict_proba` or `decision_function`
        One of many labels (forests, neighbours, networks), or many of one (OneVsRestClassifier, ClassifierChain).
    average, beta, per_label, zero_division, placement : what the rule maximises, and how, as in `fit_empirical`
    rule : any rule by its name, as in `thresholds.fit`, in place of an average, a guard and `per_label`
        None (default): thresholds, by these.
        "instance, platt": the best set of labels for each row. `thresholds.RULES` has all names (docs/rules.md).
        One that takes scores for probabilities ("..., label-free") needs those of `predict_proba`.
        Options that a rule does not take are refused before any classifier is fitted.
    guard : as in `fit_empirical`; "auto" is the default here, as in `cross_fit`
    max_overprediction, min_precision, min_recall : limits for each label, as in `fit_empirical`
        They hold on the out-of-fold scores that thresholds are fitted on, unless `confidence` is given.
    confidence, family : whether, and how, the floors are promised on new rows, as in `fit_empirical`
        With `groups` given to `fit`, for groups in place of rows. The promise is about scores like the out-of-fold
        ones; those of the classifier that is refitted on all rows may be somewhat better.
    max_predicted, max_predicted_per_row : budgets of predictions, as in `fit_empirical`
        The first is one of cells of these scores, the second one of the labels of any row.
    unknown : what stands in y for truth that is not known, as in `fit_empirical`: "nan", a number, as -1, or several
        Such cells count nowhere, in fits of the rule, folds, figures and `score`. The classifier is given y as it is:
        one that cannot leave cells out is refused, unless it is fitted already (`cv="prefit"`).
    cv : which rows the thresholds are fitted on
        None (default): 5 folds that keep rare labels (`multilabel_folds`), fewer for fewer rows.
        A whole number: so many of these folds.
        A number in (0, 1): one part of the rows, with that share of each label.
        (n_samples,): fold numbers; rows of negative number are never judged.
        A list: pairs of row numbers (fit on, judge on).
        An object with scikit-learn's `split`.
        "prefit": none; `estimator` is fitted already, on other rows, and all rows are for thresholds.

        A row may be judged once at most: repeated and shuffled splits with overlap are refused.
    refit :
        True (default): fit the classifier on all rows in the end. Without effect for "prefit".
        False: keep the one that scored, which takes a single split.
    response_method :
        "predict_proba" or "decision_function".
        "auto" (default): the first of these that `estimator` has.
    n_jobs : fits side by side, as in scikit-learn: None for one
    random_state : seed of the folds; the classifier has its own
        0 (default), or another number: the same folds each time.
        None: others each time.
    store_cv_results : keep `cv_results_`

    Attributes
    ----------
    estimator_ : the fitted classifier
    rule_ : Rule that decides, with `save`; `diagnose` and `compare` take it
        `set_rule` replaces it, as by a repaired one, and says what becomes of the attributes that are about it.
    thresholds_ : float64 (n_labels,), those of `rule_`; a label is predicted iff score >= threshold
        Only where `rule_` is a ThresholdRule.
    best_score_ : the F-measure that the rule reaches on the pooled scores, on which it was fitted: too high
    cross_fitted_score_ : the same F-measure with each fold decided by a rule of the other folds
        What to expect on new rows (`cross_fit`).
        Where a single part is judged, that part is divided into 5 folds for it; NaN if it has a single row.
    label_report_ : Diagnosis, with `to_frame()`, of the decisions that give `cross_fitted_score_`; one row a label
        Threshold, positives, precision, recall and F out of fold, AUROC, and whether the label may be relied on: a
        verdict, with one sentence. None with sample_weight, or for a single row.
    cv_results_ : dict, with `store_cv_results`
        "rows" (n_judged,): the judged ones, rising.
        "y_score" (n_judged, n_labels): the pooled scores.
        "folds" (n_judged,), "fold_thresholds" (n_folds, n_labels) and "spread", a row for each label: those of
        `cross_fitted_score_`, as in `CrossFit`. A rule without thresholds has no "fold_thresholds".
    classes_ :
        Of a binary target: the classes, the last one positive.
        Else: those of `estimator_`.
    label_names_in_ : (n_labels,) column names of a frame y, whole numbers as text
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Ties, and labels without positives, are as in `fit_empirical`. A label all of whose positives are in the fold left
    out cannot be learned there: its scores there are constant, the lowest. `score` is ClassifierMixin's: accuracy, for
    several labels the share of rows with every label right; give GridSearchCV `scoring="f1_macro"`.

    References
    ----------
    docs/scikit_learn.md. Lipton et al. 2013, "F1-Optimal Thresholding in the Multi-Label Setting".

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from thresholds.sklearn import MultilabelThresholdClassifierCV
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> base = OneVsRestClassifier(LogisticRegression())
    >>> classifier = MultilabelThresholdClassifierCV(base).fit(X, y)
    >>> classifier.thresholds_.shape, classifier.predict(X[:2]).shape
    ((5,), (2, 5))
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **dict.fromkeys(_TAKEN, "no_validation"),  # `FitOptions` checks them.
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "cv": [
            "cv_object",
            np.ndarray,
            StrOptions({"prefit"}),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "unknown": "no_validation",
        "refit": ["boolean"],
        "response_method": [StrOptions({"auto", *METHODS})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "store_cv_results": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        average: Average = "macro",
        rule: str | None = None,
        beta: float = 1.0,
        per_label: bool = True,
        zero_division: float = 0.0,
        placement: Placement = "low",
        guard: Guard = "auto",
        max_overprediction: float | None = None,
        min_precision: Floor | None = None,
        min_recall: Floor | None = None,
        confidence: float | str | None = None,
        family: str = "each",
        max_predicted: float | None = None,
        max_predicted_per_row: int | None = None,
        unknown: Any = None,
        cv: Any = None,
        refit: bool = True,
        response_method: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = SEED,
        store_cv_results: bool = False,
    ) -> None:
        self.estimator = estimator
        self.average = average
        self.rule = rule
        self.beta = beta
        self.per_label = per_label
        self.zero_division = zero_division
        self.placement = placement
        self.guard = guard
        self.max_overprediction = max_overprediction
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.confidence = confidence
        self.family = family
        self.max_predicted = max_predicted
        self.max_predicted_per_row = max_predicted_per_row
        self.unknown = unknown
        self.cv = cv
        self.refit = refit
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.store_cv_results = store_cv_results

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, **params: Any) -> "MultilabelThresholdClassifierCV":
        """Fit the classifier and the rule.

        Parameters
        ----------
        X : (n_samples, n_features), whatever `estimator` takes
        y : (n_samples, n_labels) 0/1 or bool, dense, frame or scipy.sparse; (n_samples,) for two classes
            With what `unknown` says in cells that are not known.
        **params : with metadata routing, what `estimator.fit` and `cv.split` request
            And sample_weight, (n_samples,) non-negative: the rule counts rows by it, whether or not the classifier
            requests it. And groups, (n_samples,) names or numbers: rows of a group stay in one fold, also in the folds
            of `cross_fitted_score_`, and a guard takes them for alike.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For y, cv, scores and options that cannot be used; a ValueError, as all others are.
        """
        _raise_for_params(params, self, None)
        # What cannot be used is refused before any classifier is fitted.
        options = FitOptions(**self._fit_options())
        for of_earlier_fit in {"cv_results_", "label_names_in_"} & vars(self).keys():
            delattr(self, of_earlier_fit)
        X, y = indexable(X, y)
        target = Target.of(y, self._known_classes(), self.unknown)
        validate_data(self, X, skip_check_array=True)
        routed = process_routing(self, "fit", **params)
        weights = params.get("sample_weight")
        weights = (
            None if weights is None else _check_sample_weight(weights, X, ensure_non_negative=True)
        )
        self._method = method_of(self.estimator, self.response_method)
        refuse_margins(options.named, self.estimator, self._method)
        seed = seed_of(self.random_state)
        groups = groups_of(params, routed.splitter.split, target.truth.shape[0])
        folds, how = self._folds(X, target, weights, groups, routed.splitter.split, seed)
        pooled = self._fit_folds(X, target, folds, routed.estimator.fit)
        self._fit_rule(target, pooled, weights, groups, how, seed)
        self._describe(target)
        return self

    def _fit_options(self) -> dict[str, Any]:
        """Return the options of the fit of the rule."""
        return {name: getattr(self, name) for name in _TAKEN}

    def _known_classes(self) -> Any:
        """Return the classes of a classifier that is fitted already."""
        if self._prefit:
            try:
                check_is_fitted(self.estimator)
            except NotFittedError as error:
                raise NotFittedError(
                    "estimator is not fitted, expected a fitted one with cv='prefit'"
                ) from error
        fitted = self._prefit or isinstance(self.estimator, FrozenEstimator)
        return getattr(self.estimator, "classes_", None) if fitted else None

    @property
    def _prefit(self) -> bool:
        """Whether the classifier is not to be fitted at all."""
        return isinstance(self.cv, str)

    def _folds(
        self,
        X: Any,
        target: Target,
        weights: Any,
        groups: Any,
        split_params: dict[str, Any],
        seed: int | None,
    ) -> tuple[list[Fold], str]:
        """Make all splits, once, and say where they come from; last of all, the fit on all rows."""
        every = np.arange(target.truth.shape[0])
        if self._prefit:
            return [Fold(None, every, "the rows of y", keep=True)], "as given"
        splits, how = make_splits(
            self.cv, X, target.y, target.truth, weights, groups, split_params, seed
        )
        if len(splits) > 1 and not self.refit:
            raise InputError(
                f"refit is False with {len(splits)} folds in cv, expected True, or a single split"
            )
        judged = np.concatenate([test for _, test in splits])
        if target.positives(every).any() and not target.positives(judged).any():
            raise InputError(
                "cv holds out no positives of any label, expected some to fit thresholds on"
            )
        folds = [
            Fold(train, test, f"fold {k} of cv", keep=not self.refit)
            for k, (train, test) in enumerate(splits)
        ]
        return ([*folds, Fold(every, None, "all rows", keep=True)] if self.refit else folds), how

    def _fit_folds(
        self, X: Any, target: Target, folds: list[Fold], fit_params: dict[str, Any]
    ) -> Pooled:
        """Fit the classifier on every fold, and keep the one that will predict."""
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_fold)(
                self.estimator if self._prefit else clone(self.estimator),
                X,
                target,
                fit_params,
                self._method,
                fold,
            )
            for fold in folds
        )
        self.estimator_ = results[-1][0]
        return pool(
            [scores for _, scores in results if scores is not None], target, folds, self._method
        )

    def _fit_rule(
        self, target: Target, pooled: Pooled, weights: Any, groups: Any, how: str, seed: int | None
    ) -> None:
        """Fit the rule on the pooled scores, and estimate what it reaches on other rows."""
        options = self._fit_options() | {"n_jobs": effective_n_jobs(self.n_jobs)}
        fitted = fit_rule(target, pooled, weights, groups, how, seed, options)
        found = fitted.found
        known = {
            "best_score_": fitted.in_sample,
            "cross_fitted_score_": np.nan if found is None else found.out_of_fold,
            "label_report_": None if found is None else found.diagnosis,
        }
        self._decide_by(fitted.rule, known)
        lowest = pooled.scores.min(axis=0)
        self._extremes = np.stack([lowest, pooled.scores.max(axis=0)])
        if self.store_cv_results:
            self.cv_results_ = {"rows": pooled.rows, "y_score": pooled.scores}
            if found is not None:
                self.cv_results_ |= {"folds": found.folds, "spread": found.spread}
                if isinstance(found.rule, ThresholdRule):
                    self.cv_results_["fold_thresholds"] = found.fold_thresholds

    def _describe(self, target: Target) -> None:
        """Say what the classifier decides about."""
        several = getattr(self.estimator_, "classes_", np.arange(target.n_labels))
        self._binary = target.classes is not None
        self._n_labels, self._positive = target.n_labels, target.positive
        self.classes_ = several if target.classes is None else target.classes
        if target.label_names is not None:
            self.label_names_in_ = np.array(target.label_names, dtype=object)

    def label_scores(self, X: Any) -> npt.NDArray[Any]:
        """Score rows: what the rule decides about, and what `diagnose` and `compare` take.

        Parameters
        ----------
        X : (n_samples, n_features)

        Returns
        -------
        (n_samples, n_labels); (n_samples, 1) for a binary target: the scores of its last class
        """
        check_is_fitted(self)
        self._check_columns(X)
        return np.asarray(
            scores_of(self.estimator_, X, self._method, self._n_labels, self._positive)
        )

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the labels that the rule decides for: with thresholds, those whose scores reach them.

        Parameters
        ----------
        X : (n_samples, n_features), the columns of a frame in the order of the fit

        Returns
        -------
        int64 (n_samples, n_labels) 0/1, also if y was sparse; (n_samples,) classes for a binary target

        Raises
        ------
        ValueError
            For other columns than those of the fit, and scores that the rule cannot take.
        """
        scores = self.label_scores(X)
        # `decide` says no word about the range, as `predict` does: in the sample scores are more extreme.
        self.rule_.validate(scores)
        decided = self.rule_.decide(scores)
        return as_predictions(decided, self.classes_ if self._binary else None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`: for several labels, the share of rows with every label right.

        Parameters
        ----------
        X, y : as in `fit`; the columns of a frame go by name
            With the parameter `unknown`, only cells that are known have to be right, and rows without any do not count.
        sample_weight : (n_samples,), or None
        """
        if self.unknown is not None:
            return self._score_of_known(X, y, sample_weight)
        if hasattr(self, "label_names_in_"):
            y, _ = _checks.named(y, "y", self.label_names_in_)
        return float(super().score(X, y, sample_weight))

    def _score_of_known(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the accuracy in the cells that are known."""
        target = Target.of(y, self.classes_ if self._binary else None, self.unknown)
        names = getattr(self, "label_names_in_", None)
        order = _checks.places(target.label_names, names, "y", "those of the fit")
        scores = self.label_scores(X)
        self.rule_.validate(scores)
        return accuracy_score(
            _checks.in_order(target.coded, order),
            self.rule_.decide(scores),
            sample_weight=sample_weight,
            unknown=UNKNOWN,
        )
