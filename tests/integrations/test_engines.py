"""The recipes of docs/scale.md, as they stand there, give the rule of a fit in memory, bit for bit."""

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
N_ROWS, N_LABELS, N_SHARDS = 5_000, 7, 12  # more rows than bins, so that there are two passes
NAMES = [f"label {number}" for number in range(N_LABELS)]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Engines warn of much.
]


def recipe(heading: str) -> Any:
    """Give the first block of Python below a heading."""
    section = re.split(r"^##+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return compile(found[1], f"docs/scale.md, {heading}", "exec")


def run(*headings: str, **names: Any) -> thresholds.ThresholdRule:
    """Run recipes after each other, given some names, and return the rule."""
    names["__name__"] = "recipe"  # No module has that name, so that functions are sent to workers as they are.
    for heading in headings:
        exec(recipe(heading), names)
    return names["rule"] if "rule" in names else names["fit"](names["add_up"])


def need(library: str, target: str) -> Any:
    """Skip the test where a library is absent."""
    return pytest.importorskip(library, reason=f"make {target} installs {library}")


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    """Give truth and scores with ties, and a label without positives."""
    rng = np.random.default_rng(0)
    rates = [0.5, 0.3, 0.1, 0.1, 0.03, 0.01, 0.0]
    truth = (rng.random((N_ROWS, N_LABELS)) < rates).astype(np.uint8)
    scores = (rng.normal(size=truth.shape) + truth).astype(np.float32)
    scores[:, ::2] = scores[:, ::2].round(1)
    return truth, scores


@pytest.fixture
def paths(data: tuple[Any, Any], tmp_path: Path) -> list[str]:
    """Give the same as shards of unequal length."""
    truth, scores = data
    edges = np.sort(np.random.default_rng(1).choice(np.arange(1, N_ROWS), N_SHARDS - 1, replace=False))
    names = []
    for number, rows in enumerate(np.split(np.arange(N_ROWS), edges)):
        names.append(str(tmp_path / f"{number}.npz"))
        np.savez(names[-1], y_true=truth[rows], y_score=scores[rows])
    return names


@pytest.fixture
def files(data: tuple[Any, Any], tmp_path: Path) -> list[str]:
    """Give the same as Parquet files of one row for each cell."""
    pa = need("pyarrow", "test-integrations")
    from pyarrow import parquet

    truth, scores = data
    names = []
    for number, rows in enumerate(np.array_split(np.random.default_rng(2).permutation(N_ROWS), 3)):
        cells = {
            "label": np.tile(NAMES, rows.size),
            "score": scores[rows].reshape(-1),
            "truth": truth[rows].reshape(-1),
        }
        names.append(str(tmp_path / f"{number}.parquet"))
        parquet.write_table(pa.table(cells), names[-1])
    return names


def check(rule: thresholds.ThresholdRule, data: tuple[Any, Any], names: Any = None) -> None:
    """Hold a rule to that of all rows in memory."""
    expected = thresholds.fit_empirical(*data, guard="shrink", label_names=names)
    assert rule.thresholds.tolist() == expected.thresholds.tolist()
    assert rule.objective == expected.objective
    assert rule.unsupported.tolist() == expected.unsupported.tolist()
    assert rule.label_names == expected.label_names


# Dask


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start two worker processes."""
    need("distributed", "test-integrations")
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def test_dask(cluster: Any, data: tuple[Any, Any], paths: list[str]) -> None:
    check(run("On a cluster", "Dask", cluster=cluster, paths=paths), data)


def test_dask_when_a_worker_is_killed(cluster: Any, data: tuple[Any, Any], paths: list[str], tmp_path: Path) -> None:
    names: dict[str, Any] = {"cluster": cluster, "paths": paths, "__name__": "recipe"}
    exec(recipe("On a cluster"), names)
    names["count"] = partial(count_or_die, names["count"], paths[5], str(tmp_path / "killed"))
    exec(recipe("Dask"), names)
    check(names["rule"], data)
    assert (tmp_path / "killed").exists()


def count_or_die(count: Any, fatal: str, mark: str, path: str, ranges: Any = None) -> Any:
    """Count a shard; the first worker that comes to a certain one is killed."""
    import os
    import signal

    if path == fatal and not os.path.exists(mark):
        open(mark, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return count(path, ranges)


def test_the_map_of_a_client_of_dask(cluster: Any, data: tuple[Any, Any], paths: list[str]) -> None:
    from distributed import Client

    found = re.search(r"`(lambda function, tasks: .*)`", PAGE)
    assert found is not None
    with Client(cluster) as client:
        by_client = eval(found[1], {"client": client})
        check(thresholds.fit_chunks([partial(read, path) for path in paths], map=by_client), data)


# Ray and Spark


def test_ray(data: tuple[Any, Any], paths: list[str]) -> None:
    ray = need("ray", "test-engines")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    try:
        check(run("On a cluster", "Ray", paths=paths), data)
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark on two threads."""
    need("pyspark", "test-engines")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: on Debian, apt-get install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        yield spark
        spark.stop()


def test_spark(spark: Any, data: tuple[Any, Any]) -> None:
    import pyarrow as pa

    truth, scores = data
    table = pa.table({"y_true": list(truth.astype(np.int8)), "y_score": list(scores)})
    frame = spark.createDataFrame(table).repartition(5)
    check(run("On a cluster", "Spark", frame=frame), data)


# Without an engine


def serial(paths: list[str]) -> Any:
    """Add up what comes of shards, one after another."""
    return lambda function, *arguments: sum(function(path, *arguments) for path in paths)


def test_options_of_a_fit(data: tuple[Any, Any], paths: list[str]) -> None:
    found = re.search(r"`(fit\(add_up, .*?\))`", PAGE)
    assert found is not None
    names = {"__name__": "recipe", "add_up": serial(paths)}
    exec(recipe("On a cluster"), names)
    fitted = thresholds.fit_empirical(*data, "micro", guard="pool")
    assert eval(found[1], names).thresholds.tolist() == fitted.thresholds.tolist()


def test_processes_of_an_executor(data: tuple[Any, Any], paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent import futures

    context = get_context("spawn")
    monkeypatch.setattr(futures, "ProcessPoolExecutor", partial(futures.ProcessPoolExecutor, 2, context))
    check(run("Several processes", thresholds=thresholds, read=read, paths=paths), data)


def read(path: str) -> Any:
    """Read a shard."""
    with np.load(path) as shard:
        return shard["y_true"], shard["y_score"]


# Databases


def test_polars(data: tuple[Any, Any], files: list[str]) -> None:
    need("polars", "test-integrations")
    check(run("Polars", files=files), data, NAMES)


def test_duckdb(data: tuple[Any, Any], files: list[str]) -> None:
    need("duckdb", "test-integrations")
    check(run("DuckDB", files=files), data, NAMES)


def test_each_recipe_is_run() -> None:
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)
    headings = [section.partition("\n")[0] for section in sections if "```python" in section]
    tested = Path(__file__).read_text()
    assert len(headings) == 7
    assert [heading for heading in headings if f'"{heading}"' not in tested] == []
    assert importlib.util.find_spec("recipe") is None
