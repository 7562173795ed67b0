"""Fields that say what they are: checks, JSON, the order of labels and equality follow from them.

    @record
    class Counts(Record):
        n_samples: int = value(size)
        positives: Floats = of_labels(_checks.finites)

A field is a `value`, has one entry for each label (`of_labels`, `names`), or is a record itself (`part`).
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds._results.plain import Form, number_of, own_first, plain, values_of

Check = Callable[[Any, str], Any]
Class = TypeVar("Class")
_MISSING: Any = dataclasses.MISSING


@dataclass(frozen=True)
class About:
    """What a field says of its values.

    Attributes
    ----------
    check : refuses a value in a sentence, and returns it as it is kept; None checks nothing
    form : how JSON has infinite numbers and NaN, which it lacks
        "plain": there are none. "cut": null is +inf, "-inf" a word. "figure": null is NaN, "inf" and "-inf" are words.
    of_labels : whether it has one entry for each label
    part : builds the record that it is from plain values; None if it is none
    is_saved : whether JSON has it
    is_later : whether files of older versions may lack it
    is_left_out : whether JSON leaves it out where it is None
    """

    check: Check | None = None
    form: Form = "plain"
    of_labels: bool = False
    part: Callable[[Any], Any] | None = None
    is_saved: bool = True
    is_later: bool = False
    is_left_out: bool = False


def value(
    check: Check | None = None,
    *,
    default: Any = _MISSING,
    factory: Any = _MISSING,
    form: Form = "plain",
    saved: bool = True,
    later: bool = False,
    compare: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """One value. Its default is not checked."""
    about = About(check, form, is_saved=saved, is_later=later)
    return _field(about, default, compare, repr, kw_only, factory)


def of_labels(
    check: Check | None = None,
    *,
    default: Any = _MISSING,
    factory: Any = _MISSING,
    form: Form = "plain",
    saved: bool = True,
    later: bool = False,
    left_out: bool = False,
    compare: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """One entry for each label: an array (n_labels,), kept as a read-only copy."""
    about = About(check, form, of_labels=True, is_saved=saved, is_later=later, is_left_out=left_out)
    return _field(about, default, compare, repr, kw_only, factory)


def names(*, default: Any = _MISSING, saved: bool = True, kw_only: bool = False) -> Any:
    """Names of the labels: a tuple of str, or None."""
    return _field(About(_names, of_labels=True, is_saved=saved), default, True, True, kw_only)


def part(
    read: Callable[[Any], Any],
    *,
    default: Any = _MISSING,
    later: bool = False,
    saved: bool = True,
    compare: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """A record within, which `read` builds from its plain values: what it needs is imported when a file has one."""
    about = About(part=read, is_saved=saved, is_later=later)
    return _field(about, default, compare, repr, kw_only)


def _field(
    about: About, default: Any, compare: bool, in_repr: bool, kw_only: bool, factory: Any = _MISSING
) -> Any:
    """Return a field of a data class that is described."""
    return field(
        default=default,
        default_factory=factory,
        compare=compare,
        repr=in_repr,
        kw_only=kw_only,
        metadata={"about": about},
    )


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    field_specifiers=(field, value, of_labels, names, part),
)
def record(cls: type[Class]) -> type[Class]:
    """Make a class a frozen data class, whose equality and `repr` are those of `Record`."""
    return dataclass(frozen=True, eq=False, repr=False)(cls)


class Record:
    """A frozen data class whose fields say what they are; its arrays are read-only.

    A class says in `_check` where fields contradict each other. All else follows from the fields.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self) -> None:
        """Check what is given, and make the arrays read-only."""
        for name, about, default in described(self):
            given = getattr(self, name)
            if about.check is not None and not _checks.is_default(given, default):
                object.__setattr__(self, name, about.check(given, name))
            if about.part is not None and not (given is None or isinstance(given, Record)):
                raise InputError(
                    f"{name} is {_checks.shown(given)}, expected a record of this library, or None"
                )
        self._freeze()
        self._check()

    def _check(self) -> None:
        """Refuse fields that contradict each other."""
        _refuse_other_lengths(self)

    def _freeze(self) -> None:
        """Make the arrays read-only; those of described fields are copies, as others may have them."""
        for name, _, _ in described(self):
            array = self.__dict__.get(name)
            if isinstance(array, np.ndarray) and array.flags.writeable:
                object.__setattr__(self, name, array.copy())
        for array in self.__dict__.values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take over the values of a copied or pickled record, its arrays read-only."""
        self.__dict__.update(state)
        self._freeze()

    @cached_property
    def n_labels(self) -> Any:
        """Number of labels; None where nothing is of labels."""
        return next(iter(_lengths(self).values()), None)

    def taken(self, places: Ints) -> Self:
        """Return the same of some labels, in that order: label j is the one that is at `places[j]` here."""
        moved: dict[str, Any] = {}
        for name, about, _ in described(self):
            own = getattr(self, name)
            if own is None:
                continue
            if about.part is not None:
                moved[name] = own.taken(places)
            elif isinstance(own, tuple) and about.of_labels:
                moved[name] = tuple(own[k] for k in places.tolist())
            elif about.of_labels:
                moved[name] = own[places]
        return dataclasses.replace(self, **moved)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which has no infinite numbers and no NaN.

        NaN is None, and infinite numbers are "inf" and "-inf"; of a saved rule, +inf is None where it means never.
        """
        found = {}
        for item in own_first(self):
            about = _about(item)
            own = getattr(self, item.name)
            if about.is_saved and not (own is None and about.is_left_out):
                found[item.name] = plain(own, about.form)
        return found

    def __eq__(self, other: object) -> bool:
        """Whether all values that are compared are equal, NaN and NaN too."""
        if type(other) is not type(self):
            return NotImplemented
        names = (item.name for item in fields(self) if item.compare)
        return all(_are_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        """Return the same for equal records: of the values that are no arrays."""
        own = (getattr(self, item.name) for item in fields(self) if item.compare)
        return hash((type(self), *(value for value in own if isinstance(value, str | int))))

    def __repr__(self) -> str:
        """Return the fields in brief: of arrays and names the first few."""
        from thresholds._results.brief import in_brief

        return in_brief(self)


class SavedRecord(Record):
    """A record that a saved rule has, and that is built again from its plain values."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build it from what `to_dict` gave; unknown fields, and values that are none of theirs, are refused."""
        return cls(**read_fields(cls, values))


def read_fields(cls: type, values: Mapping[str, Any], also: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a record from what `to_dict` gave; those in `also` are known, and read elsewhere."""
    saved = {item.name: _about(item) for item in fields(cls) if _about(item).is_saved}
    _checks.refuse_unknown(values, (*also, *saved))
    found = {}
    for name, about in saved.items():
        may_lack = about.is_later or about.is_left_out
        if name in also or (may_lack and name not in values):
            continue
        found[name] = _read(values[name], about, name)
    return found


def _read(value: Any, about: About, name: str) -> Any:
    """Return a value as it was before JSON had it; it is yet to be checked."""
    if about.part is not None:
        return None if value is None else about.part(value)
    if not about.of_labels:
        return number_of(value, about.form)
    if value is None:
        return None
    listed = _checks.a_list(value, name)
    if about.form == "plain":
        return listed
    for item in listed:
        if isinstance(item, bool):
            _checks.real(item, name)  # refuses it
    return [number_of(item, about.form) for item in listed]


def _names(value: Any, _: str) -> Any:
    """Check names of labels."""
    return None if value is None else _checks.names_of_labels(value)


def _about(item: "dataclasses.Field[Any]") -> About:
    """Return what a field says of its values."""
    about: About = item.metadata.get("about", _UNDESCRIBED)
    return about


_UNDESCRIBED = About(form="figure")


def described(instance: object) -> Sequence[tuple[str, About, Any]]:
    """Return the fields of a record that are described, with their defaults."""
    cls: Any = type(instance)
    return _described(cls)


@cache
def _described(cls: Any) -> Sequence[tuple[str, About, Any]]:
    """Return the fields of a class that are described, with their defaults."""
    return [
        (item.name, item.metadata["about"], item.default)
        for item in fields(cls)
        if "about" in item.metadata
    ]


def _lengths(instance: Record) -> dict[str, int]:
    """Return the lengths of fields with one entry for each label, and numbers of labels of the parts."""
    found = {}
    for name, about, _ in described(instance):
        own = getattr(instance, name)
        if own is None:
            continue
        if about.of_labels:
            found[name] = len(own)
        elif about.part is not None and own.n_labels is not None:
            found[name] = int(own.n_labels)
    return found


def _refuse_other_lengths(instance: Record) -> None:
    """Refuse fields of labels that are about another number of labels."""
    n_labels = instance.n_labels
    if n_labels is None:
        return
    for name, length in _lengths(instance).items():
        if length != n_labels:
            raise InputError(f"{name} has {length} values, expected {n_labels}")


def _are_equal(first: Any, second: Any) -> bool:
    """Whether two values are equal, NaN and NaN too."""
    if first is second:
        return True
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        names = first.dtype.names
        if names is not None:
            return names == second.dtype.names and all(
                _are_equal(first[name], second[name]) for name in names
            )
        with_nan = first.dtype.kind == "f" and second.dtype.kind == "f"
        return bool(np.array_equal(first, second, equal_nan=with_nan))
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return False
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            _are_equal(first[key], second[key]) for key in first
        )
    if isinstance(first, list | tuple) and type(first) is type(second):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    is_plain_class = dataclasses.is_dataclass(first) and not isinstance(first, Record)
    if is_plain_class and type(first) is type(second):
        return _are_equal(values_of(first), values_of(second))
    return bool(first == second)
