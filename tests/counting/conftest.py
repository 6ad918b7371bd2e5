"""Every test of this folder leaves no temporary directory behind."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def temporary(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The folder in which temporary directories are made; it must end empty."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every table as if it had many rows; few are numbered by Arrow, from one query."""
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1)
