"""Sums and weights in Spark: the same whole steps, sums and errors as in this process."""

import math
import random
import secrets
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding.spark_steps import snap_in_spark
from dphist.counting.bounding.steps import Summed, snap
from dphist.counting.engine.rows import SparkRows
from dphist.labels.auto.measuring import count_cut
from tests.support.counting.cell_sums import KEYS, SUMS, make_rows, numbers_of
from tests.support.counting.contribution_engines import hashed, spark
from tests.support.counting.sums import STEPS, odd_floats, read, sum_by_hand
from tests.support.refusal import refused

pytestmark = [
    pytest.mark.verify,  # Spark takes 20 s to start
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

KEY = "5eed" * 4 + "c0de" * 4
MORE_STEPS = [*STEPS, Fraction(1, 10**12), Fraction(10**12), Fraction(10**9 + 7, 10**9)]


def steps_of(values: pa.Array, *steps: Fraction) -> list[list[int | None]]:
    """Values as whole steps, in Spark."""
    summed = {f"v{i}": Summed("x", step, 0, 1, 0) for i, step in enumerate(steps)}
    table = pa.table({**dict.fromkeys(summed, values), "row": np.arange(len(values))})
    rows = SparkRows(spark().createDataFrame(table))
    kinds = dict.fromkeys(summed, values.type)
    found = snap_in_spark(rows, summed, kinds, ["row"]).frame.toArrow().sort_by("row")
    return [found[role].to_pylist() for role in summed]


@pytest.mark.parametrize(
    ("step", "kind"),
    [*((step, "float64") for step in MORE_STEPS), (Fraction(1, 100), "float32")],
    ids=str,
)
def test_floats_are_rounded_as_in_this_process(step: Fraction, kind: str) -> None:
    values = odd_floats(step, random.Random(5))
    draw = random.Random(6)
    sizes = [2.0 ** draw.uniform(40, 70) * float(step) for _ in range(300)]
    column = pa.array(np.array([*values, *sizes], float), pa.float64(), from_pandas=True)
    column = column.cast(kind, safe=False)
    assert steps_of(column, step) == [snap(column, step, text=False).to_pylist()]


EXACT = {
    "int8": (-(2**7), 2**7 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "decimal128(9, 0)": (-(10**9) + 1, 10**9 - 1),
    "decimal128(12, 3)": (-(10**12) + 1, 10**12 - 1),
    "decimal128(20, 18)": (-(10**20) + 1, 10**20 - 1),
}


@pytest.mark.parametrize("kind", EXACT)
def test_other_numbers_are_rounded_as_in_this_process(kind: str) -> None:
    (low, high), draw = EXACT[kind], random.Random(7)
    numbers = [draw.randint(max(low, -size), min(high, size)) for size in (9, 10**4, 10**19)
               for _ in range(200)]  # fmt: skip
    units: list[int | None] = [low, high, 0, None, *numbers]
    scale = int(kind.rpartition(", ")[2].rstrip(")")) if "decimal" in kind else 0
    type_ = pa.decimal128(*map(int, kind[11:-1].split(", "))) if scale or "dec" in kind else kind
    values = [
        each if each is None or isinstance(type_, str) else Decimal(each).scaleb(-scale)
        for each in units
    ]
    column = pa.array(values, type_)
    steps = MORE_STEPS if scale < 18 else [step for step in MORE_STEPS if step.denominator < 10**6]
    expected = [snap(column, step, text=False).to_pylist() for step in steps]
    assert steps_of(column, *steps) == expected


def test_what_decimals_of_spark_cannot_hold_is_refused() -> None:
    long = pa.array([Decimal(1)], pa.decimal128(38, 20))
    wide = pa.array([Decimal(1)], pa.decimal128(38, 2))
    for column, step in (
        (long, Fraction(1)),
        (wide, Fraction(1, 1000)),
        (pa.array([1.0]), Fraction(10**24 - 1, 10**12)),
        (pa.array([1.0]), Fraction(1, 2**1070)),
        (pa.array([1.0]), Fraction(2**1000)),
    ):
        with refused(dh.ColumnError, "column 'x' has too many digits"):
            steps_of(column, step)


def test_missing_columns_and_text() -> None:
    given: dict[str, Any] = {"label": "word", "sums": {"x": dh.Clamp(0, 1, 1)}}
    frame = spark().createDataFrame([("a", "1")], ["word", "x"])
    with refused(dh.ColumnError, "column 'x' must hold numbers to be summed"):
        dh.LabelCounts.from_table(frame, **given)
    for value in ("NULL", "double('NaN')"):
        held = frame.selectExpr("word", f"CAST({value} AS DOUBLE) AS x")
        with refused(dh.DataError, "column 'x' has rows without a value"):
            dh.LabelCounts.from_table(held, **given)
    left = frame.selectExpr("CAST(NULL AS STRING) AS word", "CAST(NULL AS DOUBLE) AS x")
    both = left.unionByName(frame.selectExpr("word", "1.5D AS x"))
    dropped = dh.LabelCounts.from_table(both, **given, null_labels="drop")
    assert read(dropped, ["a"]) == {"a": [1, 1]}


VALUES = (1.5, -2.25, 3.125, 700.0, -900.0, math.inf)


def rows_of(size: int, users: int) -> list[tuple[str | None, str, int, float]]:
    draw = random.Random(size)
    names = [None, *(f"u{i}" for i in range(users))]
    return [
        (draw.choice(names), draw.choice("abcdefg"), draw.choice((0, 1, 2)), draw.choice(VALUES))
        for _ in range(size)
    ]


def frame_of(rows: list[Any]) -> Any:
    names = ("who", "word", "n", "x")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    return spark().createDataFrame(table)


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("users_by_labels", [None, 11])
def test_totals_of_labels_are_those_by_hand(max_count: int, users_by_labels: int | None) -> None:
    """Users with several rows, rows without a user, counts of 0, and two columns."""
    rows = [row for row in rows_of(900, 120) if row[0] or users_by_labels is None]
    clamp = dh.Clamp(-1, 6, "0.25")
    counts = dh.LabelCounts.from_table(
        frame_of(rows).selectExpr("*", "n AS y"),
        label="word",
        user="who",
        count="n",
        max_labels=10,
        max_count=max_count,
        null_users="drop" if users_by_labels else "separate",
        users_by_labels=users_by_labels,
        sums={"x": clamp, "y": dh.Clamp(0, 3, 1)},
    )
    finite = [(*row[:3], min(row[3], 10.0**9)) for row in rows]
    amounts = [(*row[:3], row[2]) for row in rows]
    found, second = (read_one(counts, place) for place in (0, 1))
    assert found == sum_by_hand(finite, clamp, max_count)
    assert second == sum_by_hand(amounts, dh.Clamp(0, 3, 1), max_count)


def test_totals_of_pairs_add_up_to_those_of_labels() -> None:
    """Where it is kept who has which label, for a cap that is found; rows without a user too."""
    rows = rows_of(900, 120)
    clamps = {"x": dh.Clamp(-1, 6, "0.25"), "n": dh.Clamp(0, 3, 1)}
    given: dict[str, Any] = {"label": "word", "user": "who", "max_labels": 10, "sums": clamps}
    given |= {"null_users": "separate"}
    held = dh.LabelCounts.from_table(frame_of(rows), **given, keep_sets=True)
    plain = dh.LabelCounts.from_table(frame_of(rows), **given)
    assert read(held, "abcdefg") == read(plain, "abcdefg")
    assert held.sets is not None
    found = pa.Table.from_batches([count_cut(held.sets, 10, summed=True)])
    assert found.equals(plain.filter_sums(lambda batch: batch).sort_by("label"))


def read_one(counts: dh.LabelCounts, place: int) -> dict[Any, list[int]]:
    return {label: [held[0], held[place + 1]] for label, held in read(counts, "abcdefg").items()}


def test_labels_of_a_user_that_are_cut_are_in_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which labels are kept is what it is without sums, under the same key."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: KEY)
    rows = [row for row in rows_of(700, 60) if row[0] is not None and math.isfinite(row[3])]
    clamp = dh.Clamp(-1, 6, "0.25")
    given: dict[str, Any] = {"label": "word", "user": "who", "max_labels": 2}
    counts = dh.LabelCounts.from_table(frame_of(rows), **given, sums={"x": clamp})
    alone = dh.LabelCounts.from_table(frame_of(rows), **given)
    pairs = {(who, word, "") for who, word, *_ in rows}
    places, kept = hashed(KEY, "spark", pairs), set()
    for user in {who for who, *_ in pairs}:
        own = sorted((pair for pair in pairs if pair[0] == user), key=places.__getitem__)
        kept |= {pair[:2] for pair in own[:2]}
    left = [(who, word, 1, value) for who, word, _, value in rows if (who, word) in kept]
    assert read(counts, "abcdefg") == sum_by_hand(left, clamp, 1)
    assert counts.counts_of("abcdefg") == alone.counts_of("abcdefg")


def test_parts_and_other_labels_have_the_sums_of_duckdb() -> None:
    rows = [row for row in rows_of(500, 60) if row[0] is not None]
    frame = frame_of(rows)
    given: dict[str, Any] = {
        "label": "word",
        "user": "who",
        "max_labels": 9,
        "sums": {"x": dh.Clamp(-1, 6, "0.25")},
    }
    merged = dh.LabelCounts.merge(
        [dh.LabelCounts.partial(frame, **given, part=part, parts=3) for part in range(3)]
    )
    whole = dh.LabelCounts.from_table(frame.toArrow(), **given)
    assert read(merged, "abcdefg") == read(whole, "abcdefg")
    listed = {**given, "other_than": ["a", "b"]}
    here, there = (dh.LabelCounts.from_table(each, **listed) for each in (frame, frame.toArrow()))
    assert read(here, ["a", "b", "other"]) == read(there, ["a", "b", "other"])
    assert read(here, ["c"]) == {}


def test_a_release_of_spark_is_that_of_duckdb() -> None:
    """The same noise on the same sums: labels are released in one order by a seed alone."""
    frame = frame_of([row for row in rows_of(900, 200) if row[0] is not None])
    sums = {"x": dh.Clamp(-1, 6, "0.25")}
    mechanism = dh.ThresholdHistogram(epsilon=900, delta="1e-9", max_labels=7, sums=sums)
    found = []
    for held in (frame, frame.toArrow()):
        counts = dh.LabelCounts.from_table(held, label="word", user="who", max_labels=7, sums=sums)
        release = mechanism.release(counts, source=random.Random(3).randbytes)
        found.append({row["label"]: row["x_sum"] for row in release.value.to_arrow().to_pylist()})
    assert found[0].keys() == found[1].keys()
    for label in found[0]:
        assert found[0][label] == pytest.approx(found[1][label], abs=0.6)


@pytest.mark.parametrize("users", [{}, {"user": "who", "max_rows": 10**6}])
def test_cells_have_the_sums_of_duckdb(users: dict[str, Any]) -> None:
    frame = spark().createDataFrame(pa.table(make_rows(2000))).repartition(3)
    typed = frame.selectExpr("sex", "age", "spent", "CAST(hours AS DECIMAL(20, 4)) AS hours", "who")
    more: dict[str, Any]
    for more in ({}, {"other": ["sex"], "keys": KEYS | {"sex": ["f"]}},
                 {"unlisted": "drop", "keys": KEYS | {"age": [1, 7]}}):  # fmt: skip
        given = {"keys": KEYS, "sums": SUMS, **users, **more}
        found = dh.KeyedCounts.from_table(typed, **given)
        expected = dh.KeyedCounts.from_table(frame.toArrow(), **given)
        assert numbers_of(found) == numbers_of(expected) != {}


def test_rows_of_users_in_cells_are_bounded() -> None:
    frame = spark().createDataFrame(pa.table(make_rows(2000)))
    rows = make_rows(2000)
    counts = dh.KeyedCounts.from_table(frame, keys=KEYS, sums=SUMS, user="who", max_rows=2)
    kept = sum(min(own, 2) for own in Counter(rows["who"]).values())
    assert counts.counts.sum() == kept
    for total, clamp in zip(counts.totals, SUMS.values(), strict=True):
        assert np.abs(total).sum() <= kept * clamp.reach(counts_users=True)


@pytest.mark.parametrize(
    ("users", "sex", "unlisted"),
    [
        ({}, "f", "error"),
        ({}, "x", "error"),
        ({}, "x", "drop"),
        ({"user": "who", "max_rows": 2}, "x", "drop"),
    ],
)
def test_a_row_without_a_value_is_refused_by_its_column(
    users: dict[str, Any], sex: str, unlisted: str
) -> None:
    """Whether it has a cell or not, as in this process; with a user too."""
    rows = {"sex": ["f", sex], "age": [1, 2], "spent": [1.0, None], "hours": [1, 2], "who": [1, 2]}
    frame = spark().createDataFrame(pa.table(rows))
    for held in (frame, frame.toArrow()):
        with refused(dh.DataError, "column 'spent' must have a number in each row"):
            dh.KeyedCounts.from_table(held, keys=KEYS, sums=SUMS, unlisted=unlisted, **users)


def test_weights_are_those_of_duckdb() -> None:
    rows = make_rows(1500)
    frame = spark().createDataFrame(pa.table(rows)).selectExpr("*", "abs(spent) AS weight")
    given: dict[str, Any] = {"keys": KEYS, "count": dh.Weight("weight", 1, 12, "0.1")}
    ways: list[dict[str, Any]] = [{}, {"user": "who", "max_rows": 10**5}]
    for users in ways:
        found, expected = (
            dh.KeyedCounts.from_table(held, **given, **users) for held in (frame, frame.toArrow())
        )
        assert found == expected
    for wrong, said in (("-abs(spent)", "negative"), ("CAST(NULL AS INT)", "without a value")):
        bad = frame.selectExpr("sex", "age", f"{wrong} AS weight")
        with refused(dh.DataError, "column 'weight'", said):
            dh.KeyedCounts.from_table(bad, **given)


@pytest.mark.parametrize("users", [{}, {"user": "who", "max_labels": 3, "max_count": 20}])
def test_weights_of_labels_are_those_of_duckdb(users: dict[str, Any]) -> None:
    """Rounded, clamped, added and bounded alike, under labels that are listed or not."""
    frame = spark().createDataFrame(pa.table(make_rows(1500))).repartition(3)
    frame = frame.selectExpr(
        "*", "abs(spent) AS weight", "CAST(abs(spent) AS DECIMAL(12, 3)) AS exact"
    )
    for column in ("weight", "exact"):
        given: dict[str, Any] = {"label": "sex", "count": dh.Weight(column, 1, 12, "0.1")}
        for listed in (["f"], None):
            found, expected = (
                dh.LabelCounts.from_table(held, **given, **users, other_than=listed)
                for held in (frame, frame.toArrow())
            )
            assert found.largest(99).equals(expected.largest(99))
            assert found.weight == expected.weight
    mechanism = dh.ThresholdHistogram(
        epsilon=1,
        delta="1e-6",
        max_labels=users.get("max_labels", 1),
        max_count=20,
        step="0.1",
        noise="gaussian",
    )
    assert mechanism.release(found).value.step == Fraction(1, 10)


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ("-abs(spent)", dh.DataError, "negative"),
        ("CAST(NULL AS INT)", dh.DataError, "without a value"),
        ("CAST(spent AS STRING)", dh.ColumnError, "must hold numbers to be weights"),
    ],
)
def test_weights_of_labels_that_are_none_are_refused(
    wrong: str, kind: type[Exception], said: str
) -> None:
    frame = spark().createDataFrame(pa.table(make_rows(50)))
    bad = frame.selectExpr("sex", f"{wrong} AS weight")
    with refused(kind, "column 'weight'", said):
        dh.LabelCounts.from_table(bad, label="sex", count=dh.Weight("weight", 1, 12, "0.1"))
