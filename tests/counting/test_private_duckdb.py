"""The DuckDB that labels are counted in: its own settings, within its share of memory."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dphist.counting.engine import private_duckdb
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import DuckRows


def setting(name: str, *, large: bool) -> str:
    with ExitStack() as stack:
        found = open_private_connection(stack, large=large).execute(
            "SELECT current_setting(?)", [name]
        )
        return str(found.fetchall()[0][0])


@pytest.mark.parametrize("large", [False, True])
def test_labels_are_compared_as_bytes_and_nothing_is_fetched(large: bool) -> None:
    assert setting("default_collation", large=large) == ""
    assert setting("autoload_known_extensions", large=large) == "False"
    assert setting("autoinstall_known_extensions", large=large) == "False"


def test_it_takes_a_quarter_of_the_memory_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    size = private_duckdb._bytes
    assert size("1.5 GiB") == 1.5 * 2**30
    assert [size(text) for text in ("", "18", "2 PB")] == [0, 0, 0]
    small = size(setting("memory_limit", large=False))
    assert small == pytest.approx(2e9, rel=0.05)
    monkeypatch.setattr(private_duckdb, "_quarter", lambda _: 7 * 2**30)
    assert size(setting("memory_limit", large=True)) == pytest.approx(7 * 2**30, rel=0.01)
    monkeypatch.setattr(private_duckdb, "_quarter", lambda _: 2**30)
    assert size(setting("memory_limit", large=True)) == small


def folders_in(temporary: Path) -> list[Path]:
    """The folders of databases; beside them is the journal of temporary files."""
    return [path for path in temporary.iterdir() if path.is_dir()]


@pytest.fixture(autouse=True)
def none_idle() -> None:
    private_duckdb.close_idle()


def everything_in(connection: duckdb.DuckDBPyConnection) -> list[tuple[str]]:
    return connection.execute(
        "SELECT table_name FROM duckdb_tables() UNION SELECT database_name FROM duckdb_databases() "
        "WHERE NOT internal UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()


def held_by(connection: duckdb.DuckDBPyConnection) -> int:
    """Bytes of memory."""
    query = "SELECT sum(memory_usage_bytes) FROM duckdb_memory()"
    return int(connection.execute(query).fetchall()[0][0])


def test_a_database_is_used_again_and_empty(temporary: Path) -> None:
    databases = []
    for _ in range(3):
        with ExitStack() as stack:
            connection = open_private_connection(stack, large=True)
            (folder,) = folders_in(temporary)
            assert everything_in(connection) == [("memory",)]
            assert held_by(connection) < 2**20
            found = connection.execute("SELECT current_setting('temp_directory')").fetchall()
            assert found == [(str(folder),)]
            connection.execute("CREATE TABLE users AS SELECT range AS n FROM range(1000000)")
            connection.execute("CREATE TEMP TABLE more AS SELECT 1 AS n")
            connection.register("wanted", pa.table({"label": ["a"]}))
            rows = DuckRows(connection, connection.from_arrow(pa.table({"label": ["a"]})))
            assert rows.project("label").fetch(["label"]) == [("a",)]
        databases.append(private_duckdb._idle[0][1])
        assert everything_in(databases[-1]) == [("memory",)]
        assert held_by(databases[-1]) < 2**20
    assert all(database is databases[0] for database in databases)


def test_rows_that_are_counted_are_not_held() -> None:
    with ExitStack() as stack:
        connection = open_private_connection(stack)
        rows = DuckRows(connection, connection.from_arrow(pa.table({"label": ["a", "b"]})))
        rows.where("label = 'a'").create("counted")
        assert sorted(everything_in(connection)) == [("counted",), ("memory",)]
        assert connection.execute("FROM counted").fetchall() == [("a",)]


def test_what_is_in_use_is_not_shared() -> None:
    with ExitStack() as first, ExitStack() as second:
        one, two = open_private_connection(first), open_private_connection(second)
        one.execute("CREATE TABLE counted AS SELECT 1 AS n")
        two.execute("CREATE TABLE counted AS SELECT 2 AS n")
        assert one.execute("FROM counted").fetchall() == [(1,)]
        first.close()
        assert two.execute("FROM counted").fetchall() == [(2,)]
    assert len(private_duckdb._idle) == 1


@pytest.mark.parametrize("ends", [KeyboardInterrupt, ValueError])
def test_what_was_interrupted_is_not_used_again(ends: type[BaseException]) -> None:
    with pytest.raises(ends), ExitStack() as stack:
        open_private_connection(stack)
        raise ends
    assert private_duckdb._idle == []


def test_what_has_spilled_is_not_used_again(temporary: Path) -> None:
    with ExitStack() as stack:
        connection = open_private_connection(stack)
        connection.execute("SET memory_limit = '60MB'")
        connection.execute(
            "CREATE TABLE counted AS SELECT hash(range)::VARCHAR AS label FROM range(3000000)"
        )
        (folder,) = folders_in(temporary)
        assert list(folder.iterdir())
    assert private_duckdb._idle == []
    assert list(temporary.iterdir()) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, where threads run
def test_a_forked_process_has_none_of_its_parent() -> None:
    with ExitStack() as stack:
        open_private_connection(stack)
    process = os.fork()
    if process == 0:
        with ExitStack() as stack:  # a database of the parent would wait for its threads forever
            connection = open_private_connection(stack)
            counted = connection.execute("SELECT count(*) FROM range(1000000)").fetchall()
        os._exit(0 if counted == [(1000000,)] else 1)
    assert os.waitpid(process, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, where threads run
def test_a_forked_process_leaves_alone_what_its_parent_uses(temporary: Path) -> None:
    """Here a table is held while the process forks, and the copy of it is dropped there."""
    stack = ExitStack()
    connection = open_private_connection(stack)
    connection.execute("CREATE TABLE held AS SELECT 1")
    process = os.fork()
    if process == 0:
        stack.close()
        kept = private_duckdb._idle == [] and len(folders_in(temporary)) == 1
        with ExitStack() as own:
            counted = open_private_connection(own).execute("SELECT sum(range) FROM range(100000)")
            kept = kept and counted.fetchall() == [(4999950000,)]
        os._exit(0 if kept else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert connection.execute("SELECT * FROM held").fetchall() == [(1,)]
    stack.close()


@pytest.mark.verify
def test_a_forked_process_exits_well_although_its_parent_has_a_database() -> None:
    """Dropping the last reference to a database of the parent would end it with a signal."""
    script = """
