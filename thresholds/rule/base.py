"""A rule: what turns the scores of labels into decisions about them."""

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._checks import InputError
from thresholds._results.fields import names, part, read_fields, record, value
from thresholds._results.result import Result
from thresholds.errors import need
from thresholds.rule.fitted_on import FittedOn, OutOfFold
from thresholds.rule.made_by import MadeBy
from thresholds.rule.predicting import predict
from thresholds.rule.saving import HEADER, Read, built, refuse_within, save
from thresholds.rule.watching.kept_rows import KeptRows
from thresholds.rule.watching.noticing import WARNED, warn_if_changed

if TYPE_CHECKING:
    from thresholds.rule.watching.check import ScoreCheck
    from thresholds.rule.watching.profile import ScoreProfile


def _profile(values: Any) -> "ScoreProfile":
    """Build a profile from plain values."""
    from thresholds.rule.watching.profile import ScoreProfile

    return ScoreProfile.from_dict(values)


def _objective(given: Any, name: str) -> float | None:
    """Check what was reached, None where nothing was fitted."""
    return None if given is None else _checks.finite(given, name)


@record
class Rule(Result, ABC):
    """What turns the scores of labels into decisions about them, and is saved as JSON.

    `str` is a sentence; `to_text` and HTML add a table of some labels, and `to_frame` has a row for each: name, what
    decides about it by its score alone (such as `threshold`, if anything does), and of the fit n_positives (or their
    weight) and n_predicted, rows on which it was predicted. NaN is not known. A rule that takes any number of labels
    has one row, its settings.

    `predict` takes scores as users have them. Other modules, which have checked scores already, ask `validate` once
    and then `decide`, a block of rows at a time.

    Attributes
    ----------
    label_names : tuple of str, or None
    n_labels : int, or None for a rule that takes any number of labels
    missing : the score of an entry that a sparse matrix leaves out
    predicts_missing : whether such entries are predicted for some label, so that a sparse answer would be dense
    average, beta, zero_division : what was maximised; `average` is None for a rule that was not fitted
    objective : what was reached on the data of the fit; None if not fitted
    fitted_on : FittedOn, the data of the fit in brief; None if not fitted
    out_of_fold : OutOfFold, what the rule may be expected to reach on other rows; None if it is not of `cross_fit`
    made_by : MadeBy, the function and its options; None if made by hand
    guarantees : Guarantees or RowGuarantees, the floors that are promised on new rows; None where nothing is promised
    profile : ScoreProfile of the scores that the rule was fitted on; None if it keeps none
    kept : the profile, or, until it is first read, rows of the fit of which it is made
    """

    kind: ClassVar[str]  # its name in JSON
    # What decides about a label by its score alone; "" where the row does.
    criterion: ClassVar[str] = ""

    _shown: ClassVar[int] = 10

    # What every rule may know of its fit. Of this only the objective counts where rules are compared.
    objective: float | None = value(_objective, default=None, kw_only=True)
    fitted_on: FittedOn | None = part(
        FittedOn.from_dict, default=None, later=True, compare=False, repr=False, kw_only=True
    )
    out_of_fold: OutOfFold | None = part(
        OutOfFold.from_dict, default=None, later=True, compare=False, repr=False, kw_only=True
    )
    made_by: MadeBy | None = part(
        MadeBy.from_dict, default=None, later=True, compare=False, repr=False, kw_only=True
    )
    kept: "ScoreProfile | KeptRows | None" = part(
        _profile, default=None, saved=False, compare=False, repr=False, kw_only=True
    )
    # What it decides about.

    @property
    @abstractmethod
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels."""

    @property
    def n_labels(self) -> int | None:
        """Number of labels; None for a rule that takes any number."""
        return None if self.label_names is None else len(self.label_names)

    @property
    @abstractmethod
    def missing(self) -> float:
        """The score of an entry that a sparse matrix leaves out."""

    @property
    def average(self) -> str | None:
        """What was maximised; None for a rule that was not fitted."""
        return None

    @property
    def beta(self) -> float:
        """Weight of recall in what was maximised."""
        return 1.0

    @property
    def zero_division(self) -> float:
        """The F of a label, or row, with neither positives nor predictions."""
        return 0.0

    @property
    def guarantees(self) -> Any:
        """The floors that are guaranteed on new rows, which only thresholds may have; None where nothing is."""
        return None

    @property
    def profile(self) -> "ScoreProfile | None":
        """What the scores of the fit looked like; None if that is not known.

        A fit keeps a few rows of them, `kept`, which are described, and let go, when this is first read.
        """
        known = self.kept  # Read once: another thread may describe the rows meanwhile.
        if isinstance(known, KeptRows):
            from thresholds.rule.watching.describing import profile_of_kept

            known = profile_of_kept(self, known)
            object.__setattr__(self, "kept", known)
        return known

    # How it decides.

    def validate(self, scores: Any) -> None:
        """Refuse scores that the rule cannot take: of another number of labels, or no probabilities where needed.

        Parameters
        ----------
        scores : (n_samples, n_labels) real scores, an array or a CSR array, without NaN or +inf

        Raises
        ------
        InputError
        """
        if self.n_labels is not None:
            _checks.label_count(scores.shape, self.n_labels, "rule")

    @abstractmethod
    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes, columns in the order of the rule's labels.

        Parameters
        ----------
        scores : as in `validate`
        dense : for sparse scores, give a dense array

        Returns
        -------
        uint8 (n_samples, n_labels); CSR for sparse scores, with the positives stored

        Raises
        ------
        InputError
            For sparse scores that would give a dense answer, without `dense`.
        """

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that `validate` takes and that are not in host memory, on the same device."""
        raise InputError(
            f"y_score is on {scores.device}, expected it in host memory for a {type(self).__name__}"
        )

    def decide_in_onnx(self, scores: Any) -> Any:
        """Return decisions about scores, a `Value` of an ONNX graph that is recorded; NaN is not predicted."""
        return self.decide_on_device(scores)

    def predicted_if_absent(self) -> Booleans:
        """Tell for which labels (n_labels,) entries that a sparse matrix leaves out are predicted."""
        return np.zeros(self.n_labels or 0, np.bool_)

    @property
    def predicts_missing(self) -> bool:
        """Whether absent scores are positive for some label, so that a sparse answer would be dense."""
        return bool(self.predicted_if_absent().any())

    def needs_dense(self, scores: Matrix) -> bool:
        """Whether decisions about these scores must be dense, as what they leave out is predicted."""
        return is_sparse(scores) and self.predicts_missing

    @property
    def uncapped(self) -> "Rule":
        """The rule without a limit on the labels of a row: itself, unless it is a `CappedRule`."""
        return self

    # What others compare it by.

    def reordered(self, places: Ints) -> Self:
        """Return the same rule with its labels in another order: label j is the one that is at `places[j]` here."""
        return self.taken(places)

    @abstractmethod
    def only(self, places: Ints) -> "Rule":
        """Return a rule that decides about some labels alone: label j is the one at `places[j]` of this rule.

        A rule that decides by the whole row decides among these. What is known of the fit is left out.
        """

    def with_names(self, label_names: Sequence[str]) -> Self:
        """Return the same rule with names for its labels, in order."""
        names_given = _checks.names_of_labels(label_names)
        return replace(self, label_names=names_given)  # type: ignore[call-arg]

    def switch_scores(self) -> Sequence[Floats] | None:
        """Return the rising scores at which each label begins, ends, ... to be predicted, none for never.

        None where more than a label's own score decides about it.
        """
        return None

    def criteria(self) -> Sequence[Hashable]:
        """Return what decides about each label by its score alone, equal where it decides alike.

        Empty where the whole row decides; its values are for comparison only. `criterion` names them.
        """
        return ()

    def settings(self) -> dict[str, Any]:
        """Return all else that two rules may differ by: the kind, what was maximised, and what that kind has alone."""
        return {
            "kind": self.kind,
            "average": self.average,
            "beta": self.beta,
            "zero_division": self.zero_division,
            "missing": self.missing,
        }

    # How it is applied: functions of files beside this one.

    def checked(self, y_score: object, name: str = "y_score") -> Matrix:
        """Check scores as a user gives them, in host memory."""
        scores = _checks.scores(y_score, name, self.label_names)
        self.validate(scores)
        return scores

    def checked_on_device(self, y_score: Any, name: str = "y_score") -> Any:
        """Check scores that are not in host memory."""
        scores = _devices.checked_scores(y_score, name, self.label_names)
        self.validate(scores)
        return scores

    def predict(self, y_score: object, *, dense: bool = False) -> Any:
        """Decide: 1 where a label is predicted.

        Parameters
        ----------
        y_score : (n_samples, n_labels) real scores, dense or scipy.sparse
            Entries that a sparse matrix leaves out have the score `missing`. A vector is one row, (n_labels,), for a
            rule that knows that it has several labels, and one column, (n_samples,), for any other. A pandas series
            goes by name, as frames do, unless its index only counts.
        dense : for sparse scores, give a dense array; needed where entries that a sparse matrix leaves out are
            predicted, as where a threshold at or below `missing` makes (nearly) every cell of a label positive

        Returns
        -------
        uint8 array of the shape of `y_score`; CSR for sparse scores, with the positives stored
            An array of Dask gives one: blocks of rows are decided when Dask computes them.

        Raises
        ------
        InputError
            For NaN, +inf, another number of labels, or sparse scores that would give a dense answer.

        Warns
        -----
        ScoreChangeWarning
            Once, when scores differ gravely from those that the rule was fitted on, as far as 100 to 1,000 rows tell:
            probabilities for logits, other columns, a rule that predicts a fifth more labels a row, or fewer. Of fewer
            than 50 rows, only when most scores lie outside the range of the fit.

        Examples
        --------
        >>> import thresholds
        >>> thresholds.ThresholdRule([0.5, 0.2]).predict([[0.5, 0.1], [0.4, 0.3]])
        array([[1, 0],
               [0, 1]], dtype=uint8)
        >>> thresholds.ThresholdRule([0.5, 0.2]).predict([0.4, 0.3])
        array([0, 1], dtype=uint8)
        """
        return predict(self, y_score, dense=dense)

    def check(self, y_score: object, *, alpha: float = 0.01) -> "ScoreCheck":
        """Compare new scores with those that the rule was fitted on; no labels are needed.

        Parameters
        ----------
        y_score : as in `predict`
            At most 10,000 rows are looked at, evenly spaced. With fewer than 50 little can be found.
        alpha : probability of finding anything where nothing has changed
            It is shared out equally among the tests: of predicted rates and of scores, label by label (Benjamini and
            Hochberg's procedure over labels), of labels a row, and of where the scores of a row lie.

        Returns
        -------
        ScoreCheck
            `ok` if nothing was found; `findings`, each with a sentence; `labels`, a row for each label.

        Raises
        ------
        InputError
            As `predict`, and for a rule without a profile.

        Notes
        -----
        Rows count as independent: where they come in groups (pages of one document) the tests say too much.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> rng = np.random.default_rng(0)
        >>> y_true = rng.random((1000, 5)) < 0.2
        >>> logits = rng.normal(size=(1000, 5)) + 2 * y_true
        >>> rule = thresholds.fit_empirical(y_true[:500], logits[:500])
        >>> rule.check(logits[500:]).ok
        True
        >>> print(rule.check(1 / (1 + np.exp(-logits[500:]))).findings[0].sentence)
        The scores look like probabilities, but the rule was fitted on their logits: give it the logits.
        """
        from thresholds.rule.watching.check import check_scores

        return check_scores(self, y_score, alpha)

    def watching(self, y_score: object) -> Self:
        """Return the same rule with a profile of these scores, which `check` and `predict` compare new ones with.

        Fits do this by themselves. It is for rules made by hand and for files of older versions, given scores such as
        the rule was made for.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> logits = np.random.default_rng(0).normal(size=(500, 3))
        >>> rule = thresholds.FixedRule(0.5, 3).watching(logits)
        >>> [finding.kind for finding in rule.check(1 / (1 + np.exp(-logits))).findings]
        ['scale', 'labels_per_row', 'rates']
        """
        from thresholds.rule.watching.check import profile_of_scores

        return replace(self, kept=profile_of_scores(self, y_score))

    def warn_if_changed(
        self, scores: Any, decided: Any = None, *, order: Ints | None = None
    ) -> None:
        """Warn once if checked scores have changed gravely since the fit.

        `decided` are the decisions about them, if they are known; `order` is where the rule's labels are among them, if
        that is elsewhere.
        """
        warn_if_changed(self, scores, decided, order)

    def to_torch(self) -> Any:
        """Return a PyTorch module that decides as `predict` does, on any device.

        Its `forward` takes scores (n_samples, n_labels) of float16, bfloat16, float32, float64 or integers, or one row
        (n_labels,), and returns uint8 of the same shape on the same device.

        1. The module has no parameters, and its buffers are bits: `half()`, `to(torch.bfloat16)`, autocast, pickling
           and state dicts change no threshold.
        2. `torch.export.export` takes each module, rows being dynamic, and `torch.compile(fullgraph=True)` takes those
           without an `InstanceRule`. Its search ends when the probabilities say so: `torch.compile` leaves that part
           as it is, and an exported graph does all of its steps, which takes several times as long.
        3. Shapes and dtypes are checked; values are not, as a check would wait for the device. So what `predict`
           refuses has a meaning. NaN is not predicted, and counts as a masked score for rules that look at all scores
           of a row. +inf is above all thresholds but +inf. Where probabilities are expected, other scores count as 0
           or 1.

        Returns
        -------
        torch.nn.Module

        Raises
        ------
        ImportError
            If PyTorch is not installed.

        Examples
        --------
        >>> import thresholds
        >>> module = thresholds.ThresholdRule([0.5, 0.2]).to_torch()  # doctest: +SKIP
        >>> module(torch.tensor([[0.5, 0.1], [0.4, 0.3]]))  # doctest: +SKIP
        tensor([[1, 0],
                [0, 1]], dtype=torch.uint8)
        """
        need("torch", "to_torch()")
        return self._to_torch()

    @abstractmethod
    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""

    def to_onnx(self, *, dtype: str | None = None) -> Any:
        """Return an ONNX model that decides as `predict` does, for runtimes without Python or without this library.

        Parameters
        ----------
        dtype : "float16", "bfloat16", "float32" or "float64", that of the scores the model will be given
            None (default): that of the scores of the fit, where the rule knows it (of integers float64), else float32.

        Returns
        -------
        onnx.ModelProto, of opset 18
            onnxruntime runs it from 1.14 on, that of an `InstanceRule` from 1.20 on.
            Input "y_score": (n_samples, n_labels), dense. Output "y_pred": uint8 of the same shape. Label names (JSON),
            kind, average, beta and dtype are in its metadata.

            A model cannot refuse scores, so these have a meaning in it.
            1. NaN is not predicted. For rules that look at all scores of a row it counts as masked.
            2. +inf counts as the highest score; no threshold of +inf is reached by it.
            3. Where probabilities are expected, scores outside [0, 1] count as its ends.

        Raises
        ------
        InputError
            For another dtype.
        ImportError
            If onnx is not installed: pip install onnx.

        Notes
        -----
        Thresholds are compared in the dtype of the scores, so these decisions are the same to the last cell. Those of
        an `InstanceRule`, and of a `CalibratedRule` around one, go by probabilities and expectations in float64, whose
        last bits are the runtime's: they may differ where two sets are equally good but for one part in 10^11.

        Examples
        --------
        >>> import thresholds
        >>> rule = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
        >>> model = rule.to_onnx()  # doctest: +SKIP
        >>> session = onnxruntime.InferenceSession(model.SerializeToString())  # doctest: +SKIP
        >>> session.run(["y_pred"], {"y_score": np.array([[0.5, 0.1]], np.float32)})  # doctest: +SKIP
        [array([[1, 0]], dtype=uint8)]
        """
        need("onnx", "to_onnx()")
        from thresholds.rule.serving.onnx import model_of

        return model_of(self, dtype)

    # How it is saved.

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`; `load_rule` takes them."""
        profile = None if self.profile is None else self.profile.to_dict()
        return {**HEADER, "kind": self.kind, **super().to_dict(), "profile": profile}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a rule of this kind from what `to_dict` gave; `load_rule` takes any kind, and rules within rules."""
        rule: Self = built(cls, values, "values", refuse_within)
        return rule

    @classmethod
    def _read(cls, values: Mapping[str, Any], read: Read) -> dict[str, Any]:
        """Return the fields of a rule from plain values; `read` builds a rule within it."""
        found = read_fields(cls, values, also=[*HEADER, "kind", "profile"])
        profile = values.get("profile")
        return found | {"kept": None if profile is None else _profile(profile)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as JSON; it comes back bit for bit. A file is replaced whole or not at all."""
        save(self.to_dict(), path)

    # How it is shown.

    @abstractmethod
    def in_words(self) -> str:
        """Say what the rule does and what it reached, in a sentence."""

    def columns_of_labels(self) -> dict[str, Any]:
        """Return, by its name, what a table shows of each label, (n_labels,): the threshold, the region, or nothing."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the values to copy, or to pickle: a profile, not the rows that it is of, nor whether it has warned."""
        state = vars(self) | {"kept": self.profile}
        return {name: own for name, own in state.items() if name != WARNED}

    def __str__(self) -> str:
        """Return `in_words()`, of several lines where it is long."""
        from thresholds._results.text import wrapped

        return wrapped(self.in_words())

    def _parts(self, k: int) -> Any:
        """Show the sentence, and the first k labels."""
        from thresholds.rule.showing import parts_of

        return parts_of(self, k)

    def _rows(self) -> Any:
        """Return columns, one row a label; of a rule for any number of labels one row, its settings."""
        from thresholds.rule.showing import columns_of

        return [self.settings()] if self.n_labels is None else columns_of(self, self.n_labels)

    def on_other_rows(self) -> str:
        """Return what a sentence adds about other rows: the out-of-fold figure, if there is one."""
        return "" if self.out_of_fold is None else f", {self.out_of_fold}"

    def source(self) -> str:
        """Return what a sentence adds about the file of the fit, if there was one."""
        text = "" if self.made_by is None else self.made_by.source()
        return f"; {text}" if text else ""


def _missing(given: Any, _: str) -> float:
    """Check the score of absent entries."""
    return _checks.missing(given, np.dtype(np.float64))


def _average(given: Any, name: str) -> str | None:
    """Check what was maximised, None for a rule that was not fitted."""
    found: str | None = _checks.option(given, name, (None, *_checks.AVERAGES))
    return found


@record
class ScoreRule(Rule):
    """A rule that decides about scores as they are, and knows what was maximised."""

    missing: float = value(_missing, default=0.0, form="cut", kw_only=True)
    label_names: tuple[str, ...] | None = names(default=None, kw_only=True)
    average: str | None = value(_average, default=None, kw_only=True)
    beta: float = value(lambda beta, _: _checks.beta(beta), default=1.0, kw_only=True)
    zero_division: float = value(
        lambda given, _: _checks.zero_division(given), default=0.0, kw_only=True
    )
