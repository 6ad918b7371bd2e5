"""What one user changes in counts of bins, for any key; and that rows are kept evenly."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from dphist.counting.binning import users as binned
from dphist.counting.binning.slots import Grid
from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding import kept as counting_kept
from dphist.counting.bounding import ranking
from dphist.counting.bounding.ranking import mix
from tests.support.counting.binned_users import (
    KEYS,
    UserRows,
    kept,
    kept_in_python,
    slot_of,
    table_of,
)
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.counting.contributions import p_value
from tests.support.goodness import LEVEL

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)

# One value a slot: below, three bins, above, null.
VALUES = [-1, 0, 2, 5, 10, None]


def pairs_of_tables() -> list[tuple[UserRows, UserRows]]:
    """Rows of two other users, and of the one who is there or not: all small ones of a kind."""
    others = [
        [("v", x) for x in first] + [("w", x) for x in second]
        for first in itertools.combinations(VALUES, 2)
        for second in [(), first[:1], (None, None, 0)]
    ]
    own = [
        [("u", x) for x in rows]
        for size in (1, 3)
        for rows in itertools.combinations_with_replacement(VALUES, size)
    ]
    return list(itertools.product(others, own))


PAIRS = pairs_of_tables()


def change(without: list[int], with_user: list[int]) -> tuple[int, int]:
    """Return the rows more, and the rows fewer, over all slots."""
    by = [b - a for a, b in zip(without, with_user, strict=True)]
    return sum(max(n, 0) for n in by), sum(max(-n, 0) for n in by)


# --- Lemma: one user


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.quick(every=2)
def test_a_user_adds_no_more_than_the_bound_in_plain_python(most: int) -> None:
    """All pairs, each under a key of its own; that engines do the same is tested elsewhere."""
    largest = 0
    for number, (others, own) in enumerate(PAIRS):
        key = f"{number:032x}"
        more, fewer = change(
            kept_in_python(others, most, key), kept_in_python(own + others, most, key)
        )
        assert more == min(len(own), most)
        assert fewer == 0
        largest = max(largest, more)
    assert largest == most


@pytest.mark.long(every=4)
@pytest.mark.quick("pyarrow", "duckdb", "[polars]", every=3)
@every_engine
def test_a_user_adds_no_more_than_the_bound(engine: Engine, tmp_path: Path) -> None:
    """And changes no row of others: they are in the first bin and below, this user is not."""
    step = {"spark": 600, "pyarrow": 120}.get(engine.name, 150)
    for number, (others, own) in enumerate(PAIRS[::step]):
        key = f"{number:032x}"
        found = []
        for which, rows in enumerate((others, own + others)):
            folder = tmp_path / f"{number}-{which}"
            folder.mkdir()
            found.append(kept(engine.make(table_of(rows), folder), 2, key))
        assert change(*found) == (min(len(own), 2), 0)


@pytest.mark.quick("[3]")
@pytest.mark.parametrize("keys", [3, 12])
def test_a_user_who_changes_rows_changes_no_row_of_others(keys: int) -> None:
    """Replaced rows are rows removed and rows added: each at most the bound."""
    others: UserRows = [(f"v{n % 5}", (-1, 0)[n % 2]) for n in range(20)]
    versions: list[list[int | None]] = [
        [],
        [2],
        [2, 2, 5, None],
        [2, 5, 5, None],
        [10] * 9,
        [None] * 3,
        [5, 10, None, 2, 2, 5],
    ]
    for key in [f"{n:032x}" for n in range(keys)]:
        found = [kept(table_of([("u", x) for x in own] + others), 3, key) for own in versions]
        assert len({tuple(slots[:2]) for slots in found}) == 1  # below and the first bin
        for one, two in itertools.combinations(found, 2):
            assert max(change(one, two)) <= 3


# --- Planted bugs: each is put where it would stand in the library


def changes() -> set[bool]:
    """Whether a user adds as many rows as the bound says, over some pairs."""
    found = set()
    for number, (others, own) in enumerate(PAIRS[::180]):
        key = f"{number:032x}"
        counts = [kept(table_of(rows), 2, key) for rows in (others, own + others)]
        found.add(change(*counts) == (min(len(own), 2), 0))
    return found


# The hash beyond those kept.
BEYOND_WRONGLY: dict[str, Any] = {
    "one too many": lambda hashes, sizes, most: np.array(
        [
            np.append(np.sort(own), np.uint64(2**64 - 1))[most + 1]
            for own in np.split(hashes, np.cumsum(sizes)[:-1])
        ]
    ),
    "by the rows of others": lambda hashes, sizes, most: np.full(
        len(sizes), np.sort(hashes)[most], np.uint64
    ),
    "every row": lambda _, sizes, __: np.full(len(sizes), 2**64 - 1, np.uint64),
}


@pytest.mark.long(every=2)
@pytest.mark.quick("one too many", every=2)
@pytest.mark.parametrize("largest", [2**24, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("wrong", BEYOND_WRONGLY)
def test_a_planted_bug_is_noticed(
    wrong: str, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binned, "MOST_ROWS", largest)
    assert changes() == {True}
    monkeypatch.setattr(ranking, "hashes_beyond", BEYOND_WRONGLY[wrong])
    assert False in changes()


@pytest.mark.parametrize("largest", [2**24, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("kind", [str, int])
def test_users_above_the_bound_by_one_row_are_bounded(
    kind: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers are their own numbers; other users have hashes."""
    monkeypatch.setattr(binned, "MOST_ROWS", largest)
    rows: UserRows = [(kind(n % 3), x) for n, x in enumerate([0, 2, 5, None, -1, 10, 0, 2, 5])]
    users = pa.int64() if kind is int else pa.string()
    for key in KEYS:
        assert kept(table_of(rows, users), 2, key) == kept_in_python(rows, 2, key)


