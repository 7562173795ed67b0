"""Arrow's columns as plain ones: what their types say, and their values as arrays of NumPy."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, names_of_labels
from thresholds._checks.strict_json import read_json
from thresholds.files.source import BLOCK_CELLS
from thresholds.files.tables.columns import Column, Kind, ListColumn, NoValue


def described(type_: Any, names: tuple[str, ...] | None) -> Column:
    """Describe a column by its type; an extension is what it is stored as, if that is known here."""
    from pyarrow import BaseExtensionType, types

    if isinstance(type_, BaseExtensionType):
        stored = described(type_.storage_type, names)
        return stored._replace(type=str(type_)) if stored.kind == "other" else stored
    if types.is_fixed_size_list(type_):
        return Column("list", _kind(type_.value_type), _shown(type_), type_.list_size, names)
    if _is_list(type_) or _is_view(type_):
        return Column("list", _kind(type_.value_type), _shown(type_), None, names)
    whole = types.is_decimal(type_) and type_.scale <= 0
    return Column("flat", "int" if whole else _kind(type_), _shown(type_), None, names)


def _is_list(type_: Any) -> bool:
    """Whether a column holds lists of any length, laid end to end."""
    from pyarrow import types

    return bool(types.is_list(type_) or types.is_large_list(type_))


def _is_view(type_: Any) -> bool:
    """Whether a column holds lists that lie anywhere, which older versions of pyarrow do not know."""
    from pyarrow import types

    return any(
        getattr(types, f"is_{kind}", lambda _: False)(type_)
        for kind in ("list_view", "large_list_view")
    )


def _shown(type_: Any) -> str:
    """Name a type as people know it, alike for all ways to store text and lists."""
    from pyarrow import types

    if types.is_fixed_size_list(type_):
        return f"lists of {type_.list_size} {_shown(type_.value_type)}"
    if _is_list(type_) or _is_view(type_):
        return f"lists of {_shown(type_.value_type)}"
    return "text" if _kind(type_) == "text" else str(type_)


def _kind(type_: Any) -> Kind:
    """Tell numbers from text."""
    from pyarrow import types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    kinds: tuple[tuple[Any, Kind], ...] = (
        (types.is_floating, "float"),
        (types.is_decimal, "float"),
        (types.is_integer, "int"),
        (types.is_boolean, "bool"),
        (types.is_string, "text"),
        (types.is_large_string, "text"),
        (getattr(types, "is_string_view", lambda _: False), "text"),
        (types.is_null, "none"),
    )
    return next((kind for is_kind, kind in kinds if is_kind(type_)), "other")


def values_of(array: Any, *, nullable: bool = False) -> Dense | ListColumn:
    """Return a column as plain arrays, copied only where Arrow's layout is another.

    Nulls are refused, unless the column is `nullable`, and has numbers: then they are NaN, or rows without a list.
    """
    from pyarrow import types

    # Asked for each column of each block, so that what most columns are comes first.
    if not array.null_count and _is_number(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))

    # An extension is what it is stored as; text that was coded as numbers is text.
    array = getattr(array, "storage", array)
    array = array.dictionary_decode() if types.is_dictionary(array.type) else array
    absent = _is_null(array)  # (n_rows,)
    if absent is not None and not nullable:
        raise NoValue("", int(absent.argmax()), "")
    if types.is_fixed_size_list(array.type):
        offsets = np.arange(len(array) + 1) * array.type.list_size
    elif _is_list(array.type):
        ends = np.asarray(array.offsets).astype(np.int64)
        offsets = ends - ends[0]
    elif _is_view(array.type):
        offsets = np.append(0, np.asarray(array.sizes).cumsum(dtype=np.int64))
        _refuse_shared(int(offsets[-1]), len(array.values))
    else:
        return _flat(array)

    # Lists, laid end to end: what lies under a null is not among them.
    if absent is not None:
        offsets = np.append(0, np.cumsum(np.where(absent, 0, np.diff(offsets))))
    values = array.flatten()
    lacking = _is_null(values)
    if lacking is not None and not nullable:
        at = int(lacking.argmax())
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        raise NoValue("", row, "", at - int(offsets[row]))
    if _kind(values.type) != "text":
        return ListColumn(_flat(values), offsets, absent=absent)
    coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
    return ListColumn(
        coded.indices.to_numpy(zero_copy_only=False), offsets, tuple(coded.dictionary.to_pylist())
    )


@cache
def _is_number(type_: Any) -> bool:
    """Whether there is one number in each row, or a truth value."""
    from pyarrow import types

    return bool(types.is_floating(type_) or types.is_integer(type_) or types.is_boolean(type_))


def _refuse_shared(n_values: int, n_stored: int) -> None:
    """Refuse rows of list views that share values so often that they would not fit where they are laid end to end."""
    if n_values > max(n_stored, BLOCK_CELLS):
        raise ValueError(
            f"a block of its lists has {n_values:,} values, of which {n_stored:,} are stored, expected lists that share"
            " none"
        )


def _is_null(array: Any) -> npt.NDArray[np.bool_] | None:
    """Mark the entries without a value; None where there are none."""
    if not array.null_count:
        return None
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _flat(array: Any) -> Dense:
    """Return one value for each row, NaN for a number that is null."""
    from pyarrow import int8, types

    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_null(array.type):
        return np.full(len(array), np.nan)
    if array.null_count and types.is_boolean(array.type):
        array = array.cast(int8())  # which has floats where there are nulls; booleans have objects
    return np.asarray(array.to_numpy(zero_copy_only=False))


def names_in(schema: Any, name: str) -> tuple[str, ...] | None:
    """Return the label names that a file has as JSON under the key `label_names` of its metadata."""
    stored = (schema.metadata or {}).get(b"label_names")
    if stored is None:
        return None
    try:
        return names_of_labels(read_json(stored))
    except InputError as error:
        raise InputError(f"label_names in the metadata of {name} cannot be read: {error}") from None


def index_columns(schema: Any) -> set[str]:
    """Return the columns that pandas notes as the index of the frame it wrote."""
    try:
        noted = read_json((schema.metadata or {}).get(b"pandas", b"{}"), constants=True)
        return {name for name in noted["index_columns"] if isinstance(name, str)}
    except (InputError, KeyError, TypeError):
        return set()


def features_in(schema: Any, name: str) -> Mapping[str, Any]:
    """Return the features that Hugging Face's datasets note in the metadata of what they write."""
    try:
        noted = read_json((schema.metadata or {}).get(b"huggingface", b"{}"), constants=True)
        features = noted["info"]["features"]
    except InputError as error:
        raise InputError(f"huggingface in the metadata of {name} cannot be read: {error}") from None
    except (KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def class_names(feature: Any) -> tuple[str, ...] | None:
    """Return the names of a feature that is a list of `ClassLabel`: written as a list, or as Sequence or List."""
    while isinstance(feature, list) and feature:
        feature = feature[0]
    while isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    names = (
        feature.get("names")
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        else None
    )
    return None if names is None else names_of_labels(names)
