"""Files that are damaged, or made to harm: well-formed ones of every format, mutated, and what commands make of them.

A mutant is told by two numbers, a seed and its own. `fuzz.py` runs many, in processes that they may end.
"""

import contextlib
import gzip
import io
import json
import os
import re
import shutil
import struct
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import thresholds
from thresholds import cli

NAMES = ("cat", "dog", "emu")
N_ROWS = 24
OUTPUTS = ("out.html", "out.json", "out.npz", "out.jsonl", "out.csv")

Files = dict[str, bytes]  # by their path in a folder
Command = tuple[str, ...]


class Case(NamedTuple):
    """Well-formed files, those among them that are mutated, and commands that work on them."""

    name: str
    files: Files
    mutated: tuple[str, ...]
    commands: tuple[Command, ...]


class Mutant(NamedTuple):
    """Files of which one is mutated, and a command."""

    case: Case
    files: Files
    changed: str
    command: Command
    how: str


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str
    written: bytes | None
    trace: str  # of an exception that got out
    left: tuple[str, ...]  # files that were not there before, but for the output


# Well-formed files


def data() -> dict[str, Any]:
    """Scores that know something of a truth, groups and keys."""
    rng = np.random.default_rng(1)
    truth = rng.random((N_ROWS, 3)) < (0.5, 0.4, 0.3)
    scores = np.round(0.6 * rng.random((N_ROWS, 3)) + 0.3 * truth, 3).astype(np.float32)
    ids = np.array([f"k{row:02}" for row in rng.permutation(N_ROWS)])
    return {"scores": scores, "truth": truth.astype(np.uint8), "ids": ids, "groups": np.arange(N_ROWS) // 2}


DATA = data()


def archive(compression: int = zipfile.ZIP_STORED, **arrays: Any) -> bytes:
    """An `.npz`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as members:
        for name, array in arrays.items():
            members.writestr(f"{name}.npy", single(array))
    return stream.getvalue()


def single(array: Any) -> bytes:
    """An `.npy`."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def matrix(cells: Any, kind: str) -> bytes:
    """A sparse matrix as SciPy saves it."""
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_array(cells).asformat(kind))
    return stream.getvalue()


def text_lines(*rows: str) -> bytes:
    """Lines of text."""
    return "".join(f"{row}\n" for row in rows).encode()


def csr(name: str, matrix: Any) -> dict[str, Any]:
    """A matrix as the four arrays of a CSR matrix."""
    found = sparse.csr_array(matrix)
    return {f"{name}_{part}": getattr(found, part) for part in ("data", "indices", "indptr", "shape")}


