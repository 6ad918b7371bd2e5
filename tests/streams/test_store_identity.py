"""What a file system tells about a state file, and what it means where it tells less."""

import contextlib
import errno
import logging
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from dphist.durable import identity as store_identity
from dphist.errors import StateError
from dphist.streams.store.store import Store
from tests.support.streams.state_files import contents, later, run_shell, told, written

TIMES = 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


def same_inode(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Have every file told to have the same inode, and nothing told of the facts that are named."""
    facts = store_identity.read_facts

    def of_one_inode(descriptor: int) -> dict[str, str]:
        found = facts(descriptor) | {"inode": "7", "device": "1"}
        return {name: value for name, value in found.items() if name not in missing}

    monkeypatch.setattr("dphist.durable.owned_file.read_facts", of_one_inode)


@pytest.mark.parametrize("kept", ["birth", "generation"])
@pytest.mark.long(every=2)
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
        run_shell("cp -a s b", path)
        later(path)
        run_shell("rm s; cp -a b s; rm b", path)
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


def test_birth_is_what_the_system_says(path: Path) -> None:
    found = told(path)
    said = subprocess.run(
        ["stat", "-c", "%.9W", path], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert found.get("birth", "0.000000000") == said
    assert found["inode"] == str(path.stat().st_ino)


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
    assert store_identity.identity_text(told) == text
    assert store_identity.is_same_file(text, told)
    assert store_identity.is_same_file(text, ALL)  # told for the first time
    for name in [fact.partition("=")[0] for fact in text.split()]:
        assert not store_identity.is_same_file(text, told | {name: "other"})
        assert not store_identity.is_same_file(text, {k: v for k, v in told.items() if k != name})


def test_another_device_number_is_no_difference() -> None:
    assert store_identity.is_same_file(store_identity.identity_text(ALL), ALL | {"device": "77"})


A_COPY, AN_OLDER = "a copy that got its inode and attributes", "an older content written back"


@pytest.mark.verify
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
    facts = store_identity.read_facts
    whole = {"birth": "1.5", "generation": "7", "token": "ab"}

    def fewer(descriptor: int) -> dict[str, str]:
        found = whole | facts(descriptor)
        return {name: value for name, value in found.items() if name not in missing}

    monkeypatch.setattr("dphist.durable.owned_file.read_facts", fewer)
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
            struct.pack_into("=I", buffer, 0, 0x7FF)  # type: ignore[arg-type] # all but the birth time
            return 0

    monkeypatch.setattr("fcntl.ioctl", refused)
    monkeypatch.setattr(os, "getxattr", refused)
    for library in (OldLibrary, Unwilling, Incomplete):
        monkeypatch.setattr(store_identity, "_STATX", getattr(library(), "statx", None))
        assert set(told(path)) == {"inode", "device"}
    with pytest.raises(StateError, match="is a copy"):  # what was recorded is no longer told
        Store.open(path)


def test_a_commit_does_not_need_its_note(path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "setxattr", full)
    written(path, b"1")
    written(path, b"2")
    assert contents(path) == [(0, b"2")]
    monkeypatch.undo()
    assert contents(path) == [(0, b"2")]


def test_a_note_that_does_not_stick_is_said(path: Path, monkeypatch, caplog) -> None:
    """Then an older content passes: once at each opening that cannot note its first commit."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    written(path, b"1")
    older = path.read_bytes()
    assert bool(caplog.records) is not takes_attributes(path)
    caplog.clear()
    with monkeypatch.context() as patch:
        patch.setattr(os, "setxattr", full)
        with contextlib.closing(Store.open(path)) as store:
            (warning,) = caplog.records
            assert warning.levelno == logging.WARNING
            assert AN_OLDER in warning.getMessage()
            store.commit({"label": [(0, b"2")]})
            store.commit({"label": [(0, b"3")]})
        assert len(caplog.records) == 1
    caplog.clear()
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(older)
    assert contents(path) == [(0, b"1")]  # as was said
    assert bool(caplog.records) is not takes_attributes(path)


def test_a_stream_that_begins_without_a_note_says_so_once(path: Path, monkeypatch, caplog) -> None:
    """The token stuck, and the note did not."""
    real = os.setxattr

    def but_notes(file: int, name: str, value: bytes) -> None:
        if "commits" in name:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, name, value)

    monkeypatch.setattr(os, "setxattr", but_notes)
    written(path, b"1")
    (warning,) = caplog.records
    assert AN_OLDER in warning.getMessage()


def test_attributes_of_others_are_left_alone(path: Path) -> None:
    written(path, b"1")
    for name in ("user.other", "user.dphist.commits.many"):
        os.setxattr(path, name, b"x")
    assert contents(path) == [(0, b"1")]
    assert "user.other" in os.listxattr(path)
