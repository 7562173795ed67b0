"""Rules outlive their process: files, copies, and nothing that changes under a user's hands."""

import contextlib
import copy
import dataclasses
import itertools
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.rules import AWKWARD, RULES, fitted, same
from thresholds import CalibratedRule, InputError, RegionRule, ThresholdRule, TopKRule, load_rule
from thresholds.rule import Rule

inf = float("inf")

# Files


def saved(rule: Rule, folder: Path) -> Rule:
    """The rule after a round trip through a file."""
    rule.save(folder / "rule.json")
    return load_rule(folder / "rule.json")


@pytest.mark.parametrize("name", RULES)
def test_a_saved_rule_comes_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    rule = RULES[name]
    loaded = saved(rule, tmp_path)
    assert same(loaded, rule)
    assert type(loaded) is type(rule)
    assert loaded.to_dict() == rule.to_dict()
    assert same(load_rule(rule.to_dict()), rule)
    assert str(loaded) == str(rule)


@pytest.mark.parametrize("version", [0, 2, -1, True, "1", None, [1]])
def test_another_version_of_the_format_is_refused(version: object, tmp_path: Path) -> None:
    values = fitted().to_dict()
    assert (values["version"], type(values["version"])) == (1, int)
    (tmp_path / "rule.json").write_text(json.dumps(values | {"version": version}))
    with pytest.raises(InputError, match=r"expected 1$"):
        load_rule(tmp_path / "rule.json")


def test_a_fitted_rule_names_the_version_of_the_library() -> None:
    assert fitted().fitted_on.version == thresholds.__version__


def test_any_threshold_comes_back_bit_for_bit(tmp_path: Path) -> None:
    bits = np.random.default_rng(10).integers(0, 2**64, 20_000, np.uint64).view(np.float64)
    rule = ThresholdRule(bits[~np.isnan(bits)])
    assert saved(rule, tmp_path).thresholds.tobytes() == rule.thresholds.tobytes()


@pytest.mark.parametrize("name", RULES)
def test_files_are_strict_json(name: str, tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    RULES[name].save(tmp_path / "rule.json")
    content = (tmp_path / "rule.json").read_bytes()
    values = json.loads(content.decode("utf-8"), parse_constant=refuse)
    assert values["format"] == "thresholds.rule"
    assert values["version"] == 1
    assert content.endswith(b"}\n")


def test_never_is_null_and_always_is_a_word(tmp_path: Path) -> None:
    ThresholdRule([inf, -inf, 0.5]).save(tmp_path / "rule.json")
    assert json.loads((tmp_path / "rule.json").read_text())["thresholds"] == [None, "-inf", 0.5]


@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
def test_paths_of_any_kind(kind: Callable[[Path], object], tmp_path: Path) -> None:
    path = kind(tmp_path / "rule.json")
    path = os.fsdecode(path) if isinstance(path, bytes) else path
    AWKWARD.save(path)
    assert same(load_rule(path), AWKWARD)


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    AWKWARD.save(tmp_path / "rule.json")
    TopKRule(3).save(tmp_path / "rule.json")
    assert load_rule(tmp_path / "rule.json") == TopKRule(3)
    assert [p.name for p in tmp_path.iterdir()] == ["rule.json"]


def failing(*arguments: object, **options: object) -> None:
    """A step of writing that fails."""
    raise OSError("no space left on device")


@pytest.mark.parametrize("step", ["os.replace", "builtins.open", "secrets.token_hex", "json.dumps"])
@pytest.mark.parametrize("old", [b"precious", None])
def test_a_failed_save_leaves_nothing(
    step: str, old: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rule.json"
    if old is not None:
        path.write_bytes(old)
    with monkeypatch.context() as patch:
        patch.setattr(step, failing)
        with pytest.raises(OSError, match="no space left"):
            AWKWARD.save(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old])


def test_a_rule_that_json_cannot_hold_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="label_names"):
        ThresholdRule([0.5], label_names=["\ud800"]).save(tmp_path / "rule.json")  # half a surrogate pair: no UTF-8
    assert list(tmp_path.iterdir()) == []


