"""Candidates and counts as Arrow tables, whose rows may be mixed with those of others, and are added up when read.

A table has one row for each thing that is counted, with these columns:

    label      int32    position of the label; -1 in a row that is about all of them
    place      int64    of counts, which run (even) or candidate (odd) of the label it is, from 0 on; of `Candidates` 0;
                        below 0, what else the row is: `Special`
    key        int64    a score as the bits of an unsigned integer in the same order
    positives  int64    weight of positives
    weight     int64    weight of all
    about      string   JSON in one row of each table: labels, dtype, unit of weights, totals; null in others

TableRows with the same label, place and key add up. Engines need not know: they carry rows, and `from_arrow` adds. A
checksum, which adds up as well, tells whether a row was lost, doubled or changed on the way.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Dense, Ints, Keys
from thresholds._checks import InputError, shown
from thresholds.data.counted import Kind, Totals
from thresholds.data.tallies import Items, LabelKeys, Opened, Tally, are_candidates, tie_groups
from thresholds.errors import need

_COLUMNS = ("label", "place", "key", "positives", "weight")
_VERSION = 1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # by which bits of a checksum are mixed


class Special(IntEnum):
    """What rows are that are neither runs nor candidates."""

    ABOUT = -1
    TIED = -2  # a key that is opened
    LOWEST = -3  # the lowest key of a label
    KNOWN = -4  # of a label some of whose truth is unknown: rows, rows with weight, weight
    OPENED = -5  # of a label: from key to weight


class TableRows(NamedTuple):
    """Columns of numbers, (n_rows,) each; `TableRows` are those of a source."""

    label: Ints
    place: Ints
    key: Ints
    positives: Ints
    weight: Ints

    def at(self, wanted: Booleans) -> "TableRows":
        """Return some of the rows, by label."""
        order = np.argsort(self.label[wanted], kind="stable")
        return TableRows(*(column[wanted][order] for column in self))


def to_table(parts: Iterable[TableRows], about: Mapping[str, Any]) -> Any:
    """Return rows as a `pyarrow.Table`, in one of them what they are about."""
    need("pyarrow", "to_arrow()")
    import pyarrow as pa

    head = TableRows(*np.array([[-1], [Special.ABOUT], [0], [0], [0]]))
    columns = TableRows(*map(np.concatenate, zip(head, *parts, strict=True)))
    text = _sealed({"version": _VERSION, "checksum": _checksum(columns), **about})
    arrays = {
        name: pa.array(column, pa.int32() if name == "label" else pa.int64())
        for name, column in zip(_COLUMNS, columns, strict=True)
    }
    arrays["about"] = pa.array([text, *[None] * (columns[0].size - 1)], pa.string())
    return pa.table(arrays)


def _checksum(rows: TableRows) -> int:
    """Return a number that tells rows from others, in any order; that of all tables is the sum of theirs, mod 2**64."""
    mixed = np.zeros(rows.label.size, np.uint64)  # (n_rows,)
    for column in rows:
        mixed = (mixed ^ column.astype(np.int64).view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(32)
    # TableRows of zeros count as well.
    return int((mixed + _ODD).sum(dtype=np.uint64))


def _sealed(about: Mapping[str, Any]) -> str:
    """Return what a table is about as text, with a checksum of it."""
    return json.dumps({**about, "crc": zlib.crc32(json.dumps(about).encode())})


def _unsealed(text: str, what: str) -> dict[str, Any]:
    """Read what a table is about."""
    try:
        about = dict(json.loads(text))
    except (TypeError, ValueError):
        about = {}
    crc = about.pop("crc", None)
    if crc != zlib.crc32(json.dumps(about).encode()):
        raise InputError(
            f"data has {shown(text)} in column 'about', expected what {what}.to_arrow() writes there"
        )
    return about


def from_tables(data: object, what: str) -> tuple[TableRows, list[dict[str, Any]]]:
    """Return all rows of tables or batches of some kind, and what each table is about."""
    need("pyarrow", "from_arrow()")
    import pyarrow as pa

    table = _as_table(pa, data)
    lacking = [name for name in (*_COLUMNS, "about") if name not in table.column_names]
    if lacking:
        raise InputError(
            f"data has no column {lacking[0]!r}, expected a table of {what}.to_arrow()"
        )
    texts = table.column("about").drop_null().to_pylist()
    abouts = [_unsealed(text, what) for text in texts]
    for about in abouts:
        if about.get("what") != what or about.get("version") != _VERSION:
            raise InputError(
                f"data has {shown(about.get('what'))} of version {about.get('version')}, expected {what} of version"
                f" {_VERSION}"
            )
    if not abouts:
        raise InputError(f"data has no row with 'about', expected all rows of {what}.to_arrow()")
    rows = TableRows(*(_numbers(pa, table.column(name), name) for name in _COLUMNS))
    if _checksum(rows) != sum(about["checksum"] for about in abouts) % 2**64:
        raise InputError(
            f"data lacks rows, or has some twice or changed, expected all rows of {what}.to_arrow() as they were"
        )
    return rows, abouts


def _as_table(pa: Any, data: object) -> Any:
    """Return a table of one or many tables or batches."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    parts = [_as_table(pa, part) for part in data] if isinstance(data, Iterable) else []
    if not parts or isinstance(data, str | bytes | Mapping):
        raise InputError(f"data is {shown(data)}, expected a pyarrow.Table, or batches")
    return pa.concat_tables(parts, promote_options="default")


