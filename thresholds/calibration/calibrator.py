"""Calibration: from scores and truth to a map that turns scores into probabilities."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays import threads
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.libraries import is_dask_array
from thresholds._arrays.sparse import is_sparse, row_of_entries, stored_cells, with_cells
from thresholds._arrays.threads import ALL_CORES
from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError
from thresholds._checks.cells import first_bad_cell
from thresholds._checks.outcomes import number_of_powers
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._results.fields import names, of_labels, part, record, value
from thresholds._results.result import Result
from thresholds.calibration.base_rates import BaseRates, checked_rates
from thresholds.calibration.binned import Binned, Edges, binned
from thresholds.calibration.by_class import ScoresByClass
from thresholds.calibration.curves import (
    BYS,
    METHODS,
    By,
    CalibrationCurves,
    Knots,
    Method,
    moved_odds,
)
from thresholds.calibration.isotonic import fit_pooled, fit_stretched, knots_of
from thresholds.calibration.measures import UNKNOWN, CalibrationMeasures, measure
from thresholds.calibration.platt import fit_logistic_curves, limits_of, weight_of_row
from thresholds.calibration.points import Points
from thresholds.calibration.saving import calibrator_from_json, curves_to_json
from thresholds.errors import need
from thresholds.rule.containers import as_row, in_kind, like_row
from thresholds.rule.watching.describing import profile_without_decisions
from thresholds.rule.watching.profile import ScoreProfile
from thresholds.sources.taking import takes_source

_SMALLER_BLOCKS = 32  # times smaller than others
_IN_WORDS: dict[By, str] = {
    "shrink": "one curve for each of {} labels, drawn towards that of all",
    "label": "one curve for each of {} labels",
    "pooled": "one curve for all {} labels",
}


@record
class Calibrator(Result):
    """A map from scores to probabilities, made by `calibrate`.

    Attributes
    ----------
    method : "isotonic" or "platt"
    by : "shrink", "label" or "pooled": whether curves are drawn towards a common one, stand alone, or are one
        Of a single label "shrink" is "label".
    label_names : tuple of str, or None
    missing : the score of an entry that a sparse matrix leaves out
    absent : float64 (n_labels,), the probability of such an entry
    before, after : CalibrationMeasures of the scores and of their probabilities, on the data of the fit
        `before` is all NaN where scores are not all in [0, 1]. `after` flatters, being measured where it was fitted; it
        is about the base rates of the fit, whatever `for_base_rates` was told.
    profile : ScoreProfile of the scores of the fit, which a `CalibratedRule` compares new ones with; None if not known
    by_class : ScoresByClass, counts of positives and negatives by score, which `estimate_base_rates` needs
        None for a calibrator from an older file.
    """

    method: Method
    by: By
    label_names: tuple[str, ...] | None = names()
    missing: float = value(form="cut")
    absent: Floats = of_labels()
    before: CalibrationMeasures = part(CalibrationMeasures.from_dict)
    after: CalibrationMeasures = part(CalibrationMeasures.from_dict)
    curves: CalibrationCurves = value(repr=False, saved=False)
    profile: ScoreProfile | None = value(default=None, saved=False, compare=False, repr=False)
    by_class: ScoresByClass | None = part(
        ScoresByClass.from_dict, default=None, saved=False, repr=False
    )

    @property
    def base_rates(self) -> Floats | None:
        """The base rate of each label that its probabilities presume, (n_labels,); None if not known.

        Those of the fit, as the mean probability there, or those that `for_base_rates` was told.
        """
        if self.by_class is None:
            return None
        return moved_odds(self.by_class.rates, self.curves.odds)

    def for_base_rates(self, rates: BaseRates | Mapping[str, float] | object) -> "Calibrator":
        """Return a calibrator for rows where labels are true more often, or less, and scores mean the same.

        Each probability p of a label becomes, for a base rate that was r and is r' (Saerens et al. 2002, equation 4),

            p' = p r'/r / (p r'/r + (1 - p) (1 - r')/(1 - r))

        That is right where the scores of positives, and those of negatives, are distributed as before:
        `estimate_base_rates` tests this as far as scores tell. A higher probability stays a higher one, so that a
        threshold t for p is the threshold t' for p'; which one is best may change.

        Parameters
        ----------
        rates : what `estimate_base_rates` found (its `rates`); or base rates inside (0, 1), one for each label, or by
            name: labels that are not named keep theirs

        Returns
        -------
        Calibrator
            Its `base_rates` are `rates`. A label whose base rate was 0 or 1 keeps its probabilities. If any moved, it
            has no `profile`: that of the fit is of rows with other base rates.

        Raises
        ------
        InputError
            For rates that are not inside (0, 1), another number of them, or unknown names; for a calibrator from an
            older file, which knows no base rates.

        References
        ----------
        Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a classifier to new a priori probabilities".

        Examples
        --------
        >>> from thresholds.calibration import calibrate
        >>> calibrator = calibrate([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> calibrator.base_rates, calibrator.transform([0.2, 0.35, 0.5])
        (array([0.5]), array([0. , 0.5, 1. ]))
        >>> calibrator.for_base_rates([0.2]).transform([0.2, 0.35, 0.5])
        array([0. , 0.2, 1. ])
        """
        before = self.base_rates
        if before is None or self.by_class is None:
            raise InputError(
                "calibrator does not know the base rates of its fit, as it is from an older file, expected one of"
                " calibrate"
            )
        after = checked_rates(rates, before, self.label_names)
        fitted = self.by_class.rates

        # From the rates of the fit, so that rates may move again and again.
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = after / (1 - after) / (fitted / (1 - fitted))
        is_certain = (fitted <= 0) | (fitted >= 1)
        odds = np.clip(odds, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
        odds = np.where(is_certain | (after == fitted), 1.0, odds)
        curves = replace(self.curves, odds=None if (odds == 1).all() else odds)
        absent = curves.reader()(np.full(self.n_labels, self.missing))
        profile = self.profile if curves.odds is None else None
        return replace(self, absent=absent, curves=curves, profile=profile)

    def transform(self, y_score: object, *, dense: bool = False) -> Any:
        """Turn scores into probabilities.

        Parameters
        ----------
        y_score : (n_samples, n_labels) real scores, dense or scipy.sparse
            A vector is one row, (n_labels,), or one column, (n_samples,), for a calibrator of one label. `-inf` marks a
            masked cell: probability 0.
        dense : for sparse scores, give a dense array, `absent` filled in

        Returns
        -------
        float64 array of the shape of `y_score`; CSR for sparse scores, with the entries that `y_score` stores
            Of scores on a device: beside them, float32 where the device has no float64.
            Those that are left out stay so, although their probability is that in `absent`, not 0.
            1. For `InstanceRule.predict`, `tail` gives what it needs of them.
            2. `fit_expected`, `expected_f` and `measure_calibration` would take them for 0: give them `dense=True`.

        Raises
        ------
        InputError
            For NaN, +inf, another number of labels, or, after Platt calibration of scores in [0, 1], others.

        Examples
        --------
        >>> from thresholds.calibration import calibrate
        >>> calibrator = calibrate([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> calibrator.transform([0.1, 0.25, 0.3, 0.35, 0.4, 0.9])
        array([0.  , 0.25, 0.5 , 0.5 , 0.5 , 1.  ])
        """
        if is_dask_array(y_score):
            from thresholds.rule.containers import by_blocks

            transform = partial(self.transform, dense=dense)
            return by_blocks(transform, y_score, np.float64, self, "calibrator")
        row = as_row(y_score, self)
        if row is not None:
            return like_row(self.transform(row), y_score, self)
        if _devices.namespace_on_device(y_score) is not None:
            cells = _devices.checked_scores(y_score, label_names=self.label_names)
            self.validate(cells)
            probabilities = self.transform_on_device(cells)
            return probabilities if y_score.ndim == 2 else probabilities[:, 0]  # type: ignore[attr-defined]
        scores = self._checked(y_score)
        if not is_sparse(scores):
            return in_kind(self._of_dense(scores), y_score, self.label_names)
        probabilities = self._of_sparse(scores)
        if not dense:
            return in_kind(probabilities, y_score, self.label_names)
        filled = np.tile(self.absent, (scores.shape[0], 1))  # (n_samples, n_labels)
        filled[row_of_entries(probabilities), probabilities.indices] = probabilities.data
        return filled

    def transform_on_device(self, scores: Any) -> Any:
        """Return the probabilities of scores that `validate` takes and that are not in host memory, beside them."""
        return self.curves.on_device(scores)

    def to_torch(self) -> Any:
        """Return a PyTorch module whose `forward` turns scores into probabilities, on any device.

        They are float64, or float32 on a device without it. Those of isotonic curves by label or pooled are the same
        as those of `transform`, bit for bit; others may differ in the last bits, with the device's `exp` and `log`.
        What else is said of `Rule.to_torch` holds here, too.

        Returns
        -------
        torch.nn.Module

        Raises
        ------
        ImportError
            If PyTorch is not installed.
        """
        need("torch", "to_torch()")
        from thresholds.calibration.torch_modules import CalibratorModule

        return CalibratorModule(
            self.curves, self.n_labels, self.label_names, method=self.method, by=self.by
        )

    def tail(self, y_score: object, powers: int = 4) -> Floats:
        """Return sums of powers of the probabilities of rows' absent entries: the `tail` of `InstanceRule.predict`.

        Parameters
        ----------
        y_score : scores as in `transform`
        powers : how many sums, from 1 to 8

        Returns
        -------
        float64 (n_samples, powers): sum p, sum p^2, ... over the labels that a sparse row leaves out; 0 for dense

        Raises
        ------
        InputError
            As `transform` does, and for another number of powers.

        Examples
        --------
        >>> from scipy import sparse
        >>> from thresholds.calibration import calibrate
        >>> scores = sparse.csr_array([[0.9, 0.0], [0.0, 0.8], [0.0, 0.7], [0.6, 0.0]])
        >>> calibrator = calibrate([[1, 0], [0, 1], [1, 0], [1, 0]], scores, by="label")
        >>> calibrator.absent
        array([0.5, 0. ])
        >>> calibrator.tail(scores, powers=2)
        array([[0.  , 0.  ],
               [0.5 , 0.25],
               [0.5 , 0.25],
               [0.  , 0.  ]])
        """
        exponents = np.arange(1, number_of_powers(powers) + 1)
        scores = self._checked(y_score)
        if not is_sparse(scores):
            return np.zeros((scores.shape[0], exponents.size))
        label_powers = self.absent[:, np.newaxis] ** exponents  # (n_labels, powers)
        is_stored = with_cells(scores, np.ones(scores.nnz))
        left_out = label_powers.sum(axis=0) - is_stored @ label_powers  # (n_samples, powers)

        # Rounding may leave less than 0, or a sum above that of a lower power.
        sums = np.minimum.accumulate(np.maximum(left_out, 0.0), axis=1)
        is_full = np.diff(scores.indptr) == self.n_labels  # (n_samples,)
        sums[is_full] = 0.0
        return sums

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        values = super().to_dict()
        if self.curves.odds is not None:
            values["odds"] = self.curves.odds.tolist()
        if self.by_class is not None:
            values["by_class"] = self.by_class.to_dict()
        return values | curves_to_json(self.curves)

    @classmethod
    def from_dict(cls, values: object) -> "Calibrator":
        """Build a calibrator from what `to_dict` gave, checked as what comes from a file must be.

        Raises
        ------
        InputError
            For values that `to_dict` does not give.
        """
        return cls(**calibrator_from_json(values))

    def _sentences(self) -> Iterator[str]:
        """Say what was fitted, and what it did to log-loss and reliability."""
        moved = "" if self.curves.odds is None else ", for other base rates than those of the fit"
        lines = [f"{self.method} calibration, {_IN_WORDS[self.by].format(self.n_labels)}{moved}"]
        for name, word in (("log_loss", "log-loss"), ("reliability", "reliability")):
            before = getattr(self.before, name)
            after = getattr(self.after, name)
            known = "unknown" if np.isnan(before) else f"{before:.4g}"
            lines.append(f"{word:<12}{known} before, {after:.4g} after, on the data of the fit")
        yield "\n".join(lines)

    def taken(self, places: Ints) -> Self:
        """Return the same map of some labels, in that order: label j is the one that is at `places[j]` here."""
        profile = None if self.profile is None else self.profile.taken(places)
        curves = self.curves.taken(places)
        return replace(super().taken(places), curves=curves, profile=profile)

    reordered = taken

    def validate(self, scores: Any) -> None:
        """Refuse checked scores of another number of labels, and those outside [0, 1] where curves end there."""
        _checks.label_count(scores.shape, self.n_labels, "calibrator")
        if self.curves.of_shares:
            self._check_range(scores)

    def parts(self) -> list[Hashable]:
        """Return the curve of each label as something to compare: equal for equal curves."""
        curves = self.curves.parts(self.n_labels)
        return list(zip(curves, self.absent.tolist(), strict=True))

    def measure(self, problem: Problem) -> CalibrationMeasures:
        """Measure the probabilities of other scores, without filling in absent ones; labels go by name."""
        order = _checks.places(
            problem.label_names, self.label_names, "y_score", "the labels of the calibrator"
        )
        if order is not None or problem.missing != self.missing:
            scores = _checks.in_order(problem.scores, order)
            truth = _checks.in_order(problem.truth, order)
            unknown = None
            if problem.unknown is not None:
                unknown = _checks.in_order(problem.unknown, order)
            problem = replace(
                problem, scores=scores, truth=truth, unknown=unknown, missing=self.missing
            )
        edges = self.curves.edges if self.curves.jump else None
        points = Points.of_bins(binned(problem, edges).bins)
        probabilities = self.curves.of_labels(points.starts, points.scores)
        return measure(points._replace(scores=probabilities), ALL_CORES)

    def _checked(self, y_score: object) -> Matrix:
        """Check scores to transform."""
        scores = _checks.scores(y_score, label_names=self.label_names)
        self.validate(scores)
        return scores

    def _check_range(self, scores: Any) -> None:
        """Refuse scores outside [0, 1], but for those that no curve is read at."""
        on_device = _devices.namespace_on_device(scores) is not None
        missing = self.missing if on_device else np.float64(self.missing)

        def is_bad(cells: Any) -> Any:
            is_outside = (cells < 0) | (cells > 1)
            is_read = (cells != missing) & (cells > -np.inf)
            return is_outside & is_read

        bad = None
        if on_device:
            bad = _devices.bad_cell_in_words(scores, is_bad(scores), self.label_names)
        elif is_bad(stored_cells(scores)).any():
            bad = first_bad_cell(scores, is_bad, self.label_names)
        if bad is not None:
            raise InputError(f"y_score has {bad}, expected scores in [0, 1] as those of the fit")

    def _of_dense(self, scores: Dense) -> Floats:
        """Return the probabilities of dense scores, blocks of rows on threads."""
        probabilities = np.empty(scores.shape)  # (n_samples, n_labels)
        read = self.curves.reader()

        def fill(rows: slice) -> None:
            probabilities[rows] = read(scores[rows].astype(np.float64))

        # Smaller blocks than others, as numbers on the way take several times as much as the probabilities.
        blocks = list(row_blocks(scores.shape[0], _SMALLER_BLOCKS * scores.shape[1]))
        threads.run(fill, blocks, cells=scores.size)
        return probabilities

    def _of_sparse(self, scores: Any) -> Any:
        """Return the probabilities of stored entries."""
        by_label = scores.tocsc()
        starts = by_label.indptr.astype(np.int64)
        probabilities = self.curves.of_labels(starts, by_label.data.astype(np.float64))
        return with_cells(by_label, probabilities).tocsr()


def _check_before_reading(arguments: Mapping[str, Any]) -> bool:
    """Check which curves are asked for; groups are not looked at."""
    _checks.option(arguments["method"], "method", METHODS)
    _checks.option(arguments["by"], "by", BYS)
    return False


@takes_source(_check_before_reading)
def calibrate(
    y_true: object,
    y_score: object = None,
    method: Method = "isotonic",
    by: By = "shrink",
    *,
    sample_weight: object = None,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Calibrator:
    """Fit a map that turns scores into probabilities, for each label or one for all.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
        Or a source of such rows, with `y_score` left out: files, blocks, more than memory holds (docs/scale.md).
    y_score : same shape, real scores of any scale, dense or scipy.sparse
        `-inf` marks a masked cell: left out of the fit, with probability 0.
    method :
        "isotonic" (default): a rising curve of any form, that of least squares.
        "platt": sigmoid(a x + b). x is the logit of the score if all scores lie in [0, 1], else the score. a and b
        have maximum likelihood with Platt's smoothed targets.
    by :
        "shrink" (default): a curve for each label, drawn towards that of all labels, the more so the fewer positives
        the label has, and the more alike labels are. "platt": a and b have a normal distribution over labels, which is
        fitted to the same cells. "isotonic": the curve of all labels, whose logit is stretched by a >= 0 and shifted by
        b in the same way, for each label.
        "label": a curve for each label, from its own cells alone, which takes many positives. "isotonic": on this data
        the probability of a score is exactly the share of positives (by weight) in its block.
        "pooled": one curve for all labels, fitted to all cells together.
    sample_weight : (n_samples,) non-negative; a weight of 2 counts like the row twice, 0 like no row
    missing : score of the entries that a sparse `y_score` leaves out
        Cells of exactly this score, stored or not, dense or sparse, are a group of their own.
        "isotonic": as are all cells of equal score.
        "platt": they get the share of positives among them, and are no part of the curve. With "shrink", that share is
        drawn towards the one of all labels.
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`: such cells are left out
    label_names : strings, one per label
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if the fit takes longer than a second

    Returns
    -------
    Calibrator
        Its `transform` gives probabilities, never NaN.
        1. Cells of one label and of equal score get the same probability. A higher score never gets a lower one by
           "isotonic"; by "platt" it does where the label's positives score lower than the rest.
        2. A label without positives gets the curve of the others, lowered the more, the more negatives it has
           ("shrink"). By itself it gets 0 ("isotonic"), or about 1 / (number of cells + 2) ("platt").
        3. A label whose cells are all masked gets 0.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Notes
    -----
    Isotonic probabilities of the data of the fit hold the empirical optimum with `by="label"`: the best F-beta of a
    label, F, is that of predicting p >= F / (1 + b^2) (Lipton et al. 2013, corollary 5.2, in its empirical form). That
    is about the data of the fit alone. On new rows "shrink" is better on average (docs/probabilities.md), but however
    many positives a label has, its isotonic curve keeps the form that all labels have together: "label" suits labels
    with many positives whose forms differ.

    How "shrink" is fitted, in short: given the mean and the covariance of (a, b) over labels, those of each label are
    the mode of their posterior; given these, mean and covariance have the highest marginal likelihood (Laplace's
    approximation), where one label more, with the curve of all cells together, keeps the covariance from 0.

    Of a label of more than 1,024 distinct scores, those that agree in their leading binary digits are taken together,
    in at most 1,024 bins, and stand at the middle of theirs (of probabilities p above 1/2, digits of 1 - p). On real
    data that changes Platt's probabilities by less than .001, and on other rows log-loss of isotonic curves, pooled or
    "shrink", by some 1e-4 of itself. Isotonic curves by label are those of all cells, to the last bit, all the same.

    In "platt", exact 0 (where it is not `missing`) and 1 have the logit of the numbers next to them in the dtype of
    the scores.

    References
    ----------
    Zadrozny and Elkan 2002, "Transforming classifier scores into accurate multiclass probability estimates"; Platt
    1999, "Probabilistic outputs for support vector machines"; Lin, Lin and Weng 2007, "A note on Platt's
    probabilistic outputs for support vector machines"; Morris 1983, "Parametric empirical Bayes inference: theory and
    applications", section 1.

    Examples
    --------
    >>> from thresholds.calibration import calibrate
    >>> y_true = [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> y_score = [[0.9, 0.2], [0.6, 0.1], [0.7, 0.4], [0.1, 0.3]]
    >>> calibrate(y_true, y_score, by="label").transform(y_score)
    array([[1. , 0. ],
           [0.5, 0. ],
           [0.5, 1. ],
           [0. , 0. ]])
    """
    _check_before_reading({"method": method, "by": by})
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
    )
    return calibrate_problem(problem, method, by, n_jobs=n_jobs, progress=progress)


def calibrate_problem(
    problem: Problem,
    method: Method,
    by: By = "shrink",
    *,
    measured: bool = True,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Calibrator:
    """Fit a map on what is checked already; it may do without measures of its own fit, and `by_class`."""
    by = _by_of(problem, by)
    if method == "isotonic" and by == "label":
        curves, found = _fit_labels(problem, n_jobs, progress)
    else:
        found = binned(problem, n_jobs=n_jobs, progress=progress)
        curves = _fit(problem, found, method, by, n_jobs, progress)
    profile = profile_without_decisions(
        problem.scores, problem.missing, weights=problem.sample_weight
    )
    made = _made(problem, curves, found, method, by, n_jobs, measured=measured)
    return replace(made, profile=profile)


def calibrate_binned(
    problem: Problem,
    found: Binned,
    method: Method,
    by: By = "shrink",
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Calibrator:
    """Fit a map to the bins of all labels, of rows that need not be at hand; it has no profile.

    An isotonic curve by label is that of the bins, each of which counts as one score.
    """
    by = _by_of(problem, by)
    curves = _fit(problem, found, method, by, n_jobs, progress)
    return _made(problem, curves, found, method, by, n_jobs)


def _by_of(problem: Problem, by: By) -> By:
    """Return how curves are fitted: a single label has no others to lean on."""
    return "label" if by == "shrink" and problem.n_labels == 1 else by


def _made(
    problem: Problem,
    curves: CalibrationCurves,
    found: Binned,
    method: Method,
    by: By,
    n_jobs: int | None,
    *,
    measured: bool = True,
) -> Calibrator:
    """Return a calibrator of curves, and what these do to the bins that they were fitted to."""
    # What they do to an absent cell of each label, and to the cells of the fit.
    absent = curves.reader()(np.full(problem.n_labels, problem.missing))  # (n_labels,)
    before, after, by_class = UNKNOWN, UNKNOWN, None
    if measured:
        points = Points.of_bins(found.bins)
        probabilities = curves.of_labels(points.starts, points.scores, n_jobs)  # (n_points,)
        if found.are_shares:
            before = measure(points, n_jobs)
        after = measure(points._replace(scores=probabilities), n_jobs)
        by_class = ScoresByClass.from_bins(
            found.bins, found.squares, found.class_edges, probabilities
        )
    return Calibrator(
        method=method,
        by=by,
        label_names=problem.label_names,
        missing=problem.missing,
        absent=absent,
        before=before,
        after=after,
        curves=curves,
        by_class=by_class,
    )


def _fit(
    problem: Problem, found: Binned, method: Method, by: By, n_jobs: int | None, progress: bool
) -> CalibrationCurves:
    """Fit curves to bins, of all cells together or of each label."""
    row_weight = weight_of_row(problem.unit)
    points = Points.of_bins(found.bins)
    if method == "platt":
        limits = limits_of(problem.scores.dtype) if found.of_shares else None
        return fit_logistic_curves(
            points, by, problem.missing, limits, row_weight, n_jobs, progress
        )
    if by == "shrink":
        return fit_stretched(points, row_weight, n_jobs, progress)
    is_pooled = by == "pooled"
    knots = fit_pooled(points) if is_pooled else knots_of(found.bins)
    return CalibrationCurves(pooled=is_pooled, knots=knots)


def _fit_labels(
    problem: Problem, n_jobs: int | None, progress: bool
) -> tuple[CalibrationCurves, Binned]:
    """Fit an isotonic curve to the tie groups of each label, and split its bins where the curve jumps."""
    pieces: dict[int, Knots] = {}

    def blocks(groups: Histograms, first: int) -> Edges:
        """Return the lowest scores of the blocks of the curves of some labels."""
        knots = pieces[first] = knots_of(groups)
        begins = knots.begins_block
        return np.append(0, begins.cumsum())[knots.offsets], knots.scores[begins]

    found = binned(problem, blocks, n_jobs=n_jobs, progress=progress)
    groups = [group for first in sorted(pieces) for group in pieces[first].of_groups]
    return CalibrationCurves(pooled=False, knots=Knots.from_groups(groups)), found