def test_file_modes_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        AWKWARD.save(tmp_path / "rule.json")
    finally:
        os.umask(old)
    assert (tmp_path / "rule.json").stat().st_mode & 0o777 == 0o640


def test_the_mode_of_a_replaced_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    path.write_text("old")
    path.chmod(0o600)
    AWKWARD.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


NUMPY_ALONE = """
import sys
for blocked in ("numba", "llvmlite", "scipy", "scipy.sparse", "sklearn", "matplotlib", "dask", "pandas"):
    sys.modules[blocked] = None
import numpy as np
import thresholds

rule = thresholds.load_rule({path!r})
print(rule.predict(np.array({scores})).tolist())
for other in {others!r}:
    print(thresholds.load_rule(other).predict(np.array({scores})).tolist())
thresholds.load_rule({instance!r}).save({instance!r})
rule.replace({{0: 0.25}}).save({path!r})
"""


def test_a_loaded_rule_needs_numpy_alone(tmp_path: Path) -> None:
    """Only the predictions of an `InstanceRule` need more; loading and saving it do not."""
    rule, scores = fitted(), [[0.9, 0.1, 0.5, 0.5], [0.2, 0.9, 0.9, 0.0]]
    others = {"top": TopKRule(1), "region": RULES["fitted regions"], "expected": RULES["expectation"]}
    paths = {name: str(tmp_path / f"{name}.json") for name in ("rule", "instance", *others)}
    for name, each in (others | {"rule": rule, "instance": RULES["fitted instance"]}).items():
        each.save(paths[name])
    code = NUMPY_ALONE.format(
        path=paths["rule"], others=[paths[name] for name in others], instance=paths["instance"], scores=scores
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    expected = [each.predict(scores).tolist() for each in (rule, *others.values())]
    assert [json.loads(line) for line in ran.stdout.splitlines()] == expected
    assert load_rule(paths["rule"]).thresholds[0] == 0.25
    assert load_rule(paths["instance"]) == RULES["fitted instance"]


# Copies


def arrays_of(rule: Rule) -> list[np.ndarray]:
    """The arrays that a rule holds."""
    if isinstance(rule, RegionRule):
        return list(rule.switches)
    if isinstance(rule, CalibratedRule):
        return [rule.calibrator.absent, *arrays_of(rule.rule)]
    return [rule.thresholds, rule.unsupported] if isinstance(rule, ThresholdRule) else []


@pytest.mark.parametrize("name", RULES)
def test_rules_are_frozen(name: str) -> None:
    rule = RULES[name]
    for item in dataclasses.fields(rule):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rule, item.name, None)
    for array in arrays_of(rule):
        assert not array.flags.writeable
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_a_rule_keeps_its_own_arrays() -> None:
    given, unsupported = np.array([0.5, 0.25]), np.array([True, False])
    rule = ThresholdRule(given, unsupported=unsupported)
    given[:], unsupported[:] = 7.0, False
    assert rule.thresholds.tolist() == [0.5, 0.25]
    assert rule.unsupported.tolist() == [True, False]
    assert rule.thresholds.dtype == np.float64
    given = np.array([0.25, 0.5])
    regions = RegionRule([given])
    given[:] = 7.0
    assert regions.switches[0].tolist() == [0.25, 0.5]


