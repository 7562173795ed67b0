"""My data come as files: how are they read in blocks of rows, and decisions written whole or not at all?

`open_scores` gives a `Source` for every format. Commands that fit `gather` it; `predict` passes blocks on to a writer.

Each format is one class, and one line in a table of formats: in `opening` to read it, in `writing` to write it.
A format of named columns is a `Table` (`tables/columns`): it says what its columns hold and reads them as arrays of
NumPy. Which of them are scores, truth, groups and keys is found out for all alike. A format of whole matrices is a
`Source` (`source`).
"""

from thresholds.atomic import write_atomically
from thresholds.files.converting import InDtype
from thresholds.files.opening import (
    open_scores,
    read_label_names,
    read_labelled,
    refuse_overwriting,
)
from thresholds.files.reading import read
from thresholds.files.source import (
    Block,
    LabelledFile,
    ScoreFile,
    Source,
    Wanted,
    described,
    dtype_of,
    gather,
    gather_labelled,
)
from thresholds.files.writing import Decided, check_suffix, write_blocks

__all__ = [
    "Block",
    "Decided",
    "InDtype",
    "LabelledFile",
    "ScoreFile",
    "Source",
    "Wanted",
    "check_suffix",
    "described",
    "dtype_of",
    "gather",
    "gather_labelled",
    "open_scores",
    "read",
    "read_label_names",
    "read_labelled",
    "refuse_overwriting",
    "write_atomically",
    "write_blocks",
]
