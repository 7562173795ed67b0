"""Rows from wherever they lie as arrays: mapped where they are, or decoded once into temporary files."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import ProgressBar, check_n_jobs, read_ahead, workers
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import InputError, shown
from thresholds._checks.unknown import unknown_values
from thresholds._results.words import counted
from thresholds.sources.folder import Folder, Spill
from thresholds.sources.growing import GrowingRows
from thresholds.sources.rows import Rows, n_rows_of
from thresholds.sources.shards import FilePart, Shard, blocks_of, where_in
from thresholds.sources.source import BlockSource

_SMALL = 2**26  # bytes of rows that are kept in memory
_EXPECTED = "expected a folder on a larger disk, or None to keep rows in memory"

# A block, and where it is.
Told: TypeAlias = Generator[tuple[Rows, str], None, None]


@dataclass(frozen=True, repr=False, eq=False)
class GatheredRows:
    """All rows of a source, as arrays: what `gather` returns, and a source itself.

    Attributes
    ----------
    y_true : (n_samples, n_labels) of 0 and 1, dense or CSR; None where the source has scores alone
    y_score : same shape
    sample_weight : float64 (n_samples,), None without weights
    groups : (n_samples,) names or numbers, None without groups
    label_names : strings, one per label; None where labels have no names, or arrays that are frames have them
    missing : score of the entries that a sparse `y_score` leaves out
    unknown : what stands in `y_true` for truth that is not known, None where all is known
    unknown_in_source : what stood for it in the source, as `gather` was told

    Notes
    -----
    Arrays that were given are these very arrays. Of all else, `y_true` is uint8, or int8 with -1 where it is not known,
    and arrays are read-only. Those in temporary files take room on the disk until they are let go.
    """

    y_true: Any
    y_score: Any
    sample_weight: Floats | None = None
    groups: Dense | None = None
    label_names: tuple[str, ...] | None = None
    missing: float = 0.0
    unknown: object = None
    unknown_in_source: object = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return n_rows_of(self.y_score)

    def __repr__(self) -> str:
        """Return size and kind on one line."""
        scores = self.y_score
        words = [counted(len(self), "row")]
        if len(getattr(scores, "shape", ())) == 2:
            words.append(counted(scores.shape[1], "label"))
        kind = "sparse " if is_sparse(scores) else ""
        words.append(f"{kind}{getattr(scores, 'dtype', type(scores).__name__)} scores")
        words += [
            f"with {name}"
            for name in ("sample_weight", "groups")
            if getattr(self, name) is not None
        ]
        return f"{type(self).__name__}({', '.join(words)})"


def gather(
    source: object,
    *,
    spill: Spill = "auto",
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> GatheredRows:
    """Make arrays of rows that are larger than memory, or come in pieces.

    Parameters
    ----------
    source : where the rows come from
        Arrays `(y_true, y_score)` or `(y_true, y_score, sample_weight)`, or a mapping with the keys y_true, y_score,
        sample_weight, groups: NumPy's, memory maps, zarr's, h5py's, Dask's, SciPy's.
        A path of a file, a folder or a pattern of shards, or a list of paths, of any format of docs/files.md. A
        `datasets.Dataset`, whose columns are found as those of files are. All rows of a file are read, whatever split
        it names, and neither weights nor groups: for these give arrays.
        An iterator of blocks, or a function without arguments that returns one. A list of such functions, or of
        functions that return one block.
        A block is `(y_true, y_score)`, `(y_true, y_score, sample_weight)` or a mapping with the keys above, as
        `fit_empirical` takes them; without y_true, or with None, where only scores are known. Weights are in all
        blocks or count as 1; truth and groups are in all blocks or in none.
    spill : where rows are kept that are no arrays
        "auto" (default): in the folder for temporary files, if that is on a disk, where they may take half of what is
        free; else in memory. A folder: there. None: in memory.
        Rows of less than 64 MB stay in memory in any case.
    missing : score of the entries that a sparse `y_score` leaves out
    unknown : what stands in truth for cells that are not known, as in `fit_empirical`
    label_names : strings, one per label; None (default) for those of the first file, or block
        Columns of files, and blocks that have their labels by name, are put in this order.
    n_jobs : threads; with more than one, a block of a file is decoded while the one before it is written
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    GatheredRows
        `fit_empirical`, `fit`, `diagnose`, `cross_fit`, `compare` and `calibrate` take it, or the source itself, in
        place of `y_true`. Groups are left out where nothing looks at them: in fits without a guard or a promise, in
        `diagnose` and in `calibrate`. Weights are refused by `diagnose`, which has no use for them.
        For other functions give its arrays:
        `thresholds.select_rule(rows.y_true, rows.y_score, label_names=rows.label_names)`.

    Raises
    ------
    InputError
        As `fit_empirical`, with the file or the shard, and the block, where it was found; for blocks of another width,
        dtype or other label names than those before; for a disk without room; for no rows.
        Whatever a source raises passes, with a note that says in which shard and block it was.
        Temporary files are gone then.

    Notes
    -----
    Arrays in memory, and memory maps, are returned as they are, unchecked, as whoever reads them checks them: so are
    those of a `.npy` file, and of an `.npz` that is not compressed. Of all else each block is read once, checked, and
    written to temporary files without a name (on systems that let files without one be), which are mapped. They vanish
    when the arrays are let go, or with the process, however that ends.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         y_true = rng.random((100, 3)) < 0.2
    ...         yield y_true, rng.normal(size=(100, 3)) + y_true
    >>> rows = thresholds.gather(blocks)
    >>> rows
    GatheredRows(1,000 rows, 3 labels, float64 scores)
    >>> rule = thresholds.fit_empirical(rows)
    >>> thresholds.diagnose(rows, rule=rule).verdict.tolist()
    ['unproven', 'unproven', 'unproven']
    """
    missing = _checks.missing(missing, np.dtype(np.float64))
    unknown_values(unknown)
    names = None if label_names is None else _checks.names_of_labels(label_names)
    folder = Folder.of(spill)
    check_n_jobs(n_jobs)
    _checks.option(progress, "progress", (True, False))
    if isinstance(source, GatheredRows):
        return _as_described(source, missing, unknown, names)
    blocks = BlockSource.of(source, label_names=names, unknown=unknown)
    if names is None:
        names = blocks.label_names
    if blocks.in_place is not None:
        return GatheredRows(*blocks.in_place, names, missing, unknown, unknown)

    # Read every block, and keep it.
    rows = GrowingRows(
        label_names=names,
        missing=missing,
        unknown=unknown,
        n_rows=blocks.n_rows,
        without_truth=True,
    )
    bar = ProgressBar("reading", blocks.n_rows or 0, unit="rows") if progress else None
    try:
        with closing(_told(blocks, n_jobs)) as told:
            for block, where in told:
                with said_where(where):
                    rows.add(block)
                    rows = _with_room(rows, folder, blocks.n_rows)
                if bar is not None:
                    bar.step(block.n_rows)
        if not len(rows):
            raise InputError("source has no rows, expected at least one")
        return GatheredRows(
            rows.y_true,
            rows.y_score,
            rows.sample_weight,
            rows.groups,
            rows.label_names,
            rows.missing,
            rows.unknown,
            unknown_in_source=unknown,
        )
    except BaseException:
        # Whoever looks at the error may hold these rows for long.
        rows.close()
        raise
    finally:
        if bar is not None:
            bar.close()


def _as_described(
    rows: GatheredRows, missing: float, unknown: object, label_names: tuple[str, ...] | None
) -> GatheredRows:
    """Return rows with what is said of them beside; refuse what they say otherwise."""
    if unknown_values(unknown) in (
        unknown_values(rows.unknown),
        unknown_values(rows.unknown_in_source),
    ):
        unknown = None  # it was said to `gather`
    said = {
        "missing": (missing, 0.0),
        "unknown": (unknown, None),
        "label_names": (label_names, None),
    }
    more: dict[str, Any] = {}
    for name, (given, nothing) in said.items():
        own = getattr(rows, name)
        if given in (nothing, own):
            continue
        if own != nothing:
            raise InputError(
                f"{name} is {shown(given)} beside gathered rows that have {shown(own)}, expected the same or none"
            )
        more[name] = given
    return replace(rows, **more) if more else rows


def _with_room(rows: GrowingRows, folder: Folder | None, n_rows: int | None) -> GrowingRows:
    """Return the rows, in files if all that are expected take more than a little; refuse what finds no room."""
    needed = rows.nbytes if n_rows is None else rows.nbytes * n_rows // max(1, len(rows))
    if folder is None or needed <= _SMALL:
        return rows
    if needed > folder.most:
        raise InputError(
            f"spill is {folder.path!r}, where rows may take {folder.most / 1e9:.3g} GB, too little after {len(rows):,}"
            f" rows for {needed / 1e9:.3g} GB of them, {_EXPECTED}"
        )
    return rows if rows.spill is not None else rows.moved_to(folder.path)


def _told(source: BlockSource, n_jobs: int | None) -> Told:
    """Return every block, and where it is.

    With two threads, a block of a file is decoded while the one before it is written: that takes a tenth less.
    """
    told = _one_by_one(source)
    if workers(n_jobs) > 1 and all(isinstance(shard, FilePart) for shard in source.shards):
        # Only of files: those who give blocks themselves may fill the same array again and again.
        return read_ahead(told)
    return told


def _one_by_one(source: BlockSource) -> Told:
    """Return the blocks of all shards; what reading one raises is said to have come up there."""
    for number, shard in enumerate(source.shards):
        yield from told_of_shard(shard, f"in shard {number}, " if len(source.shards) > 1 else "")


def told_of_shard(shard: Shard, in_shard: str) -> Told:
    """Return the blocks of a shard, and where each is."""
    n_rows = 0
    blocks = blocks_of(shard)
    while True:
        where = where_in(shard, in_shard, n_rows)
        with said_where(where):
            block = next(blocks, None)
        if block is None:
            return
        yield block, where
        n_rows += block.n_rows


@contextmanager
def said_where(where: str) -> Iterator[None]:
    """Say where something failed: in the sentence of a refusal, in a note to any other error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{error} ({where})") from None
    except Exception as error:
        error.add_note(f"raised {where}")
        raise