COPIES: dict[str, Callable[[object], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "oldest pickle": lambda rule: pickle.loads(pickle.dumps(rule, 0)),
    "newest pickle": lambda rule: pickle.loads(pickle.dumps(rule, pickle.HIGHEST_PROTOCOL)),
}


@pytest.mark.each_value
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", RULES)
def test_copies_are_the_same_rule_and_frozen_too(name: str, how: str) -> None:
    rule = RULES[name]
    copied = COPIES[how](rule)
    assert type(copied) is type(rule)
    assert same(copied, rule)
    assert not any(array.flags.writeable for array in arrays_of(copied))


@pytest.mark.parametrize("name", ["macro", "top k", "region", "instance"])
def test_a_rule_of_a_kind_comes_back_from_its_values(name: str) -> None:
    rule = RULES[name]
    found = type(rule).from_dict(rule.to_dict())
    assert type(found) is type(rule)
    assert same(found, rule)
    other = thresholds.TopKRule if name != "top k" else thresholds.InstanceRule
    with pytest.raises(
        InputError, match=rf"^values is a rule of the kind '{rule.kind}', expected '{other.kind}'; load_rule"
    ):
        other.from_dict(rule.to_dict())


def test_values_that_are_no_rule_are_refused() -> None:
    with pytest.raises(InputError, match=r"^values is not a rule: expected a JSON object with format"):
        load_rule({"thresholds": [0.5]})
    with pytest.raises(InputError, match=r"there is a rule within it, expected to be read by load_rule\(values\)"):
        CalibratedRule.from_dict(RULES["platt"].to_dict())


# Spoilt values

SPOILT = ("\ud800", "x", 2**64, 2**1100, -1, 1e308, True, None, [], {}, ["\ud800"], [2**64])
SPOILT_KINDS = (
    "cross-fitted",
    "within a budget",
    "capped",
    "fitted top k",
    "fitted regions",
    "isotonic, moved",
    "platt",
)


def places_of(values: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field of a saved rule, and the first and the last of every list."""
    items = values.items() if isinstance(values, dict) else ()
    if isinstance(values, list) and values:
        items = ((k, values[k]) for k in sorted({0, len(values) - 1}))
    for key, value in items:
        yield (*place, key)
        yield from places_of(value, (*place, key))


def spoil(values: dict[str, Any], place: tuple[Any, ...], spoilt: object) -> dict[str, Any]:
    """A copy with another value in one place."""
    values = copy.deepcopy(values)
    holder: Any = values
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = spoilt
    return values


def refused_or_good(values: dict[str, Any], folder: Path) -> bool:
    """Whether a rule is refused when it is loaded; else it has to be fit for use, whatever part is asked."""
    (folder / "spoilt.json").write_text(json.dumps(values))
    try:
        rule = load_rule(folder / "spoilt.json")
    except InputError:
        return True
    parts = [getattr(rule, name, None) for name in ("fitted_on", "out_of_fold", "made_by", "guarantees", "gains")]
    for part in (rule, *(part for part in parts if part is not None)):
        (str(part) + repr(part) + part._repr_html_()).encode()
        part.to_dict()
        part.to_frame()
    assert saved(rule, folder).to_dict() == rule.to_dict()
    with contextlib.suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rule.predict(np.random.default_rng(0).random((3, rule.n_labels or 4)))
    return False


@pytest.mark.parametrize("name", SPOILT_KINDS)
def test_what_a_file_spoils_is_refused_when_it_is_loaded_or_does_no_harm(name: str, tmp_path: Path) -> None:
    values = RULES[name].to_dict()
    pairs = list(itertools.product(places_of(values), SPOILT))
    chosen = np.random.default_rng([7, len(pairs)]).choice(len(pairs), 80, replace=False)
    refused = [refused_or_good(spoil(values, *pairs[k]), tmp_path) for k in chosen.tolist()]
    assert sum(refused) > 30


@pytest.mark.parametrize(
    ("name", "place", "spoilt", "message"),
    [
        (
            "macro",
            ("fitted_on", "positives", 0),
            2**64,
            "positives has the integer 18446744073709551616, expected at mo",
        ),
        ("macro", ("fitted_on", "quantiles"), [0.5], "quantiles has 1 values, expected 7, or none"),
        ("capped", ("gains", "level", 0), 2**64, "level has the integer 18446744073709551616, expected at most 2"),
        (
            "guarded",
            ("made_by", "options", "guard"),
            "\ud800",
            "the option 'guard' is .*, expected text that can be writ",
        ),
        ("macro", ("made_by", "options"), {"\ud800": 1}, "the name of an option is .*, expected text that can be writ"),
    ],
)
def test_values_that_no_rule_has_are_refused(
    name: str, place: tuple[Any, ...], spoilt: object, message: str, tmp_path: Path
) -> None:
    (tmp_path / "spoilt.json").write_text(json.dumps(spoil(RULES[name].to_dict(), place, spoilt)))
    with pytest.raises(InputError, match=message):
        load_rule(tmp_path / "spoilt.json")