def lines(*rows: object) -> bytes:
    """Lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def rules() -> Files:
    """Two saved rules."""
    fitted = thresholds.fit_empirical(DATA["truth"], DATA["scores"], label_names=NAMES)
    given = {"rule.json": fitted, "other.json": fitted.replace({"emu": 0.9})}
    return {name: (json.dumps(rule.to_dict(), indent=1) + "\n").encode() for name, rule in given.items()}


def commands(scores: str, *truth: str, names: str = "", groups: str = "", out: str = "out.npz") -> tuple[Command, ...]:
    """Every command on a file of scores; `truth` says where that is, `names` and `groups` where those are."""
    named = ("--label-names", names) if names else ()
    given, grouped = (*truth, *named), ("--groups", groups) if groups else ()
    keyed = truth[truth.index("--key") :] if "--key" in truth else ()
    return (
        ("fit", scores, *given, *grouped, "-o", "out.json", "--cv", "2"),
        ("fit", scores, *given, "-o", "out.json", "--cv", "0", "--guard", "none", "--average", "micro"),
        ("fit", scores, *given, "--expected", "-o", "out.json"),
        ("compare", scores, *given, *grouped, "--json"),
        ("diagnose", scores, *given, "--rule", "rule.json", "--repair", "out.json", "--fail-on", "platypus=0"),
        ("diagnose", scores, *given, *grouped, "--json"),
        ("report", scores, *given, "--rule", "rule.json", "--against", "other.json", "-o", "out.html"),
        ("fit", scores, *given, "-o", "out.json", "--cv", "0", "--average", "samples", "--shared", "--logits"),
        ("predict", "rule.json", scores, *named, *keyed, "-o", out),
        ("diff", "rule.json", "other.json", scores, *named),
    )


def core_cases() -> list[Case]:
    """Formats that NumPy reads."""
    scores, truth, known = DATA["scores"], DATA["truth"], rules()
    split = {"calib_idx": np.arange(12), "test_idx": np.arange(12, N_ROWS)}
    dense = {"y_score": scores, "y_true": truth, "label_names": np.array(NAMES)}
    stored = csr("y_score", scores) | csr("y_true", truth)
    listed, named = "\n".join(NAMES).encode(), {"names": "names.txt"}
    found = [
        *(
            Case(
                f"{name} of {kind}",
                known | {"s.npz": archive(how, **arrays)},
                ("s.npz",),
                commands("s.npz", groups=who),
            )
            for name, arrays, who in (
                ("archive", dense | split, ""),
                ("archive with groups", dense | {"who": DATA["groups"]}, "who"),
                ("sparse archive", stored | {"label_names": np.array(NAMES)}, ""),
            )
            for kind, how in (("stored arrays", zipfile.ZIP_STORED), ("deflated arrays", zipfile.ZIP_DEFLATED))
        ),
        Case(
            "pair of arrays",
            known | {"s.npy": single(scores), "t.npy": single(truth), "names.txt": listed},
            ("s.npy", "t.npy", "names.txt"),
            commands("s.npy", "--truth", "t.npy", **named, out="out.jsonl"),
        ),
        Case(
            "archives joined by a key",
            known
            | {"s.npz": archive(y_score=scores, id=DATA["ids"], label_names=np.array(NAMES))}
            | {"t.npz": archive(zipfile.ZIP_DEFLATED, y_true=truth[::-1], id=DATA["ids"][::-1])},
            ("s.npz", "t.npz"),
            commands("s.npz", "--truth", "t.npz", "--key", "id"),
        ),
    ]
    pairs = [" ".join(f"{j}:{p}" for j, p in enumerate(row)) for row in scores.tolist()]
    positions = [",".join(str(j) for j, y in enumerate(row) if y) for row in truth.tolist()]
    found += [
        Case(
            f"matrix of SciPy, {kind}",
            known | {"s.npz": matrix(scores, kind), "t.npz": matrix(truth, kind), "names.txt": listed},
            ("s.npz", "t.npz"),
            commands("s.npz", "--truth", "t.npz", **named),
        )
        for kind in ("csr", "csc", "coo")
    ]
    found += [
        Case(
            f"text of a matrix, truth in {name}",
            known | {"s.txt": text_lines(f"{N_ROWS} 3", *pairs), name: truth_text, "names.txt": listed},
            ("s.txt", name),
            commands("s.txt", "--truth", name, **named, out="out.jsonl"),
        )
        for name, truth_text in (
            ("t.txt", text_lines(f"{N_ROWS} 5 3", *(f"{y} 0:0.5 4:1" for y in positions))),
            ("t.svm", text_lines(*(f"{y} 1:0.5 # {i}" for y, i in zip(positions, DATA["ids"], strict=True)))),
        )
    ]
    rule_commands = tuple(c for c in commands("s.npz") if c[0] in ("predict", "diff", "diagnose"))
    given = known | {"s.npz": archive(**dense)}
    found.append(Case("rule", given, ("rule.json", "other.json"), rule_commands))
    for kind in (thresholds.TopKRule(2), thresholds.InstanceRule(), thresholds.fit_regions(truth, scores)):
        text = {"rule.json": (json.dumps(kind.to_dict(), indent=1) + "\n").encode()}
        found.append(
            Case(
                f"rule, {kind.kind}", given | text, ("rule.json",), tuple(c for c in rule_commands if c[0] == "predict")
            )
        )
    return found


def json_cases() -> list[Case]:
    """Lines of JSON, with scores in every shape."""
    scores, truth, known = DATA["scores"], DATA["truth"], rules()
    rows = [
        {"id": i, "p": p, "y": y} for i, p, y in zip(DATA["ids"].tolist(), scores.tolist(), truth.tolist(), strict=True)
    ]
    by_name = [{"id": r["id"], "p": dict(zip(NAMES, r["p"], strict=True))} for r in rows]
    tags = [{"id": r["id"], "tags": [n for n, y in zip(NAMES, r["y"], strict=True) if y]} for r in reversed(rows)]
    named = {"names": "names.txt"}
    listed = "\n".join(NAMES).encode()
    joined = ("--truth", "t.jsonl", "--key", "id")
    tagged = {t["id"]: t["tags"] for t in tags}
    ranked = [(r["id"], sorted(zip(NAMES, r["p"], strict=True), key=lambda pair: -pair[1])) for r in rows]
    beside = [
        {"labels": [n for n, _ in pairs], "scores": [p for _, p in pairs], "gold": tagged[i]} for i, pairs in ranked
    ]
    pipeline = [[{"label": n, "score": p} for n, p in pairs] for _, pairs in ranked]
    gold = [{"gold": tagged[i]} for i, _ in ranked]
    return [
        Case(
            "lines of JSON",
            known | {"s.jsonl": lines(*rows), "names.json": json.dumps(NAMES).encode()},
            ("s.jsonl", "names.json"),
            commands("s.jsonl", names="names.json", out="out.jsonl"),
        ),
        Case(
            "lines of JSON joined by a key",
            known | {"s.jsonl": lines(*by_name), "t.jsonl": lines(*tags)},
            ("s.jsonl", "t.jsonl"),
            commands("s.jsonl", *joined, out="out.jsonl"),
        ),
        Case(
            "shards of JSON",
            known | {"shards/a.jsonl": lines(*rows[:10]), "shards/b.jsonl": lines(*rows[10:]), "names.txt": listed},
            ("shards/a.jsonl", "shards/b.jsonl"),
            commands("shards", **named),
        ),
        Case(
            "names beside scores",
            known | {"s.jsonl": lines(*beside)},
            ("s.jsonl",),
            commands("s.jsonl", out="out.jsonl"),
        ),
        Case(
            "lists of labels with their scores",
            known | {"s.jsonl": lines(*pipeline), "t.jsonl": lines(*gold)},
            ("s.jsonl", "t.jsonl"),
            commands("s.jsonl", "--truth", "t.jsonl", out="out.jsonl"),
        ),
        Case(
            "a label a line",
            known
            | {
                "s.jsonl": lines(
                    *({"id": r["id"], "label": n, "score": p} for r in rows for n, p in zip(NAMES, r["p"], strict=True))
                )
            }
            | {"t.jsonl": lines(*({"id": t["id"], "label": n} for t in tags for n in t["tags"]))},
            ("s.jsonl", "t.jsonl"),
            commands("s.jsonl", "--truth", "t.jsonl", out="out.jsonl"),
        ),
    ]


def arrow_cases() -> list[Case]:
    """Tables of the formats that pyarrow reads, but for JSON."""
    import pyarrow as pa
    from pyarrow import csv, orc, parquet

    scores, truth, known = DATA["scores"], DATA["truth"], rules()
    ids = pa.array(DATA["ids"].tolist())
    tags = pa.array([[name for name, y in zip(NAMES, row, strict=True) if y] for row in truth.tolist()])
    names = tuple(f"y_{what}_{name}" for what in ("score", "true") for name in NAMES)
    wide = pa.table([*(pa.array(column) for column in scores.T), *(pa.array(column) for column in truth.T)], names)
    lists = pa.table({"id": ids, "p": pa.array(list(scores)), "tags": tags, "who": pa.array(DATA["groups"])})
    fixed = pa.table({"p": pa.FixedSizeListArray.from_arrays(scores.reshape(-1), 3), "tags": tags})

    def of(write: Callable[..., object], table: Any, **options: Any) -> bytes:
        stream = io.BytesIO()
        write(table, stream, **options)
        return stream.getvalue()

    def arrow(table: Any, stream: io.BytesIO, **options: Any) -> None:
        with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=10)

    def feather(table: Any, stream: io.BytesIO) -> None:
        with pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)

    cells = [
        (i, n, p, y)
        for i, row, t in zip(DATA["ids"].tolist(), scores, truth, strict=True)
        for n, p, y in zip(NAMES, row.tolist(), t, strict=True)
    ]
    long = pa.table({"id": [c[0] for c in cells], "label": [c[1] for c in cells], "score": [c[2] for c in cells]})
    true = pa.table({"id": [c[0] for c in cells if c[3]], "label": [c[1] for c in cells if c[3]]})
    text = of(csv.write_csv, wide)
    signed = wide.cast(pa.schema([(name, pa.int32() if "true" in name else pa.float32()) for name in names]))
    keyed = of(csv.write_csv, wide.append_column("id", ids))
    sheet = "sep=;\r\n# of Sunday\r\n" + text.decode().replace(",", ";").replace(".", ",").replace("\n", ";;\r\n")
    cells_of_tags = text_lines(
        "id\tfound", *(f"{i}\t{'|'.join(t)}" for i, t in zip(DATA["ids"].tolist(), tags.to_pylist(), strict=True))
    )
    listed, named = {"names.txt": "\n".join(NAMES).encode()}, {"names": "names.txt"}
    dataset = {
        f"d/{name}": content
        for name, content in {
            "state.json": json.dumps({"_data_files": [{"filename": f"data-{k}.arrow"} for k in range(2)]}).encode(),
            "dataset_info.json": json.dumps({"features": {"tags": {"feature": {"_type": "Value"}}}}).encode(),
            "data-0.arrow": of(arrow, lists.slice(0, 14)),
            "data-1.arrow": of(arrow, lists.slice(14)),
        }.items()
    }
    small = {"d/data-0.arrow": of(arrow, fixed, compression="zstd")}
    one = {"d/state.json": json.dumps({"_data_files": [{"filename": "data-0.arrow"}]}).encode()}
    packed = ("none", "snappy", "zstd")
    return [
        Case("csv", known | {"s.csv": text}, ("s.csv",), commands("s.csv", out="out.jsonl")),
        Case(
            "csv of semicolons",
            known | {"s.csv": text.replace(b",", b";").replace(b".", b",").replace(b'"', b"")},
            ("s.csv",),
            commands("s.csv", out="out.csv"),
        ),
        Case(
            "csv of a label a line",
            known | {"s.csv": of(csv.write_csv, long), "t.csv": of(csv.write_csv, true)},
            ("s.csv", "t.csv"),
            commands("s.csv", "--truth", "t.csv", out="out.csv"),
        ),
        Case(
            "csv of a spreadsheet",
            known | {"s.csv": b"\xff\xfe" + sheet.encode("utf-16-le")},
            ("s.csv",),
            commands("s.csv", out="out.csv"),
        ),
        Case(
            "csv with labels in a cell",
            known | {"s.csv": keyed, "t.txt": cells_of_tags},
            ("t.txt", "s.csv"),
            tuple(
                (*command, "--label-separator", "|", "--truth-column", "found")
                for command in commands("s.csv", "--truth", "t.txt", "--key", "id")
                if command[0] not in ("predict", "diff")
            ),
        ),
        Case("packed csv", known | {"s.csv.gz": gzip.compress(text)}, ("s.csv.gz",), commands("s.csv.gz")),
        Case(
            "csv joined by a key",
            known
            | {
                "s.csv": keyed,
                "t.jsonl": lines(
                    *({"id": i, "tags": t} for i, t in zip(DATA["ids"].tolist(), tags.to_pylist(), strict=True))
                ),
            },
            ("s.csv",),
            commands("s.csv", "--truth", "t.jsonl", "--key", "id"),
        ),
        *(
            Case(
                f"wide parquet, {how}",
                known | {"s.parquet": of(parquet.write_table, wide, compression=how)},
                ("s.parquet",),
                commands("s.parquet"),
            )
            for how in packed
        ),
        *(
            Case(
                f"parquet of lists, {how}",
                known | listed | {"s.parquet": of(parquet.write_table, lists, compression=how)},
                ("s.parquet",),
                commands("s.parquet", **named, groups="who"),
            )
            for how in packed
        ),
        Case(
            "shards of parquet",
            known | {f"shards/{k}.parquet": of(parquet.write_table, wide.slice(10 * k, 10)) for k in range(3)},
            ("shards/0.parquet", "shards/2.parquet"),
            commands("shards"),
        ),
        Case("orc", known | {"s.orc": of(orc.write_table, signed)}, ("s.orc",), commands("s.orc")),
        Case("feather", known | {"s.feather": of(feather, wide)}, ("s.feather",), commands("s.feather")),
        Case("dataset", known | listed | dataset, tuple(dataset), commands("d", **named, groups="who")),
        Case("packed dataset", known | listed | small | one, tuple(small), commands("d", **named)),
    ]


# Mutations


_INTEGERS = (0, 1, 2, 127, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_TOKENS = (
    *("NaN", "nan", "inf", "-Infinity", "1e999", "-1", "1e-400", "9" * 400, str(2**63), str(2**64), "0.5", "1", "True"),
    *("null", "true", '""', "[]", "{}", "[" * 3000, '{"a":' * 3000, '"\\ud800"', '"\\u0000"', "\x00", "\ud7ff", "'"),
    *("/etc/passwd", '"../../t"', "id", "cat", "y_score", "#", ",", "\n", "\r", '"', "-", "0x10", "1_000", "1,000"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400)),
    *("", "cat", "\ud800", "\u0000", "-inf", "NaN", "x" * 70_000, [], {}, [[]], [None], {"a": 1}, ["cat", "cat"]),
)
_DTYPES = (
    *("|O", "<f8", "<U9", "<U999999999", ">f4", "<M8[s]", "(2,3)<f4", "<f16", "<c8", "|V4", "|b1", "|S4", "<U0", ""),
    *("<f4'), ('b', '<f4", "((((((", "|u1", "<i8", "<f2"),
)
_SHAPES = (
    *("()", "(0, 3)", "(3, 0)", "(99999999999, 3)", "(-24, -3)", "(4294967296, 4294967296)", "(24, 3, 1)", "(True, 3)"),
    *("(72,)", "(2.5, 3)", "(24, 2)", "(1000000000000, 0)", "(36, 2)", "24", "(3, 24)", "('24', 3)", "(24, 3, 0)"),
)
_HEADERS = (
    (rb"'descr': '[^']*'", tuple(f"'descr': '{dtype}'".encode() for dtype in _DTYPES)),
    (rb"'fortran_order': \w+", tuple(f"'fortran_order': {order}".encode() for order in ("True", "3", "''"))),
    (rb"'shape': \([^)]*\)", tuple(f"'shape': {shape}".encode() for shape in _SHAPES)),
)


def flipped(rng: Any, found: bytes) -> bytes:
    """Some bits are others."""
    changed = bytearray(found)
    for at in rng.integers(0, len(found), int(rng.integers(1, 5))):
        changed[at] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed)


def cut(rng: Any, found: bytes) -> bytes:
    """The end is lost."""
    return found[: int(rng.integers(0, len(found)))]


def _span(rng: Any, found: bytes, longest: int = 64) -> tuple[int, int]:
    """A piece of bytes."""
    start = int(rng.integers(0, len(found)))
    return start, min(len(found), start + int(rng.integers(1, longest)))


def lost(rng: Any, found: bytes) -> bytes:
    """A piece is lost."""
    start, stop = _span(rng, found)
    return found[:start] + found[stop:]


def repeated(rng: Any, found: bytes) -> bytes:
    """A piece stands there twice."""
    start, stop = _span(rng, found, 400)
    return found[:stop] + found[start:stop] + found[stop:]


def spliced(rng: Any, found: bytes) -> bytes:
    """A piece stands in the place of another."""
    (start, stop), at = _span(rng, found), int(rng.integers(0, len(found)))
    return found[:at] + found[start:stop] + found[at + stop - start :]


def junk(rng: Any, found: bytes) -> bytes:
    """Noise, or one byte, stands in the place of a piece."""
    start, stop = _span(rng, found)
    noise = rng.bytes(stop - start) if rng.random() < 0.5 else bytes([rng.choice([0, 255])]) * (stop - start)
    return found[:start] + noise + found[stop:]


def integer(rng: Any, found: bytes) -> bytes:
    """Bytes are a remarkable number."""
    size, at = int(rng.choice([2, 4, 8])), int(rng.integers(0, len(found)))
    number = int(rng.choice(np.array(_INTEGERS, object))) % 2 ** (8 * size)
    return found[:at] + number.to_bytes(size, "little") + found[at + size :]


def token(rng: Any, found: bytes) -> bytes:
    """A word or number of text is another."""
    places = [match.span() for match in re.finditer(rb"[\w.+-]+|[\[\]{},:\"\n]", found)]
    if not places:
        return junk(rng, found)
    (start, stop), word = places[int(rng.integers(0, len(places)))], str(rng.choice(_TOKENS))
    return found[:start] + word.encode(errors="surrogatepass") + found[stop:]


def node(rng: Any, found: bytes) -> bytes:
    """A value of JSON, in one of its lines or in all of it, is another, lost, or there under a second name."""
    parts = found.splitlines(keepends=True)
    whole = not parts[0].rstrip().endswith((b"}", b"]"))
    at = 0 if whole else int(rng.integers(0, len(parts)))
    tree = json.loads(found if whole else parts[at])
    places = list(_places(tree))
    if not places:
        return token(rng, found)
    holder, key = places[int(rng.integers(0, len(places)))]
    what = int(rng.integers(0, 4))
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[str(rng.choice(("zzz", "", "y_true", "key\u0000", key.upper() + "2")))] = holder[key]
    elif what == 2:
        holder[key] = [holder[key]]
    else:
        holder[key] = _VALUES[int(rng.integers(0, len(_VALUES)))]
    text = json.dumps(tree).encode()
    return text if whole else b"".join([*parts[:at], text + b"\n", *parts[at + 1 :]])


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object of JSON, with each of its indices or keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _places(value)


def line(rng: Any, found: bytes) -> bytes:
    """A line is lost, stands there twice or elsewhere."""
    parts = found.splitlines(keepends=True)
    at, to = (int(place) for place in rng.integers(0, len(parts), 2))
    taken = parts[at] if rng.random() < 0.5 else parts.pop(at)
    parts.insert(to, taken)
    return b"".join(parts)


def header(rng: Any, found: bytes) -> bytes:
    """The header of an `.npy` says something else."""
    at = int(rng.integers(0, len(_HEADERS) + 1))
    if at == len(_HEADERS):
        return found[:6] + rng.bytes(4) + found[10:]
    pattern, others = _HEADERS[at]
    other = others[int(rng.integers(0, len(others)))]
    text = re.sub(pattern, lambda _: other, found, count=1)
    size = struct.unpack("<H", found[8:10])[0] + len(text) - len(found)
    return text[:8] + struct.pack("<H", size % 2**16) + text[10:]


def member(rng: Any, found: bytes) -> bytes:
    """A member of an archive is mutated, lost, doubled or named for another; the checksums are right."""
    with zipfile.ZipFile(io.BytesIO(found)) as given:
        members = [(info.filename, given.read(info), info.compress_type) for info in given.infolist()]
    at, stream = int(rng.integers(0, len(members))), io.BytesIO()
    name, content, how = members[at]
    what = int(rng.integers(0, 8))
    if what < 4:
        change = (header, flipped, cut, integer)[what]
        members[at] = name, change(rng, content), how
    elif what == 4:
        members.append((name, flipped(rng, content), how))
    elif what == 5:
        del members[at]
    elif what == 6:
        members[at] = members[int(rng.integers(0, len(members)))][0], content, how
    else:
        members[at] = name, content + rng.bytes(9), how
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content, how in members:
            archive.writestr(name, content, how)
    return stream.getvalue()


def zipped(rng: Any, found: bytes) -> bytes:
    """A field of an archive's local headers, directory or end is another."""
    marks = [m.start() for m in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", found)]
    at = marks[int(rng.integers(0, len(marks)))]
    at += 4 + int(rng.integers(0, 46))
    size = int(rng.choice([1, 2, 4]))
    value = rng.bytes(size) if rng.random() < 0.5 else bytes([rng.choice([0, 1, 8, 12, 14, 93, 255])]) * size
    return found[:at] + value + found[at + size :]


def unpacked(rng: Any, found: bytes) -> bytes:
    """What a gzip file holds is mutated."""
    change = (flipped, cut, lost, repeated, spliced, junk, token, line)[int(rng.integers(0, 8))]
    return gzip.compress(change(rng, gzip.decompress(found)))


def footer(rng: Any, found: bytes) -> bytes:
    """A bit of the footer of parquet is another: what it says of its columns."""
    size = struct.unpack("<I", found[-8:-4])[0]
    changed = bytearray(found)
    changed[len(found) - 8 - int(rng.integers(1, size + 1))] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed)


