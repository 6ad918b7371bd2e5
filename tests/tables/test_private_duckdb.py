"""The DuckDB that labels are counted in: its own settings, within its share of memory."""

import signal
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from dphist.tables.engine import private_duckdb
from dphist.tables.engine.private_duckdb import open_private_connection


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


def test_it_is_gone_with_its_folder(temporary: Path) -> None:
    with ExitStack() as stack:
        open_private_connection(stack)
        assert len(list(temporary.iterdir())) == 1
    assert list(temporary.iterdir()) == []


def test_only_its_owner_reads_its_folder(temporary: Path) -> None:
    with ExitStack() as stack:
        open_private_connection(stack)
        (folder,) = temporary.iterdir()
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
    real = private_duckdb.leftovers.remove

    def remove(path: str) -> None:
        signal.raise_signal(signal.SIGINT)
        real(path)

    monkeypatch.setattr(private_duckdb.leftovers, "remove", remove)
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        open_private_connection(stack)
    assert list(temporary.iterdir()) == []


def test_where_no_progress_can_be_shown_none_is_counted() -> None:
    """As in a notebook without ipywidgets; tests/notebooks has a real one."""

    class Refusing:
        def execute(self, _: str) -> None:
            raise duckdb.InvalidInputException("Could not change the progress bar setting")

    private_duckdb._keep_count_of_progress(Refusing())  # type: ignore[arg-type]
