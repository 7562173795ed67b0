"""A rule: what turns the scores of labels into decisions about them."""

import copy
import os
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.libraries import is_dask_array
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError
from thresholds.errors import need
from thresholds.results import Shown, Table, counted, n_more, names_of, wrapped
from thresholds.rule.protocol import HasLabels
from thresholds.rule.watching.noticing import warn_if_changed

if TYPE_CHECKING:
    from thresholds.rule.capped import CappedRule, Order
    from thresholds.rule.fitted_on import FittedOn, OutOfFold
    from thresholds.rule.guarantees import Guarantees
    from thresholds.rule.made_by import MadeBy
    from thresholds.rule.row_guarantees import RowGuarantees
    from thresholds.rule.watching.check import ScoreCheck
    from thresholds.rule.watching.profile import ScoreProfile


class Rule(Shown):
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
    """

    kind: ClassVar[str]  # its name in JSON
    own_fields: ClassVar[tuple[str, ...]] = ()  # that no other kind of rule has in its JSON
    part: ClassVar[str] = ""  # what decides about a label by its score alone; "" where the row does

    _shown: ClassVar[int] = 10

    objective: float | None = None
    fitted_on: "FittedOn | None" = None
    out_of_fold: "OutOfFold | None" = None
    made_by: "MadeBy | None" = None
    profile: "ScoreProfile | None" = None
    guarantees: "Guarantees | RowGuarantees | None" = None

    @property
    @abstractmethod
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels."""

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
    def n_labels(self) -> int | None:
        """Number of labels; None for a rule that takes any number."""
        return None if self.label_names is None else len(self.label_names)

    @property
    def uncapped(self) -> "Rule":
        """The rule without a limit on the labels of a row: itself, unless it is a `CappedRule`."""
        return self

    @property
    def decides_after(self) -> Any:
        """The calibrator that scores go through before `uncalibrated` decides; None of a rule that takes them as is."""
        return None

    @property
    def uncalibrated(self) -> "Rule":
        """The rule for what `decides_after` makes of scores: itself, unless it is a `CalibratedRule`."""
        return self

    @property
    def predicts_missing(self) -> bool:
        """Whether absent scores are positive for some label, so that a sparse answer would be dense."""
        return bool(self._predicted_if_absent().any())

    def needs_dense(self, scores: Matrix) -> bool:
        """Whether decisions about these scores must be dense, as what they leave out is predicted."""
        return is_sparse(scores) and self.predicts_missing

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

    def warn_if_changed(
        self, scores: Any, decided: Any = None, *, order: Ints | None = None
    ) -> None:
        """Warn once if checked scores have changed gravely since the fit.

        `decided` are the decisions about them, if they are known; `order` is where the rule's labels are among them, if
        that is elsewhere.
        """
        warn_if_changed(self, scores, decided, order)

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
        if is_dask_array(y_score):
            from thresholds.rule.lazy import by_blocks

            predict = partial(self.predict, dense=dense)
            return by_blocks(predict, y_score, np.uint8, self, "rule")
        row = as_row(y_score, self)
        if row is not None:
            return like_row(self.predict(row), y_score, self)
        if devices.namespace_on_device(y_score) is not None:
            return self._predict_on_device(y_score)
        scores = self._checked(y_score)
        decided = self.decide(scores, dense=dense)
        self.warn_if_changed(scores, decided)
        return in_kind(decided, y_score, self.label_names)

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

        watching = copy.copy(self)
        watching.__dict__["profile"] = profile_of_scores(self, y_score)
        watching.__dict__.pop("_has_warned", None)
        return watching

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

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import module_of

        return module_of(self)

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

    def at_most(self, k: int, order: "Order | None" = None) -> "CappedRule":
        """Return a rule that predicts at most k labels of a row: of those that this one does, the first in an order.

        Parameters
        ----------
        k : at least 1
        order : which labels come first; of equal ones the first label
            "score" (default): the highest score. "margin": the highest score above the threshold, for a rule of
            thresholds. What a prediction adds to F is learnt in a fit: give it `max_predicted_per_row=k` for that
            order, which keeps more of F (docs/budgets.md); a rule of such a fit keeps it here.

        Returns
        -------
        CappedRule
            What it reaches is unknown. It knows the rows of this rule's fit, and the scores there, which `check` and
            `predict` compare new ones with.

        Raises
        ------
        InputError
            For a k that is no number of labels, and an order that the rule has not.

        Examples
        --------
        >>> import thresholds
        >>> thresholds.ThresholdRule([0.5, 0.2]).at_most(1, "margin").predict([[0.6, 0.4]])
        array([[0, 1]], dtype=uint8)
        """
        from thresholds.rule.capped import CappedRule

        profile = None if self.profile is None else self.profile.of_other_decisions()
        order = "score" if order is None else order
        return CappedRule(self, k, order, fitted_on=self.fitted_on, profile=profile)

    def with_names(self, label_names: Sequence[str]) -> "Rule":
        """Return the same rule with names for its labels, in order."""
        return replace(self, label_names=tuple(label_names))  # type: ignore[type-var]

    def reordered(self, places: Ints) -> "Rule":
        """Return the same rule with its labels in another order: label j is the one that is at `places[j]` here."""
        return replace(self, **self._of_labels(places))  # type: ignore[type-var]

    def _of_labels(self, places: Ints) -> dict[str, Any]:
        """Return the fields that every kind of rule may have for each label, with the labels in another order."""
        at = places.tolist()
        moved: dict[str, Any] = {}
        if self.label_names is not None:
            moved["label_names"] = tuple(self.label_names[k] for k in at)
        if self.fitted_on is not None:
            moved["fitted_on"] = self.fitted_on.taken(places)
        if self.out_of_fold is not None:
            moved["out_of_fold"] = self.out_of_fold.taken(places)
        if self.profile is not None:
            moved["profile"] = self.profile.taken(places)
        return moved

    @abstractmethod
    def about(self, places: Ints) -> "Rule":
        """Return a rule that decides about some labels alone: label j is the one at `places[j]` of this rule.

        A rule that decides by the whole row decides among these. What is known of the fit is left out.
        """

    def switch_scores(self) -> Sequence[Floats] | None:
        """Return the rising scores at which each label begins, ends, ... to be predicted, none for never.

        None where more than a label's own score decides about it.
        """
        return None

    def parts(self) -> Sequence[Hashable]:
        """Return what decides about each label by its score alone, equal where it decides alike.

        Empty where the whole row decides; its values are for comparison only. `part` names them.
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

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Any:
        """Build a rule from what `to_dict` gave: `Rule.from_dict` takes any kind, that of a kind no other.

        Returns
        -------
        Rule

        Raises
        ------
        InputError
            For values that are no rule, or one of another kind.

        Examples
        --------
        >>> import thresholds
        >>> values = thresholds.TopKRule(3).to_dict()
        >>> thresholds.Rule.from_dict(values) == thresholds.TopKRule(3)
        True
        """
        from thresholds.rule.loading import rule_of

        rule = rule_of(values, "values")
        if rule.kind != getattr(cls, "kind", rule.kind):
            raise InputError(
                f"values is a rule of the kind {rule.kind!r}, expected {cls.kind!r}; Rule.from_dict takes any kind"
            )
        return rule

    @classmethod
    @abstractmethod
    def _from_values(cls, values: Mapping[str, Any]) -> "Rule":
        """Build a rule of this kind from what `to_dict` gave; what is not as it should be may raise any error."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as JSON; it comes back bit for bit. A file is replaced whole or not at all."""
        from thresholds.atomic import write_atomically
        from thresholds.rule.saving import as_text

        text = as_text(self.to_dict())
        write_atomically(path, lambda stream: stream.write((text + "\n").encode()))

    def on_other_rows(self) -> str:
        """Return what `str` adds about other rows: the out-of-fold figure, if there is one."""
        return "" if self.out_of_fold is None else f", {self.out_of_fold}"

    def source(self) -> str:
        """Return what `str` adds about the file of the fit, if there was one."""
        text = "" if self.made_by is None else self.made_by.source()
        return f"; {text}" if text else ""

    @abstractmethod
    def in_words(self) -> str:
        """Say what the rule does and what it reached, in a sentence."""

    def __str__(self) -> str:
        """Return `in_words()`, of several lines where it is long."""
        return wrapped(self.in_words())

    def parts_shown(self, n: int) -> dict[str, npt.NDArray[Any]]:
        """Return, by its name, what decides about each of the first n labels alone; nothing where the row does."""
        return {}

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the sentence, and the first k labels."""
        yield self.in_words()
        n_labels = self.n_labels
        if not k or n_labels is None:
            return
        columns = self._of_labels_shown(min(k, n_labels))
        known = {
            name: column
            for name, column in columns.items()
            if column.dtype.kind != "f" or not np.isnan(column).all()
        }
        if len(known) > 1:  # more than names
            head = [tuple(_HEADS.get(name, name) for name in known)]
            cells = [map(_cell, column.tolist()) for column in known.values()]
            yield Table(head, [*zip(*cells, strict=True)], note=n_more(n_labels, k, "label"))

    def _records(self) -> Any:
        """Return columns, one row a label; of a rule for any number of labels one row, its settings."""
        return [self.settings()] if self.n_labels is None else self._of_labels_shown(self.n_labels)

    def _of_labels_shown(self, n: int) -> dict[str, npt.NDArray[Any]]:
        """Return columns (n,) about the first n labels, by name."""
        names, fitted, profile = self.label_names, self.fitted_on, self.profile
        unknown = np.full(n, np.nan)
        return {
            "name": names_of(None if names is None else names[:n], n),
            **self.parts_shown(n),
            "n_positives": unknown if fitted is None else np.array(fitted.positives[:n]),
            "n_predicted": unknown if profile is None else profile.predicted[:n],
        }

    def _predict_on_device(self, y_score: Any) -> Any:
        """Decide about an array that is not in host memory, on its device; one dimension for one."""
        scores = devices.checked_scores(y_score, label_names=self.label_names)
        self.validate(scores)
        decided = self.decide_on_device(scores)
        self.warn_if_changed(scores)
        return decided[:, 0] if y_score.ndim == 1 else decided

    def _checked(self, y_score: object) -> Matrix:
        """Check scores to predict on."""
        scores = _checks.scores(y_score, label_names=self.label_names)
        self.validate(scores)
        return scores

    def _predicted_if_absent(self) -> npt.NDArray[np.bool_]:
        """Tell for which labels entries that a sparse matrix leaves out are predicted: bool (n_labels,)."""
        return np.zeros(self.n_labels or 0, np.bool_)

    def _why_dense(self, label: int) -> tuple[str, str]:
        """Say why absent entries of a label are predicted, and what could be done but for a dense answer."""
        return f"what it leaves out is predicted for label {label}", ""

    def _refuse_dense_answer(self, scores: Any) -> None:
        """Refuse sparse scores if nearly all cells of a label would be positive; say how large the answer would be."""
        absent = self._predicted_if_absent()
        if not absent.any():
            return
        why, instead = self._why_dense(int(absent.argmax()))
        n_bytes = scores.shape[0] * scores.shape[1]  # one for each cell
        size = f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes:,} bytes"
        raise InputError(
            f"y_score is sparse, and {why}, so that nearly all cells would be positive: {instead}pass dense=True for a"
            f" dense answer of {size}"
        )

    def _with_absent(self, scores: Any, predicted: npt.NDArray[np.bool_]) -> Dense:
        """Return dense decisions from those about the entries of a CSR array, and those about what it leaves out."""
        absent = self._predicted_if_absent().astype(np.uint8)  # (n_labels,)
        decided = np.tile(absent, (scores.shape[0], 1))  # (n_samples, n_labels)
        decided[row_of_entries(scores), scores.indices] = predicted
        return decided


_HEADS = {  # of columns, where text has other words
    "name": "label",
    "threshold_of_probability": "threshold of probability",
    "n_positives": "positives",
    "n_predicted": "predicted",
}


def _cell(value: float | str) -> str:
    """Return a cell of the table of labels, nothing for NaN."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if np.isfinite(value) and value.is_integer() else f"{value:.6g}"


