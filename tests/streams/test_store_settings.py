"""How a state file is written: with the settings that commits and wiping need.

Defaults differ between builds of SQLite: some overwrite what is deleted, others do not. So the
connections here begin with the opposite of every setting that matters.
"""

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.streams.store.store import Store

SECRET = b"the secret count of ibuprofen"
OPPOSITE = {
    "trusted_schema": "ON",
    "synchronous": "OFF",
    "fullfsync": "OFF",
    "secure_delete": "OFF",
    "temp_store": "FILE",
}
# Of a commit: synced to the disk itself, with a rollback journal. See the comments in
# streams/store/database.py.
DURABLE = {"synchronous": 2, "fullfsync": 1}
OPENED = DURABLE | {
    "trusted_schema": 0,
    "locking_mode": "exclusive",
    "secure_delete": 1,
    "temp_store": 2,
    "journal_mode": "delete",
}


class Careless(sqlite3.Connection):
    """A connection that syncs nothing and overwrites nothing unless told to, and keeps a record."""

    commits: "list[dict[str, Any]]"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, value in OPPOSITE.items():
            super().execute(f"PRAGMA {name} = {value}")
            assert self.setting(name) != OPENED[name]

    def setting(self, name: str) -> Any:
        (found,) = super().execute(f"PRAGMA {name}").fetchone()
        return found

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            self.commits.append({name: self.setting(name) for name in OPENED})
        return super().execute(statement, *values)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> "list[dict[str, Any]]":
    """Have every connection begin carelessly, and return the settings at each commit."""
    connect = sqlite3.connect
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(Careless, "commits", found, raising=False)
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Careless))
    return found


def test_every_commit_is_durable_and_what_it_replaces_is_overwritten(
    commits: "list[dict[str, Any]]", tmp_path: Path
) -> None:
    store = Store.create(tmp_path / "state")
    store.commit({"label": [(0, b"1")]})
    store.close()
    # The first writes the new file, which nobody has seen before it has a name.
    assert {name: commits[0][name] for name in DURABLE} == DURABLE
    assert len(commits) >= 3
    for number in range(2):
        for settings in commits[1 - number :]:
            assert settings == OPENED
        commits.clear()
        store = Store.open(tmp_path / "state")
        store.commit({"label": [(0, b"2")]})
        if number:
            store.take()
        store.close()


def remains(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if SECRET in file.read_bytes()]


@pytest.mark.parametrize("size", [0, 900, 20_000], ids=["short", "a page", "pages"])
@pytest.mark.usefixtures("commits")
def test_what_is_replaced_does_not_remain(size: int, tmp_path: Path) -> None:
    store = Store.create(tmp_path / "state")
    store.commit({"label": [(0, SECRET + b"." * size)], "user": [(SECRET, b"1")]})
    assert "state" in remains(tmp_path)
    store.commit({"label": [(0, b"replaced")], "mark": [(0, b"m" * size)]})
    (content,) = [content for _, content in store.rows("label")]
    assert content == b"replaced"
    store.close()
    assert remains(tmp_path) == ["state"]  # as the key of a row, which stays
    kept = (tmp_path / "state").read_bytes()
    assert kept.count(SECRET) == 1


@pytest.mark.usefixtures("commits")
def test_a_state_taken_over_is_wiped_also_if_it_cannot_be_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repacking copies the file, for which there may be no space."""
    execute = Careless.execute

    def no_space(self: Careless, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "VACUUM":
            raise sqlite3.OperationalError("database or disk is full")
        return execute(self, statement, *values)

    monkeypatch.setattr(Careless, "execute", no_space)
    store = Store.create(tmp_path / "state")
    for number in range(3):  # so that rows are moved about in the file, and fill the journal
        rows = [(place, SECRET + b"." * 400 * number) for place in range(500)]
        store.commit({"label": list(rows), "user": [(SECRET, b"1")]})
    assert sorted(remains(tmp_path)) == ["state", "state-journal"]
    store.take()
    assert remains(tmp_path) == []
    store.close()
    assert remains(tmp_path) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda path: Store.create(path).close(),
        lambda path: dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=10).save(path),
    ],
    ids=["create", "save"],
)
def test_the_name_of_a_new_state_is_durable(
    make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut the file is there: otherwise a second stream would begin at its name."""
    order: list[str] = []
    sync, link = os.fsync, os.link

    def fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode) and os.path.samestat(status, tmp_path.stat()):
            order.append("synced")
        sync(descriptor)

    def linked(source: Path, target: Path) -> None:
        link(source, target)
        order.append("linked")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", linked)
    make(tmp_path / "state")
    assert order == ["linked", "synced"]
