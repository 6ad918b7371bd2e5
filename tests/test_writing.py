"""Files appear whole and together, or not at all."""

import errno
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from dphist import leftovers
from dphist.errors import OutputFileError
from dphist.writing import check_distinct, staged_outputs, write_text


def test_all_files_appear_together(tmp_path) -> None:
    with staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "a")
        staged.write_text(tmp_path / "b.txt", "b")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "a"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_nothing_appears_when_the_block_fails(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(RuntimeError), staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "after")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_nothing_appears_when_one_of_them_cannot_be_written(tmp_path) -> None:
    with pytest.raises(OutputFileError), staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "a")
        staged.write_text(tmp_path / "none" / "b.txt", "b")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_what_was_there(tmp_path) -> None:
    """A limit on file size stands in for the disk: the same error path, a real write."""
    path = tmp_path / "a.txt"
    path.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OutputFileError, match="no space left"):
            write_text(path, "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_is_there_is_left_alone_if_asked_to(tmp_path) -> None:
    (tmp_path / "b.txt").write_text("before")
    with pytest.raises(OutputFileError, match="appeared"), staged_outputs() as staged:
        for name in ("a.txt", "b.txt", "c.txt"):
            staged.write_text(tmp_path / name, "after", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "before"


def test_what_is_replaced_waits_for_what_may_not_be(tmp_path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("before")
    with pytest.raises(OutputFileError), staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "after", replace=True)
        staged.write_text(tmp_path / "b.txt", "after", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.txt": "before",
        "b.txt": "before",
    }


@pytest.mark.parametrize("links", [True, False])
def test_new_files_appear_also_where_the_system_has_no_hard_links(
    links, tmp_path, monkeypatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "a", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "a"}
    with pytest.raises(OutputFileError), staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "after", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "a"}


def test_a_signal_cannot_part_files_that_belong_together(tmp_path, monkeypatch) -> None:
    real = type(tmp_path).replace

    def replace(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return real(path, target)

    monkeypatch.setattr(type(tmp_path), "replace", replace)
    with pytest.raises(KeyboardInterrupt), staged_outputs() as staged:
        for name in ("a.txt", "b.txt"):
            staged.write_text(tmp_path / name, "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_what_waits_is_remembered_until_it_is_in_its_place(tmp_path) -> None:
    """So that it is removed if the process is ended at once."""
    with staged_outputs() as staged:
        staged.write_text(tmp_path / "a.txt", "a")
        (waiting,) = tmp_path.iterdir()
        assert str(waiting) in leftovers._paths
    assert str(waiting) not in leftovers._paths


def test_permissions_follow_the_umask(tmp_path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "a")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_a_link_keeps_pointing(tmp_path) -> None:
    (tmp_path / "target.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    write_text(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "after"


@pytest.mark.parametrize("name", [".", "/dev/null", "/dev/full"])
def test_only_files_are_replaced(name, tmp_path) -> None:
    with pytest.raises(OutputFileError, match="not a file"):
        write_text(tmp_path / name, "x")


def test_two_names_of_one_file_are_refused(tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OutputFileError, match="named twice"):
        check_distinct([tmp_path / "a", tmp_path / "b", tmp_path / "link"])
    check_distinct([tmp_path / "a", tmp_path / "b"])
