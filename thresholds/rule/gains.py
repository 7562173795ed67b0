"""What a prediction adds to F, by label and score: which labels of a row to keep where not all may be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.results import Shown, Table, counted
from thresholds.rule.saving import refuse_unknown


@dataclass(frozen=True, slots=True, repr=False)
class GainByScore(Shown):
    """What predicting a label at a score adds to the F that is maximised.

        gain = worth (p - even),    p = sigmoid(level + slope (x - at))

    p is how often the label is true at the score, x the score, or the log odds of scores that all lie in [0, 1].

    With P positives of a label, N predictions and F on the rows of the fit, one prediction more that is true with
    probability p adds ((1 + b^2) p - F) / (b^2 P + N) to the label's F, to first order. So `even` is F / (1 + b^2), and
    `worth` (1 + b^2) / (b^2 P + N), for a weighted mean times P; where the decisions of all labels, or of a row, are
    counted together, all labels have the same, and the order is that of p.
    """

    of_shares: bool  # whether x is the log odds of the scores
    at: tuple[float, ...]  # (n_labels,), as all others
    level: tuple[float, ...]
    slope: tuple[float, ...]
    worth: tuple[float, ...]
    even: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.option(self.of_shares, "of_shares", (True, False))
        for name in OF_LABELS:
            values = getattr(self, name)
            if not values or len(values) != len(self.at):
                raise InputError(
                    f"{name} of gains has {len(values)} values, expected {len(self.at) or 'at least 1'}"
                )
            _checks.finites(values, name)
        lowest = min(self.worth)
        if lowest < 0:
            raise InputError(f"worth of gains has {lowest}, expected at least 0")

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.at)

    def taken(self, places: Ints) -> "GainByScore":
        """Return the gains of some labels, in that order."""
        lists = (tuple(getattr(self, name)[k] for k in places.tolist()) for name in OF_LABELS)
        return GainByScore(self.of_shares, *lists)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        lists = {name: list(getattr(self, name)) for name in OF_LABELS}
        return {"of_shares": self.of_shares, **lists}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "GainByScore":
        """Build it from what `to_dict` gave."""
        refuse_unknown(values, ("of_shares", *OF_LABELS))
        lists = {name: tuple(_checks.a_list(values[name], name)) for name in OF_LABELS}
        return cls(of_shares=values["of_shares"], **lists)

    def _records(self) -> dict[str, Any]:
        """Return the numbers, one row a label."""
        return {name: getattr(self, name) for name in OF_LABELS}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Say what is known."""
        x = "log odds of the scores" if self.of_shares else "scores"
        yield f"what a prediction adds to F, for {counted(self.n_labels, 'label')}: by logistic curves of the {x}"


OF_LABELS = tuple(item.name for item in fields(GainByScore) if item.name != "of_shares")
