"""Counts as Arrow tables, whose rows may be mixed with those of others, and are added up when read.

A table has one row for each bin, with these columns:

    label      int32    position of the label; -1 in a row that is about all of them
    lowest     float64  the scores between which the bin lies
    highest    float64
    positives  int64    weight of positives
    weight     int64    weight of all
    about      string   JSON in one row of each table: labels, dtype, unit of weights, totals; null in others

Engines need not know what rows mean: they carry them. A checksum, which adds up as well, tells whether a row was lost,
doubled or changed on the way.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._checks import InputError, shown
from thresholds._engine.histograms import Histograms
from thresholds.counts.kind import Kind, Totals
from thresholds.counts.ranges import ScoreRanges
from thresholds.errors import need

_COLUMNS = ("label", "lowest", "highest", "positives", "weight")
_VERSION = 2
_ODD = np.uint64(0x9E3779B97F4A7C15)  # by which bits of a checksum are mixed


class Head(NamedTuple):
    """What a table is about: what counts have beside their bins."""

    kind: Kind
    totals: Totals
    most: int | None
    ranges: ScoreRanges | None


def to_table(head: Head, bins: Histograms) -> Any:
    """Return counts as a `pyarrow.Table`."""
    need("pyarrow", "to_arrow()")
    import pyarrow as pa

    columns = {
        "label": np.append(-1, bins.label).astype(np.int32),
        "lowest": np.append(0.0, bins.lowest.astype(np.float64)),
        "highest": np.append(0.0, bins.highest.astype(np.float64)),
        "positives": np.append(0, bins.hits),
        "weight": np.append(0, bins.weights),
    }
    about = {
        "version": _VERSION,
        "checksum": _checksum(list(columns.values())),
        "kind": _about_kind(head.kind),
        "totals": _about_totals(head.totals),
        "most": head.most,
        "ranges": None if head.ranges is None else _about_ranges(head.ranges),
    }
    texts = [_sealed(about), *[None] * bins.label.size]
    return pa.table({**columns, "about": pa.array(texts, pa.string())})


def from_tables(data: object) -> tuple[list[Head], Histograms]:
    """Read tables or batches: what each table is about, and the bins of all, by label."""
    need("pyarrow", "from_arrow()")
    import pyarrow as pa

    # 1. Read what the tables are about, and see that no row is lacking.
    table = _as_table(pa, data)
    lacking = [name for name in (*_COLUMNS, "about") if name not in table.column_names]
    if lacking:
        raise InputError(
            f"data has no column {lacking[0]!r}, expected a table of Counts.to_arrow()"
        )
    abouts = [
        _unsealed(text) for text in table.column("about").cast(pa.string()).drop_null().to_pylist()
    ]
    if not abouts:
        raise InputError("data has no row with 'about', expected all rows of Counts.to_arrow()")
    columns = [_numbers(pa, table.column(name), name) for name in _COLUMNS]
    if _checksum(columns) != sum(about["checksum"] for about in abouts) % 2**64:
        raise InputError(
            "data lacks rows, or has some twice or changed, expected all rows of Counts.to_arrow() as they were"
        )

    # 2. Read what counts have beside their bins.
    heads = []
    for about in abouts:
        kind = _kind_of(about["kind"])
        ranges = None if about["ranges"] is None else _ranges_of(kind, about["ranges"])
        heads.append(Head(kind, _totals_of(about["totals"]), about["most"], ranges))

    # 3. Put the rows in the order of labels, which are known by their position alone: those of all tables are mixed.
    for head in heads[1:]:
        heads[0].kind.refuse_other(head.kind, "a table")
    is_bin = columns[0] >= 0
    return heads, _histograms(heads[0].kind, [column[is_bin] for column in columns])


def _histograms(kind: Kind, columns: list[Dense]) -> Histograms:
    """Return bins of any tables by label."""
    label, lowest, highest, hits, weights = columns
    order = label.argsort(kind="stable")
    offsets = label[order].searchsorted(np.arange(kind.n_labels + 1))
    lowest, highest = (scores[order].astype(kind.score_dtype) for scores in (lowest, highest))
    return Histograms(offsets, lowest, highest, hits[order], weights[order])


def _checksum(columns: list[Dense]) -> int:
    """Return a number that tells rows from others, in any order; that of all tables is the sum of theirs, mod 2**64."""
    mixed = np.zeros(columns[0].size, np.uint64)  # (n_rows,)
    for column in columns:
        bits = column if column.dtype.kind == "f" else column.astype(np.int64)
        mixed = (mixed ^ bits.view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(32)
    # Rows of zeros count as well.
    return int((mixed + _ODD).sum(dtype=np.uint64))


def _sealed(about: Mapping[str, Any]) -> str:
    """Return what a table is about as text, with a checksum of it."""
    return json.dumps({**about, "crc": zlib.crc32(json.dumps(about).encode())})


def _unsealed(text: str) -> dict[str, Any]:
    """Read what a table is about."""
    try:
        about = dict(json.loads(text))
    except (TypeError, ValueError):
        about = {}
    crc = about.pop("crc", None)
    if crc != zlib.crc32(json.dumps(about).encode()):
        raise InputError(
            f"data has {shown(text)} in column 'about', expected what Counts.to_arrow() writes there"
        )
    if about.get("version") != _VERSION:
        raise InputError(
            f"data has counts of version {about.get('version')}, expected version {_VERSION}"
        )
    return about


def _as_table(pa: Any, data: object) -> Any:
    """Return a table of one or many tables or batches."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    parts = []
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        parts = [_as_table(pa, part) for part in data]
    if not parts:
        raise InputError(f"data is {shown(data)}, expected a pyarrow.Table, or batches")
    return pa.concat_tables(parts, promote_options="default")