_BYTES = (flipped, flipped, cut, lost, repeated, spliced, junk, integer)
_OF_SUFFIX: dict[str, tuple[Callable[[Any, bytes], bytes], ...]] = {
    ".npz": (*_BYTES, *4 * (member,), *4 * (zipped,)),
    ".npy": (*_BYTES, *4 * (header,)),
    ".json": (*_BYTES, *4 * (token,), *8 * (node,), line, line),
    ".jsonl": (*_BYTES, *4 * (token,), *8 * (node,), line, line),
    ".txt": (*_BYTES, token, line, line),
    ".svm": (*_BYTES, *4 * (token,), line, line),
    ".csv": (*_BYTES, *6 * (token,), line, line),
    ".gz": (*_BYTES, *8 * (unpacked,)),
    ".parquet": (*_BYTES, *8 * (footer,)),
}


def mutant(cases: Sequence[Case], seed: int, number: int) -> Mutant:
    """Choose a case, a file of it, a change and a command."""
    rng = np.random.default_rng((seed, number))
    case = cases[int(rng.integers(0, len(cases)))]
    changed = case.mutated[int(rng.integers(0, len(case.mutated)))]
    changes = _OF_SUFFIX.get(Path(changed).suffix, _BYTES)
    change = changes[int(rng.integers(0, len(changes)))]
    found = change(rng, case.files[changed])
    if rng.random() < 0.1 and found:
        found = flipped(rng, found)
    command = case.commands[int(rng.integers(0, len(case.commands)))]
    return Mutant(case, case.files | {changed: found}, changed, command, change.__name__)


