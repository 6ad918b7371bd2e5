"""Windows and macOS: what was never tested there is refused before anything is written."""

from collections.abc import Callable
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.durable import owned_file
from dphist.errors import UnsupportedError


def create_ledger(path: Path) -> None:
    dh.Ledger.create(path, epsilon=2, unit="one person").close()


def open_ledger(path: Path) -> None:
    dh.Ledger.open(path).close()


def create_stream(path: Path) -> None:
    stream = dh.ContinualHistogram(epsilon=1, delta=1e-6, horizon=8, max_labels=1)
    stream.save(path)
    stream.close()


def open_stream(path: Path) -> None:
    dh.ContinualHistogram.open(path).close()


@pytest.fixture(params=["win32", "darwin"])
def elsewhere(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Return what makes this system another one."""
    return lambda: monkeypatch.setattr(owned_file.sys, "platform", request.param)


@pytest.mark.parametrize("create", [create_ledger, create_stream])
def test_no_ledger_and_no_stream_begins_in_a_file(
    create: Callable[[Path], None], elsewhere: Callable[[], None], tmp_path: Path
) -> None:
    elsewhere()
    with pytest.raises(UnsupportedError, match=r"needs Linux.*PostgreSQL"):
        create(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("create", "reopen"), [(create_ledger, open_ledger), (create_stream, open_stream)]
)
def test_none_that_was_made_on_linux_is_opened(
    create: Callable[[Path], None],
    reopen: Callable[[Path], None],
    elsewhere: Callable[[], None],
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    create(path)
    before = path.read_bytes()
    elsewhere()
    with pytest.raises(UnsupportedError, match="needs Linux"):
        reopen(path)
    assert path.read_bytes() == before


def test_a_stream_in_memory_and_a_release_need_no_file(elsewhere: Callable[[], None]) -> None:
    elsewhere()
    stream = dh.ContinualHistogram(epsilon=1, delta=1e-6, horizon=8, max_labels=1)
    stream.update(["a"])
    assert dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts([8, 8, 3])).value.total > 0


def test_a_command_says_it_in_one_line(
    elsewhere: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere()
    path = tmp_path / "a.ledger"
    assert main(["ledger", "create", str(path), "--epsilon", "2", "--unit", "one person"]) == 2
    assert "needs Linux" in capsys.readouterr().err
    assert not path.exists()
