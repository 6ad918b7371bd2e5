"""The state file: whole after any crash, owned by one, refused when edited, damaged or copied."""

import copy
import ctypes
import json
import os
import pickle
import random
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dphist
from dphist.errors import DphistError, InputFileError, OutputFileError, StateError
from dphist.streams.store.database import Header, row_hash
from dphist.streams.store.store import Store
from tests.support.streams.store_child import Rows, batch

SECRET = b"the secret count of ibuprofen"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def state(path: Path) -> Path:
    """A closed state with rows of several kinds."""
    store = Store.create(path)
    store.commit(rows_of(1))
    store.commit({"label": [(1, SECRET)]})
    store.close()
    return path


def rows_of(number: int) -> Rows:
    labels = [(place, b"%d at %d" % (number, place)) for place in range(300)]
    return {"label": list(labels), "user": [(b"\x00\xff", b""), (b"u", b"1")]}


def contents(store: Store) -> dict[tuple[str, int | bytes], bytes]:
    kinds = ("label", "user", "mark", "clock")
    return {(kind, key): content for kind in kinds for key, content in store.rows(kind)}


def read(path: Path) -> dict[tuple[str, int | bytes], bytes]:
    store = Store.open(path)
    try:
        return contents(store)
    finally:
        store.close()


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


started: "list[subprocess.Popen[str]]" = []


@pytest.fixture(autouse=True)
def _no_child_stays() -> Iterator[None]:
    """End what a test that failed has left, before it disturbs another one."""
    yield
    while started:
        process = started.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()


