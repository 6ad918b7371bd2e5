"""Bounds that can be made are kept, whoever makes them; those that cannot are refused."""

import itertools
from typing import Any

import pyarrow as pa
import pytest

from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding.bounds import Bounds
from dphist.counting.bounding.contributions import bound_pairs, count_labels
from dphist.errors import ParameterError
from tests.support.counting.binned_users import GRID
from tests.support.counting.contribution_engines import table_of

NAMES = {"term": "term", "label": "term", "user": "who", "count": "n"}
USERS = {"u": [4, 3, 1], "v": [1, 1, 1], "w": [2]}
SEPARATE = [4, 1]  # counts of rows without a user

# Each user and each row without one has labels of its own, so that counts show what it adds.
ROWS: list[tuple[Any, str, int]] = [
    *(
        (user, f"{user}{place}", n)
        for user, counts in USERS.items()
        for place, n in enumerate(counts)
    ),
    *((None, f"row{place}", n) for place, n in enumerate(SEPARATE)),
]


def added(bounds: Bounds) -> dict[str, list[int]]:
    """What each user adds to the labels, and each row without a user."""
    rows = ROWS if bounds.null_users != "refuse" else [row for row in ROWS if row[0] is not None]
    store, users = count_labels(table_of(rows), NAMES, bounds)
    assert (users is not None) == bool(bounds.users_by_labels)
    found: dict[str, list[int]] = {}
    table = store.filter_batches(lambda batch: batch)
    for label, count in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(label if label.startswith("row") else label[0], []).append(count)
    return found


@pytest.mark.parametrize("null_users", ["refuse", "drop", "separate"])
def test_all_bounds_that_can_be_made_are_kept(null_users: str) -> None:
    tried = 0
    for most_labels, most, cells in itertools.product([None, 1, 2], [1, 3], [(), (1, 2, 3)]):
        try:
            bounds = Bounds(most_labels, most, null_users, users_by_labels=cells)
        except ParameterError:
            assert (null_users, bool(cells)) == ("separate", True)
            continue
        tried += 1
        for who, counts in added(bounds).items():
            allowed = 1 if who.startswith("row") else most_labels or len(USERS[who])
            assert len(counts) == min(allowed, len(USERS.get(who, [0])))
            assert 1 <= max(counts) <= most
    assert tried == (6 if null_users == "separate" else 12)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"max_labels": 0}, "max_labels must be at least 1"),
        ({"max_labels": True}, "max_labels must be a whole number"),
        ({"max_count": 0}, "max_count must be at least 1"),
        ({"max_count": 1.5}, "max_count must be a whole number"),
        ({"max_count": 2**62}, "max_count must be at most"),
        ({"null_users": "keep"}, "null_users must be"),
        ({"null_labels": "separate"}, "null_labels must be"),
        ({"null_users": "separate", "users_by_labels": (1,)}, "users_by_labels needs null_users"),
    ],
)
def test_other_bounds_are_refused(wrong: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"max_labels": 2, "max_count": 2, **wrong}
    with pytest.raises(ParameterError, match=named):
        Bounds(**given)


@pytest.mark.parametrize("bounds", [Bounds(2, 2), Bounds(2, 1, users_by_labels=(1, 3))])
def test_pairs_are_there_once_or_not_at_all(bounds: Bounds) -> None:
    with pytest.raises(ParameterError, match="keep_sets needs max_count=1"):
        bound_pairs(pa.table({"who": ["u"], "term": ["a"]}), NAMES, bounds)


@pytest.mark.parametrize("named", [{}, {"count": "n"}])
def test_users_of_bins_need_a_bound(named: dict[str, str]) -> None:
    table = pa.table({"who": ["u"] * 3, "x": [1, 6, 7], "n": [1, 1, 1]})
    with pytest.raises(ParameterError, match="max_records must be given"):
        bin_rows_bounded(table, GRID, user="who", **named)  # type: ignore[arg-type]