@pytest.mark.parametrize("key", KEYS)
def test_equal_hashes_keep_no_more_than_the_bound(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "mix", np.zeros_like)
    rows: UserRows = [("u", 0), ("u", None), ("u", 10), ("v", 2)]
    for largest in (2**24, 0):
        monkeypatch.setattr(binned, "MOST_ROWS", largest)
        assert sum(kept(table_of(rows), 2, key)) == 1
        assert sum(kept(table_of(rows), 3, key)) == 4


# --- Rows are kept evenly, and by each user apart

USERS = 3000
ROWS = 5
MANY = Grid(("x",), (np.arange(USERS * ROWS + 1),), (None,))


def choices(key: str) -> list[tuple[int, ...]]:
    """Return which two of five rows, each in a bin of its own, each user keeps."""
    table = pa.table({"x": np.arange(USERS * ROWS), "who": np.arange(USERS * ROWS) // ROWS})
    slots = bin_rows_bounded(table, MANY, user="who", max_records=2, key=key)
    kept_rows = slots[1:-2].reshape(USERS, ROWS)
    assert set(kept_rows.sum(axis=1).tolist()) == {2}
    return [tuple(np.flatnonzero(row).tolist()) for row in kept_rows]


def p_values(found: list[tuple[int, ...]]) -> list[float]:
    """Of the choices, and of which first row a user and the one before keep."""
    firsts = [choice[0] == 0 for choice in found]
    both = Counter(zip(firsts[::2], firsts[1::2], strict=True))
    share = {True: 0.4, False: 0.6}  # the first row is kept by 2 users of 5
    seen = 0.0
    for one, two in itertools.product([True, False], repeat=2):
        expected = len(found) / 2 * share[one] * share[two]
        seen += (both[one, two] - expected) ** 2 / expected
    return [p_value(Counter(found), 10, len(found)), float(chi2.sf(seen, 3))]


def test_rows_are_kept_evenly_and_independently() -> None:
    for key in KEYS:
        assert min(p_values(choices(key))) > LEVEL


def mixed(numbers: Any) -> Any:
    return mix(np.asarray(numbers, np.uint64).copy())


def nothing(numbers: Any) -> Any:
    return np.zeros(len(numbers), np.uint64)


def row_of(slots: Any) -> Any:
    """Return which of the five rows of its user a row is."""
    return (slots.astype(np.uint64) - np.uint64(1)) % np.uint64(ROWS)


@pytest.mark.parametrize(
    ("user", "slot"),
    [
        # The rows of the smallest slots; the same rows for each user; one more often than others.
        (nothing, lambda slots: slots.astype(np.uint64)),
        (nothing, lambda slots: mixed(row_of(slots) ^ np.uint64(7))),
        (nothing, lambda slots: mixed(slots) // np.where(row_of(slots) == 0, 2, 1).astype("u8")),
        # As the user before does, for every second one.
        (lambda users: mixed(users // np.uint64(2)), lambda slots: mixed(row_of(slots))),
    ],
    ids=["smallest", "same", "more often", "as before"],
)
def test_a_choice_that_is_not_even_is_noticed(
    user: Any, slot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    halves = iter([user, slot])
    monkeypatch.setattr(counting_kept, "make_half", lambda *_, **__: next(halves))
    monkeypatch.setattr(ranking, "mix", lambda words: words)
    assert min(p_values(choices(KEYS[0]))) < LEVEL


@every_engine
def test_rows_in_no_bin_are_kept_like_others(engine: Engine, tmp_path: Path) -> None:
    """Two of four rows, of which one is null: kept by half of the users, within 5 deviations."""
    users = 1600
    rows: UserRows = [(f"u{user}", x) for user in range(users) for x in (0, 2, None, -1)]
    found = kept(engine.make(table_of(rows), tmp_path), 2, KEYS[1])
    assert sum(found) == 2 * users
    for value in (0, 2, None, -1):
        assert abs(found[slot_of(value)] - users / 2) < 5 * np.sqrt(users / 4)
