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
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from itertools import islice
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._checks import InputError

Form = Literal["plain", "cut", "figure"]
Check = Callable[[Any, str], Any]
Class = TypeVar("Class")
_MISSING: Any = dataclasses.MISSING

_LONGEST_TEXT = 60  # characters of a text in a `repr`
_LONGEST_ITEM = 20  # of one of several
_VALUES_SHOWN = 3  # of an array, or of names


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
        self._freeze()
        self._check()

    def _check(self) -> None:
        """Refuse fields that contradict each other."""
        _refuse_other_lengths(self)

    def _freeze(self) -> None:
        """Make the arrays read-only; those of labels are copies."""
        for name, about, _ in described(self):
            array = self.__dict__.get(name)
            if about.of_labels and isinstance(array, np.ndarray) and array.flags.writeable:
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

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build it from what `to_dict` gave; what is wrong with that is said in a sentence."""
        return cls(**read_fields(cls, values))

    def __eq__(self, other: object) -> bool:
        """Whether all values are equal, NaN and NaN too; what is only known of a fit does not count."""
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
        return in_brief(self)


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


def plain(value: Any, form: Form = "figure") -> Any:
    """Return values as JSON has them: lists, dictionaries with names, finite numbers, strings, booleans and None.

    Rows of a structured array become dictionaries. `form` says what becomes of infinite numbers and NaN.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            return [plain(row, form) for row in objects_of(value)]
        if value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all()):
            return value.tolist()
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _WORDS[form](value)
    if isinstance(value, list | tuple | range):
        return [plain(item, form) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(item, form) for name, item in value.items()}
    if hasattr(value, "to_dict"):  # a record within
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {name: plain(item, form) for name, item in values_of(value).items()}
    return value


def own_first(instance: object) -> Sequence["dataclasses.Field[Any]"]:
    """Return the fields of a data class as they are read: those of a class before those that it inherits."""
    cls: Any = type(instance)
    return _own_first(cls)


@cache
def _own_first(cls: Any) -> Sequence["dataclasses.Field[Any]"]:
    """Return the fields of a class, its own first."""
    by_name = {item.name: item for item in fields(cls)}
    of_classes = [vars(each).get("__annotations__", ()) for each in cls.__mro__]
    names = dict.fromkeys(name for found in of_classes for name in found if name in by_name)
    return [by_name[name] for name in names]


def values_of(value: Any) -> dict[str, Any]:
    """Return the fields of a data class or named tuple, and their values."""
    names = [item.name for item in fields(value)] if is_dataclass(value) else value._fields
    return {name: getattr(value, name) for name in names}


def objects_of(rows: Any) -> list[dict[str, Any]]:
    """Return the rows of a structured array as dictionaries of plain values."""
    names = rows.dtype.names or ()
    return [dict(zip(names, row.item(), strict=True)) for row in rows]


def _of_cut(value: float) -> str | None:
    """Write a cut that is infinite: never, or always."""
    return None if value > 0 else "-inf"


def _of_figure(value: float) -> str | None:
    """Write a figure that is not finite."""
    return None if math.isnan(value) else str(value)


_WORDS: Mapping[Form, Callable[[float], Any]] = {
    "plain": _of_figure,
    "cut": _of_cut,
    "figure": _of_figure,
}
_MEANINGS: Mapping[Form, Mapping[Any, float]] = {
    "plain": {},
    "cut": {None: math.inf, "-inf": -math.inf},
    "figure": {None: math.nan, "inf": math.inf, "-inf": -math.inf},
}


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


def number_of(value: Any, form: Form) -> Any:
    """Return the number that a word of JSON stands for, and all else as it is."""
    if value is None or isinstance(value, str):
        return _MEANINGS[form].get(value, value)
    return value


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
    if isinstance(first, list | tuple) and type(first) is type(second):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    return bool(first == second)


def in_brief(value: object) -> str:
    """Return the `repr` of a value without defaults: of arrays and tuples the first few items, and their number."""
    if is_dataclass(value) and not isinstance(value, type):
        values = ((item, getattr(value, item.name)) for item in own_first(value) if item.repr)
        shown = [
            f"{item.name}={_part_in_brief(own)}"
            for item, own in values
            if not _checks.is_default(own, item.default)
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    return _part_in_brief(value)


def _part_in_brief(value: object) -> str:
    """Return the value of a field in brief: of a record its class, of a table its size."""
    if is_dataclass(value):
        return f"<{type(value).__name__}>"
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        return f"<{value.size:,} rows>"
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return f"<{value.dtype} {value.shape}>"
    if isinstance(value, np.ndarray):
        return f"[{_some_of(value[:_VALUES_SHOWN].tolist(), value.size)}]"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return f"({_some_of(value[:_VALUES_SHOWN], len(value))}{comma})"
    if isinstance(value, Mapping):
        items = islice(value.items(), 2 * _VALUES_SHOWN)
        shown = [f"{_item_in_brief(name)}: {_item_in_brief(item)}" for name, item in items]
        return f"{{{_listed(shown, len(value))}}}"
    return _cut(repr(value), _LONGEST_TEXT)


def _item_in_brief(value: object) -> str:
    """Return one of several values in brief: numbers to six digits, the beginning of texts."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return _cut(repr(value), _LONGEST_ITEM)
    return _part_in_brief(value)


def _some_of(values: Iterable[object], n_values: int) -> str:
    """List the first few of some values, and their number if there are more."""
    return _listed([_item_in_brief(value) for value in values], n_values)


def _listed(shown: Sequence[str], n_values: int) -> str:
    """List values that are shown, and say how many they are if there are more."""
    more = [f"... {n_values:,} in all"] if n_values > len(shown) else []
    return ", ".join([*shown, *more])


def _cut(text: str, length: int) -> str:
    """Return a text, of a long one the beginning."""
    return text if len(text) <= length else f"{text[:length]}..."
