"""What an import costs, and that no state of the disk can break one."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import thresholds

HEAVY = ("numba", "llvmlite", "scipy", "sklearn", "matplotlib", "dask", "pandas", "joblib")
NOWHERE = "/dev/null/nowhere"  # a folder that nobody can make, root included


def run(code: str, *, folder: Path | None = None, **environment: str) -> str:
    """What a new interpreter prints, in which warnings are errors; `folder` holds the package to import."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


WITHOUT_HEAVY = (
    "FixedRule(0.5, 2).predict([[0.1, 0.9]])",
    "metrics.f1_score",
    "metrics.f1_score([[1, 0], [0, 1]], [[1, 0], [1, 1]], average='samples')",
    "metrics.auroc([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]])",
    "RegionRule([[0.5], []]).predict([[0.1, 0.9]])",
    "TopKRule(1).predict([[0.1, 0.9]])",
    "ThresholdRule([0.5, 0.2]).predict([[0.1, 0.9]])",
    "InstanceRule().predict([[0.1, 0.9]])",
    "InstanceRule().predict_from_joint([[0.5, 0.0], [0.25, 0.0]], 0.25)",
    "InstanceRule().predict_from_samples([[[0, 1]], [[1, 1]]])",
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]])",
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]], 'weighted', beta=2).predict([[0.5, 0.5]])",
    "fit_empirical([1, 0] * 200_000, range(400_000))",
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]], sample_weight=[1, 2]).predict([[0.5, 0.5]])",
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]], min_precision=0.5)",
)
WITH_KERNELS = (
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]], 'micro')",
    "fit_empirical([[1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.3]], guard='shrink')",
    "InstanceRule().predict([[0.1, 0.9]], tail=[0.5])",
    "expected_f([[0.1, 0.9]], [[0, 1]], exact=True)",
    "fit_expected([[0.1, 0.9]])",
    "fit_expected([[0.1, 0.9]], exact=True)",
    "calibrate([[0, 1], [1, 1]], [[0.1, 0.9], [0.2, 0.3]]).transform([[0.1, 0.9]])",
    "fit_regions([[0, 1], [1, 1]], [[0.1, 0.9], [0.2, 0.3]])",
)


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The heavy packages that are loaded after each statement, one after another in one interpreter."""
    names = [name for name in thresholds.__all__ if name != "sklearn"]
    statements = {
        "import": "import thresholds",
        "names": f"for name in {names}: getattr(thresholds, name)",
        **{call: f"thresholds.{call}" for call in (*WITHOUT_HEAVY, *WITH_KERNELS)},
    }
    tell = f"print(json.dumps([x for x in {HEAVY} if x in sys.modules]))"
    printed = run("\n".join(["import json, sys", *(f"{s}\n{tell}" for s in statements.values())]))
    return {what: set(json.loads(line)) for what, line in zip(statements, printed.splitlines(), strict=True)}


@pytest.fixture(scope="module")
def of_a_fit() -> set[str]:
    """The modules that are loaded after a fit, and predictions for as many rows as are compared with those of it."""
    fit = "scores = np.arange(300.0).reshape(100, 3)\nthresholds.fit_empirical(scores > 150, scores).predict(scores)"
    return set(run(f"import sys, thresholds\nimport numpy as np\n{fit}\nprint(*sys.modules)").split())


# What is loaded


def test_an_import_does_not_even_load_numpy() -> None:
    assert run("import sys, thresholds\nprint('numpy' in sys.modules)") == "False\n"


def test_a_rule_is_loaded_with_few_modules_of_the_package() -> None:
    """Those of the rules, of the checks, and of arrays on devices."""
    count = "print(sum(name.startswith('thresholds') for name in sys.modules))"
    assert int(run(f"import sys, thresholds.rule\n{count}")) <= 40


@pytest.mark.parametrize(
    "room",
    [
        "_checks.frame_libraries",
        "calibration",
        "_devices.cells",
        "expectation",
        "files",
        "fitting.capping",
        "guarantees",
        "guards.base",
        "metrics.targets",
        "rule.instance",
        "rule.watching.check",
    ],
)
def test_a_plain_fit_and_its_predictions_load_nothing_that_only_options_need(room: str, of_a_fit: set[str]) -> None:
    assert importlib.util.find_spec(f"thresholds.{room}") is not None
    assert f"thresholds.{room}" not in of_a_fit


@pytest.mark.parametrize("what", ["import", "names", *WITHOUT_HEAVY])
def test_names_rules_of_scores_and_first_fits_of_cuts_load_nothing_heavy(
    what: str, loaded: dict[str, set[str]]
) -> None:
    assert loaded[what] == set()


@pytest.mark.parametrize("call", WITH_KERNELS)
def test_guards_and_rules_of_probabilities_load_kernels_and_no_more(call: str, loaded: dict[str, set[str]]) -> None:
    assert loaded[call] <= {"numba", "llvmlite", "scipy"}


# What there is


def test_every_public_name_resolves() -> None:
    names = thresholds.__all__
    assert names == sorted(names)
    found: dict[str, object] = {}
    exec("from thresholds import *", found)
    assert set(names) <= set(found)


def test_public_names_are_listed() -> None:
    assert set(thresholds.__all__) <= set(dir(thresholds))


def test_public_names_are_documented() -> None:
    assert [name for name in thresholds.__all__ if not getattr(thresholds, name).__doc__] == []


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match=r"module 'thresholds' has no attribute 'fit_all'$"):
        _ = thresholds.fit_all
    assert not hasattr(thresholds, "__wrapped__")


def test_the_version_is_that_of_the_installation() -> None:
    from importlib.metadata import version

    assert thresholds.__version__ == version("f1-thresholds")


# What the disk may do: Numba keeps kernels beside the package, else in the user's cache folder, and raises "no locator
# available" where it can make neither, which is what a container without a home is.

SCORE = """
import thresholds
print(thresholds.calibrate([[0], [1], [1]], [[0.1], [0.2], [0.9]]).transform([[0.9]]).item() > 0.5)
"""
UNCACHEABLE = """
from thresholds._kernels import choosing
from numba import njit
try:
    njit(cache=True)(choosing.upper_hulls.py_func)
except RuntimeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, beside which nothing can be cached."""
    here = tmp_path_factory.mktemp("installed")
    source = Path(thresholds.__file__).parent
    shutil.copytree(source, here / "thresholds", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [here / "thresholds", *filter(Path.is_dir, (here / "thresholds").rglob("*"))]:
        (folder / "__pycache__").touch()
    return here


HOMELESS = {"HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow
@pytest.mark.each_value(cache_dir=1)
@pytest.mark.parametrize("cache_dir", ["", NOWHERE])
def test_a_read_only_installation_without_a_home_compiles(package: Path, cache_dir: str) -> None:
    environment = HOMELESS | {"NUMBA_CACHE_DIR": cache_dir}
    assert "no locator available" in run(UNCACHEABLE, folder=package, **environment)
    assert run(SCORE, folder=package, **environment) == "True\n"


@pytest.mark.slow
def test_kernels_are_kept_where_they_can_be(package: Path, tmp_path: Path) -> None:
    assert run(SCORE, folder=package, NUMBA_CACHE_DIR=str(tmp_path), **HOMELESS) == "True\n"
    assert list(tmp_path.rglob("*.nbi"))