def child(
    command: str, path: Path, before: Callable[[], None] | None = None
) -> "subprocess.Popen[str]":
    script = Path(__file__).parents[1] / "support/streams/store_child.py"
    process = subprocess.Popen(
        [sys.executable, script, command, path, Path(dphist.__file__).parents[1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )
    started.append(process)
    return process


def kill(process: "subprocess.Popen[str]") -> str:
    process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    output = process.stdout.read()  # `communicate` would miss what `readline` has read ahead
    process.communicate()
    return output


# --- rows


def test_rows_come_back_in_order_of_their_keys(path: Path) -> None:
    store = Store.create(path)
    store.commit({"label": [(3, b"c"), (-1, b"a"), (2**63 - 1, b"d")], "user": [(b"z", b"\x00")]})
    store.commit({"label": [(2, b""), (b"\x01", b"e"), (2, b"b")], "parameters": []})
    expected = [(-1, b"a"), (2, b"b"), (3, b"c"), (2**63 - 1, b"d"), (b"\x01", b"e")]
    assert list(store.rows("label")) == expected
    store.close()
    store = Store.open(path)
    assert list(store.rows("label")) == expected
    assert list(store.rows("user")) == [(b"z", b"\x00")]
    assert list(store.rows("parameters")) == []
    assert store.path == path
    store.close()


def test_a_commit_replaces_rows_and_keeps_the_others(path: Path) -> None:
    store = Store.create(path)
    expected = {}
    for number in range(1, 8):
        store.commit(batch(number))
        expected.update(flat(batch(number)))
        assert contents(store) == expected
    store.close()
    assert read(path) == expected


def flat(rows: Rows) -> dict[tuple[str, int | bytes], bytes]:
    return {(kind, key): content for kind, part in rows.items() for key, content in part}


@pytest.mark.verify
@pytest.mark.parametrize(
    "row", [(1.5, b"x"), ("1", b"x"), (True, b"x"), (2**63, b"x"), (1, "x"), (1, None)]
)
def test_a_row_of_another_type_commits_nothing(row, state) -> None:
    before = read(state)
    store = Store.open(state)
    with pytest.raises((TypeError, OverflowError)):
        store.commit({"label": [(0, b"y"), row]})
    assert contents(store) == before
    store.commit({"label": [(0, b"z")]})
    store.close()
    assert read(state) == before | {("label", 0): b"z"}


def test_nothing_is_written_when_the_rows_cannot_be_made(state) -> None:
    def failing() -> Iterator[tuple[int, bytes]]:
        yield 0, b"y"
        raise RuntimeError

    before = read(state)
    store = Store.open(state)
    with pytest.raises(RuntimeError):
        store.commit({"label": failing()})
    store.close()
    assert read(state) == before


def test_a_link_leads_to_the_state(state, tmp_path) -> None:
    (tmp_path / "link").symlink_to(state)
    store = Store.open(tmp_path / "link")
    assert store.path == state
    with pytest.raises(StateError, match="in use"):
        Store.open(state)
    store.close()


def test_rows_hash_differently_wherever_they_differ() -> None:
    rows = [
        ("ab", 1, b"c"),
        ("a", 1, b"bc"),
        ("ab", b"c", b""),
        ("ab", b"", b"c"),
        ("ab", b"\0\0\0\0\0\0\0\1", b"c"),
        ("ab", b"1", b"c"),
    ]
    hashes = {row_hash(secret, *row) for row in rows for secret in (b"k" * 32, b"l" * 32)}  # type: ignore[arg-type]
    assert len(hashes) == 2 * len(rows)


# --- creating


def test_a_new_state_is_alone_in_its_folder_and_for_its_owner(path: Path) -> None:
    old = os.umask(0)
    try:
        store = Store.create(path)
        store.commit(rows_of(1))
    finally:
        os.umask(old)
    assert {file.name for file in path.parent.iterdir()} <= {"state", "state-journal"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["state"]


def test_what_exists_is_not_replaced(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(StateError, match="exists"):
        Store.create(path)
    assert path.read_text() == "mine"
    path.unlink()
    (path.parent / "state-journal").write_text("a journal left by an earlier state")
    with pytest.raises(StateError, match="exists"):
        Store.create(path)
    assert not path.exists()


def test_what_appears_while_creating_is_not_replaced(path: Path, monkeypatch) -> None:
    link = os.link

    def slow_link(source: Path, target: Path) -> None:
        target.write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", slow_link)
    with pytest.raises(StateError, match="exists"):
        Store.create(path)
    assert path.read_text() == "theirs"
    assert [file.name for file in path.parent.iterdir()] == ["state"]


def test_no_part_of_a_state_stays_when_creating_fails(path: Path, monkeypatch) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(OutputFileError, match="not permitted"):
        Store.create(path)
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path) -> None:
    with pytest.raises(OutputFileError, match="folder"):
        Store.create(tmp_path / "none" / "state")
    if Path("/proc").is_dir():
        with pytest.raises(OutputFileError):
            Store.create("/proc/state")


@pytest.mark.parametrize("new", [False, True])
def test_a_state_that_cannot_be_begun_is_removed_again(new, path: Path, monkeypatch) -> None:
    """No space for the first commit, in which nothing is lost: a later try finds the name free."""

    class Full(sqlite3.Connection):
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if statement == "BEGIN" and full:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(statement, *values)  # type: ignore[arg-type]

    full = new
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Full))
    if new:
        with pytest.raises(OutputFileError, match="no space left"):
            Store.create(path)
    else:
        Store.create(path).close()
        full = True
        with pytest.raises(OutputFileError, match="no space left"):
            Store.open(path)  # not a new one: it stays
    assert [file.name for file in path.parent.iterdir()] == [] if new else ["state"]
    full = False
    (Store.create if new else Store.open)(path).close()


def without_privileges() -> None:
    """Drop, for the program that is run next, the capability to pass over permissions."""
    drop, pass_over_permissions, read_and_search = 24, 1, 2
    for capability in (pass_over_permissions, read_and_search):
        ctypes.CDLL(None).prctl(drop, capability, 0, 0, 0)


@pytest.mark.parametrize(
    ("action", "modes", "said"),
    [
        ("open", {"f/state": 0o400}, "could not write .*: Permission denied"),
        ("open", {"f/state": 0o000}, "could not write .*: Permission denied"),
        ("open", {"f": 0o500}, "could not write .*a journal cannot be created .* folder writable"),
        ("open", {"f": 0o000}, "could not write .*: Permission denied"),
        ("create", {"f/state": None, "f": 0o500}, "the folder of .* cannot be written to"),
        ("create", {"f/state": None, "f": 0o000}, "could not write .*: Permission denied"),
    ],
)
@pytest.mark.quick(every=6)
def test_what_permissions_forbid_is_said(action, modes, said, tmp_path: Path) -> None:
    """And nothing is changed. Also where the tests are run by a superuser."""
    (tmp_path / "f").mkdir()
    state = tmp_path / "f" / "state"
    Store.create(state).close()
    before = state.read_bytes()
    for name, mode in modes.items():
        if mode is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).chmod(mode)
    process = child(action, state, without_privileges)
    assert re.search(f"^OutputFileError {said}", process.communicate()[0])
    assert process.returncode == 0
    (tmp_path / "f").chmod(0o700)
    assert [file.name for file in (tmp_path / "f").iterdir()] == (["state"] * (action == "open"))
    if action == "open":
        state.chmod(0o600)
        assert state.read_bytes() == before
        Store.open(state).close()


