"""A state file is told from its copies, restored backups, and its own older contents."""

import errno
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dphist as dh
from dphist.continual import store_identity
from dphist.continual.store import Store
from dphist.errors import StateError

TIMES = 8

# Commands that back up the file `s` as `b`, and that restore it after `s` was removed.
RESTORED = {
    "cp -a": ("cp -a s b", "cp -a b s"),
    "cp -a and mv": ("cp -a s b", "mv b s"),
    "hard link of a copy": ("cp -a s b", "ln b s"),
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


def run(command: str, path: Path) -> None:
    subprocess.run(["/bin/sh", "-c", command], cwd=path.parent, check=True)


def contents(path: Path, *, moved: bool = False) -> list[tuple[int | bytes, bytes]]:
    store = Store.open(path, moved=moved)
    try:
        return list(store.rows("label"))
    finally:
        store.close()


def written(path: Path, content: bytes) -> None:
    store = Store.open(path) if path.exists() else Store.create(path)
    store.commit({"label": [(0, content)]})
    store.close()


def told(path: Path) -> dict[str, str]:
    """Return what the system tells about a file, or about a new one."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        return store_identity.facts(descriptor)
    finally:
        os.close(descriptor)


def later(path: Path) -> None:
    """Wait until the clock of birth times, which is coarse, has moved on since the file's."""
    birth = told(path).get("birth")
    while birth is not None and told(path.with_name("new")).get("birth") == birth:
        path.with_name("new").unlink()
    path.with_name("new").unlink(missing_ok=True)


# --- restored under another inode, or under one that is used again


@pytest.mark.parametrize("way", RESTORED)
def test_a_backup_restored_after_the_original_was_removed_is_refused(way: str, path: Path) -> None:
    """Where inodes are used again, the backup gets that of the original."""
    backup, restore = RESTORED[way]
    for _ in range(TIMES):
        written(path, b"1")
        run(backup, path)
        later(path)
        path.unlink()
        run(restore, path)
        for _ in range(2):
            with pytest.raises(StateError, match=r"is a copy, or .* moved=True"):
                Store.open(path)
        assert contents(path, moved=True) == [(0, b"1")]
        assert contents(path) == [(0, b"1")]  # it is the original now
        run("rm -rf s b", path)


def same_inode(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Have every file told to have the same inode, and nothing told of the facts that are named."""
    facts = store_identity.facts

    def of_one_inode(descriptor: int) -> dict[str, str]:
        found = facts(descriptor) | {"inode": "7", "device": "1"}
        return {name: value for name, value in found.items() if name not in missing}

    monkeypatch.setattr("dphist.continual.store_owner.facts", of_one_inode)


@pytest.mark.parametrize("kept", ["birth", "generation"])
def test_birth_or_generation_is_enough(kept: str, path: Path, monkeypatch) -> None:
    """Also where inodes are not used again by themselves. Files have at least one of the two."""
    first, second = told(path), told(path.with_name("other"))
    other = {"birth": "generation", "generation": "birth"}[kept]
    # The generation is a transaction's number on btrfs, which never uses an inode again.
    if kept not in first or (kept == "generation" and first[kept] == second[kept]):
        kept, other = other, kept
    assert kept in first
    path.unlink()
    same_inode(monkeypatch, other)
    for _ in range(TIMES):
        written(path, b"1")
        run("cp -a s b", path)
        later(path)
        run("rm s; cp -a b s; rm b", path)
        with pytest.raises(StateError, match="is a copy"):
            Store.open(path)
        path.unlink()


def takes_attributes(path: Path) -> bool:
    try:
        os.setxattr(path, "user.test", b"1")
    except (AttributeError, OSError):  # not on Linux, or a file system without them
        return False
    return True


def test_the_token_is_enough_for_a_copy_without_attributes(path: Path, monkeypatch, caplog) -> None:
    """Where the system tells neither birth nor generation."""
    same_inode(monkeypatch, "birth", "generation")
    written(path, b"1")
    (warning,) = caplog.records
    attributes = takes_attributes(path)
    assert ("an older content" in warning.getMessage()) is not attributes
    shutil.copyfile(path, path.with_name("b"))
    path.unlink()
    path.with_name("b").rename(path)
    if attributes:
        with pytest.raises(StateError, match="is a copy"):
            Store.open(path)
    else:  # which was said
        assert contents(path) == [(0, b"1")]


def test_no_two_files_have_the_same_facts(path: Path) -> None:
    """Without their inodes and tokens, they differ in birth and in generation where told."""
    seen: dict[str, list[str]] = {}
    for _ in range(30):
        for name, value in told(path).items():
            seen.setdefault(name, []).append(value)
        later(path)
        path.unlink()
    held = [seen[name] for name in ("birth", "generation") if name in seen]
    assert held
    assert len(set(zip(*held, strict=True))) == 30
    if "generation" in seen and len(set(seen["inode"])) == 1:
        assert len(set(seen["generation"])) == 30


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Python itself tells the birth time")
def test_birth_is_what_the_system_says(path: Path) -> None:
    found = told(path)
    said = subprocess.run(
        ["stat", "-c", "%.9W", path], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert found.get("birth", "0.000000000") == said
    assert found["inode"] == str(path.stat().st_ino)


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
def test_an_older_content_written_back_is_refused(way: str, path: Path) -> None:
    backup, restore = WRITTEN_BACK[way]
    written(path, b"1")
    run(backup, path)
    written(path, b"2")
    run(restore, path)
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
    parameters = {"epsilon": 1, "delta": "1e-6", "horizon": 100}
    with dh.ContinualHistogram.open(path, **parameters, labels=None) as stream:
        stream.update_many([["a"]] * 10)
    run("cp -a s b", path)
    with dh.ContinualHistogram.open(path) as stream:
        stream.counts()
    run("cp -a b s", path)
    for open_it in (dh.ContinualHistogram.open, dh.ContinualHistogram.load):
        with pytest.raises(StateError, match="an older content"):
            open_it(path)


def test_the_number_of_commits_is_noted_after_each(path: Path) -> None:
    """And one note is kept, whatever was noted before."""
    store = Store.create(path)
    for number in range(2, 20):
        store.commit({"label": [(0, b"%d" % number)]})
        assert store._header.commits == number
        assert store._owner.commits in (number, 0 if store._owner.what_passes else number)
        names = [name for name in os.listxattr(path) if "commits" in name]
        assert len(names) <= 1
    store.close()


def test_the_note_never_runs_ahead_of_the_content(path: Path, monkeypatch) -> None:
    """A commit that fails, or of which it is open if it reached the disk, is not noted."""
    store = Store.create(path)
    store.commit({"label": [(0, b"1")]})
    noted = store._owner.commits

    class Failing:
        def __init__(self, connection: object) -> None:
            self.connection = connection

        def execute(self, statement: str, *values: object) -> object:
            if statement == "COMMIT":
                raise KeyboardInterrupt
            return self.connection.execute(statement, *values)

        def __getattr__(self, name: str) -> object:
            return getattr(self.connection, name)

    store._owner._connection = Failing(store._owner.connection)
    with pytest.raises(KeyboardInterrupt):
        store.commit({"label": [(0, b"2")]})
    assert store._owner.commits == noted
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
        "ln s t",
        "cp -a s t; rm t",
        "ln s t; rm s; mv t s",
    ],
)
def test_what_changes_nothing_is_accepted(command: str, path: Path) -> None:
    written(path, b"1")
    run(command, path)
    assert contents(path) == [(0, b"1")]
    written(path, b"2")


def test_a_folder_may_be_renamed(path: Path) -> None:
    (path.parent / "d").mkdir()
    written(path.parent / "d" / "s", b"1")
    (path.parent / "d").rename(path.parent / "e")
    assert contents(path.parent / "e" / "s") == [(0, b"1")]


# --- systems that tell less


ALL = {"inode": "1", "device": "2", "birth": "3.5", "generation": "4", "token": "ab"}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in ALL.items() if name not in names}


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (ALL, "inode=1 birth=3.5 generation=4 token=ab"),
        (without("generation", "birth"), "inode=1 token=ab"),
        (without("token", "birth"), "inode=1 generation=4"),
        (without("generation", "birth", "token"), "inode=1 device=2"),
    ],
)
def test_every_fact_that_was_recorded_must_be_the_same(told: dict[str, str], text: str) -> None:
    assert store_identity.as_text(told) == text
    assert store_identity.is_of(text, told)
    assert store_identity.is_of(text, ALL)  # told for the first time
    for name in [fact.partition("=")[0] for fact in text.split()]:
        assert not store_identity.is_of(text, told | {name: "other"})
        assert not store_identity.is_of(text, {k: v for k, v in told.items() if k != name})


def test_another_device_number_is_no_difference() -> None:
    assert store_identity.is_of(store_identity.as_text(ALL), ALL | {"device": "77"})


A_COPY, AN_OLDER = "a copy that got its inode and attributes", "an older content written back"


@pytest.mark.parametrize(
    ("missing", "passing"),
    [
        ([], []),
        (["birth"], []),
        (["generation"], []),
        (["birth", "generation"], [A_COPY]),
        (["token"], [AN_OLDER]),
        (["birth", "generation", "token", "subvolume"], [A_COPY, AN_OLDER]),
    ],
)
def test_a_stream_begins_with_a_warning_where_too_little_is_told(
    missing: list[str], passing: list[str], path: Path, monkeypatch, caplog
) -> None:
    facts = store_identity.facts
    whole = {"birth": "1.5", "generation": "7", "token": "ab"}

    def fewer(descriptor: int) -> dict[str, str]:
        found = whole | facts(descriptor)
        return {name: value for name, value in found.items() if name not in missing}

    monkeypatch.setattr("dphist.continual.store_owner.facts", fewer)
    with caplog.at_level(logging.INFO):
        written(path, b"1")
    assert len(caplog.records) == bool(passing)
    for record in caplog.records:
        assert record.levelno == logging.WARNING
        assert [what for what in (A_COPY, AN_OLDER) if what in record.getMessage()] == passing
    caplog.clear()
    assert contents(path) == [(0, b"1")]
    assert not caplog.records
    shutil.copyfile(path, path.with_name("b"))
    with pytest.raises(StateError, match="is a copy"):
        Store.open(path.with_name("b"))


@pytest.mark.skipif(sys.platform != "linux", reason="uses what Linux alone has")
def test_calls_that_the_system_refuses_leave_facts_out(path: Path, monkeypatch) -> None:
    """As in a container that blocks them, or on a file system that does not know them."""
    written(path, b"1")

    def refused(*_: object) -> None:
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    class OldLibrary:
        pass

    class Unwilling:
        def statx(self, *_: object) -> int:
            return -1

    class Incomplete:
        def statx(self, _fd: int, _path: bytes, _flags: int, _mask: int, buffer: object) -> int:
            struct.pack_into("=I", buffer, 0, 0x7FF)  # all but the birth time
            return 0

    monkeypatch.setattr("fcntl.ioctl", refused)
    monkeypatch.setattr(os, "getxattr", refused)
    for library in (OldLibrary, Unwilling, Incomplete):
        monkeypatch.setattr("ctypes.CDLL", lambda _name, library=library: library())
        assert set(told(path)) == {"inode", "device"}
    with pytest.raises(StateError, match="is a copy"):  # what was recorded is no longer told
        Store.open(path)


@pytest.mark.skipif(sys.platform != "linux", reason="uses what Linux alone has")
def test_a_commit_does_not_need_its_note(path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "setxattr", full)
    written(path, b"1")
    written(path, b"2")
    assert contents(path) == [(0, b"2")]
    monkeypatch.undo()
    assert contents(path) == [(0, b"2")]


@pytest.mark.skipif(sys.platform != "linux", reason="uses what Linux alone has")
def test_attributes_of_others_are_left_alone(path: Path) -> None:
    written(path, b"1")
    for name in ("user.other", "user.dphist.commits.many"):
        os.setxattr(path, name, b"x")
    assert contents(path) == [(0, b"1")]
    assert "user.other" in os.listxattr(path)
