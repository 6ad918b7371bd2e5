"""Groups that are counted in parts of the users, and merged."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.errors import ParameterError

GIVEN: dict[str, Any] = {"column": "fare", "bins": [0, 10, 20, 50], "user": "who"}
GROUPS: dict[str, Any] = {"city": ["Bern", "Uri"]}


def rides(number: int = 600) -> pd.DataFrame:
    draw = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "who": draw.integers(0, 150, number),
            "city": draw.choice(["Bern", "Uri", "Zug"], number),
            "fare": draw.integers(-5, 60, number),
        }
    )


def cut(frame: Any, parts: int = 3, **more: Any) -> list[Any]:
    asked: dict[str, Any] = {**GIVEN, "groups": GROUPS, "max_rows": 100, **more}
    return [dh.GroupedCounts.partial(frame, part=k, parts=parts, **asked) for k in range(parts)]


@pytest.mark.parametrize("other", [False, True])
def test_parts_add_up_to_the_whole(other: bool, tmp_path: Any) -> None:
    whole = dh.GroupedCounts.from_table(rides(), groups=GROUPS, max_rows=100, other=other, **GIVEN)
    parts = cut(rides(), other=other)
    assert dh.GroupedCounts.merge(parts) == whole
    paths = [tmp_path / f"{place}.parquet" for place in range(3)]
    for path, each in zip(paths, parts, strict=True):
        each.save(path)
    merged = dh.GroupedCounts.merge(reversed(paths))
    assert merged == whole
    made = dh.GroupedHistogram(epsilon=5, groups=merged.groups, bins=merged.bins, max_rows=100)
    assert made.release(merged).guarantee == made.release(whole).guarantee


def test_each_user_is_bounded_over_all_groups() -> None:
    frame = rides().assign(fare=5, city="Bern")
    held = frame["who"].value_counts().clip(upper=2).sum()
    merged = dh.GroupedCounts.merge(cut(frame, max_rows=2))
    assert merged.counts_by_group().sum() == held
    assert (merged.max_rows, str(merged.unit)) == (2, "one user")


def test_groups_that_are_found_are_merged() -> None:
    groups = {"city": dh.DiscoverKeys(share="0.5")}
    whole = dh.GroupedCounts.from_table(rides(), groups=groups, max_rows=100, **GIVEN)
    merged = dh.GroupedCounts.merge(cut(rides(), groups=groups))
    (names, rows), (same, again) = whole.rows_by_label(), merged.rows_by_label()
    assert names == same
    assert rows.tolist() == again.tolist()


def test_what_is_no_part_of_groups_is_refused() -> None:
    parts = cut(rides())
    with pytest.raises(ParameterError, match="part 2 is missing"):
        dh.GroupedCounts.merge(parts[:2])
    with pytest.raises(ParameterError, match="the same arguments"):
        dh.GroupedCounts.merge([*parts[:2], *cut(rides(), bins=[0, 10, 20, 51])[2:]])
    with pytest.raises(ParameterError, match="two keys: groups, and bins"):
        given: dict[str, Any] = {"keys": {"city": ["Bern"]}, "unlisted": "drop"}
        given |= {"user": "who", "max_rows": 1, "part": 0, "parts": 1}
        dh.GroupedCounts.merge([dh.KeyedCounts.partial(rides(), **given)])
    with pytest.raises(ParameterError, match="column must be text, and another"):
        cut(rides(), column="city")
    with pytest.raises(ParameterError, match="user must name the column"):
        cut(rides(), user=None)