def _numbers(pa: Any, column: Any, name: str) -> Ints:
    """Return a column as whole numbers."""
    if not pa.types.is_integer(column.type):
        raise InputError(f"data has {column.type} in column {name!r}, expected whole numbers")
    return np.asarray(column.fill_null(0).to_numpy(), np.int64)


def as_numbers(keys: Keys) -> Ints:
    """Return keys as signed numbers of 64 bits, which every engine has."""
    return np.asarray(keys.astype(np.uint64).view(np.int64))


def as_keys(numbers: Ints, kind: Kind) -> Keys:
    """Return keys from numbers."""
    return np.asarray(numbers.view(np.uint64).astype(kind.key_dtype))


def rows_of_items(items: Items, place: Ints) -> TableRows:
    """Return items as rows; places are (n_items,)."""
    label = group_of(items.starts)
    return TableRows(label, place, as_numbers(items.keys), items.positive_weights, items.weights)


def rows_of_keys(keys: LabelKeys) -> TableRows:
    """Return candidates as rows."""
    nothing = np.zeros(keys.keys.size, np.int64)
    return TableRows(keys.label, nothing, as_numbers(keys.keys), nothing, nothing)


def rows_of_tally(tally: Tally) -> list[TableRows]:
    """Return what is counted as rows; runs without weight are left out."""
    counted, tied = tally
    place = np.arange(counted.keys.size) - counted.starts[group_of(counted.starts)]
    is_needed = are_candidates(counted.starts) | (counted.weights > 0)
    rows = rows_of_items(counted, place)
    return [
        TableRows(*(column[is_needed] for column in rows)),
        rows_of_items(tied, np.full(tied.keys.size, Special.TIED)),
    ]


def rows_of_labels(
    place: Special,
    keys: Ints,
    positives: Ints | None = None,
    weights: Ints | None = None,
) -> TableRows:
    """Return a row for each label."""
    nothing = np.zeros(keys.size, np.int64)
    return TableRows(
        np.arange(keys.size),
        np.full(keys.size, place),
        keys,
        nothing if positives is None else positives,
        nothing if weights is None else weights,
    )


