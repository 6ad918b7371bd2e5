"""One row of a user for each value of a key: what plain Python keeps, whatever holds the rows."""

import hashlib
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import dphist as dh
from dphist.counting.binning import keys as counting
from dphist.counting.bounding import contributions
from dphist.errors import DataError, ParameterError
from dphist.tables import KeyedCounts
from tests.support.counting.binned_users import KEYS as SALTS
from tests.support.counting.cells import cells
from tests.support.counting.contribution_engines import ENGINES, Engine, hashed
from tests.support.goodness import LEVEL
from tests.support.refusal import refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)

DAYS, PLACES = [3, 1, 2, 4], ["a", "b", "c"]
KEYS: dict[str, Any] = {"place": PLACES, "day": DAYS}
Row = tuple[Any, str | None, int]  # user, place, day


def some_rows(seed: int = 1, rows: int = 160) -> list[Row]:
    """Rows of users with awkward names; of places, some are not listed, and some missing."""
    draw = random.Random(seed)
    users = ["u", "U", "v", "1", "11", "1:", "ü", " u", "null"]
    places = ["a", "a", "a", "b", "c", "elsewhere", None]
    return [(draw.choice(users), draw.choice(places), draw.choice(DAYS)) for _ in range(rows)]


def table_of(rows: list[Row]) -> pa.Table:
    users, places, days = (list(column) for column in zip(*rows, strict=True))
    return pa.table(
        {"who": pa.array(users, pa.string()), "place": pa.array(places, pa.string()), "day": days}
    )


def kept_in_python(rows: list[Row], most: int, key: str, engine: str) -> Counter[tuple[int, int]]:
    """Count the cells of listed rows, each user cut by the hashes: a day first, then the days."""
    inside = [(who, PLACES.index(p), DAYS.index(d)) for who, p, d in rows if p in PLACES]
    turns: Counter[Any] = Counter()
    records = []
    for who, place, day in inside:
        cell = place * len(DAYS) + day
        turns[who, cell] += 1
        records.append((who, cell, str(turns[who, cell])))
    first = hashlib.sha256(key.encode()).hexdigest()[:32]
    of_days: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for (who, cell, _), mixed in hashed(first, engine, records).items():
        of_days[who, cell % len(DAYS)].append((mixed, cell))
    chosen = [(who, min(own)[1], "1") for (who, _), own in of_days.items()]
    users: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for (who, cell, _), mixed in hashed(key, engine, chosen).items():
        users[who].append((mixed, cell))
    kept = [cell for own in users.values() for _, cell in sorted(own)[:most]]
    return Counter(divmod(cell, len(DAYS)) for cell in kept)


def count(frame: Any, most: int, **more: Any) -> KeyedCounts:
    told: dict[str, Any] = {"keys": KEYS, "unlisted": "drop", "user": "who", "max_rows": most}
    return KeyedCounts.from_table(frame, one_row_per="day", **told | more)


