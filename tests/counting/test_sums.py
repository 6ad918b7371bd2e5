"""Values that are summed: whole steps of each value, and a clamped total of each user and label."""

import datetime
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.bounding.steps import snap
from dphist.counting.checks import LARGEST
from tests.support.counting.sums import STEPS, odd_floats, read, sum_by_hand


def nearest(value: Any, step: Fraction) -> int | None:
    """The rule, by fractions: the exact value, to the nearest step, halfway to even, clamped."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        return LARGEST if value > 0 else -LARGEST
    return max(-LARGEST, min(LARGEST, round(Fraction(value) / step)))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_floats_are_rounded_by_their_exact_binary_value(step: Fraction) -> None:
    values = odd_floats(step, random.Random(1))
    found = snap(pa.array(values, pa.float64()), step, text=False).to_pylist()
    assert found == [nearest(value, step) for value in values]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_text_is_rounded_by_its_exact_decimal_value(step: Fraction) -> None:
    values = [value for value in odd_floats(step, random.Random(2)) if value is not None]
    texts = [repr(value) for value in values]
    found = snap(pa.array(texts), step, text=True).to_pylist()
    exact = [Decimal(text) if math.isfinite(float(text)) else float(text) for text in texts]
    assert found == [nearest(value, step) for value in exact]
    assert snap(pa.array([None, "+1e0 "]), Fraction(1), text=True).to_pylist() == [None, 1]


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("kind", ["int8", "int64", "uint64", "decimal128(20, 3)", "float32"])
def test_other_numbers_are_rounded_exactly(kind: str, step: Fraction) -> None:
    draw = random.Random(3)
    ends = {"int8": (-128, 127), "int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
    values: list[Any]
    if kind == "float32":
        values = [0.1, -2.5, 1e30, math.nan, None]
        column = pa.array(values, pa.float32())
        values = [None if each is None else float(each) for each in column.to_pylist()]
    elif kind in ends:
        low, high = ends[kind]
        values = [
            low,
            high,
            None,
            *(draw.randint(max(low, -200), min(high, 200)) for _ in range(99)),
        ]
        column = pa.array(values, kind)
    else:
        values = [None, *(Decimal(draw.randint(-(10**6), 10**6)).scaleb(-3) for _ in range(99))]
        column = pa.array(values, pa.decimal128(20, 3))
    assert snap(column, step, text=False).to_pylist() == [nearest(each, step) for each in values]


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("size", [40, 70_000])
def test_a_total_of_a_user_and_label_is_clamped(size: int, max_count: int) -> None:
    """Few rows and many; users with several rows, rows without a user, and counts of 0."""
    draw, users = random.Random(size), [None, *range(size // 3)]
    rows = [
        (draw.choice(users), draw.choice("abcdefg"), draw.choice((0, 1, 2)), value)
        for value in draw.choices((1.5, -2.25, 3.125, 700.0, -900.0), k=size)
    ]
    frame = pd.DataFrame(rows, columns=["who", "word", "n", "x"])
    clamp = dh.Clamp(-1, 6, "0.25")
    counts = dh.LabelCounts.from_table(
        frame.astype({"who": "Int64"}),
        label="word",
        user="who",
        count="n",
        max_labels=10,
        max_count=max_count,
        null_users="separate",
        sums={"x": clamp},
    )
    assert read(counts, list("abcdefg")) == sum_by_hand(rows, clamp, max_count)


@pytest.mark.parametrize("size", [60, 70_000])
def test_labels_of_a_user_that_are_cut_are_in_no_sum(size: int) -> None:
    """Each user adds 5 to each of 6 labels and may keep 2: sums follow the counts."""
    frame = pa.table(
        {"who": [n // 6 for n in range(size)], "word": ["abcdef"[n % 6] for n in range(size)]}
    ).append_column("x", pa.array([5] * size))
    clamp = dh.Clamp(0, 8, 1)
    counts = dh.LabelCounts.from_table(
        frame, label="word", user="who", max_labels=2, users_by_labels=10, sums={"x": clamp}
    )
    found = read(counts, list("abcdef"))
    users = -(-size // 6)
    assert sum(count for count, _ in found.values()) == 2 * users
    assert all(total == (5 - 4) * count for count, total in found.values())
    assert counts.users is not None
    assert sum(counts.users) == users
    alone = dh.LabelCounts.from_table(
        frame, label="word", user="who", max_labels=2, sums={"x": clamp}
    )
    assert sum(count for count, _ in read(alone, list("abcdef")).values()) == 2 * users


def test_without_users_each_row_is_clamped() -> None:
    frame = {"word": ["a", "a", "b"], "x": [3, 100, -100]}
    clamp = dh.Clamp(0, 10, 1)
    counts = dh.LabelCounts.from_table(frame, label="word", sums={"x": clamp})
    assert read(counts, ["a", "b"]) == {"a": [2, 3 - 5 + 5], "b": [1, -5]}


def test_which_labels_are_kept_depends_on_no_value() -> None:
    """The same random bits, other values: the same counts."""
    frame = pd.DataFrame(
        {"who": [n % 50 for n in range(900)], "word": [n % 17 for n in range(900)]}
    )

    def count(values: list[float]) -> list[int]:
        return dh.LabelCounts.from_table(
            frame.assign(x=values),
            label="word",
            user="who",
            max_labels=3,
            sums={"x": dh.Clamp(0, 1, 1)},
            source=random.Random(4).randbytes,
        ).counts_of(list(range(17)))

    assert count([0.0] * 900) == count([math.inf if n % 3 else -5.0 for n in range(900)])


WORDS = ["a", "b", "a", "c"]
DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 1, 3)]


def containers(folder: Path, labels: list[Any]) -> dict[str, Any]:
    columns = {"who": [1, 2, 3, 3], "word": labels, "x": [0.125, 2.5, -1.0, 9.0]}
    table = pa.table(columns)
    pq.write_table(table, folder / "rows.parquet")
    table.to_pandas().to_csv(folder / "rows.csv", index=False)
    found = {
        "arrow": table,
        "pandas": table.to_pandas(),
        "objects": table.to_pandas().astype({"x": object}),
        "polars": pl.from_arrow(table),
        "dict": columns,
        "duckdb": duckdb.from_arrow(table),
        "parquet": str(folder / "rows.parquet"),
        "decimals": table.set_column(2, "x", table["x"].cast(pa.decimal128(9, 3))),
        "dictionary": table.set_column(2, "x", table["x"].dictionary_encode()),
    }
    of_text = {"csv", "dict", "pandas", "objects"}  # in which dates are text
    found["csv"] = str(folder / "rows.csv")
    return {name: held for name, held in found.items() if labels is WORDS or name not in of_text}


@pytest.mark.parametrize("labels", [WORDS, DAYS], ids=["text", "dates"])
def test_every_container_has_the_same_sums(labels: list[Any], tmp_path: Path) -> None:
    clamp = dh.Clamp(0, 4, "0.25")
    expected = {labels[0]: [2, -16], labels[1]: [1, 10 - 8], labels[3]: [1, 8]}
    for name, frame in containers(tmp_path, labels).items():
        counts = dh.LabelCounts.from_table(
            frame, label="word", user="who", max_labels=2, sums={"x": clamp}
        )
        assert read(counts, sorted(set(labels))) == expected, name


def test_two_columns_are_summed() -> None:
    frame = {"word": ["a", "a"], "x": [1, 2], "y": [0.5, 8]}
    sums = {"x": dh.Clamp(0, 2, 1), "y": dh.Clamp(-1, 1, "0.5")}
    counts = dh.LabelCounts.from_table(frame, label="word", sums=sums)
    assert counts.sums == sums
    assert counts.sums_of(["a", "b"]) == [[1 - 1 + 2 - 1, 0], [1 + 2, 0]]
    assert "not shown" in repr(counts)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, None], "column 'x' has rows without a value"),
        ([1.0, math.nan], "column 'x' has rows without a value"),
        (["1", "2"], "column 'x' must hold numbers"),
        ([True, False], "column 'x' must hold numbers"),
        (DAYS[:2], "column 'x' must hold numbers"),
    ],
)
def test_bad_values_are_refused(values: list[Any], said: str) -> None:
    with pytest.raises(dh.DataError, match=said):
        dh.LabelCounts.from_table(
            pa.table({"word": ["a", "b"], "x": values}), label="word", sums={"x": dh.Clamp(0, 1, 1)}
        )


def test_text_of_a_file_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("word,x\na,1\nb,SECRET\n")
    with pytest.raises(dh.DataError, match="'x' must hold numbers") as caught:
        dh.LabelCounts.from_table(path, label="word", sums={"x": dh.Clamp(0, 1, 1)})
    assert "SECRET" not in str(caught.value)


def test_a_missing_value_of_a_row_that_is_dropped_is_no_problem() -> None:
    frame = pa.table({"word": ["a", None], "x": [1, None]})
    counts = dh.LabelCounts.from_table(
        frame, label="word", null_labels="drop", sums={"x": dh.Clamp(0, 2, 1)}
    )
    assert counts.sums_of(["a"]) == [[0]]


def test_sums_that_are_huge_are_clamped_and_do_not_wrap() -> None:
    frame = pa.table({"word": ["a"] * 3, "who": [1, 1, 2], "x": [math.inf, 1e300, -math.inf]})
    clamp = dh.Clamp(-(2**39), 2**40, 1)
    counts = dh.LabelCounts.from_table(
        frame, label="word", user="who", max_labels=1, sums={"x": clamp}
    )
    center = clamp.center(counts_users=True)
    assert counts.sums_of(["a"]) == [[2**40 - 2**39 - 2 * center]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 500, "0.3"), "step must divide high"),
        ((0.5, 10, 1), "step must divide low"),
        ((5, 5, 1), "low and high must be in ascending order"),
        ((5, 1, 1), "low and high must be in ascending order"),
        ((0, math.inf, 1), "high must be a finite number"),
        ((math.nan, 1, 1), "low must be a finite number"),
        ((0, 1, 0), "step must be greater than 0"),
        ((0, 1, "1e-13"), "step must have at most 12 decimal places"),
        ((0, 2**41, 1), "high must be at most 2\\*\\*40 steps from 0"),
    ],
)
def test_bad_clamps_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.Clamp(*arguments)


@pytest.mark.parametrize(
    "sums",
    [{}, [], "x", {"x": 3}, {"x": (0, 1)}, {1: dh.Clamp(0, 1, 1)}, ["x"], 5, {"": (0, 1, 1)}],
)
def test_bad_sums_are_refused_before_data_are_read(sums: Any) -> None:
    with pytest.raises(dh.ParameterError, match="sums must"):
        dh.LabelCounts.from_table("no such file.csv", label="word", sums=sums)


def test_who_has_which_label_is_kept_with_one_total_each() -> None:
    sums = {"x": dh.Clamp(0, 1, 1)}
    with pytest.raises(dh.ParameterError, match="keep_sets needs max_count=1"):
        dh.LabelCounts.from_table(
            "no such file.csv", label="word", user="who", keep_sets=True, max_count=2, sums=sums
        )