def tally_of_rows(rows: TableRows, kind: Kind) -> Tally:
    """Add up rows that are runs, candidates, or tied."""
    tied = rows.at(rows.place == Special.TIED)
    starts = np.searchsorted(tied.label, np.arange(kind.n_labels + 1))
    items = Items(starts, as_keys(tied.key, kind), tied.positives, tied.weight)

    # A label has 2 k + 1 items if it has k candidates, of which none is left out.
    own = rows.at(rows.place >= 0)
    is_candidate = own.place % 2 == 1
    most = np.zeros(kind.n_labels, np.int64)
    np.maximum.at(most, own.label[is_candidate], own.place[is_candidate] + 1)
    starts = np.append(0, (most + 1).cumsum())
    at = starts[own.label] + own.place
    keys = np.zeros(starts[-1], kind.key_dtype)
    np.maximum.at(keys, at, as_keys(own.key, kind))
    sums = np.zeros((2, starts[-1]), np.int64)
    np.add.at(sums[0], at, own.positives)
    np.add.at(sums[1], at, own.weight)
    return Tally(Items(starts, keys, *sums), tie_groups(items))


def opened_of_rows(rows: TableRows, kind: Kind, n_tables: int) -> Opened:
    """Read which keys of each label are opened: the same in all of so many tables."""
    opened = Opened.nothing(kind.n_labels, kind.key_dtype)
    own = rows.at(rows.place == Special.OPENED)
    opened.lowest[own.label] = as_keys(own.key, kind)
    opened.highest[own.label] = as_keys(own.weight, kind)
    n_tables_of = np.bincount(own.label, minlength=kind.n_labels)  # (n_labels,)
    differ = (as_keys(own.key, kind) != opened.lowest[own.label]) | (
        as_keys(own.weight, kind) != opened.highest[own.label]
    )
    if differ.any() or np.setdiff1d(n_tables_of, [0, n_tables]).size:
        raise InputError("data has candidates with other scores opened, expected the same in all")
    return opened


def about_kind(kind: Kind) -> dict[str, Any]:
    """Return a kind of counts as plain values."""
    return {
        "n_labels": kind.n_labels,
        "dtype": kind.dtype.str,
        "sparse": kind.sparse,
        "missing": kind.missing.hex(),
        "label_names": kind.label_names,
        "unit": kind.unit.hex(),
    }


def kind_of(abouts: list[dict[str, Any]]) -> Kind:
    """Read the kind that all tables have."""
    kinds = []
    for about in abouts:
        values = about["kind"]
        names = values["label_names"]
        kinds.append(
            Kind(
                n_labels=values["n_labels"],
                dtype=np.dtype(values["dtype"]),
                sparse=values["sparse"],
                missing=float.fromhex(values["missing"]),
                label_names=None if names is None else tuple(names),
                unit=float.fromhex(values["unit"]),
            )
        )
    for other in kinds[1:]:
        kinds[0].refuse_other(other, "a table")
    return kinds[0]


def about_totals(totals: Totals) -> dict[str, Any]:
    """Return totals as plain values, but for those of each label."""
    values = totals._asdict()
    of_labels: Dense = values.pop("of_labels")
    return {**values, "of_all": of_labels[:, 0].tolist() if totals.all_known else [0, 0, 0]}


def totals_of(abouts: list[dict[str, Any]], rows: TableRows, kind: Kind) -> Totals:
    """Add up the totals of all tables."""
    own = rows.at(rows.place == Special.KNOWN)
    of_labels = np.zeros((3, kind.n_labels), np.int64)
    for total, column in zip(of_labels, (own.key, own.positives, own.weight), strict=True):
        np.add.at(total, own.label, column)
    whole = None
    for about in abouts:
        values = dict(about["totals"])
        of_all = np.array(values.pop("of_all"), np.int64)[:, np.newaxis]
        part = Totals(**values, of_labels=of_all)
        whole = part if whole is None else whole + part
    assert whole is not None, "there is a table"
    return whole if whole.all_known else whole._replace(of_labels=whole.of_labels + of_labels)
