"""Files appear whole and together, or not at all."""

import errno
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from dphist import files
from dphist.errors import OutputFileError
from dphist.files import check_distinct, stage_outputs, write_text


def test_all_files_appear_together(tmp_path) -> None:
    with stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a")
        staged.write(tmp_path / "b.txt", "b")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "a"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_nothing_appears_when_the_block_fails(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with pytest.raises(RuntimeError), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "after")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_nothing_appears_when_one_of_them_cannot_be_written(tmp_path) -> None:
    with pytest.raises(OutputFileError), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a")
        staged.write(tmp_path / "none" / "b.txt", "b")
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
    with pytest.raises(OutputFileError, match="was created meanwhile"), stage_outputs() as staged:
        for name in ("a.txt", "b.txt", "c.txt"):
            staged.write(tmp_path / name, "after", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "before"


def test_what_is_replaced_waits_for_what_may_not_be(tmp_path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("before")
    with pytest.raises(OutputFileError), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "after", replace=True)
        staged.write(tmp_path / "b.txt", "after", replace=False)
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
    with stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "a"}
    with pytest.raises(OutputFileError), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "after", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "a"}


def test_a_signal_cannot_part_files_that_belong_together(tmp_path, monkeypatch) -> None:
    real = type(tmp_path).replace

    def replace(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return real(path, target)

    monkeypatch.setattr(type(tmp_path), "replace", replace)
    with pytest.raises(KeyboardInterrupt), stage_outputs() as staged:
        for name in ("a.txt", "b.txt"):
            staged.write(tmp_path / name, "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_what_waits_is_remembered_until_it_is_in_its_place(tmp_path) -> None:
    """So that it is removed if the process is ended at once."""
    with stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a")
        (waiting,) = tmp_path.iterdir()
        assert str(waiting) in files._paths
    assert str(waiting) not in files._paths


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
    with pytest.raises(OutputFileError, match="not a regular file"):
        write_text(tmp_path / name, "x")


def test_two_names_of_one_file_are_refused(tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OutputFileError, match="named twice"):
        check_distinct([tmp_path / "a", tmp_path / "b", tmp_path / "link"])
    check_distinct([tmp_path / "a", tmp_path / "b"])


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def refuse_from(monkeypatch, method: str, name: str) -> None:
    """Refuse one step for paths of this name, as a folder of somebody else does."""
    real = getattr(Path, method)

    def refuse(path: Path, *arguments: object, **more: object) -> object:
        at = Path(str(arguments[0])) if method == "replace" else path
        if at.name == name or at.name.startswith(f".{name}."):
            raise OSError(errno.EPERM, "Operation not permitted")
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, method, refuse)


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def _links(request, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not request.param:
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("_links")
@pytest.mark.parametrize("refused", ["a.txt", "b.txt", "c.txt"])
def test_files_that_are_replaced_are_put_back_where_one_is_refused(
    refused, tmp_path, monkeypatch
) -> None:
    """One of them can lie in a folder in which only its owner may replace it."""
    before = {"a.txt": "old a", "b.txt": "old b", "c.txt": "old c"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    refuse_from(monkeypatch, "replace", refused)
    with pytest.raises(OutputFileError, match=r"nothing was written$"), stage_outputs() as staged:
        staged.write(tmp_path / "new.txt", "new", replace=False)
        staged.write(tmp_path / "new too.txt", "new", replace=True)
        for name in before:
            staged.write(tmp_path / name, "new", replace=True)
    assert contents(tmp_path) == before
    assert not files._paths


@pytest.mark.usefixtures("_links")
def test_of_files_that_were_replaced_nothing_stays(tmp_path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("old")
    with stage_outputs() as staged:
        for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
            staged.write(tmp_path / name, "new")
    assert contents(tmp_path) == dict.fromkeys(("a.txt", "b.txt", "c.txt", "d.txt"), "new")
    assert not files._paths


def test_a_place_that_was_held_is_given_up(tmp_path, monkeypatch) -> None:
    """Without hard links: an empty file would be taken for a release, and be in the way."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    refuse_from(monkeypatch, "replace", "a.txt")
    with pytest.raises(OutputFileError, match=r"nothing was written$"), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a", replace=False)
    assert contents(tmp_path) == {}


def test_a_file_whose_temporary_name_stays_is_taken_back(tmp_path, monkeypatch) -> None:
    real, refused = Path.unlink, []

    def once(path: Path, **more: object) -> None:
        if not refused:
            refused.append(path)
            raise OSError(errno.EIO, "Input/output error")
        real(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "unlink", once)
    with pytest.raises(OutputFileError, match=r"nothing was written$"), stage_outputs() as staged:
        staged.write(tmp_path / "a.txt", "a", replace=False)
    assert contents(tmp_path) == {}


def test_what_could_not_be_put_back_is_named(tmp_path, monkeypatch) -> None:
    """Whoever is told that nothing was written releases again, and pays twice."""
    (tmp_path / "b.txt").write_text("old b")
    (tmp_path / "c.txt").write_text("old c")
    refuse_from(monkeypatch, "replace", "c.txt")
    real, seen = Path.replace, []

    def once(path: Path, target: Path) -> Path:
        seen.append(target)
        if seen.count(target) == 2:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", once)
    with pytest.raises(OutputFileError) as caught, stage_outputs() as staged:
        for name in ("b.txt", "c.txt"):
            staged.write(tmp_path / name, "new")
    assert "nothing was written" not in str(caught.value)
    assert (tmp_path / "b.txt").read_text() == "new"
    assert (tmp_path / "c.txt").read_text() == "old c"
    # The old one is not lost.
    (kept,) = (path for path in tmp_path.iterdir() if path.name.startswith(".b.txt."))
    assert kept.read_text() == "old b"
    said = f"{tmp_path / 'b.txt'} was written; the previous file is now {kept}"
    assert str(caught.value).endswith(said)
    assert str(kept) not in files._paths  # nor is it removed when the process ends
