"""My data come as files: how are they read in blocks of rows, and decisions written whole or not at all?

`open_scores` gives a `Source` for every format. Commands that fit `gather` it; `predict` passes blocks on to a writer.

Each format is one function, and one line in a table of formats: in `opening` to read it, in `writing` to write it.
A format of named columns gives a `FileTable` (`tables/table.py`): its columns are read as Arrow's batches. Which of
them are scores, truth, groups, weights and keys is found out for all alike (`tables/roles.py`). A format of whole
matrices gives a `Source`.
"""

from thresholds._atomic import write_atomically
from thresholds.files.converting import in_dtype
from thresholds.files.opening import (
    open_scores,
    read_label_names,
    read_labelled,
    refuse_overwriting,
)
from thresholds.files.reading import read
from thresholds.files.score_file import (
    LabelledFile,
    ScoreFile,
    described,
    dtype_of,
    gather,
    gather_labelled,
)
from thresholds.files.source import Block, Source, Wanted
from thresholds.files.writing import DecidedRows, check_suffix, write_blocks

__all__ = [
    "Block",
    "DecidedRows",
    "LabelledFile",
    "ScoreFile",
    "Source",
    "Wanted",
    "check_suffix",
    "described",
    "dtype_of",
    "gather",
    "gather_labelled",
    "in_dtype",
    "open_scores",
    "read",
    "read_label_names",
    "read_labelled",
    "refuse_overwriting",
    "write_atomically",
    "write_blocks",
]