def _numbers(pa: Any, column: Any, name: str) -> Dense:
    """Return a column of numbers: scores as float64, all else as int64."""
    is_score = name in ("lowest", "highest")
    is_right = pa.types.is_floating if is_score else pa.types.is_integer
    if not is_right(column.type):
        expected = "floats" if is_score else "whole numbers"
        raise InputError(f"data has {column.type} in column {name!r}, expected {expected}")
    return np.asarray(column.fill_null(0).to_numpy(), np.float64 if is_score else np.int64)


def _about_kind(kind: Kind) -> dict[str, Any]:
    """Return a kind of counts as plain values."""
    return {
        "n_labels": kind.n_labels,
        "dtype": kind.dtype.str,
        "is_sparse": kind.is_sparse,
        "missing": kind.missing.hex(),
        "label_names": kind.label_names,
        "unit": kind.unit.hex(),
    }


def _kind_of(values: dict[str, Any]) -> Kind:
    """Read a kind of counts."""
    names = values["label_names"]
    return Kind(
        n_labels=values["n_labels"],
        dtype=np.dtype(values["dtype"]),
        is_sparse=values["is_sparse"],
        missing=float.fromhex(values["missing"]),
        label_names=None if names is None else tuple(names),
        unit=float.fromhex(values["unit"]),
    )


def _about_totals(totals: Totals) -> dict[str, Any]:
    """Return totals as plain values."""
    return {**totals._asdict(), "of_labels": totals.of_labels.tolist()}


def _totals_of(values: dict[str, Any]) -> Totals:
    """Read totals."""
    return Totals(**{**values, "of_labels": np.array(values["of_labels"], np.int64)})


def _about_ranges(ranges: ScoreRanges) -> dict[str, Any]:
    """Return ranges as plain values: what they were found in is known."""
    names = ("offsets", "lowest", "highest")
    return {name: getattr(ranges, name).tolist() for name in names}


def _ranges_of(kind: Kind, values: dict[str, Any]) -> ScoreRanges:
    """Read ranges."""
    lowest, highest = (np.array(values[name], kind.score_dtype) for name in ("lowest", "highest"))
    return ScoreRanges(kind, np.array(values["offsets"], np.int64), lowest, highest)
