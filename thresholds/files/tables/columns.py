"""What the columns of a table hold, by Arrow's types, and their values as arrays of NumPy."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, listed, names_of_labels
from thresholds._checks.strict_json import read_json
from thresholds.files.source import BLOCK_CELLS

# A mapping is an object with label names for keys; named lists are label names, each with a score.
Form = Literal["flat", "list", "mapping", "named"]
# "none": nothing but nulls or empty lists.
Kind = Literal["float", "int", "bool", "text", "none", "other"]

NOT_UTF8 = "text that is not UTF-8"  # the type of a column
PERCENT = "number with a percent sign"  # likewise
NUMBERS: tuple[Kind, ...] = ("float", "int", "bool")  # kinds of columns
# What columns of label names, and of scores, are called, in lower case.
LABELS = (
    *("label", "scientific name", "scientific_name", "species", "class", "class_name", "category"),
    *("tag", "common name", "common_name", "species code", "species_code"),
    *("label_name", "labelname", "label name"),
)
SCORES = ("score", "y_score", "confidence", "probability", "prob")
UNNAMED_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # of a frame, as pandas writes it
# What columns that tell rows apart are called, in lower case.
ROWS = ("row", "row_id", "id", "key", "sample_id", "image_id", "doc_id", "document_id", "item_id")
FILES = ("file", "filename", "file_name", "filepath", "begin path", "begin file", "recording")
STARTS = ("start (s)", "start", "start_time", "begin time (s)")
ENDS = ("end (s)", "end", "end_time", "end time (s)")
LABEL_SEPARATORS = ("|", ";", ",", " ")  # that may stand between the labels of a cell
WEIGHTS = ("weight", "weights", "sample_weight")


class FileColumn(NamedTuple):
    """What a column holds, by its type."""

    form: Form
    kind: Kind  # of its cells; of named lists, of the scores
    type: str  # as people know it; shards must have the same
    width: int | None = None  # of lists that are all of one length
    # Of a mapping its keys; else of the labels that its numbers stand for.
    names: tuple[str, ...] | None = None
    of_index: bool = False  # of a pandas frame, as the file says
    # Of named lists: that of the label, and that of its score.
    fields: tuple[str, str] | None = None

    def is_flat(self, *kinds: Kind) -> bool:
        """Whether there is one value in each row, of one of the kinds."""
        return self.form == "flat" and self.kind in kinds


class ListColumn(NamedTuple):
    """The lists of some rows: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Dense  # numbers; of text, places in `words`
    offsets: npt.NDArray[np.int64]  # (n_rows + 1,)
    words: tuple[str, ...] | None = None
    absent: npt.NDArray[np.bool_] | None = None  # (n_rows,), rows without a list, where that may be


class NamedLists(NamedTuple):
    """Label names of some rows, as long as the scores beside them."""

    labels: ListColumn
    scores: ListColumn


# Of a mapping (n_rows, n_labels), of one value a row (n_rows,).
Values = Dense | ListColumn | NamedLists


class NoValue(InputError):
    """A cell without a value was found: the file, the row there, the column, and the place in its list."""

    def __init__(self, name: str, row: int, column: str, place: int | None = None) -> None:
        self.name, self.row, self.column, self.place = name, row, column, place


def columns_of(schema: Any, features: Mapping[str, Any] | None = None) -> dict[str, FileColumn]:
    """Describe the columns of a schema; `features` are those that Hugging Face's library notes."""
    index = _index_columns(schema)
    features = features or {}
    return {
        field.name: described(field.type, _class_names(features.get(field.name)))._replace(
            of_index=field.name in index
        )
        for field in schema
    }


def refuse_doubled(name: str, columns: Sequence[str]) -> None:
    """Refuse columns that have the same name."""
    doubled = [column for column, times in Counter(columns).items() if times > 1]
    if doubled:
        raise InputError(
            f"{name} has several columns named {listed(doubled)}, expected each name once"
        )


def described(type_: Any, names: tuple[str, ...] | None = None) -> FileColumn:
    """Describe a column by its type; an extension is what it is stored as, if that is known here."""
    from pyarrow import BaseExtensionType, types

    if isinstance(type_, BaseExtensionType):
        stored = described(type_.storage_type, names)
        return stored._replace(type=str(type_)) if stored.kind == "other" else stored
    if types.is_map(type_):
        return _named(type_, type_.key_field, type_.item_field)
    if _is_list(type_):
        if types.is_struct(type_.value_type):
            return _named(type_, *_label_and_score(type_.value_type))
        width = type_.list_size if types.is_fixed_size_list(type_) else None
        return FileColumn("list", _kind(type_.value_type), _shown(type_), width, names)
    if types.is_struct(type_):
        fields = [type_.field(place) for place in range(type_.num_fields)]
        kinds = {_kind(field.type) for field in fields}
        if fields and kinds <= {*NUMBERS, "none"}:
            names = tuple(field.name for field in fields)
            kind: Kind = "none" if kinds == {"none"} else "float"
            return FileColumn("mapping", kind, "numbers by label", len(names), names)
        lists = [field for field in fields if _is_list(field.type)]
        labels = [field for field in lists if _kind(field.type.value_type) == "text"]
        scores = [field for field in lists if _kind(field.type.value_type) == "float"]
        if len(labels) == len(scores) == 1:
            type_name = f"lists of {labels[0].name} and {scores[0].name}"
            return FileColumn("named", "float", type_name, fields=(labels[0].name, scores[0].name))
        return FileColumn("flat", "other", str(type_))
    whole = types.is_decimal(type_) and type_.scale <= 0
    return FileColumn("flat", "int" if whole else _kind(type_), _shown(type_), None, names)