def test_a_missing_state_is_not_created_by_opening(path: Path) -> None:
    with pytest.raises(InputFileError, match="no stream state"):
        Store.open(path)
    with pytest.raises(StateError, match="not a file"):
        Store.open(path.parent)
    assert list(path.parent.iterdir()) == []


# --- one owner


def test_one_object_of_a_process_owns_a_state(path: Path) -> None:
    store = Store.create(path)
    with pytest.raises(StateError, match=r"state is in use.*close it there"):
        Store.open(path)
    store.commit(rows_of(1))
    with pytest.raises(StateError, match="in use"):
        Store.open(path, moved=True)
    store.close()
    store.close()
    Store.open(path).close()
    with pytest.raises(StateError, match="closed"):
        store.commit(rows_of(2))
    with pytest.raises(StateError, match="closed"):
        list(store.rows("label"))


def test_a_dropped_state_is_given_up(path: Path) -> None:
    store = Store.create(path)
    store.commit(rows_of(1))
    del store
    Store.open(path).close()


def test_a_second_process_is_refused_until_the_first_is_killed(state) -> None:
    first = child("hold", state)
    assert first.stdout is not None
    assert first.stdout.readline() == "open\n"
    with pytest.raises(StateError, match="in use"):
        Store.open(state)
    kill(first)
    store = Store.open(state)
    second = child("hold", state)
    assert "is in use" in second.communicate("")[0]
    store.close()


def test_a_state_that_cannot_be_written_is_refused_at_once(state) -> None:
    state.with_name("state-journal").mkdir()
    with pytest.raises(OutputFileError, match="could not write"):
        Store.open(state)


def test_reading_the_file_does_not_unlock_it(state) -> None:
    """A process loses its POSIX locks when it closes any descriptor of the file."""
    store = Store.open(state)
    state.read_bytes()
    other = child("hold", state)
    assert "is in use" in other.communicate("")[0]
    store.close()


