"""Memory that runs out says nothing of how many pairs of user and label there are."""

from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding.stores import Sets
from dphist.errors import DataError
from dphist.labels.discover import measuring

FOUND = "918273645"
MECHANISM = dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=3)
TABLE = pa.table({"who": [1, 1, 2], "term": ["a", "b", "a"]})


def fails(*_: Any, **__: Any) -> NoReturn:
    """Fail as NumPy does, whose message says how long the array would have been."""
    raise np._core._exceptions._ArrayMemoryError((int(FOUND),), np.dtype(np.int64))


def with_sets() -> dh.LabelCounts:
    options: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 3}
    return dh.LabelCounts.from_table(TABLE, keep_sets=True, **options)


def is_silent(error: BaseException) -> bool:
    return FOUND not in f"{error}{error.__context__!r}{error.__cause__!r}"


@pytest.mark.parametrize("name", ["make_totals", "weights", "rounded_gaussian", "next_priorities"])
def test_a_release_that_needs_too_much_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = with_sets()
    monkeypatch.setattr(measuring, name, fails)
    with pytest.raises(DataError, match="memory") as caught:
        MECHANISM.release(counts)
    assert is_silent(caught.value)


def test_a_release_of_counts_that_needs_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "rounded_gaussian", fails)
    with pytest.raises(DataError, match="memory") as caught:
        MECHANISM.release(pa.table({"label": ["a"], "count": [1]}))
    assert is_silent(caught.value)


def test_sets_that_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sets, "counts", fails)
    with pytest.raises(DataError, match="memory") as caught:
        with_sets()
    assert is_silent(caught.value)


def test_other_errors_are_not_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source of bits of the caller's raises what it raises."""

    def source(_: int) -> bytes:
        raise OSError("no more bits")

    with pytest.raises(OSError, match="no more bits"):
        MECHANISM.release(with_sets(), source)
