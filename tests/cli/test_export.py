"""`thresholds export` where it must refuse; what it writes is in tests/integrations/test_onnx.py."""

import sys
from pathlib import Path

import pytest

from thresholds import FixedRule, cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a rule, where onnx is not installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    FixedRule(0.5, 2).save("rule.json")


def refusal(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed when a command is refused; nothing is written."""
    assert cli.main(["export", "rule.json", *arguments]) == 1
    assert [path.name for path in Path().iterdir()] == ["rule.json"]
    return capsys.readouterr().err


def test_other_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    found = refusal("-o", "rule.pt", capsys=capsys)
    assert found == "thresholds: error: rule.pt ends in '.pt', expected .onnx\n"


def test_without_onnx_it_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "to_onnx() needs onnx: pip install onnx"
    assert refusal("-o", "rule.onnx", capsys=capsys) == f"thresholds: error: {sentence}\n"
    with pytest.raises(ImportError) as caught:
        FixedRule(0.5, 2).to_onnx()
    assert str(caught.value) == sentence
