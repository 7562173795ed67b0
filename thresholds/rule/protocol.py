"""What the functions around a rule ask of it, so that none of them needs to know its class."""

from typing import Any, Protocol

from thresholds._arrays.types import Matrix


class HasLabels(Protocol):
    """What takes scores of labels: a rule, or a calibrator."""

    @property
    def n_labels(self) -> int | None:
        """Number of labels; None if any number is taken."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels."""


class Decides(HasLabels, Protocol):
    """What decides about scores."""

    @property
    def missing(self) -> float:
        """The score of an entry that a sparse matrix leaves out."""

    def validate(self, scores: Any) -> None:
        """Refuse scores that it cannot take."""

    def needs_dense(self, scores: Matrix) -> bool:
        """Whether decisions about these scores must be dense, as what they leave out is predicted."""

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, on the same device."""


class Watches(Decides, Protocol):
    """What decides, and knows what the scores of its fit looked like."""

    @property
    def fitted_on(self) -> Any:
        """The data of the fit in brief; None if not fitted."""

    @property
    def profile(self) -> Any:
        """What the scores of the fit looked like; None if it is not known."""


class Predicts(Watches, Protocol):
    """What decides about scores as users have them."""

    def checked(self, y_score: object, name: str = "y_score") -> Matrix:
        """Check scores that a user gives."""

    def checked_on_device(self, y_score: Any, name: str = "y_score") -> Any:
        """Check scores that are not in host memory."""


class HasFit(HasLabels, Protocol):
    """What is shown with what is known of its fit."""

    @property
    def fitted_on(self) -> Any:
        """The data of the fit in brief; None if not fitted."""

    @property
    def profile(self) -> Any:
        """What the scores of the fit looked like; None if it is not known."""

    def in_words(self) -> str:
        """Say what it does and what it reached, in a sentence."""

    def columns_of_labels(self) -> dict[str, Any]:
        """Return, by its name, what decides about each label by its score alone, (n_labels,)."""
