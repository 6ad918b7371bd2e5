"""A state file is told from its copies, restored backups, and its own older contents."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.durable.identity import undetected
from dphist.errors import StateError
from dphist.streams.store.store import Store
from tests.support.streams.state_files import contents, later, run_shell, written

TIMES = 8

# Commands that back up the file `s` as `b`, and that restore it after `s` was removed.
RESTORED = {
    "cp -a": ("cp -a s b", "cp -a b s"),
    "cp -a and mv": ("cp -a s b", "mv b s"),
    "hard link of a copy, and its removal": ("cp -a s b", "ln b s; rm b"),
}
# Commands that write the backup `b` back into the file `s`.
WRITTEN_BACK = {
    "cp": ("cp s b", "cp b s"),
    "cp -a": ("cp -a s b", "cp -a b s"),
    "cp -a of the folder": ("mkdir b; cp -a s b", "cp -a b/. ."),
    "cat": ("cp s b", "cat b > s"),
    "dd": ("cp s b", "dd if=b of=s conv=notrunc 2> /dev/null"),
}
if sys.platform == "linux":
    RESTORED |= {
        "cp --preserve=xattr": ("cp --preserve=xattr s b", "cp --preserve=xattr b s"),
        "tar --xattrs": ("tar --xattrs -cf b s", "tar --xattrs -xf b"),
    }
if shutil.which("rsync"):
    RESTORED |= {"rsync": ("rsync -aX s b", "rsync -aX b s")}
    WRITTEN_BACK |= {"rsync": ("rsync -a s b", "rsync -aI --inplace b s")}

# Beside the folder for temporary files, a file system in memory, where there is one.
FOLDERS = [None, *(folder for folder in ["/dev/shm"] if os.access(folder, os.W_OK))]


@pytest.fixture(params=FOLDERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=request.param or tmp_path) as folder:
        yield Path(folder) / "s"


# --- restored under another inode, or under one that is used again


@pytest.mark.long(every=2)
@pytest.mark.quick("[None-cp -a]", "rsync")
@pytest.mark.parametrize("way", RESTORED)
def test_a_backup_restored_after_the_original_was_removed_is_refused(way: str, path: Path) -> None:
    """Where inodes are used again, the backup gets that of the original."""
    backup, restore = RESTORED[way]
    for _ in range(TIMES):
        written(path, b"1")
        run_shell(backup, path)
        later(path)
        path.unlink()
        run_shell(restore, path)
        for _ in range(2):
            with pytest.raises(StateError, match=r"is a copy, or .* moved=True"):
                Store.open(path)
        assert contents(path, moved=True) == [(0, b"1")]
        assert contents(path) == [(0, b"1")]  # it is the original now
        run_shell("rm -rf s b", path)


def test_a_copy_is_refused_wherever_it_is(path: Path, tmp_path: Path) -> None:
    written(path, b"1")
    for copied in (path.with_name("copy"), tmp_path / "copy"):
        for _ in range(2):
            shutil.copy2(path, copied)
            with pytest.raises(StateError, match=r"is a copy, or .* moved=True"):
                Store.open(copied)
        assert contents(copied, moved=True) == [(0, b"1")]
        assert contents(copied) == [(0, b"1")]
        assert contents(path) == [(0, b"1")]


# --- older contents


@pytest.mark.parametrize("way", WRITTEN_BACK)
@pytest.mark.quick(every=3)
def test_an_older_content_written_back_is_refused(way: str, path: Path) -> None:
    backup, restore = WRITTEN_BACK[way]
    written(path, b"1")
    run_shell(backup, path)
    written(path, b"2")
    run_shell(restore, path)
    for moved in (False, True):
        with pytest.raises(StateError, match="an older content"):
            Store.open(path, moved=moved)


def test_an_opening_alone_makes_the_content_before_it_older(path: Path) -> None:
    """Noise may have been drawn and read then, and the process killed before it noted more."""
    written(path, b"1")
    before = path.read_bytes()
    contents(path)
    newest = path.read_bytes()
    path.write_bytes(before)
    for moved in (False, True):
        with pytest.raises(StateError, match="an older content"):
            Store.open(path, moved=moved)
    path.write_bytes(newest)
    assert contents(path) == [(0, b"1")]


def test_a_state_that_was_taken_over_is_not_brought_back(path: Path) -> None:
    written(path, b"1")
    before = path.read_bytes()
    store = Store.open(path)
    store.take()
    store.close()
    path.write_bytes(before)
    with pytest.raises(StateError, match="an older content"):
        Store.open(path)


def test_noise_is_not_drawn_again_from_an_older_content(path: Path) -> None:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 100}
    with dh.ContinualHistogram.open(path, **parameters, labels=None) as stream:
        stream.update_many([["a"]] * 10)
    run_shell("cp -a s b", path)
    with dh.ContinualHistogram.open(path) as stream:
        stream.counts()
    run_shell("cp -a b s", path)
    for open_it in (dh.ContinualHistogram.open, dh.ContinualHistogram.load):
        with pytest.raises(StateError, match="an older content"):
            open_it(path)


def test_the_number_of_commits_is_noted_after_each(path: Path) -> None:
    """And one note is kept, whatever was noted before."""
    store = Store.create(path)
    for number in range(2, 20):
        store.commit({"label": [(0, b"%d" % number)]})
        assert store._header.commits == number
        assert store._owned.commits in (number, 0 if undetected(store._owned.facts) else number)
        names = [name for name in os.listxattr(path) if "commits" in name]
        assert len(names) <= 1
    store.close()


def test_the_note_never_runs_ahead_of_the_content(path: Path, monkeypatch) -> None:
    """A commit that fails, or of which it is open if it reached the disk, is not noted."""
    store = Store.create(path)
    store.commit({"label": [(0, b"1")]})
    noted = store._owned.commits

    class Failing:
        def __init__(self, connection: object) -> None:
            self.connection = connection

        def execute(self, statement: str, *values: object) -> object:
            if statement == "COMMIT":
                raise KeyboardInterrupt
            return self.connection.execute(statement, *values)

        def __getattr__(self, name: str) -> object:
            return getattr(self.connection, name)

    store._owned.connection = Failing(store._owned.connection)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        store.commit({"label": [(0, b"2")]})
    assert store._owned.commits == noted
    store.close()
    assert contents(path) == [(0, b"1")]


# --- what a file keeps


@pytest.mark.parametrize(
    "command",
    [
        "mkdir d; mv s d/t; mv d/t s",
        "mv s t; mv t s",
        "chmod 400 s; chmod 600 s",
        "touch s",
        "ln s t; rm t",
        "cp -a s t; rm t",
        "ln s t; rm s; mv t s",
    ],
)
@pytest.mark.quick(every=3)
def test_what_changes_nothing_is_accepted(command: str, path: Path) -> None:
    written(path, b"1")
    run_shell(command, path)
    assert contents(path) == [(0, b"1")]
    written(path, b"2")


def test_a_folder_may_be_renamed(path: Path) -> None:
    (path.parent / "d").mkdir()
    written(path.parent / "d" / "s", b"1")
    (path.parent / "d").rename(path.parent / "e")
    assert contents(path.parent / "e" / "s") == [(0, b"1")]
