"""Files that are damaged, copied, restored, in the wrong place, or that cannot be written."""

import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dphist.durable import identity, owned_file
from dphist.errors import (
    DphistError,
    InputFileError,
    LedgerError,
    OutputFileError,
    ParameterError,
)
from dphist.ledger import Ledger
from dphist.ledger import entries as actions
from dphist.ledger.stores import sqlite
from tests.support.ledger.stores import DATA, STEP, charged, create, in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with a release."""
    made = tmp_path / "a.ledger"
    with create(made) as ledger:
        ledger.release(STEP, DATA, by="ana", key="first")
    return made


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def is_whole(path: Path, *keys: str) -> None:
    """Check that a ledger verifies, has these keys and can be charged."""
    with Ledger.open(path) as ledger:
        assert charged(ledger) == list(keys)
        ledger.verify()
        ledger.release(STEP, DATA, by="ana", key="last")
        ledger.verify()


def test_every_commit_is_durable(path: Path) -> None:
    """The settings under which SQLite syncs the file before a commit returns."""
    with Ledger.open(path)._payments.store._open_owned(True) as (_, connection):
        held = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "fullfsync", "trusted_schema")
        }
    assert held == {
        "synchronous": 2,
        "journal_mode": "truncate",
        "fullfsync": 1,
        "trusted_schema": 0,
    }


def test_a_child_forked_in_a_transaction_does_not_keep_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where it could not close what it had copied."""
    monkeypatch.setattr(sqlite, "PATIENCE", 1)
    ended, end = os.pipe()
    with Ledger.open(path) as ledger:
        with ledger._payments.store.transaction(write=True):
            owned_file._living.clear()  # so that the child does not know of it
            child = os.fork()
            if child == 0:
                os.close(end)
                os.read(ended, 1)
                os._exit(0)
        try:
            ledger.release(STEP, DATA, by="ana", key="second")
        finally:
            os.close(end)
            os.close(ended)
            os.waitpid(child, 0)
    is_whole(path, "first", "second")


# What is at the path


@pytest.mark.parametrize("content", [b"", b"term,count\nibuprofen,3\n", b"SQLite format 3\0" * 9])
def test_a_file_that_is_no_ledger_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a ledger|damaged") as error:
        Ledger.open(path)
    assert "ibuprofen" not in str(error.value)
    with pytest.raises(LedgerError, match="exists; open it, or name another file"):
        create(path)
    assert path.read_bytes() == content


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    sqlite3.connect(path).execute("CREATE TABLE rows (secret)").connection.close()
    with pytest.raises(LedgerError, match="is not a ledger of dphist"):
        Ledger.open(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is not a file"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="exists"):
        create(tmp_path)


@pytest.mark.parametrize("place", ["a\0b", 5, None])
def test_what_is_no_path_is_refused(place: object) -> None:
    for use in (Ledger.open, create):
        with pytest.raises(ParameterError, match="place must be"):
            use(place)  # type: ignore[arg-type]


def test_a_folder_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match=r"the folder of .* does not exist; create it first"):
        create(tmp_path / "missing" / "x")
    with pytest.raises(InputFileError, match="there is no ledger at"):
        Ledger.open(tmp_path / "missing" / "x")


def test_a_symbolic_link_leads_to_the_ledger(path: Path, tmp_path: Path) -> None:
    """Whose journal lies beside the file and not beside the link."""
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(path)
    with Ledger.open(link) as ledger:
        ledger.release(STEP, DATA, by="ana", key="second")
        assert ledger.place == str(path)
    with pytest.raises(LedgerError, match="exists"):
        create(link)
    is_whole(path, "first", "second")
    assert [file.name for file in link.parent.iterdir()] == ["link"]


def test_a_link_that_leads_nowhere_is_followed_when_a_ledger_is_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(InputFileError, match="target"):
        Ledger.open(tmp_path / "link")
    create(tmp_path / "link").close()
    assert (tmp_path / "target").is_file()


