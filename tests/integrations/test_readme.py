"""The ten lines of the README work on a frame and on a tensor as they do on arrays."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import thresholds

README = Path(__file__).parents[2] / "README.md"


def ten_lines() -> str:
    """Give the first block of code under "Ten lines"."""
    found = re.search(r"## Ten lines\n+```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def run(kind: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the ten lines with truth and scores of another kind."""
    monkeypatch.chdir(tmp_path)
    made = "".join(f"{name} = kind({name})\n" for name in ("y_true", "y_score"))
    head, fit, rest = ten_lines().partition("rule = ")
    assert fit
    names = {"kind": kind}
    exec(head + made + fit + rest, names)
    assert isinstance(thresholds.load_rule(tmp_path / "rule.json"), thresholds.ThresholdRule)
    return names


def frame(cells: Any) -> pd.DataFrame:
    """Give a frame whose columns are in another order than the names in the README."""
    return pd.DataFrame(cells, columns=["cat", "dog", "rare"])[["rare", "cat", "dog"]]


def tensor(cells: Any) -> Any:
    """Give a tensor that wants gradients where it can."""
    torch = pytest.importorskip("torch", reason="make test-integrations installs torch")
    found = torch.tensor(cells)
    return found.requires_grad_() if found.is_floating_point() else found


@pytest.mark.parametrize("kind", [frame, tensor])
def test_the_ten_lines(kind: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, found = (run(of, tmp_path, monkeypatch) for of in (np.asarray, kind))
    assert found["rule"].thresholds.tolist() == expected["rule"].thresholds.tolist()
    assert found["rule"].objective == expected["rule"].objective
    assert type(found["y_pred"]) is type(kind(np.zeros((1, 3))))
    decided = found["y_pred"][["cat", "dog", "rare"]].to_numpy() if kind is frame else found["y_pred"].numpy()
    assert decided.tolist() == expected["y_pred"].tolist()
