"""Profiles of users from arrays: where numbers do not tell values apart, and within memory."""

from typing import Any

import pytest

from dphist.errors import DataError
from dphist.tables.counting import contributions, held_labels
from dphist.tables.counting.held_labels import count_in_arrays
from dphist.tables.engine.rows import DuckRows
from tests.tables.binned_users import KEYS
from tests.tables.contribution_engines import table_of
from tests.tables.refusal import refused
from tests.tables.test_contributions import kept_records, some_rows
from tests.tables.test_kept import ENGINE, profile

ROWS = some_rows(5, 120)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets to know whether arrays returned counts."""
    known: list[bool] = []

    def counted(*given: Any) -> Any:
        counts = count_in_arrays(*given)
        known.append(counts is not None)
        return counts

    monkeypatch.setattr(contributions, "count_in_arrays", counted)
    return known


def one_hash(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """Let all values of a column have one hash."""
    correct = DuckRows.number_of

    def number_of(rows: DuckRows, name: str) -> tuple[str, bool]:
        return ("42::UBIGINT", False) if name == role else correct(rows, name)

    monkeypatch.setattr(DuckRows, "number_of", number_of)


@pytest.mark.parametrize("most", [1, 6, 200])
def test_counts_are_those_of_plain_python(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    known = noted(monkeypatch)
    assert profile(table_of(ROWS), most) == kept_records(ROWS, most, KEYS[1], ENGINE)
    assert known == [True]


def test_users_of_one_hash_are_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = noted(monkeypatch)
    one_hash(monkeypatch, "who")
    for most, told in ((6, False), (200, True)):  # with 200, no user can be above the bound
        assert profile(table_of(ROWS), most) == kept_records(ROWS, most, KEYS[1], ENGINE)
        assert known.pop() == told


def test_labels_of_one_hash_are_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = noted(monkeypatch)
    one_hash(monkeypatch, "term")
    assert profile(table_of(ROWS), 6) == kept_records(ROWS, 6, KEYS[1], ENGINE)
    assert known == [False]


def test_arrays_stay_within_the_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    known = noted(monkeypatch)
    monkeypatch.setattr(held_labels, "_FEW_ROWS", 0)
    size = len(ROWS) * held_labels.ROW_BYTES * held_labels.SHARE
    for memory in (size - 1, size):
        monkeypatch.setattr(held_labels, "memory_limit", lambda memory=memory: memory)
        assert profile(table_of(ROWS), 6) == kept_records(ROWS, 6, KEYS[1], ENGINE)
    assert known == [False, True]


def test_an_engine_that_loses_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = held_labels._numbers_of

    def lossy(rows: DuckRows) -> Any:
        return (records.take(slice(1, None)) for records in correct(rows))

    monkeypatch.setattr(held_labels, "_numbers_of", lossy)
    with refused(DataError, "could not evaluate"):
        profile(table_of(ROWS), 200)


def test_a_label_that_changes_its_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = held_labels._by_number

    def other(numbers: Any, records: Any) -> Any:
        known, counts = correct(numbers, records)
        known[-1] += 1
        return known, counts

    monkeypatch.setattr(held_labels, "_by_number", other)
    with refused(DataError, "could not evaluate"):
        profile(table_of(ROWS), 1)
