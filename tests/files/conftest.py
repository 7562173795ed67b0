"""What tests of files share: a folder of their own."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder; tables are read by PyArrow."""
    pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    monkeypatch.chdir(tmp_path)