# Commands at work


def written(files: Files, folder: Path) -> None:
    """Write files into an empty folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def run(files: Files, command: Command, folder: Path) -> Outcome:
    """Run a command, in this process and folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    written(files, folder)
    out, err, trace, before = io.StringIO(), io.StringIO(), "", Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _warnings_as_usual():
            status = cli.main(command)
    except SystemExit as error:
        status = int(error.code or 0)
    except BaseException:
        status, trace = -1, traceback.format_exc()
    finally:
        os.chdir(before)
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    outputs = [found[name].read_bytes() for name in OUTPUTS if name in found]
    left = tuple(sorted(set(found) - set(files) - set(OUTPUTS)))
    return Outcome(status, out.getvalue(), err.getvalue(), outputs[0] if outputs else None, trace, left)


@contextlib.contextmanager
def _warnings_as_usual() -> Iterator[None]:
    """Show warnings as a program does; the tests would raise them."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


def wrong(mutated: Mutant, outcome: Outcome, original: Outcome | None) -> str | None:
    """Say what is wrong with what a command did; `original` is what it did on the files as they were."""
    if outcome.trace:
        return f"an exception: {outcome.trace}"
    if outcome.status not in (0, 1, 2, 3):
        return f"status {outcome.status}"
    if outcome.left:
        return f"left behind: {outcome.left}"
    said = [text for text in outcome.err.splitlines() if not text.startswith("thresholds: warning: ")]
    if outcome.status in (1, 2) and (len(said) != 1 or not said[0].startswith("thresholds: error: ")):
        return f"not one line: {outcome.err!r}"
    if outcome.status in (1, 2) and (outcome.written is not None or outcome.out):
        return f"an output, or words, beside an error: {outcome.out!r} {outcome.err!r}"
    if outcome.status in (0, 3):
        assert original is not None, "what is accepted is compared"
        if (outcome.written is None) != (original.written is None):
            return "no output"
        return _misread(mutated, outcome, original) if mutated.changed.endswith(".npz") else None
    return None


def _misread(mutated: Mutant, outcome: Outcome, original: Outcome) -> str | None:
    """Say that an archive was accepted which NumPy refuses, or that equal arrays gave something else."""
    if mutated.changed not in mutated.command:
        return None
    before, after = (_arrays(files[mutated.changed], mutated.command) for files in (mutated.case.files, mutated.files))
    if isinstance(after, str):
        return f"accepted what NumPy refuses: {after}"
    assert isinstance(before, dict), "the original is well-formed"
    same = before.keys() == after.keys() and all(np.array_equal(before[key], after[key]) for key in before)
    if same and (_figures(outcome.out), outcome.status) != (_figures(original.out), original.status):
        return f"equal arrays, and another result: {outcome.out} {original.out}"
    return None


def _arrays(found: bytes, command: Command) -> dict[str, Any] | str:
    """Read the arrays that a command needs as NumPy does; as text what it says where it refuses to."""
    unread = [key for key in ("who", "id") if key not in command] + ["_is_array"]
    unread += ["y_true"] if command[0] in ("predict", "diff") else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.load(io.BytesIO(found), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files if not key.startswith(tuple(unread))}
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _figures(out: str) -> str:
    """What was printed but for the list of arrays that are left out: a mutant may lack one, or have another dtype."""
    without_notes = re.sub(r'"notes": \[.*?\]', "", out, flags=re.DOTALL)
    return re.sub(r"^left out: .*\n", "", without_notes, flags=re.MULTILINE)
