"""Labels of files come in the order of the first, or of the names that are given, whatever order each file has."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import thresholds
from thresholds import InputError, diagnose, fit_chunks, fit_empirical, gather

RNG = np.random.default_rng(0)
Y = (RNG.random((400, 2)) < [0.03, 0.5]).astype(np.uint8)
S = (RNG.normal(size=Y.shape) + Y * [3, 0.5]).astype(np.float32)
NAMES = ["rare", "common"]


def written(folder: Path, kind: str) -> list[Path]:
    """Two files of the same rows, the second with its labels the other way round."""
    paths = [folder / f"{number}.{kind}" for number in range(2)]
    for path, step in zip(paths, (1, -1), strict=True):
        names, y_true, y_score = NAMES[::step], Y[:, ::step], S[:, ::step]
        if kind == "npz":
            np.savez(path, y_true=y_true, y_score=y_score, label_names=names)
        else:
            columns = [f"{what}_{name}" for what in ("y_true", "y_score") for name in names]
            frame = pd.DataFrame(np.hstack([y_true, y_score]), columns=columns)
            frame.astype({name: "float32" if "score" in name else "int8" for name in columns}).to_parquet(path)
    return paths


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_files_with_labels_in_another_order(kind: str, tmp_path: Path) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    paths = written(tmp_path, kind)
    twice = np.vstack([Y, Y]), np.vstack([S, S])
    expected = fit_empirical(*twice, label_names=NAMES)
    by_chunks = [
        fit_chunks(paths, guard=None, **how)
        for how in ({}, {"map": lambda f, t: [f(one) for one in t]})  # type: ignore[arg-type]
    ]
    for rule in (fit_empirical(paths), *by_chunks):
        assert rule.label_names == tuple(NAMES)
        assert rule.objective == expected.objective
        np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
    other_way = fit_empirical(paths[0], label_names=NAMES[::-1])
    np.testing.assert_array_equal(other_way.thresholds, fit_empirical(Y[:, ::-1], S[:, ::-1]).thresholds)


def test_a_rule_finds_its_labels_in_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "npz")[0]
    rule = fit_empirical(Y[:, ::-1], S[:, ::-1], label_names=NAMES[::-1])
    frames = [pd.DataFrame(part, columns=NAMES) for part in (Y, S)]
    expected = diagnose(*frames, rule)
    found = diagnose(path, rule=rule)
    assert dict(zip(found.label_names, found.verdict, strict=True)) == dict(
        zip(expected.label_names, expected.verdict, strict=True)
    )
    one, other = thresholds.compare({"a": rule}, path), thresholds.compare({"a": rule}, *frames)
    assert one.measures[0].macro == other.measures[0].macro


def test_other_labels_than_the_file_has_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "npz")[0]
    with pytest.raises(InputError, match=r"0.npz.*'w'"):
        gather(path, label_names=["w", "x"])


def test_gathered_rows_have_the_missing_score_of_the_rule() -> None:
    from scipy import sparse

    rows: Any = gather((sparse.csr_array(Y), sparse.csr_array(np.maximum(S, 0))), missing=-5.0)
    with pytest.raises(InputError, match=r"^y_true has gathered rows with missing=-5.0, expected 0.0 as the rule has"):
        diagnose(rows, rule=thresholds.FixedRule(0.5, 2))


def test_gathered_rows_are_equal_to_themselves_alone() -> None:
    first, second = gather((Y, S)), gather((Y, S))
    assert first == first
    assert first != second
    assert len({first, second}) == 2
