"""Mutated csv, parquet and datasets through every command; names that lead out of a dataset; rows without end."""

import gzip
import json
import resource
from functools import cache
from pathlib import Path

import mutants
import numpy as np
import pytest

from thresholds import InputError
from thresholds.files import gather, open_scores

pa = pytest.importorskip("pyarrow")

_MOST = 2**30  # bytes that reading takes beside what it reads (docs/files.md)
_SEED = 0


@cache
def cases() -> list[mutants.Case]:
    """Formats that pyarrow reads."""
    return mutants.arrow_cases()


@pytest.mark.parametrize("part", range(3))
def test_mutated_files_are_refused_or_read(part: int, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(60 * part, 60 * (part + 1)):
        assert mutants.misdeed(cases(), _SEED, number, tmp_path / "run") is None
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < _MOST


def dataset(folder: Path, name: object) -> Path:
    """A dataset of one file, which `state.json` names."""
    table = pa.table({"y_score": pa.array([[0.5, 0.25]]), "y_true": pa.array([[1, 0]])})
    (folder / "d" / "sub").mkdir(parents=True)
    for path in ("d/data.arrow", "d/sub/data.arrow", "secret.arrow"):
        with pa.ipc.new_stream(folder / path, table.schema) as writer:
            writer.write_table(table)
    (folder / "d" / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    return folder / "d"


@pytest.mark.parametrize(
    "name", ["../secret.arrow", "sub/data.arrow", "{}/secret.arrow", "..\\secret.arrow", "..", 1, None]
)
def test_a_dataset_is_read_from_its_own_folder(name: object, tmp_path: Path) -> None:
    found = dataset(tmp_path, name.format(tmp_path) if isinstance(name, str) else name)
    with pytest.raises(InputError, match=r"state.json of d names .*, expected files of its own folder"):
        open_scores(found)


@pytest.mark.parametrize("parts", [[{}], ["data.arrow"], {"filename": "data.arrow"}, 3], ids=str)
def test_a_state_of_another_form_is_refused(parts: object, tmp_path: Path) -> None:
    found = dataset(tmp_path, "data.arrow")
    (found / "state.json").write_text(json.dumps({"_data_files": parts}))
    with pytest.raises(InputError, match=r"state.json"):
        open_scores(found)


def test_links_of_a_dataset_are_followed(tmp_path: Path) -> None:
    """As in the cache of Hugging Face's hub, where files are links."""
    found = dataset(tmp_path, "data.arrow")
    (found / "data.arrow").unlink()
    (found / "data.arrow").symlink_to(tmp_path / "secret.arrow")
    np.testing.assert_array_equal(gather(open_scores(found)).y_score, [[0.5, 0.25]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a,b\n" + b"1" * (2**24 + 1), "has a line of more than 16,777,216 bytes"),
        (b"," * 2**16 + b"\n", "has 65,537 columns, expected at most 65,536, or lists"),
    ],
    ids=["a row", "a header"],
)
def test_rows_without_end_are_refused(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(text))
    with pytest.raises(InputError, match=said):
        open_scores(tmp_path / "s.csv.gz")
