"""Which guard, with which options."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from thresholds import _checks
from thresholds._checks import InputError

Unsupported = Literal["above_max", "never"]


@dataclass(frozen=True, slots=True)
class Shrink:
    """The guard "shrink" and its options: the number predicted is drawn towards what suits similar labels.

    Parameters
    ----------
    siblings : borrow from labels with about as many positives
    probabilities : borrow from one logistic curve of truth on score for all labels; it is not used where it falls, or
        where all scores are equal, as for scores that cannot be compared over labels. Switch it off if they cannot.
    unsupported : what to do with a label without positives: "above_max" puts its threshold just above its highest
        score, so that a clearer case than any seen is predicted; "never" at +inf
    """

    siblings: bool = True
    probabilities: bool = True
    unsupported: Unsupported = "above_max"

    def __post_init__(self) -> None:
        """Check the options."""
        for name, known in (
            ("siblings", (True, False)),
            ("probabilities", (True, False)),
            ("unsupported", ("above_max", "never")),
        ):
            object.__setattr__(self, name, _checks.option(getattr(self, name), name, known))

    def __str__(self) -> str:
        """Return the name, and the options that are not the usual ones."""
        return "shrink" + _unusual(self, Shrink())


Guard: TypeAlias = Literal["shrink", "auto"] | Shrink | None


def chosen_guard(guard: object, average: str, per_label: bool) -> Shrink | None:
    """Return the guard of a fit; "auto" is the one that suits what is maximised."""
    fits = per_label and average in ("macro", "weighted")
    if isinstance(guard, Shrink):
        found: Shrink | None = guard
    else:
        name = _checks.option(guard, "guard", (None, "shrink", "auto"))
        found = {None: None, "shrink": Shrink(), "auto": Shrink() if fits else None}[name]
    if found is not None and not fits:
        raise InputError(
            f"guard is {str(found)!r} with average {average!r}, per_label={per_label}; expected None or 'auto': guards"
            " are for macro and weighted with a threshold for each label"
        )
    return found


def _unusual(options: object, usual: object) -> str:
    """Write out the options that differ from the usual ones."""
    names: list[str] = list(type(options).__dataclass_fields__)  # type: ignore[attr-defined]
    changed = [name for name in names if getattr(options, name) != getattr(usual, name)]
    return f" ({', '.join(f'{name}={getattr(options, name)!r}' for name in changed)})" if changed else ""