import os, sys
from contextlib import ExitStack
from dphist.counting.engine.private_duckdb import open_private_connection
stack = ExitStack()
open_private_connection(stack).execute("CREATE TABLE held AS SELECT 1")
process = os.fork()
if process == 0:
    stack.close()
    sys.exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 7


def test_two_idle_databases_are_both_closed() -> None:
    for _ in range(2):  # as if two threads had ended at one time
        private_duckdb._idle.append((os.getpid(), duckdb.connect()))
    private_duckdb.close_idle()
    assert private_duckdb._idle == []


def test_it_is_gone_with_its_folder(temporary: Path) -> None:
    with ExitStack() as stack:
        open_private_connection(stack)
        assert len(folders_in(temporary)) == 1
    assert list(temporary.iterdir()) == []


def test_only_its_owner_reads_its_folder(temporary: Path) -> None:
    with ExitStack() as stack:
        open_private_connection(stack)
        (folder,) = folders_in(temporary)
        assert folder.stat().st_mode & 0o777 == 0o700


def test_being_stopped_while_it_is_made_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quarter(connection: duckdb.DuckDBPyConnection) -> int:
        signal.raise_signal(signal.SIGINT)
        # In here DuckDB asks whether there was a signal.
        return int(connection.execute("SELECT count(*) FROM range(1000000)").fetchall()[0][0])

    monkeypatch.setattr(private_duckdb, "_quarter", quarter)
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        open_private_connection(stack, large=True)
    assert list(temporary.iterdir()) == []


def test_being_stopped_while_it_is_closed_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = private_duckdb.files.remove_temporary

    def remove(path: str) -> None:
        signal.raise_signal(signal.SIGINT)
        real(path)

    monkeypatch.setattr(private_duckdb.files, "remove_temporary", remove)
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        open_private_connection(stack)
    assert list(temporary.iterdir()) == []


def test_where_no_progress_can_be_shown_none_is_counted() -> None:
    """As in a notebook without ipywidgets; tests/notebooks has a real one."""

    class Refusing:
        def execute(self, _: str) -> None:
            raise duckdb.InvalidInputException("Could not change the progress bar setting")

    private_duckdb._keep_count_of_progress(Refusing())  # type: ignore[arg-type]
