"""Labels by name: the same names in another order are put in order, other names are refused."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._checks.options import count, is_utf8
from thresholds.errors import InputError, shown

Names = tuple[str, ...]

_SHOWN = 5  # names in an error


def names_of_labels(value: object, found: str = "label_names has") -> Names:
    """Check label names: strings in order, each once, compared as they are, case and spaces included.

    `found` begins what is said of a bad one.
    """
    try:
        names = None if isinstance(value, str | bytes | Set | Mapping) else list(value)  # type: ignore[call-overload]
    except TypeError:  # It is no iterable, or only looks like one, as scipy.sparse does.
        names = None
    if names is None:
        raise InputError(f"label_names is {shown(value)}, expected strings in a list")
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"{found} {shown(name)} of type {type(name).__name__}, expected strings"
            )
        if not is_utf8(name):
            raise InputError(f"{found} {shown(name)}, expected text that can be written as UTF-8")
        # NumPy drops NUL at the end of a string, so that two names would become one.
        if "\0" in name:
            raise InputError(
                f"{found} {shown(str(name))}, expected names without the character NUL"
            )
    if len(set(names)) < len(names):
        double, _ = Counter(names).most_common(1)[0]
        raise InputError(f"{found} {shown(str(double))} twice, expected each name once")
    return tuple(str(name) for name in names)


def one_name_each(names: Sequence[str] | None, n_labels: int) -> None:
    """Refuse label names that are not as many as labels."""
    if names is not None and len(names) != n_labels:
        raise InputError(
            f"label_names has {len(names)} names, expected {n_labels}, one for each label"
        )


def place_of(label: object, names: Sequence[str] | None, n_labels: int) -> int:
    """Return the position of a label that is given by its name or its position."""
    if isinstance(label, str):
        if names is None or label not in names:
            known = "the positions, as there are no label names" if names is None else listed(names)
            raise InputError(
                f"label {shown(label)} is unknown, expected one of {known}{alike([label], names or ())}"
            )
        return names.index(label)
    position = count(label, "label", 0)
    if position >= n_labels:
        raise InputError(f"label {position} is unknown, expected at most {n_labels - 1}")
    return position


def places(
    names: Sequence[str] | None,
    wanted: Sequence[str] | None,
    name: str,
    expected: str,
    thing: str = "label",
) -> Ints | None:
    """Return where the wanted labels are among others: `names[places[j]]` is `wanted[j]`.

    Parameters
    ----------
    names, wanted : label names, or None where labels go by position
    name : what has `names`, for an error
    expected : what has `wanted`, for an error
    thing : what a name is of, for an error

    Returns
    -------
    int64 (n_labels,), or None where the labels are in order, or one side has no names

    Raises
    ------
    InputError
        For other names.
    """
    if names is None or wanted is None or names == wanted:
        return None
    difference = different(names, wanted, thing)
    if difference:
        raise InputError(f"{name} {difference}, expected {expected}")
    place = {label: k for k, label in enumerate(names)}
    return np.array([place[label] for label in wanted], np.int64)


def common_places(names: Sequence[str], others: Sequence[str]) -> tuple[Ints, Ints]:
    """Return where labels that both have are in each, (n_common,), in the order of the others."""
    place = {label: k for k, label in enumerate(names)}
    at_others = [k for k, label in enumerate(others) if label in place]
    at_names = [place[others[k]] for k in at_others]
    return np.array(at_names, np.int64), np.array(at_others, np.int64)


def in_order(matrix: Any, order: Ints | None) -> Any:
    """Return the columns of a matrix in the order that `places` gave, the entries of each sparse row sorted."""
    if order is None:
        return matrix
    columns = matrix[:, order]
    if is_sparse(columns):
        columns.sort_indices()
    return columns


def different(names: Collection[str], wanted: Collection[str], thing: str = "") -> str:
    """Say which of the wanted names are lacking, and which others there are; nothing if they are the same."""
    known = set(names)
    asked = set(wanted)
    lacking = [name for name in wanted if name not in known]
    others = [name for name in names if name not in asked]
    parts = []
    for verb, odd in (("lacks", lacking), ("has", others)):
        if odd:
            plural = "s" if len(odd) > 1 else ""
            things = f"the {thing}{plural} " if thing else ""
            parts.append(f"{verb} {things}{listed(odd)}")
    return " and ".join(parts) + alike(lacking, others)


def alike(names: Iterable[str], others: Iterable[str]) -> str:
    """Say of the first of the names that only looks equal to another what tells them apart; nothing if none does."""
    looks = {_look(other): other for other in others}
    for name in names:
        other = looks.get(_look(name), name)
        if other == name:
            continue
        own, theirs = _hidden(name), _hidden(other)
        told = [f"{name!a} {sign}" for sign in own if sign not in theirs]
        told += [f"{other!a} {sign}" for sign in theirs if sign not in own]
        if not told:
            is_case = name.lower() == other.lower()
            first, second = sorted((name, other))
            told = [f"{first!a} and {second!a} differ in {'case' if is_case else 'characters'}"]
        return f" (these look alike: {', '.join(told)})"
    return ""


def _look(name: str) -> str:
    """Return what a name looks like: without its case, its kinds of spaces, and how its accents are written."""
    seen = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen).split()).casefold()


def _hidden(name: str) -> list[str]:
    """Say what a name has that nobody sees."""
    signs = {
        "begins with a space": name != name.lstrip(),
        "ends in a space": name != name.rstrip(),
        "has two spaces in a row": "  " in name.strip(),
        "has a space that is no plain one": any(sign.isspace() and sign != " " for sign in name),
        "has a character that is not shown": any(
            unicodedata.category(sign) == "Cf" for sign in name
        ),
        "is written with a combining accent": unicodedata.normalize("NFC", name) != name,
    }
    return [sign for sign, is_there in signs.items() if is_there]


def listed(names: Iterable[str]) -> str:
    """List a few names, and say how many more there are."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(map(shown, names[:_SHOWN])) or "none") + more