def test_other_programs_are_kept_out(state) -> None:
    store = Store.open(state)
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute(sys.argv[2])"
    done = subprocess.run(
        [sys.executable, "-c", program, state, "DELETE FROM rows"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "locked" in done.stderr
    store.close()


def test_a_fork_owns_nothing_and_harms_nothing(path: Path) -> None:
    process = child("fork", path)
    assert process.stdout is not None
    assert process.stdin is not None
    outcomes = json.loads(process.stdout.readline())
    assert len(outcomes) == 5
    assert all("in use" in outcome for outcome in outcomes)
    with pytest.raises(StateError, match="in use"):
        Store.open(path)
    process.stdin.write("die\n")
    process.stdin.flush()
    assert process.wait() == -signal.SIGKILL
    assert read(path) == flat(batch(1)) | flat(batch(2)) | flat(batch(3))
    process.communicate()


def test_a_state_is_not_copied_in_memory(state) -> None:
    store = Store.open(state)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(StateError, match="one owner"):
            attempt(store)
    store.close()


# --- crashes


@pytest.mark.verify
def test_killed_at_any_moment_every_acknowledged_batch_is_whole(path: Path) -> None:
    """Forty processes, one after another, go on from what the killed one before them left."""
    store = Store.create(path)
    store.commit({"clock": [(0, bytes(8))]})
    store.close()
    expected = {("clock", 0): bytes(8)}
    done = 0
    moments = random.Random(7)
    waiting = child("batches", path)
    heard = 0
    for round_ in range(40):
        running, waiting = waiting, child("batches", path)
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("go\n")
        running.stdin.flush()
        # Some die while opening, the others when they have said that they begin, or are done.
        patience = moments.randrange(1, 9) if round_ % 5 else 0
        said = "".join(running.stdout.readline() for _ in range(patience)) + kill(running)
        begun = [int(line[6:]) for line in said.splitlines() if line.startswith("begin")]
        finished = [int(line[5:]) for line in said.splitlines() if line.startswith("done")]
        assert begun == list(range(done + 1, done + 1 + len(begun)))
        assert finished == begun[: len(finished)]
        assert len(begun) - len(finished) <= 1
        assert len(begun) + len(finished) >= patience
        heard += len(finished)
        found = read(path)
        last = int.from_bytes(found["clock", 0], "big")
        assert last - done - len(finished) in ((0, 1) if len(begun) > len(finished) else (0,))
        for number in range(done + 1, last + 1):
            expected.update(flat(batch(number)))  # type: ignore[arg-type]
        assert found == expected
        done = last
    kill(waiting)
    assert done >= heard >= 40
    assert [file.name for file in path.parent.iterdir()] == ["state"]


@pytest.mark.verify
def test_killed_with_half_a_commit_in_the_file(state) -> None:
    before = read(state)
    untouched = state.read_bytes()
    process = child("die", state)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert state.read_bytes() != untouched
    assert state.with_name("state-journal").stat().st_size > 0
    assert read(state) == before


def test_half_a_commit_without_its_journal_is_refused(state) -> None:
    child("die", state).communicate()
    state.with_name("state-journal").unlink()
    with pytest.raises(StateError, match=r"its journal .*state-journal was removed"):
        Store.open(state)


def test_a_second_name_is_refused(state, tmp_path) -> None:
    """Under it nobody would find the journal that a crash left beside the first."""
    before = read(state)
    child("die", state).communicate()
    other = tmp_path / "other"
    other.hardlink_to(state)
    for name in (state, other):
        for moved in (False, True):
            with pytest.raises(StateError, match=r"has a second name .* remove the other name"):
                Store.open(name, moved=moved)
    other.unlink()
    assert read(state) == before
    store = Store.open(state)
    other.hardlink_to(state)
    for attempt in (lambda: store.commit(rows_of(2)), store.take):
        with pytest.raises(StateError, match="second name"):
            attempt()
    other.unlink()
    store.commit({"label": [(0, b"new")]})
    store.close()
    assert read(state) == before | {("label", 0): b"new"}


def test_the_name_that_a_killed_maker_left_is_removed(state) -> None:
    state.with_name(".state.0123456789ab.part").hardlink_to(state)
    read(state)
    assert [file.name for file in state.parent.iterdir()] == ["state"]


def test_another_process_may_remove_that_name_at_the_same_time(state, monkeypatch) -> None:
    """As any start of dphist does, for what was killed."""
    temporary = state.with_name(".state.0123456789ab.part")
    temporary.hardlink_to(state)
    real = Path.glob

    def glob(folder: Path, pattern: str) -> Iterator[Path]:
        temporary.unlink(missing_ok=True)
        return real(folder, pattern)

    monkeypatch.setattr(Path, "glob", glob)
    read(state)


class Interrupted:
    """A connection on which COMMIT is done, but once an exception comes before the next line."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.interrupted = False

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        cursor = self.connection.execute(statement, *values)  # type: ignore[arg-type]
        if statement == "COMMIT" and not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return cursor

    def __getattr__(self, name: str) -> object:
        return getattr(self.connection, name)


def test_a_commit_of_unknown_outcome_stops_the_store(state) -> None:
    before = read(state)
    store = Store.open(state)
    store._owned.connection = Interrupted(store._owned.connection)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        store.commit({"label": [(0, b"new")]})
    with pytest.raises(StateError, match="open it again"):
        store.commit({"label": [(0, b"newer")]})
    with pytest.raises(StateError, match="open it again"):
        list(store.rows("label"))
    store.close()
    assert read(state) == before | {("label", 0): b"new"}


def test_no_space_while_rows_are_written_leaves_the_store_as_it_was(state) -> None:
    before = read(state)
    store = Store.open(state)
    (pages,) = store._owned.connection.execute("PRAGMA page_count").fetchone()
    store._owned.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(OutputFileError, match="no space left") as caught:
        store.commit({"label": [(place, SECRET * 9) for place in range(1000)]})
    assert SECRET.decode() not in str(caught.value)
    assert caught.value.__suppress_context__
    assert contents(store) == before
    store.commit({"label": [(0, b"new")]})
    store.close()
    assert read(state) == before | {("label", 0): b"new"}


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_full_disk_leaves_the_state_as_it_was(at_the_end, state) -> None:
    """A limit on file size stands in for the disk: the same error path, a real write.

    It meets the journal, before anything is committed, or the file, while it is.
    """
    before = read(state)
    store = Store.open(state)
    size = state.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        limit = 2 * size if at_the_end else size // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
        with pytest.raises(OutputFileError, match="could not write"):
            store.commit({"label": [(place, SECRET * 9) for place in range(1000)]})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    if at_the_end:
        with pytest.raises(StateError, match="open it again"):
            store.commit({"label": [(0, b"new")]})
    else:
        assert contents(store) == before
        store.commit({"label": [(0, b"new")]})
        before["label", 0] = b"new"
    store.close()
    assert read(state) == before


def test_a_state_renamed_or_removed_in_use_takes_no_more_commits(state, tmp_path) -> None:
    store = Store.open(state)
    state.rename(tmp_path / "other")
    with pytest.raises(StateError, match="renamed or removed"):
        store.commit({"label": [(0, b"new")]})
    (tmp_path / "other").rename(state)
    store.commit({"label": [(0, b"new")]})
    state.unlink()
    Store.create(state.with_name("second")).close()
    state.with_name("second").rename(state)
    with pytest.raises(StateError, match="renamed or removed"):
        store.commit({"label": [(0, b"newer")]})
    store.close()


# --- edited and damaged files


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rows SET content = x'00' WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET content = CAST(content AS TEXT) WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET content = NULL WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET key = 1000 WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET key = 1.5 WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET kind = 'user' WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET kind = CAST(x'ff' AS TEXT) WHERE kind = 'label' AND key = 1",
        "UPDATE rows SET content = (SELECT content FROM rows WHERE key = 3 - rows.key) "
        "WHERE key IN (1, 2)",
        "DELETE FROM rows WHERE kind = 'label' AND key = 1",
        "DELETE FROM rows",
        "INSERT INTO rows VALUES ('label', 1000, x'00')",
        "INSERT INTO rows SELECT kind, key + 1000, content FROM rows WHERE kind = 'label'",
        "UPDATE header SET format = 'dphist release'",
        "UPDATE header SET version = 0",
        "UPDATE header SET version = NULL",
        "UPDATE header SET library = '9.9'",
        "UPDATE header SET identity = '0:0'",
        "UPDATE header SET key = zeroblob(32)",
        "UPDATE header SET key = 'text'",
        "UPDATE header SET taken = 1",
        "UPDATE header SET digest = zeroblob(32)",
        "UPDATE header SET seal = zeroblob(32)",
        "DELETE FROM header",
        "INSERT INTO header SELECT * FROM header",
        "ALTER TABLE header ADD COLUMN more",
        "CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
        "DROP TABLE rows",
        "PRAGMA journal_mode = WAL",
    ],
)
def test_an_edited_state_is_refused(statement, state) -> None:
    edit(state, statement)
    with pytest.raises(StateError, match=r"damaged|not the state of a stream") as caught:
        Store.open(state, moved=True)
    assert "ibuprofen" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_row_put_back_is_noticed(state) -> None:
    store = Store.open(state)
    store.commit({"label": [(1, b"later")]})
    store.close()
    put_back = "UPDATE rows SET content = CAST('{}' AS BLOB) WHERE kind = 'label' AND key = 1"
    edit(state, put_back.format(SECRET.decode()))
    with pytest.raises(StateError, match="damaged or was edited"):
        Store.open(state)


def test_reading_and_repacking_by_other_programs_is_fine(state) -> None:
    before = read(state)
    edit(state, "SELECT * FROM rows", "VACUUM")
    assert read(state) == before


def test_a_later_version_is_named(state) -> None:
    edit(state, "UPDATE header SET version = 3")
    with pytest.raises(StateError, match=r"version 3 .* later dphist"):
        Store.open(state)


def test_an_earlier_version_is_named(state) -> None:
    """Whatever a file of version 1 holds: it does not say how many commits there were."""
    edit(
        state,
        "ALTER TABLE header RENAME COLUMN commits TO openings",
        "UPDATE header SET version = 1, openings = 3",
    )
    for moved in (False, True):
        with pytest.raises(StateError, match=r"created by a development version .* that version"):
            Store.open(state, moved=moved)


def test_other_files_are_not_states(path: Path) -> None:
    for text in (b"", b"label,count\n", bytes(10_000), b"SQLite format 3\0" + b"\xa7" * 9000):
        path.write_bytes(text)
        with pytest.raises(StateError, match=r"not the state of a stream|damaged"):
            Store.open(path)
        assert path.read_bytes() == text
    path.unlink()
    edit(path, "CREATE TABLE header (format, version)", "INSERT INTO header VALUES ('other', 1)")
    with pytest.raises(StateError, match="not the state of a stream"):
        Store.open(path)


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.5, 0.8, 0.99, 1])
def test_a_truncated_state_is_refused(share, state) -> None:
    size = state.stat().st_size
    os.truncate(state, min(int(size * share), size - 1))
    with pytest.raises(StateError):
        Store.open(state)


def test_a_flipped_byte_is_noticed_or_harmless(state) -> None:
    """Harmless are the bytes that hold nothing, and counters that SQLite can do without."""
    rows = read(state)
    whole = state.read_bytes()
    places = random.Random(3)
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[places.randrange(len(whole))] ^= 1 << places.randrange(8)
        state.write_bytes(damaged)
        try:
            found = read(state)
        except DphistError:
            refused += 1
        else:
            assert found == rows
    assert refused >= 20


def test_a_header_is_read_as_it_was_sealed() -> None:
    header = Header.new("1:2", bytes(range(32))).with_sum(-5)
    assert header.sum == 2**256 - 5
    assert Header.read(header.columns()) == header
    for place, field in enumerate(header.columns()):
        columns = list(header.columns())
        columns[place] = {int: 7, str: "other", bytes: bytes(32)}[type(field)]
        assert Header.read(tuple(columns)) is None


# --- states that were taken over


def test_what_was_taken_is_replaced_and_nothing_else(path: Path) -> None:
    store = Store.create(path)
    with pytest.raises(StateError):
        Store.create(path, replace_taken=True)  # in use
    store.take()
    store.close()
    again = Store.create(path, replace_taken=True)
    again.close()
    with pytest.raises(StateError, match="exists"):
        Store.create(path, replace_taken=True)


def test_only_the_file_of_the_store_is_discarded(path: Path) -> None:
    store = Store.create(path)
    path.unlink()
    path.write_text("of somebody else")
    assert not store.discard()
    store.close()
    assert path.read_text() == "of somebody else"


def test_a_renamed_state_goes_on(state, tmp_path) -> None:
    rows = read(state)
    (tmp_path / "folder").mkdir()
    state.rename(tmp_path / "folder" / "renamed")
    assert read(tmp_path / "folder" / "renamed") == rows


@pytest.mark.parametrize("again", [False, True])
def test_a_state_taken_over_is_wiped(again, path: Path) -> None:
    def found() -> list[str]:
        return [file.name for file in path.parent.iterdir() if SECRET in file.read_bytes()]

    store = Store.create(path)
    for number in range(3):  # so that rows are moved about in the file, and fill the journal
        padding = [(place, SECRET + b"." * 400 * number) for place in range(500)]
        store.commit({"label": list(padding), "user": [(SECRET, b"1")]})
    if again:
        store.close()
        assert found() == ["state"]
        store = Store.open(path)
    else:
        assert sorted(found()) == ["state", "state-journal"]
    store.take()
    assert found() == []
    for attempt in (lambda: store.commit(rows_of(1)), lambda: list(store.rows("label"))):
        with pytest.raises(StateError, match="taken over"):
            attempt()
    store.close()
    assert found() == []
    assert path.stat().st_size < 20_000
    for moved in (False, True):
        with pytest.raises(StateError, match=r"taken over .* save that stream again"):
            Store.open(path, moved=moved)
    assert [file.name for file in path.parent.iterdir()] == ["state"]


def test_every_refusal_is_an_error_of_ours(state) -> None:
    assert issubclass(StateError, DphistError)
    with pytest.raises(DphistError):
        Store.create(state)
