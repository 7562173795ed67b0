"""The best set of labels for each row, by itself."""

from typing import Any, ClassVar

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays import threads
from thresholds._arrays.libraries import is_dask_array
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError, outcomes
from thresholds._results.fields import names, record, value
from thresholds.rule.base import Rule
from thresholds.rule.predicting import predict
from thresholds.rule.sparse_answers import positives_only


@record
class InstanceRule(Rule):
    """Predict, for each row, the set of labels with the highest expectation of the row's F-beta.

        E F(h) = sum over outcomes y of Pr(y) (1 + b^2) |y and h| / (b^2 |y| + |h|),    0/0 = zero_division

    Nothing is fitted: calibrated probabilities say all there is to know. `predict` takes labels as independent, given
    the instance; the other two methods do not. Needs Numba, other than rules with thresholds.

    Attributes
    ----------
    beta : weight of recall against precision
    zero_division : the F of a row with neither positives nor predictions; it decides when nothing is predicted
        0.0: never, unless all probabilities are 0.
        1.0: where the chance that nothing is positive exceeds what the best set expects.
    label_names : tuple of str, or None
    objective : float or None
        The mean expectation on the data of `fit_expected(probabilities, "samples")`; None if made by hand.
    fitted_on, out_of_fold, made_by, profile : as in `ThresholdRule`

    References
    ----------
    Lipton et al. 2013, section 5.1 (decisions for a batch of independent labels). Under independence some set of the
    highest probabilities is optimal (Lewis 1995); its size is found by integrals in O(32 n) for n labels
    (docs/proofs.md), where recursions take O(n^2) (Ye, Chai, Lee and Chieu 2012) or more.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.InstanceRule().predict([[0.9, 0.5, 0.1], [0.1, 0.05, 0.0]])
    array([[1, 1, 0],
           [1, 0, 0]], dtype=uint8)
    >>> thresholds.InstanceRule(zero_division=1.0).predict([[0.9, 0.5, 0.1], [0.1, 0.05, 0.0]])
    array([[1, 1, 0],
           [0, 0, 0]], dtype=uint8)
    """

    beta: float = value(lambda beta, _: _checks.beta(beta), default=1.0)
    zero_division: float = value(lambda given, _: _checks.zero_division(given), default=0.0)
    label_names: tuple[str, ...] | None = names(default=None)

    kind: ClassVar[str] = "instance"
    missing: ClassVar[float] = 0.0

    @property
    def average(self) -> str:
        """What is maximised: the mean over rows."""
        return "samples"

    def predict(
        self,
        probabilities: object,
        *,
        dense: bool = False,
        tail: object = None,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> Any:
        """Decide for independent labels.

        Parameters
        ----------
        probabilities : (n_samples, n_labels) in [0, 1], dense or scipy.sparse (absent entries are 0)
            A vector is one row for a rule with names for several labels, and one column for any other.
        dense : for sparse probabilities, give a dense array
        tail : sums over further labels of each row, which have no column and are not predicted
            Such are those that a list of the top k leaves out.
            None (default): there are none.
            (n_samples, r), r from 1 to 8: sums of p, p^2, ..., p^r. Leaving out the powers from r + 1 on is safe for
            small p: it changes log Pr(none) by less than n p^(r + 1) / ((r + 1) (1 - p)) for n labels of at most p.
            (n_samples,): the sum of p alone.
        n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
        progress : show a progress bar on stderr if it takes longer than a second

        Returns
        -------
        uint8 array of the shape of `probabilities`; CSR for sparse ones, with the positives stored
            1. The expectation reached is within 1e-11 of the maximum, up to 100,000 labels.
            2. Of sets whose expectations differ by less than 1e-12, relatively, the smallest is predicted.
            3. Of labels of equal probability the first are. A probability of 0 is never predicted.

        Raises
        ------
        InputError
            For values outside [0, 1], another number of labels, or a bad tail.

        Examples
        --------
        F1 of expected counts would have both, as 0.44 is more than half of the best, 0.80; its expectation is higher
        without the second:

        >>> import thresholds
        >>> thresholds.InstanceRule().predict([[0.9, 0.44]])
        array([[1, 0]], dtype=uint8)
        """
        if tail is not None and _devices.namespace_on_device(probabilities) is not None:
            where = getattr(probabilities, "device", "a device")
            raise InputError(
                f"tail is given with probabilities on {where}, expected them in host memory"
            )
        if tail is not None and is_dask_array(probabilities):
            raise InputError(
                "tail is given with a Dask array, expected probabilities in host memory: tails are of single rows"
            )
        if tail is not None:
            tail = _checks.aligned_rows(tail, "tail", probabilities=probabilities)
        workers(n_jobs)  # Refuses what is no number of threads.
        run: dict[str, Any] = {"tail": tail, "n_jobs": n_jobs, "progress": progress}
        return predict(self, probabilities, name="probabilities", dense=dense, **run)

    def checked(self, y_score: object, name: str = "probabilities") -> Matrix:
        """Check probabilities as a user gives them, in host memory."""
        scores = _checks.probabilities(y_score, name, self.label_names)
        self._check_count(scores.shape, name)
        return scores

    def checked_on_device(self, y_score: Any, name: str = "probabilities") -> Any:
        """Check probabilities that are not in host memory."""
        scores = _devices.checked_probabilities(y_score, name, self.label_names)
        self._check_count(scores.shape, name)
        return scores

    def predict_from_joint(self, P: object, p_none: object) -> Any:
        """Decide for dependent labels, from the joint probabilities of each label and the number of positives (GFM).

        Parameters
        ----------
        P : (n_labels, s_max) for one instance, or (n_samples, n_labels, s_max)
            P[..., j, s - 1] is the probability that label j is positive and exactly s labels are, s = 1, ..., s_max.
        p_none : number or (n_samples,), the probability that no label is positive

        Returns
        -------
        uint8 (n_labels,) or (n_samples, n_labels)
            Ties: the smallest set, the first labels.

        Raises
        ------
        InputError
            For values outside [0, 1] or shapes that do not fit.

        References
        ----------
        Dembczynski, Waegeman, Cheng and Huellermeier 2011, "An exact algorithm for F-measure maximization".

        Examples
        --------
        The labels are {0} with probability 0.5, {1, 2} and {1, 3} with 0.25 each:

        >>> import thresholds
        >>> P = [[0.5, 0.0], [0.0, 0.5], [0.0, 0.25], [0.0, 0.25]]
        >>> thresholds.InstanceRule().predict_from_joint(P, 0.0)
        array([1, 1, 0, 0], dtype=uint8)
        """
        from thresholds.expectation.dependent import best_set

        joint, none = outcomes.joint_probabilities(P, p_none)
        self._check_count(joint.shape[1:2], "P")
        sizes = np.arange(1.0, joint.shape[2] + 1)  # (s_max,), numbers of positives
        sets = [
            best_set(cells, sizes, p, self.beta, self.zero_division)
            for cells, p in zip(joint, none, strict=True)
        ]
        is_one_instance = np.ndim(P) == 2  # type: ignore[arg-type]
        return sets[0] if is_one_instance else np.stack(sets)

    def predict_from_samples(
        self, label_draws: object, *, n_jobs: int | None = -1, progress: bool = False
    ) -> Any:
        """Decide for dependent labels, from draws of the labels of each row: exact for the draws' own distribution.

        Parameters
        ----------
        label_draws : (n_draws, n_samples, n_labels) 0/1 or bool, equally likely outcomes
        n_jobs, progress : as in `predict`

        Returns
        -------
        uint8 (n_samples, n_labels)
            Ties: the smallest set, the first labels. Labels that are in no draw are never predicted.

        Raises
        ------
        InputError
            For other values or shapes.

        Examples
        --------
        >>> import thresholds
        >>> draws = [[[1, 0, 0, 0]], [[1, 0, 0, 0]], [[0, 1, 1, 0]], [[0, 1, 0, 1]]]
        >>> thresholds.InstanceRule().predict_from_samples(draws)
        array([[1, 1, 0, 0]], dtype=uint8)
        """
        from thresholds.expectation.dependent import best_set_of_draws

        draws = outcomes.draws(label_draws)
        self._check_count(draws.shape, "label_draws")

        def decide(row: int) -> Any:
            return best_set_of_draws(draws[:, row] != 0, self.beta, self.zero_division)

        rows = range(draws.shape[1])
        sets = threads.run(decide, rows, n_jobs=n_jobs, progress=progress, title="rows")
        return np.stack(sets)

    def validate(self, scores: Any) -> None:
        """Refuse another number of labels, and scores that are no probabilities."""
        super().validate(scores)
        _checks.probabilities(scores, "y_score", self.label_names)

    def _check_count(self, shape: tuple[int, ...], name: str) -> None:
        """Refuse another number of labels, where the rule has names for them."""
        if self.n_labels is not None:
            _checks.label_count(shape, self.n_labels, "rule", name)

    def decide(
        self,
        scores: Matrix,
        *,
        dense: bool = False,
        tail: Any = None,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> Matrix:
        """Return decisions about probabilities that `validate` takes; other arguments as in `predict`."""
        from thresholds.expectation.outcomes import best_decisions

        tails = None if tail is None else outcomes.power_sums(tail, scores.shape[0])
        marks = best_decisions(
            scores, self.beta, self.zero_division, tails, n_jobs=n_jobs, progress=progress
        )
        if not is_sparse(scores):
            return marks
        decided = positives_only(scores, marks != 0)
        return decided.toarray() if dense else decided

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about probabilities that are not in host memory, beside them."""
        from thresholds._devices.expecting import best_sets

        decided, _ = best_sets(scores, self.beta, self.zero_division)
        return decided

    def decide_in_onnx(self, scores: Any) -> Any:
        """Record decisions about probabilities of an ONNX graph."""
        from thresholds.rule.serving.onnx import best_sets, unless_nan

        return unless_nan(scores, lambda p: best_sets(p, self.beta, self.zero_division))

    def only(self, places: Ints) -> "InstanceRule":
        """Return the rule for some labels: the best set of these."""
        return InstanceRule(self.beta, self.zero_division)

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import InstanceModule

        return InstanceModule(self.beta, self.zero_division, self.n_labels, self.label_names)

    def in_words(self) -> str:
        """Say what is maximised, and what was expected."""
        reached = "not fitted" if self.objective is None else f"expected {self.objective:.4f}"
        return f"{self.what()}: {reached}{self.on_other_rows()}{self.source()}"

    def what(self) -> str:
        """Say what is maximised."""
        return f"the set of labels of highest expected F{self.beta:g} in each row"
