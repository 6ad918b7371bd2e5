"""Keys that nobody listed, counted in parts: a part has the labels of the rows it kept."""

import itertools
import pickle
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import dphist as dh
from dphist.data.partial import Partial
from dphist.data.partial_sums import sum_terms
from dphist.errors import DataError, LedgerError, ParameterError
from dphist.tables import KeyedCounts
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.data.partial import part_in_python, refusal
from tests.support.goodness import LEVEL
from tests.support.refusal import SENTINEL, refused
from tests.support.tables.parts import cut, in_folders, table, with_key

__all__ = ["with_key"]
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

PARTS = 3
LARGEST = 2**62 - 1
KEYS: dict[str, Any] = {
    "place": dh.DiscoverKeys(share="0.3", max_found=2),
    "year": [2021, 2019],
    "age": dh.Axis.from_edges([0, 18, 65]),
}
GIVEN: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 2, "unlisted": "drop"}
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def cells_of(held: KeyedCounts) -> Counter[tuple[int, str | None]]:
    """Return the rows of each cell and label."""
    assert held.labels is not None
    labels = [*held.labels.labels[0], None]
    places = [labels[place] for place in held.labels.places[:, 0].tolist()]
    cells = zip(held.cells.tolist(), places, strict=True)
    return Counter(dict(zip(cells, held.counts.tolist(), strict=True)))


@pytest.mark.long(every=2)
@pytest.mark.quick("[pandas]", "[csv]", "[parquet]")
@every_engine
def test_parts_add_up_to_the_table(engine: Engine, tmp_path: Path) -> None:
    frame = in_folders(engine, table(), tmp_path)
    asked: list[dict[str, Any]] = [{}, {"count": "n", "other": ["year", "age"]}]
    for more in asked:
        given = {**GIVEN, "max_rows": 1000, "unit": "one patient", **more}
        parts = [
            KeyedCounts.partial(frame(part), part=part, parts=PARTS, **given)
            for part in range(PARTS)
        ]
        merged = KeyedCounts.merge(parts)
        assert merged == KeyedCounts.from_table(frame(PARTS), **given)
        assert merged == KeyedCounts.merge(reversed(parts))
        assert all(len(each.table) for each in parts)


@pytest.mark.parametrize("count", [None, "n"])
def test_a_part_is_what_its_users_alone_would_be(
    count: str | None, with_key: Callable[[int], None]
) -> None:
    """Under one key, users who are bounded included: the law of a table that is counted whole."""
    rows = table()
    for part in range(PARTS):
        with_key(part)
        own = rows.filter(
            pa.array([part_in_python(who, PARTS) == part for who in rows["who"].to_pylist()])
        )
        given = {**GIVEN, "count": count}
        found = KeyedCounts.partial(rows, part=part, parts=PARTS, **given)
        alone = KeyedCounts.partial(own, part=part, parts=PARTS, **given, others="refuse")
        assert listed(found) == listed(alone)
        users = len(set(own["who"].to_pylist()))
        assert len(found.table) <= sum(listed(found).values()) <= users * GIVEN["max_rows"]
        assert cells_of(KeyedCounts.from_table(own, **given)).total() == listed(found).total()


def listed(part: Partial) -> Counter[bytes]:
    columns = (part.table[name].to_pylist() for name in ("term", "count"))
    return Counter(dict(zip(*columns, strict=True)))


@pytest.mark.parametrize("count", [None, "n"])
def test_merged_counts_have_the_law_of_a_table_that_is_counted_whole(count: str | None) -> None:
    """Each of 2,000 users has four records, two of them with the last label, and keeps one."""
    places, users = ["a", "b", "c", "c"], 2000
    rows = pa.table(
        {"who": [f"u{n}" for n in range(users) for _ in places], "place": places * users}
    ).append_column("n", pa.array([1] * 4 * users))
    given: dict[str, Any] = {"keys": {"place": KEYS["place"]}, "user": "who", "max_rows": 1}
    parts = [
        KeyedCounts.partial(rows, **given, count=count, part=part, parts=PARTS)
        for part in range(PARTS)
    ]
    for found in (KeyedCounts.merge(parts), KeyedCounts.from_table(rows, **given, count=count)):
        labels, exact = found.rows_by_label("place")
        assert labels == ("a", "b", "c")
        expected = users * np.array([0.25, 0.25, 0.5])
        assert exact.sum() == users
        assert chi2.sf(((exact - expected) ** 2 / expected).sum(), 2) > LEVEL


