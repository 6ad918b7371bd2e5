"""The DuckDB that labels are counted in: its own settings, within its share of memory."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from dphist.tables.engine import private_duckdb
from dphist.tables.engine.private_duckdb import connected


def setting(name: str, *, large: bool) -> str:
    with ExitStack() as stack:
        found = connected(stack, large=large).execute("SELECT current_setting(?)", [name])
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
        connected(stack)
        assert len(list(temporary.iterdir())) == 1
    assert list(temporary.iterdir()) == []