def _named(type_: Any, label: Any, score: Any) -> FileColumn:
    """Describe lists of label names with their scores, if they are such."""
    if label is None or score is None or _kind(label.type) != "text":
        return FileColumn("list", "other", str(type_))
    if _kind(score.type) not in (*NUMBERS, "none"):
        return FileColumn("list", "other", str(type_))
    type_name = f"lists of {label.name} and {score.name}"
    return FileColumn("named", _kind(score.type), type_name, fields=(label.name, score.name))


def _label_and_score(struct: Any) -> tuple[Any, Any]:
    """Find the field of the label, and that of its score: by name, else the only text, and the only float."""
    fields = {field.name: field for field in map(struct.field, range(struct.num_fields))}
    texts = [name for name, field in fields.items() if _kind(field.type) == "text"]
    floats = [name for name, field in fields.items() if _kind(field.type) == "float"]
    labels = called(texts, LABELS) or (texts if len(texts) == 1 else [])
    scores = called(fields, SCORES) or (floats if len(floats) == 1 else [])
    return fields[labels[0]] if labels else None, fields[scores[0]] if scores else None


def called(columns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the columns that have one of the names, in any case, in the order of the names."""
    return [column for name in names for column in columns if column.lower() == name]


@cache
def _is_plain_number(type_: Any) -> bool:
    """Whether NumPy has numbers as Arrow lays them out."""
    from pyarrow import types

    return bool(types.is_floating(type_) or types.is_integer(type_))


def _is_list(type_: Any) -> bool:
    """Whether a column holds lists of any kind."""
    from pyarrow import types

    return bool(
        types.is_list(type_)
        or types.is_large_list(type_)
        or types.is_fixed_size_list(type_)
        or types.is_list_view(type_)
        or types.is_large_list_view(type_)
    )


def _shown(type_: Any) -> str:
    """Name a type as people know it, alike for all ways to store text and lists."""
    from pyarrow import types

    if types.is_fixed_size_list(type_):
        return f"lists of {type_.list_size} {_shown(type_.value_type)}"
    if _is_list(type_):
        return f"lists of {_shown(type_.value_type)}"
    return "text" if _kind(type_) == "text" else str(type_)


@cache
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
        (types.is_string_view, "text"),
        (types.is_null, "none"),
    )
    return next((kind for is_kind, kind in kinds if is_kind(type_)), "other")


def values_of(array: Any, column: FileColumn, *, nullable: bool = False) -> Values:
    """Return a column as plain arrays, copied only where Arrow's layout is another.

    Nulls are refused, unless the column is `nullable`, and has numbers: then they are NaN, or rows without a list.
    """
    from pyarrow import types

    # Asked for each column of each block, so that what most columns are comes first.
    if not array.null_count and _is_plain_number(array.type):
        return np.asarray(array.to_numpy())

    # An extension is what it is stored as; text that was coded as numbers is text.
    array = getattr(array, "storage", array)
    if column.form == "flat":
        return _flat(array, nullable=nullable)
    if column.form == "mapping":
        return _mapping(array, column.names or (), nullable=nullable)
    if column.form == "list":
        lists = _lists(array, nullable=nullable)
        if column.kind == "text" and not lists.values.size:
            return lists._replace(values=np.empty(0, np.int64), words=())
        return lists
    if array.null_count and not nullable:
        raise NoValue("", int(_nulls(array).argmax()), "")
    label, score = column.fields or ("", "")
    if types.is_struct(array.type):  # of two lists
        labels, scores = (_lists(array.field(name), nullable=nullable) for name in (label, score))
        return NamedLists(labels, scores)
    pairs = _as_lists(array).flatten()  # structs, one row behind another
    if not len(pairs):
        nothing = ListColumn(np.empty(0, np.int64), np.zeros(len(array) + 1, np.int64), ())
        return NamedLists(nothing, nothing._replace(values=np.empty(0)))
    return NamedLists(
        _lists_of(array, pairs.field(label)),
        _lists_of(array, pairs.field(score), nullable=nullable),
    )


def _flat(array: Any, *, nullable: bool = False) -> Dense:
    """Return one value for each row, NaN for a number that is null."""
    from pyarrow import int8, types

    if types.is_dictionary(array.type):
        array = _plain_words(array).dictionary_decode()
    if array.null_count:
        if not nullable:
            raise NoValue("", int(_nulls(array).argmax()), "")
        if types.is_null(array.type):
            return np.full(len(array), np.nan)
        if types.is_boolean(array.type):
            # This has floats where there are nulls; booleans have objects.
            array = array.cast(int8())
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    # Python turns decimals into the nearest floats.
    return values.astype(np.float64) if types.is_decimal(array.type) else values


def _mapping(array: Any, names: tuple[str, ...], *, nullable: bool) -> Dense:
    """Return the values of objects (n_rows, n_labels), in the order of the labels, wherever they stand in each."""
    own = [array.type.field(place).name for place in range(array.type.num_fields)]
    for name in own:
        if name not in names and array.field(name).null_count < len(array):
            raise OtherLabels(name, int(_nulls(array.field(name)).argmin()))
    cells = np.empty((len(array), len(names)))
    absent = _nulls(array)  # (n_rows,)
    for place, name in enumerate(names):
        values = array.field(name) if name in own else None
        lacking = np.ones(len(array), np.bool_) if values is None else _nulls(values) | absent
        if lacking.any() and not nullable:
            raise NoValue("", int(lacking.argmax()), "", place)
        cells[:, place] = np.nan if values is None else _flat(values, nullable=True)
        cells[lacking, place] = np.nan
    return cells


class OtherLabels(InputError):
    """An object was found that has a label which those before do not have."""

    def __init__(self, label: str, row: int) -> None:
        self.label, self.row = label, row


def _lists(array: Any, *, nullable: bool) -> ListColumn:
    """Lay lists end to end: what lies under a null is not among them."""
    absent = _nulls(array) if array.null_count else None  # (n_rows,)
    if absent is not None and not nullable:
        raise NoValue("", int(absent.argmax()), "")
    # Rows of list views may share values, so often that they would not fit where they are laid end to end.
    n_values = int(np.asarray(array.sizes).sum()) if hasattr(array, "sizes") else 0
    if n_values and n_values > max(len(array.values), BLOCK_CELLS):
        raise ValueError(
            f"a block of its lists has {n_values:,} values, of which {len(array.values):,} are stored, expected lists"
            " that share none"
        )
    return _lists_of(array, array.flatten(), nullable=nullable)._replace(absent=absent)


def _lists_of(array: Any, values: Any, *, nullable: bool = False) -> ListColumn:
    """Return the values of lists, and the places where each list begins."""
    from pyarrow import compute, int64, types

    if types.is_null(values.type):
        values = values.cast(int64())  # of lists that are all empty, or have nothing but nulls
    lengths = compute.list_value_length(_as_lists(array)).fill_null(0)  # (n_rows,)
    offsets = np.append(0, np.cumsum(np.asarray(lengths), dtype=np.int64))
    if values.null_count and not nullable:
        at = int(_nulls(values).argmax())
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        raise NoValue("", row, "", at - int(offsets[row]))
    if _kind(values.type) != "text":
        return ListColumn(_flat(values, nullable=True), offsets)
    coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
    coded = _plain_words(coded)
    places = coded.indices.to_numpy(zero_copy_only=False)
    return ListColumn(places, offsets, tuple(coded.dictionary.to_pylist()))


def _plain_words(coded: Any) -> Any:
    """Return text that is coded by numbers with its words laid out as pyarrow can take them."""
    import pyarrow as pa

    if _kind(coded.type) != "text" or pa.types.is_string(coded.type.value_type):
        return coded
    return pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(pa.string()))


def _as_lists(array: Any) -> Any:
    """Return maps as lists of structs, and all else as it is."""
    import pyarrow as pa

    if not pa.types.is_map(array.type):
        return array
    fields = [array.type.key_field, array.type.item_field]
    return array.cast(pa.list_(pa.struct(fields)))


def _nulls(array: Any) -> npt.NDArray[np.bool_]:
    """Mark the entries without a value."""
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def names_in(schema: Any, name: str) -> tuple[str, ...] | None:
    """Return the label names that a file has as JSON under the key `label_names` of its metadata."""
    stored = (schema.metadata or {}).get(b"label_names")
    if stored is None:
        return None
    try:
        return names_of_labels(read_json(stored))
    except InputError as error:
        raise InputError(f"label_names in the metadata of {name} cannot be read: {error}") from None


def _index_columns(schema: Any) -> set[str]:
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


def _class_names(feature: Any) -> tuple[str, ...] | None:
    """Return the names of a feature that is a list of `ClassLabel`: written as a list, or as Sequence or List."""
    while isinstance(feature, list) and feature:
        feature = feature[0]
    while isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    if not isinstance(feature, dict) or feature.get("_type") != "ClassLabel":
        return None
    names = feature.get("names")
    return None if names is None else names_of_labels(names)