def test_a_second_name_is_refused(path: Path, tmp_path: Path) -> None:
    """Under it nobody would find the journal that a crash leaves beside the first."""
    other = tmp_path / "other"
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(LedgerError, match="second name"):
            Ledger.open(name)
    other.unlink()
    is_whole(path, "first")


def test_names_that_are_no_text_and_need_quoting(tmp_path: Path) -> None:
    for name in (b"a%20?#&=\xff\n.ledger", "ü &%3f".encode()):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        with create(path) as ledger:
            ledger.release(STEP, DATA, by="ana", key="first")
            assert ledger.name.isprintable()
        is_whole(path, "first")


# Copies and older contents


@pytest.mark.parametrize("command", ["cp", "cp -a", "cp --reflink=auto"])
def test_a_copy_is_refused_until_it_is_said_to_be_the_one(
    command: str, path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    subprocess.run([*command.split(), path, copy], check=True)
    with pytest.raises(LedgerError, match="is a copy of a ledger"):
        Ledger.open(copy)
    is_whole(path, "first")
    path.unlink()
    with Ledger.open(copy, moved=True) as ledger:
        assert charged(ledger) == ["first"]
    is_whole(copy, "first")


def test_an_original_said_to_be_moved_keeps_its_token(path: Path) -> None:
    """A token that is not recorded, as the folder is full or read-only, makes it a copy."""
    with path.open("rb") as file:
        before = identity.read_facts(file.fileno())
    Ledger.open(path, moved=True).close()
    with path.open("rb") as file:
        assert identity.read_facts(file.fileno()) == before
    is_whole(path, "first")


def test_a_ledger_may_be_renamed(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        path.rename(tmp_path / "b.ledger")
        with pytest.raises(LedgerError, match="was moved or removed while in use"):
            ledger.release(STEP, DATA, by="ana", key="k")
    is_whole(tmp_path / "b.ledger", "first")


def test_a_file_that_was_replaced_while_in_use_is_noticed(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        create(tmp_path / "other").close()
        (tmp_path / "other").replace(path)
        with pytest.raises(LedgerError, match="holds another ledger than the one that was opened"):
            ledger.release(STEP, DATA, by="ana", key="k")
    with Ledger.open(path) as ledger:
        assert charged(ledger) == []


def takes_notes(path: Path) -> bool:
    with path.open("rb") as file:
        return identity.read_noted_commits(file.fileno()) > 0


def test_an_older_content_written_back_is_refused(path: Path) -> None:
    if not takes_notes(path):
        pytest.skip("this file system has no extended attributes")
    older = path.read_bytes()
    with Ledger.open(path) as ledger:
        ledger.release(STEP, DATA, by="ana", key="second")
        latest = path.read_bytes()
        path.write_bytes(older)
        with pytest.raises(LedgerError, match="holds an older content than it had"):
            ledger.release(STEP, DATA, by="ana", key="second")
        for moved in (False, True):
            with pytest.raises(LedgerError, match="holds an older content than it had"):
                Ledger.open(path, moved=moved)
    path.write_bytes(latest)
    is_whole(path, "first", "second")


def test_a_backup_restored_with_its_attributes_is_refused(path: Path, tmp_path: Path) -> None:
    if not takes_notes(path):
        pytest.skip("this file system has no extended attributes")
    subprocess.run(["cp", "-a", path, tmp_path / "backup"], check=True)
    with Ledger.open(path) as ledger:
        ledger.release(STEP, DATA, by="ana", key="second")
    subprocess.run(["cp", "-a", tmp_path / "backup", path], check=True)
    with pytest.raises(LedgerError, match="holds an older content than it had"):
        Ledger.open(path)


# Damage


def test_a_truncated_file_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for size in (1, 100, 4096, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(LedgerError, match="damaged"):
            Ledger.open(path).verify()
    path.write_bytes(whole)
    is_whole(path, "first")


@pytest.mark.verify
def test_a_damaged_byte_is_noticed_or_does_nothing(path: Path) -> None:
    """No traceback of another kind, and no text of the database."""
    whole = path.read_bytes()
    with Ledger.open(path) as ledger:
        entries = list(ledger.entries())
    noticed: list[DphistError] = []
    for place in range(16, len(whole), 211):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        try:
            with Ledger.open(path) as ledger:
                ledger.verify()
                assert list(ledger.entries()) == entries
        except DphistError as error:
            noticed.append(error)
    assert len(noticed) > 5
    for each in noticed:
        assert each.__cause__ is None
        assert not re.search("sqlite|malformed|constraint", str(each))
    path.write_bytes(whole)
    is_whole(path, "first")


# Journals


def crashed(path: Path) -> tuple[bytes, bytes]:
    """Return a file in the midst of a commit, and its journal."""

    def work() -> None:
        run = sqlite3.Connection.execute

        class Dying(sqlite3.Connection):
            def execute(self, statement: str, *arguments: object) -> sqlite3.Cursor:
                if statement == "COMMIT":
                    os.kill(os.getpid(), signal.SIGKILL)
                return run(self, statement, *arguments)  # type: ignore[arg-type]

        connect = sqlite3.connect
        sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Dying)  # type: ignore[assignment]
        # So that changed pages are written before the commit.
        sqlite._SETTINGS = (*sqlite._SETTINGS, "PRAGMA cache_size = 1", "PRAGMA cache_spill = 1")  # type: ignore[assignment]
        Ledger.open(path).release(STEP, DATA, by="ana", key="k" * 150, note="n" * 1000)

    assert in_child(work) == -signal.SIGKILL
    return path.read_bytes(), journal_of(path).read_bytes()


def test_a_journal_that_a_crash_left_is_played_back(path: Path) -> None:
    before = path.read_bytes()
    torn, journal = crashed(path)
    assert torn != before
    assert journal
    is_whole(path, "first")


@pytest.mark.verify
def test_readers_play_a_journal_back_one_after_the_other(path: Path) -> None:
    crashed(path)
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with Ledger.open(path) as ledger:
                    assert ledger.verify() == 4
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    is_whole(path, "first")


def test_a_torn_file_without_its_journal_is_noticed(path: Path) -> None:
    """By verifying: a ledger may look whole then, and has lost what was being written."""
    crashed(path)
    journal_of(path).unlink()
    with pytest.raises(LedgerError):
        Ledger.open(path).verify()


def test_the_journal_of_an_older_ledger_is_not_played_into_a_new_one(path: Path) -> None:
    crashed(path)
    path.unlink()
    with pytest.raises(LedgerError, match="journal exists"):
        create(path)
    journal_of(path).unlink()
    create(path).close()


def test_an_older_journal_put_back_is_noticed(path: Path) -> None:
    if not takes_notes(path):
        pytest.skip("this file system has no extended attributes")
    _, journal = crashed(path)
    with Ledger.open(path) as ledger:
        ledger.release(STEP, DATA, by="ana", key="second")
        ledger.release(STEP, DATA, by="ana", key="third")
    journal_of(path).write_bytes(journal)
    with pytest.raises(LedgerError, match=r"older content|damaged"):
        Ledger.open(path).verify()


# What cannot be written


def as_nobody(work: Callable[[], None]) -> None:
    """Run in a child without the rights of the superuser."""

    def run() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        work()

    assert in_child(run) == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


def test_a_file_that_is_read_only_can_be_read_alone(open_folder: Path) -> None:
    path = open_folder / "a.ledger"
    with create(path) as ledger:
        ledger.release(STEP, DATA, by="ana", key="first")
    path.chmod(0o444)

    def work() -> None:
        with Ledger.open(path) as ledger:
            assert ledger.verify() == 4
            with pytest.raises(LedgerError, match="cannot be written, so nothing can be charged"):
                ledger.release(STEP, DATA, by="ana", key="second")

    as_nobody(work)
    is_whole(path, "first")


def test_a_file_that_may_not_be_read_is_said(open_folder: Path) -> None:
    path = open_folder / "a.ledger"
    create(path).close()

    def work() -> None:
        with pytest.raises(DphistError, match="Permission denied"):
            Ledger.open(path)

    as_nobody(work)


def test_a_folder_without_room_for_a_journal_is_said(open_folder: Path) -> None:
    path = open_folder / "a.ledger"
    create(path).close()
    path.chmod(0o666)
    open_folder.chmod(0o555)

    def work() -> None:
        with Ledger.open(path) as ledger:
            assert ledger.verify() == 2
            with pytest.raises(LedgerError, match="and its folder must be writable"):
                ledger.release(STEP, DATA, by="ana", key="k")
        with pytest.raises(OutputFileError, match=r"the folder of .* cannot be written to"):
            create(open_folder / "b.ledger")

    as_nobody(work)
    open_folder.chmod(0o777)
    is_whole(path)


@pytest.mark.verify
def test_a_file_that_may_not_grow_costs_nothing(path: Path) -> None:
    """At every size of the file and the journal: it is charged or not, and never in part."""

    def work(limit: int) -> Callable[[], None]:
        def run() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            for number in range(100):
                try:
                    with Ledger.open(path) as ledger:
                        note = "n" * 1000
                        ledger.release(STEP, DATA, by="ana", key=f"{limit} {number}", note=note)
                except OutputFileError:
                    return
            raise AssertionError("there was no end")

        return run

    size = path.stat().st_size
    for limit in (100, size, size + 4096, size + 8192):
        assert in_child(work(limit)) == 0
        with Ledger.open(path) as ledger:
            ledger.verify()
            states = [ledger.find(key).state for key in charged(ledger)]
            assert states.count(actions.CHARGED) <= 4
            assert len(states) == len(set(charged(ledger)))


def test_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        path = disk / "a.ledger"
        with create(path) as ledger:
            released = []
            with pytest.raises(OutputFileError, match=r"no space left .* nothing was written"):
                for number in range(1000):
                    note = "n" * 1000
                    ledger.release(STEP, DATA, by="ana", key=str(number), note=note)
                    released.append(str(number))
            assert released
            ledger.verify()
            assert charged(ledger)[: len(released)] == released
            assert len(charged(ledger)) - len(released) <= 1
            with pytest.raises(OutputFileError, match=r"[Nn]o space left"):
                create(disk / "b.ledger")
            assert sorted(file.name for file in disk.iterdir() if "ledger" in file.name) == [
                "a.ledger",
                "a.ledger-journal",
            ]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Network file systems


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("ext4", False),
        ("xfs", False),
        ("overlay", False),
        ("fuse.overlayfs", False),
        ("nfs4", True),
        ("cifs", True),
        ("smb3", True),
        ("9p", True),
        ("fuse.sshfs", True),
        ("fuse.glusterfs", True),
        ("vboxsf", True),
        ("lustre", True),
    ],
)
@pytest.mark.quick(every=4)
def test_a_network_file_system_is_refused(
    kind: str, refused: bool, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = tmp_path.stat().st_dev
    table = tmp_path / "mounts"
    table.write_text(
        "22 1 0:5 / /proc rw - proc proc rw\n"
        f"30 1 {os.major(device)}:{os.minor(device)} / {tmp_path} rw,noatime shared:1 - "
        f"{kind} server:/export rw\n"
    )
    monkeypatch.setattr(sqlite, "_MOUNTS", table)
    if not refused:
        create(tmp_path / "b.ledger").close()
        is_whole(path, "first")
        return
    for use in (lambda: create(tmp_path / "b.ledger"), lambda: Ledger.open(path)):
        with pytest.raises(LedgerError, match=rf"network file system \({kind}\).*PostgreSQL"):
            use()
    assert not (tmp_path / "b.ledger").exists()


def test_a_system_that_does_not_tell_is_trusted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_MOUNTS", Path("/does/not/exist"))
    is_whole(path, "first")