@pytest.fixture(params=["arrays", "tables", "windows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have few rows, many rows, or rows of many cells."""
    if request.param != "arrays":
        monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1)
    if request.param == "windows":
        monkeypatch.setattr(counting, "_DENSE", 0)
    return str(request.param)


@every_engine
@pytest.mark.parametrize("most", [1, 3, 4])
@pytest.mark.quick("arrays-3-pandas", "windows-3-csv", "tables-3-polars", "arrays-3-spark")
def test_every_engine_keeps_what_plain_python_keeps(
    engine: Engine, most: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, salt in enumerate(SALTS):
        monkeypatch.setattr(contributions, "draw_key", lambda salt=salt: salt)
        rows = some_rows(seed)
        found = count(engine.make(table_of(rows), tmp_path), most)
        assert cells(found) == kept_in_python(rows, most, salt, engine.name)
        assert (found.max_rows, found.one_row_per, str(found.unit)) == (most, "day", "one user")


@every_engine
@pytest.mark.quick("arrays-pandas", "windows-csv")
def test_rows_without_a_user_as_chosen(
    engine: Engine, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a user of its own, and decides nothing of others."""
    monkeypatch.setattr(contributions, "draw_key", lambda: SALTS[1])
    rows = some_rows(2)
    lacking: list[Row] = [(None, "a", 1)] * 3 + [(None, "b", 4), (None, "elsewhere", 1)]
    frame = engine.make(table_of([*lacking[:2], *rows, *lacking[2:]]), tmp_path)
    of_users = kept_in_python(rows, 2, SALTS[1], engine.name)
    assert cells(count(frame, 2, null_users="drop")) == of_users
    found = count(frame, 2, null_users="separate")
    assert cells(found) == of_users + Counter({(0, 1): 3, (1, 3): 1})
    assert (found.null_users, str(found.unit)) == (
        "separate",
        "one user, or one row without a user",
    )
    with pytest.raises(DataError, match="null_users='drop'"):
        count(frame, 2)


def test_rows_are_drawn_evenly() -> None:
    """Of a user with three rows of one day, two of them alike, and one of another day."""
    users = 6000
    rows: list[Row] = [("", "a", 1), ("", "a", 1), ("", "b", 1), ("", "c", 2)]
    table = table_of([(f"u{n}", place, day) for n in range(users) for _, place, day in rows])
    shares = np.array([1 / 3, 1 / 6, 1 / 2])
    for most, expected in ((1, users * shares), (2, users * np.array([2 / 3, 1 / 3, 1]))):
        exact = count(table, most).sum_over((0,))
        assert exact.sum() == users * most
        drawn = ((exact - expected) ** 2 / expected).sum()
        assert chi2.sf(drawn, 3 - most) > LEVEL


@every_engine
@pytest.mark.quick("[pandas]", "[csv]")
def test_rows_are_drawn_after_values_are_mapped(engine: Engine, tmp_path: Path) -> None:
    """A row outside the keys takes no row's place: of 200 users none loses the day."""
    pairs = [(f"u{n}", place, 1) for n in range(200) for place in ("elsewhere", "a", None)]
    found = count(engine.make(table_of(pairs), tmp_path), 2)
    assert cells(found) == {(0, 1): 200}


def test_two_texts_of_one_value_are_one_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("who,x\n" + "".join(f"u{n},true\nu{n},True\nu{n},false\n" for n in range(50)))
    given: dict[str, Any] = {"keys": {"x": [True, False]}, "user": "who", "max_rows": 2}
    exact = KeyedCounts.from_table(path, **given, one_row_per="x").sum_over((0,))
    assert exact.tolist() == [50, 50]


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_user_adds_rows_that_differ_and_changes_no_others(
    most: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for salt in SALTS:
        monkeypatch.setattr(contributions, "draw_key", lambda salt=salt: salt)
        rows = some_rows(5, 90)
        whole = Counter(cells(count(table_of(rows), most)))
        for who in sorted({row[0] for row in rows}):
            others = [row for row in rows if row[0] != who]
            less = Counter(cells(count(table_of(others), most)))
            assert not less - whole
            days = Counter(day for (_, day), n in (whole - less).items() for _ in range(n))
            own = {day for user, place, day in rows if user == who and place in PLACES}
            assert set(days.values()) <= {1}
            assert days.total() == min(most, len(own))


@every_engine
@pytest.mark.quick("[pandas]", "[csv]")
def test_a_fault_of_a_row_is_found_whichever_rows_are_kept(engine: Engine, tmp_path: Path) -> None:
    rows: list[Row] = [("u", "a", 1)] * 40 + [("u", "elsewhere", 1), ("u", None, 2)]
    with refused(DataError, "column 'place'"):
        count(engine.make(table_of(rows), tmp_path), 1, unlisted="error")
    rows = [("u", "a", 1)] * 40 + [(None, "a", 1)]
    with refused(DataError, "column 'who'"):
        count(engine.make(table_of(rows), tmp_path), 1)


def test_a_ranker_of_amounts_has_no_rows_that_differ() -> None:
    table = table_of([("u", "a", 1)]).append_column("n", pa.array([3]))
    with pytest.raises(ParameterError, match="one_row_per and count must not both be given"):
        count(table, 1, count="n")


PARTS = 3


@every_engine
@pytest.mark.quick("[pandas]", "[csv]")
def test_parts_add_up(engine: Engine, tmp_path: Path) -> None:
    """A user is in one part, which keeps one row for each day of its users."""
    rows = some_rows(7)
    told: dict[str, Any] = {"keys": KEYS, "unlisted": "drop", "user": "who", "max_rows": 4}
    told |= {"one_row_per": "day", "null_users": "separate"}
    lacking: list[Row] = [(None, "a", 1)] * 2
    made = []
    for part in range(PARTS):
        (tmp_path / str(part)).mkdir()
        frame = engine.make(table_of([*rows, *lacking]), tmp_path / str(part))
        made.append(KeyedCounts.partial(frame, **told, part=part, parts=PARTS))
    merged = KeyedCounts.merge(made)
    days = Counter(day for _, day in {(who, DAYS.index(d)) for who, p, d in rows if p in PLACES})
    days[DAYS.index(1)] += 2
    assert merged.sum_over((1,)).tolist() == [days[day] for day in range(len(DAYS))]
    assert (merged.one_row_per, merged.null_users, merged.max_rows) == ("day", "separate", 4)
    assert str(merged.unit) == "one user, or one row without a user"


@pytest.mark.parametrize("changed", [{"one_row_per": None}, {"null_users": "drop"}])
def test_parts_that_were_bounded_otherwise_are_refused(changed: dict[str, Any]) -> None:
    told: dict[str, Any] = {"keys": KEYS, "unlisted": "drop", "user": "who", "max_rows": 2}
    told |= {"one_row_per": "day", "null_users": "separate", "parts": 2}
    frame = table_of(some_rows(3))
    made = [KeyedCounts.partial(frame, **told, part=0)]
    made.append(KeyedCounts.partial(frame, **told | changed, part=1))
    with pytest.raises(ParameterError, match="must all be counted with the same arguments"):
        KeyedCounts.merge(made)


@pytest.mark.parametrize("said", ["place+", "year", 3, ["day"], "x" * 9])
def test_a_head_that_names_no_such_key_is_refused(said: Any) -> None:
    told: dict[str, Any] = {"keys": KEYS, "unlisted": "drop", "user": "who", "max_rows": 2}
    made = KeyedCounts.partial(table_of(some_rows(3)), **told, part=0, parts=1)
    made = dh.Partial(dict(made.head) | {"one_row_per": said}, made.table)
    with pytest.raises(DataError, match="the part was not made by"):
        KeyedCounts.merge([made])