@pytest.mark.parametrize("count", [None, "n"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_user_changes_merged_counts_by_no_more_than_max_rows(
    max_rows: int, count: str | None, with_key: Callable[[int], None]
) -> None:
    """For fixed keys, one in each part: others keep what they kept."""
    rows = table(120, 20)

    def merged(frame: pa.Table) -> Counter[tuple[int, str | None]]:
        parts = []
        for part in range(PARTS):
            with_key(part)
            given = {**GIVEN, "max_rows": max_rows, "count": count}
            parts += [KeyedCounts.partial(frame, part=part, parts=PARTS, **given)]
        return cells_of(KeyedCounts.merge(parts))

    whole = merged(rows)
    for who in sorted(set(rows["who"].to_pylist())):
        others = merged(rows.filter(pa.array([each != who for each in rows["who"].to_pylist()])))
        assert not others - whole
        inside = [
            1 if count is None else row["n"]
            for row in rows.to_pylist()
            if row["who"] == who and row["year"] != 2020 and row["age"] < 65
        ]
        assert (whole - others).total() == min(max_rows, sum(inside))


def test_parts_travel_and_are_released_like_others(tmp_path: Path) -> None:
    given: dict[str, Any] = {"keys": KEYS, "unit": "one patient", "max_rows": 1000}
    parts = cut(lambda _: table(), **given)
    parts[0].save(tmp_path / "0.parquet")
    sent = [tmp_path / "0.parquet", parts[1].to_arrow(), pickle.loads(pickle.dumps(parts[2]))]  # noqa: S301
    merged = KeyedCounts.merge(sent)
    assert merged == KeyedCounts.merge(parts)
    assert stat.S_IMODE((tmp_path / "0.parquet").stat().st_mode) == 0o600
    asked: dict[str, Any] = {"epsilon": 9, "delta": "1e-3", "keys": KEYS, "tables": ["place+year"]}
    release = dh.Tables(**asked, max_rows=1000).release(merged)
    assert str(release.guarantee.unit) == "one patient"
    with pytest.raises(dh.errors.DphistError, match="max_rows"):
        dh.Tables(**asked).release(merged)
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta="1e-2", unit="one patient")
    with pytest.raises(LedgerError, match="guarded"):
        dh.Tables(**asked, max_rows=1000).release(KeyedCounts.merge(parts, ledger=ledger))


def test_nothing_shows_the_labels() -> None:
    rows = pa.table({"who": ["a"], "place": [SENTINEL], "year": [2019], "age": [3]})
    parts = cut(lambda _: rows, keys=KEYS)
    assert SENTINEL not in "".join(f"{each!r}{each.head}" for each in parts)


def test_parts_of_keys_listed_and_found_are_refused_together() -> None:
    found = cut(lambda _: table(), keys=KEYS)
    several = cut(lambda _: table(), keys={**KEYS, "place": ["BE", "zürich"]}, other=["place"])
    other = cut(lambda _: table(), keys={**KEYS, "place": dh.DiscoverKeys(share="0.4")})
    for others in (several, other):
        with pytest.raises(ParameterError, match=r"same arguments.*keys"):
            KeyedCounts.merge([*found[:2], others[2]])
    for one, two in ((found, several), (several, found)):
        mixed = [
            Partial(each.head, last.table).to_arrow() for each, last in zip(one, two, strict=True)
        ]
        with pytest.raises(DataError, match="count it again"):
            KeyedCounts.merge(mixed)


TERMS: dict[str, tuple[list[Any], list[Any]]] = {
    "a cell beyond the last": ([b"4:1:x"], [1]),
    "a cell below the first": ([b"-1:1:x"], [1]),
    "a cell that no int64 holds": ([b"99999999999999999999:1:x"], [1]),
    "a term twice": ([b"3:1:x", b"3:1:x"], [1, 1]),
    "a number in other digits": ([b"3:01:x"], [1]),
    "a number with a sign": ([b"+3:1:x"], [1]),
    "no cell": ([b":1:x"], [1]),
    "no length": ([b"3"], [1]),
    "a text that is too short": ([b"3:2:x"], [1]),
    "a text that is too long": ([b"3:1:xy"], [1]),
    "a length below that of none": ([b"3:-2:"], [1]),
    "a text that is no UTF-8": ([b"3:1:\xff"], [1]),
    "half a surrogate pair": ([b"3:3:\xed\xa0\x80"], [1]),
    "the text of all others": ([b"3:5:other"], [1]),
    "a count of 0": ([b"3:1:x"], [0]),
    "a negative count": ([b"3:1:x"], [-1]),
    "a count that is too large": ([b"3:1:x"], [2**62]),
    "counts that are no whole numbers": ([b"3:1:x"], [1.5]),
    "no term": ([None, b"3:1:x"], [1, 1]),
    "no count": ([b"2:1:x", b"3:1:x"], [1, None]),
    "texts": (["3:1:x"], [1]),
}


@pytest.mark.parametrize("case", TERMS)
def test_terms_that_were_edited_are_refused(case: str) -> None:
    terms, counts = TERMS[case]
    kind = pa.string() if isinstance(terms[0], str) else pa.large_binary()
    edited = pa.table({"term": pa.array(terms, kind), "count": counts})
    parts = cut(lambda _: table(), keys=KEYS)
    for chosen in itertools.product([True, False], repeat=PARTS):
        tables = [
            Partial(each.head, edited if changed else each.table).to_arrow()
            for each, changed in zip(parts, chosen, strict=True)
        ]
        if any(chosen):
            with refused(DataError, "count it again"):
                KeyedCounts.merge(tables)
    good = pa.table({"term": pa.array([b"3:1:x"], pa.large_binary()), "count": [7]})
    assert not refusal(
        lambda: KeyedCounts.merge([Partial(each.head, good).to_arrow() for each in parts])
    )


def test_sums_are_exact_or_clamped() -> None:
    draw = np.random.default_rng(4)
    exact: Counter[bytes] = Counter()
    tables = []
    for _ in range(5):
        terms = [b"%d" % n for n in draw.choice(50, 30, replace=False).tolist()]
        values = draw.choice([1, 2**31 - 1, 2**31, 2**61, LARGEST], len(terms)).tolist()
        tables.append(pa.table({"term": pa.array(terms, pa.large_binary()), "count": values}))
        exact.update(dict(zip(terms, values, strict=True)))
    summed = sum_terms(tables)
    found = dict(zip(*(each.tolist() for each in summed), strict=True))
    assert found == {term: min(n, LARGEST) for term, n in exact.items()}
    assert LARGEST in found.values()


def test_merged_sums_stop_at_the_largest_count_and_can_be_released() -> None:
    """What is found, and counted by it, may be as large: no sum fails after the draw."""
    places = ["a", "b", "a", None] * 5
    rows = pa.table({"who": [f"u{n}" for n in range(20)], "place": places, "n": [LARGEST] * 20})
    keys = {"place": dh.DiscoverKeys(share="0.3", max_found=2)}
    given: dict[str, Any] = {"keys": keys, "user": "who", "count": "n", "max_rows": LARGEST}
    parts = [KeyedCounts.partial(rows, part=part, parts=PARTS, **given) for part in range(PARTS)]
    merged = KeyedCounts.merge(parts)
    assert cells_of(merged) == {(0, "a"): LARGEST, (0, "b"): LARGEST, (0, None): LARGEST}
    assert merged == KeyedCounts.from_table(rows, **given)
    held = KeyedCounts(merged.keys, merged.cells, merged.counts, labels=merged.labels)
    release = dh.Tables(rho=1, delta="1e-6", keys=keys, tables=["place"]).release(held)
    assert release.value.keys["place"].labels == ("a", "b", "other")
    assert release.total > LARGEST - 100
