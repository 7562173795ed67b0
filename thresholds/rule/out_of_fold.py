"""What a rule may be expected to reach on rows that it was not fitted on, and how that was found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.results import Result, Table, counted, records_of
from thresholds.rule.saving import refuse_unknown


@dataclass(frozen=True, repr=False)
class OutOfFold(Result):
    """The F-measure of `cross_fit`: of all decisions about rows that the deciding rule was not fitted on."""

    f: float  # of the rule's average and beta
    n_folds: int
    how: str  # where the folds come from
    random_state: int | None  # seed of the folds, None also for folds that were given

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        seed = None if self.random_state is None else _checks.count(self.random_state, "random_state", 0)
        if _checks.text(self.how, "how") == "":
            raise InputError("how is '', expected where the folds come from")
        checked = {
            "f": _checks.share(self.f, "the f of out_of_fold"),
            "n_folds": _checks.count(self.n_folds, "n_folds", 1),
            "how": self.how,
            "random_state": seed,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _records(self) -> list[dict[str, Any]]:
        """Return the values, in one row."""
        return records_of([self])

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Show the figure and the number of folds."""
        yield f"out of fold {self.f:.4f} ({counted(self.n_folds, 'fold')})"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OutOfFold":
        """Build it from what `to_dict` gave."""
        names = [item.name for item in fields(cls)]
        refuse_unknown(values, names)
        return cls(**{name: values[name] for name in names})