def positives_only(scores: Any, predicted: npt.NDArray[np.bool_]) -> Any:
    """Return a CSR array of ones where entries of `scores` are predicted: bool (n_stored,)."""
    starts = np.concatenate([[0], np.cumsum(predicted)])[scores.indptr]  # (n_samples + 1,)
    columns = scores.indices[predicted]
    return type(scores)((np.ones(columns.size, np.uint8), columns, starts), shape=scores.shape)


def in_kind(cells: Matrix, like: object, label_names: Sequence[str] | None) -> Any:
    """Return a value for each cell as scores came: frame, tensor, spmatrix or array, one dimension for one."""
    if is_sparse(cells):
        from scipy import sparse

        return sparse.csr_matrix(cells) if isinstance(like, sparse.spmatrix) else cells
    frame = _checks.like_frame(cells, like, None if label_names is None else tuple(label_names))
    if frame is not None:
        return frame
    array = cells[:, 0] if _checks.is_vector(like) else cells
    tensor = _checks.like_tensor(array, like)
    return array if tensor is None else tensor


def as_row(scores: Any, owner: HasLabels, name: str = "y_score") -> Any:
    """Return a vector of scores, one for each of several labels, as a matrix of one row; None for anything else.

    Of a tensor it is one, on the same device; else a NumPy array. Its labels are in the order of the owner's.
    """
    if owner.n_labels in (None, 1) or not _checks.is_vector(scores, name):
        return None
    cells = scores if devices.is_tensor(scores) else _checks.plain(scores, name)  # (n_labels,)
    n_cells = cells.shape[0]
    if 0 < n_cells != owner.n_labels:
        raise InputError(
            f"{name} is a vector of {counted(n_cells, 'score')}, expected {owner.n_labels}, one for each label, or a"
            f" matrix (n_samples, {owner.n_labels})"
        )
    order = _checks.places_in_row(scores, owner.label_names, name)
    return cells[None, :] if order is None else cells[order][None, :]


def like_row(values: Any, scores: Any, owner: HasLabels) -> Any:
    """Return values (1, n_labels) for `as_row` of a vector as a vector, in its kind and order."""
    if devices.is_tensor(scores):
        return values[0, :]
    order = _checks.places_in_row(scores, owner.label_names, "y_score")
    if order is not None:
        values = values[:, np.argsort(order)]
    return in_kind(values.T, scores, None)
