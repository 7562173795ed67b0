"""Thresholds from more rows than memory holds, wherever they lie: `fit`, at the top `thresholds.fit_chunks`.

Two roads lead to the same rule.

*In place*: where this process reads the rows, and they are arrays, in memory or mapped into it, the fit of arrays goes
over them block by block, and keeps less than a gigabyte of what it finds. Rows that take long to decode are spilled
first, once, and become mapped arrays.

*By counts*: where `map` hands out shards, or the fit of arrays would keep more, what weighs at which score adds up over
rows (`Counts`), in as many passes as the counts say that they need.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from thresholds._arrays.memory import memory_limit
from thresholds._arrays.sparse import is_sparse
from thresholds._checks import Average, InputError, shown
from thresholds.chunks.candidates import reads_steps_only
from thresholds.chunks.counting import About, Counting, Found, Survey, Surveying
from thresholds.chunks.counts import refuse_rows
from thresholds.chunks.passes import Map, Passes, ScoresBar
from thresholds.chunks.sampling import Picked, Plan
from thresholds.chunks.sources import BlockSource, Rows, map_of
from thresholds.chunks.spilling import Folder, Spill, spilled
from thresholds.fitting.empirical import fit_empirical, fit_problem
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.rule import ThresholdRule

_N_PASSES = 3  # as a rule; what is counted says whether there is another
_SHARE_OF_MEMORY = 0.25  # A fit takes at most as much as its rows, mostly a quarter of it.


@with_fit_options(DEFAULTS)
def fit(
    source: object,
    average: Average = "macro",
    *,
    map: Map = map,
    spill: Spill = "auto",
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    **options: Unpack[FitArguments],
) -> ThresholdRule:
    """Fit thresholds on rows that come in blocks: from disk, from a generator, from the workers of a cluster.

    The rule is that of `fit_empirical` on all rows at once, bit for bit, however they are cut into blocks, and whoever
    reads them. (With weights that are no whole numbers the objective may differ in its last bits, as floats are added
    in another order.)

    Parameters
    ----------
    source : where the rows come from
        Arrays `(y_true, y_score)` or `(y_true, y_score, sample_weight)`: NumPy's, memory maps, zarr's, dask's.
        A path of a file, a folder or a pattern of shards, or a list of paths, of any format of docs/files.md; parts of
        a file, such as row groups or ranges of lines, are shards. A `datasets.Dataset`, whose columns are found as
        those of files are.
        A function without arguments that returns an iterator of blocks, a new one each time it is called.
        A list of such functions, or of functions that return one block: shards, which `map` hands out.
        A block is `(y_true, y_score)`, `(y_true, y_score, sample_weight)` or a mapping with these keys, as
        `fit_empirical` takes them; weights are in all blocks or count as 1.
    average, and the options from `beta` on : as in `fit_empirical`, with its defaults
        What looks at rows is refused: average "samples", `max_predicted_per_row`, and what `Counts.fit` refuses.
    map : applies a function to tasks, and returns or yields the results, in any order: `map(function, tasks)`
        The built-in one (default) reads rows in this process, on `n_jobs` threads. That of an executor, `Client.map`
        followed by `gather`, and the like have workers read them. Function, tasks and results are pickled. Workers use
        one thread each. Arrays of Dask need no other: its scheduler computes their blocks in each pass, and adds up
        what is counted; `persist()` them first if computing them takes long.
    spill : where rows that take long to decode are kept between passes, as raw cells in temporary files
        "auto" (default): in the folder for temporary files, if rows are no arrays, `map` is the built-in one, that
        folder is on a disk, and they take at most half of what is free there. A folder: there, and if they do not fit,
        an error. None: nothing is written, and the source is read in every pass.
        The files vanish when the fit ends, however it ends.
    missing, unknown, label_names : as in `fit_empirical`
        Blocks that have their labels by name, as frames do, are put in the order of the first.

    Returns
    -------
    ThresholdRule

    Raises
    ------
    InputError
        As `fit_empirical`, with the shard and the block where it was found; for blocks of another width, dtype or
        other label names than those before; for a source that cannot be read twice, or gives other rows when it is; for
        a disk that is full; for no rows.
        Whatever a source or an engine raises passes, with a note that says in which shard and block it was.

    Notes
    -----
    Arrays that lie in memory, or are mapped and take at most a quarter of what the process may use, are fitted as by
    `fit_empirical`, in its memory: so are rows that were spilled. Of more the following holds.

    Passes: over dense arrays, without weights, unknown truth and guards, three over the scores and two over the truth.
    By counts, one for scores of at most 16 bits; for others one that finds scores of positives and one or more that
    count there. `fitted_on` and `profile` take one more where everything was counted in one.

    Memory: over dense arrays, without weights, unknown truth and guards, less than 1 GB, however many rows there are,
    up to 10,000 labels and 100 million positives of a label. By counts, a block of 2 M cells and its copies, and three
    times `Counts.nbytes`: of all rows, of a shard and of a block, the last two for each thread or worker; and 8 bytes a
    row if rows have weights. Without guards, limits and floors counts are narrowed until about 4 million scores are
    kept, where quantiles of positives can part them: 100 MB to send, .5 GB measured where they are added up and fitted.
    Under limits and floors they take 40 bytes for each distinct score of a positive. A guard reads all scores: its
    counts take 20 bytes (24 of float64) for each distinct score of a label, positives' or not; for 20 million such
    scores 1 GB was measured in all, on one thread.

    Rows are compared between passes: their number, a sum over all bits of scores, truth and weights, and a checksum of
    every 64th row. A source that shuffles its rows within shards is refused.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         y_true = rng.random((100, 3)) < 0.2
    ...         yield y_true, rng.normal(size=(100, 3)) + y_true
    >>> rule = thresholds.fit_chunks(blocks)
    >>> print(f"{rule.objective:.4f}")
    0.5161
    """
    _refuse_columns(options)
    fit_options = FitOptions(average=average, **options)
    refuse_rows(fit_options)
    about = About(missing, unknown, label_names)
    folder = Folder.of(spill)
    blocks = BlockSource.of(source, label_names=label_names, unknown=unknown)
    if about.label_names is None:
        about = about._replace(label_names=blocks.label_names)
    passes = Passes(blocks, map, fit_options.n_jobs)
    bar = None
    if fit_options.progress:
        bar = passes.bar = ScoresBar("fitting", blocks.n_rows, _N_PASSES)
    try:
        kept = None
        if passes.is_local and blocks.in_place is None and folder is not None:
            step = (lambda *_: None) if bar is None else bar.read
            kept = spilled(blocks, folder, n_jobs=passes.n_jobs, step=step, **about._asdict())
        if kept is not None:
            # From here on, rows are arrays that are mapped.
            about = About(missing, kept.unknown, kept.label_names)
            rows = Rows(kept.y_true, kept.y_score, kept.sample_weight)
            passes.source = BlockSource.of_arrays(rows)
        if passes.is_local and _fits_in_place(passes.source, about, fit_options):
            if bar is not None:
                bar.close()
            return _fit_in_place(passes.source, average, about, options)
        return _fit_counts(passes, about, fit_options)
    finally:
        if bar is not None:
            bar.close()


fit_chunks = fit


def _refuse_columns(options: Mapping[str, Any]) -> None:
    """Refuse what has a value for each row, and so comes with the rows."""
    if options.get("sample_weight") is not None:
        raise InputError(
            f"sample_weight is {shown(options['sample_weight'])}, expected the weights of a block beside its rows:"
            " (y_true, y_score, sample_weight)"
        )
    if options.get("groups") is not None:
        raise InputError(
            f"groups is {shown(options['groups'])}, which guards and promises read row by row; expected None, or"
            " fit_empirical with the rows"
        )


def _fits_in_place(source: BlockSource, about: About, options: FitOptions) -> bool:
    """Whether a fit of arrays keeps little beside them, or they lie in memory as they are."""
    rows = source.in_place
    if rows is None:
        return False
    arrays = _arrays_of(rows)
    if all(map_of(array) is None for array in arrays):
        return True
    # What is small beside memory is as good as in it.
    limit = memory_limit()
    if limit is not None and sum(array.nbytes for array in arrays) <= _SHARE_OF_MEMORY * limit:
        return True
    is_plain = about.unknown is None and rows.sample_weight is None
    is_dense = not is_sparse(rows.y_score) and not is_sparse(rows.y_true)
    return reads_steps_only(options) and is_plain and is_dense


def _arrays_of(rows: Rows) -> list[Any]:
    """Return the arrays that hold truth and scores, those of sparse matrices too."""
    return [
        array
        for part in (rows.y_true, rows.y_score)
        for array in ((part.data, part.indices) if is_sparse(part) else (part,))
    ]


def _fit_in_place(
    source: BlockSource, average: Average, about: About, options: FitArguments
) -> ThresholdRule:
    """Fit arrays."""
    assert source.in_place is not None, "there are some"
    y_true, y_score, sample_weight, *_ = source.in_place
    about_rows: dict[str, Any] = {"sample_weight": sample_weight, **about._asdict()}
    rule = fit_empirical(y_true, y_score, average, **about_rows, **options)
    assert isinstance(rule, ThresholdRule), "what looks at rows is refused"
    return rule


def _fit_counts(passes: Passes, about: About, options: FitOptions) -> ThresholdRule:
    """Fit what adds up over blocks."""
    # 1. What scores there are; scores of few bits are counted at once.
    n_jobs = passes.n_jobs_within
    surveying = Surveying(about, n_jobs, reads_steps_only(options))
    survey: Survey = passes.add_up(surveying)
    if survey.lacks_some:
        survey = passes.add_up(replace(surveying, at_once=False))
    about = about._replace(label_names=survey.kind.label_names)
    n_cells = passes.n_rows * survey.n_labels
    weights = survey.weights_of_rows(passes)
    plan = Plan.of(passes.n_rows, survey.n_labels, passes.n_stored, weights)

    # 2. Count there, as often as it takes; rows and cells to keep are picked in the first of these passes.
    counts, wanted = survey.counts, survey.first_candidates(options)
    picked: Picked | None = None
    while wanted is not None or picked is None:
        counting = Counting(about, n_jobs, wanted, survey.unit, plan if picked is None else None)
        if wanted is not None:
            counts = None  # Those of the pass before have told all they can.
        found: Found = passes.add_up(counting)
        counts, picked = found.counts or counts, picked or found.picked
        assert counts is not None, "one of two passes has counted"
        del found
        wanted = survey.next_candidates(counts, options, n_cells)

    # 3. Fit the counts.
    assert counts is not None, "there was such a pass"
    some_rows = picked.all(
        about.missing,
        weighted=weights is not None,
        lacks_some=passes.n_stored < n_cells,
    )
    return fit_problem(replace(counts.problem(options), some_rows=some_rows), options)
