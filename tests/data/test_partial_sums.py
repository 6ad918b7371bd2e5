"""Sums of labels that are counted in parts of the users: as if one process had counted all."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.checks import LARGEST
from dphist.data.partial import Partial

SUMS = {"spent": dh.Clamp(0, 20, "0.25"), "hours": dh.Clamp(-5, 5, 1)}


def make_rows(number: int = 3000) -> pd.DataFrame:
    draw = random.Random(number)
    return pd.DataFrame(
        {
            "who": [draw.randrange(number // 4) for _ in range(number)],
            "word": [draw.choice("abcdef") for _ in range(number)],
            "spent": [round(draw.uniform(-3, 15), 3) for _ in range(number)],
            "hours": [draw.randint(-4, 9) for _ in range(number)],
        }
    )


def read(counts: dh.LabelCounts) -> dict[str, list[int]]:
    table = counts.filter_sums(lambda batch: batch).to_pydict()
    return dict(
        zip(table["label"], map(list, zip(*[*table.values()][1:], strict=True)), strict=True)
    )


ROWS = make_rows()
GIVEN: dict[str, Any] = {"label": "word", "user": "who", "sums": SUMS}


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("parts", [1, 3])
def test_parts_add_up_to_what_one_process_sums(max_count: int, parts: int, tmp_path: Path) -> None:
    given = {**GIVEN, "max_labels": 6, "max_count": max_count}
    whole = dh.LabelCounts.from_table(ROWS, **given)
    cut = [dh.LabelCounts.partial(ROWS, **given, part=k, parts=parts) for k in range(parts)]
    files: list[Any] = []
    for place, each in enumerate(cut):
        files.append(tmp_path / f"{place}.parquet")
        each.save(files[-1])
    for made in (cut, files, [each.to_arrow() for each in cut]):
        merged = dh.LabelCounts.merge(made)
        assert read(merged) == read(whole)
        assert merged.sums == SUMS
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=5,
        delta="1e-6",
        sums=merged.sums,
        max_labels=6,
        max_count=max_count,
    )
    assert mechanism.release(merged).value.sums == ["spent", "hours"]


def test_each_user_is_bounded_in_one_part() -> None:
    """Of one user's rows in two files, the total is clamped once."""
    rows = pd.DataFrame({"who": ["a"] * 9, "word": ["x"] * 9, "spent": [9.0] * 9, "hours": [1] * 9})
    cut = [dh.LabelCounts.partial(rows, **GIVEN, max_labels=1, part=k, parts=4) for k in range(4)]
    merged = dh.LabelCounts.merge(cut)
    assert merged.sums_of(["x"]) == [[80 - 40], [5]]


def test_parts_with_other_clamps_are_refused() -> None:
    given = {**GIVEN, "max_labels": 2, "parts": 2}
    first = dh.LabelCounts.partial(ROWS, **given, part=0)
    for sums in (None, {**SUMS, "spent": dh.Clamp(0, 40, "0.25")}, {"spent": SUMS["spent"]}):
        second = dh.LabelCounts.partial(ROWS, **{**given, "sums": sums}, part=1)
        with pytest.raises(dh.ParameterError, match="counted with the same arguments"):
            dh.LabelCounts.merge([first, second])


def test_what_is_no_part_with_sums_is_refused() -> None:
    part = dh.LabelCounts.partial(ROWS, **GIVEN, max_labels=2, part=0, parts=1)
    table, head = part.table, dict(part.head)
    for broken in (
        Partial(head, table.drop_columns(["v1"])),
        Partial(head, table.rename_columns(["label", "count", "v0", "v2"])),
        Partial({name: held for name, held in head.items() if name != "sums"}, table),
        Partial({**head, "sums": []}, table.select(["label", "count"])),
        Partial({**head, "sums": [["spent", "0", "1", "0.3"], ["x", "0", "1", "1"]]}, table),
        Partial(head, table.set_column(2, "v0", table["v0"].cast(pa.float64()))),
    ):
        with pytest.raises(dh.DataError, match="the part was not made by"):
            dh.LabelCounts.merge([broken])


def test_huge_sums_of_parts_are_clamped_and_do_not_wrap() -> None:
    part = dh.LabelCounts.partial(ROWS, **GIVEN, max_labels=6, part=0, parts=1)
    most = pa.array([LARGEST, LARGEST], pa.int64())
    labels, ones = pa.array(["a", "a"]), pa.array([1, 1])
    table = pa.table([labels, ones, most, pa.array([-LARGEST] * 2)], names=part.table.column_names)
    merged = dh.LabelCounts.merge([Partial(part.head, table)])
    assert merged.sums_of(["a"]) == [[LARGEST], [-LARGEST]]
