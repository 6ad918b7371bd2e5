"""Histograms by region: Lemmas 1 to 4 of docs/understand/proofs/regional_profiles.md."""

import random
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.binning.leaf_sizes import Leaves, count_in_leaves
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay
from dphist.regions.auditing import RegionalNeighbors
from dphist.regions.selected import ScannedLeaves
from tests.support.counting.contribution_engines import spark

TREE = {"north": ["x", "y"], "south": ["z"], "abroad": ["else"]}
SPARE = 1023  # the scans draw this many at once, and may leave all but one unused


def profiles(*leaves: list[int], sensitivity: int = 1, tree: Any = TREE) -> dh.RegionalProfile:
    names = dh.RegionTree(tree).leaf_names
    held = dict(zip(names, leaves, strict=False))
    return dh.RegionalProfile.from_counts(held, regions=tree, sensitivity=sensitivity)


def rows_of(draw: random.Random, many: int) -> list[tuple[str, str | None, str]]:
    regions = ["x", "x", "y", "z", "else", "unlisted", "X", "x ", None]
    return [(draw.choice("abcd"), draw.choice(regions), draw.choice("uvw")) for _ in range(many)]


def frame_of(rows: list[tuple[str, str | None, str]]) -> pa.Table:
    names = ("label", "region", "user")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def distances(one: dh.RegionalProfile, other: dh.RegionalProfile) -> list[int]:
    return [a.distance(b) for a, b in zip(one.leaves, other.leaves, strict=True)]


ROWS: dict[str, Any] = {"label": "label", "region": "region", "regions": TREE}


@pytest.mark.parametrize("asked", [{"other": "else"}, {"unlisted": "drop"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_row_changes_one_cell_of_one_leaf(seed: int, asked: Any) -> None:
    draw = random.Random(seed)
    for _ in range(6):
        rows = rows_of(draw, draw.randrange(1, 30))
        place = draw.randrange(len(rows))
        less = [*rows[:place], *rows[place + 1 :]] or [("a", "x", "u")]
        one, other = (
            dh.RegionalProfile.from_table(frame_of(each), **ROWS, **asked) for each in (rows, less)
        )
        if len(rows) == 1:
            continue
        outside = rows[place][1] not in ("x", "y", "z", "else")
        changed = distances(one, other)
        assert sum(changed) == (0 if outside and "unlisted" in asked else 1)
        leaf = dh.RegionTree(TREE).leaf_names.index("else" if outside else str(rows[place][1]))
        assert changed[leaf] == sum(changed)


@pytest.mark.parametrize("most", [1, 3])
def test_a_user_changes_as_many_cells_as_are_kept(most: int) -> None:
    draw = random.Random(most)
    for _ in range(8):
        rows = rows_of(draw, 40)
        others = [row for row in rows if row[2] != "u"]
        one, other = (
            count_in_leaves(
                frame_of(each),
                Leaves(dh.RegionTree(TREE).leaf_names, other=3),
                region="region",
                label="label",
                user="user",
                max_records=most,
                key="0123456789abcdef" * 2,
            )
            for each in (rows, others)
        )
        held = min(most, sum(row[2] == "u" for row in rows))
        changed = [dh.Profile(*a).distance(dh.Profile(*b)) for a, b in zip(one, other, strict=True)]
        assert sum(changed) == held
        assert sum(int((c * p).sum()) for c, p in other) == most * 2


def test_a_label_in_two_leaves_is_two() -> None:
    rows = [("a", "x", "u")] * 3 + [("a", "y", "u")] * 2
    found = dh.RegionalProfile.from_table(frame_of(rows), **ROWS)
    assert [leaf.sorted_counts().tolist() for leaf in found.leaves] == [[3], [2], [], []]


def test_engines_count_alike(tmp_path: Any) -> None:
    """Also of text files, of Python objects, and where a label is bytes, a date or a number."""
    rows = rows_of(random.Random(5), 200)
    table = frame_of(rows)
    path = tmp_path / "rows.csv"
    table.to_pandas().to_csv(path, index=False)
    given = [table, table.to_pandas(), pl.from_arrow(table), str(path)]
    found = [dh.RegionalProfile.from_table(each, **ROWS, other="else") for each in given]
    for each in found[1:]:
        assert distances(found[0], each) == [0] * 4
    assert sum(leaf.total for leaf in found[0].leaves) == 200
    numbers = pa.array([ord(label) for label in table["label"].to_pylist()])
    for kind in (pa.int32(), pa.date32(), pa.timestamp("ns"), pa.decimal128(20, 4)):
        label = numbers.cast(pa.int32()).cast(kind) if kind != pa.timestamp("ns") else None
        other = numbers.cast(pa.timestamp("ns")) if label is None else label
        typed = table.set_column(0, "label", other)
        counted = dh.RegionalProfile.from_table(typed, **ROWS, other="else")
        assert distances(found[0], counted) == [0] * 4
    for kind in (pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        typed = table.set_column(0, "label", table["label"].cast(kind))
        counted = dh.RegionalProfile.from_table(typed, **ROWS, other="else")
        assert distances(found[0], counted) == [0] * 4


@pytest.mark.verify
def test_spark_counts_alike() -> None:
    table = frame_of(rows_of(random.Random(6), 200))
    table = table.append_column("number", pa.array([row % 3 for row in range(200)], pa.int32()))
    frame = spark().createDataFrame(table)
    for asked in (
        {**ROWS, "other": "else"},
        {**ROWS, "unlisted": "drop"},
        {**ROWS, "other": "else", "count": "number"},
        {"label": "label", "region": "number", "regions": [2, 1, 0]},
        {"label": "label", "region": "number", "regions": [2, 5], "unlisted": "drop"},
    ):
        one, other = (dh.RegionalProfile.from_table(each, **asked) for each in (frame, table))
        assert distances(one, other) == [0] * len(one.leaves)
    bounded = dh.RegionalProfile.from_table(frame, **ROWS, other="else", user="user", max_records=3)
    assert sum(leaf.total for leaf in bounded.leaves) == 9
    with pytest.raises(dh.DataError, match="column 'region' has rows of regions"):
        dh.RegionalProfile.from_table(frame, **ROWS)


def test_regions_that_are_numbers_are_found_in_columns_of_numbers() -> None:
    for column in ([1, 2, 2], ["1", "2", "2"]):
        rows = pd.DataFrame({"h": ["a", "a", "b"], "r": column})
        found = dh.RegionalProfile.from_table(rows, label="h", region="r", regions=[1, 2])
        assert [leaf.sorted_counts().tolist() for leaf in found.leaves] == [[1], [1, 1]]
    rows = pd.DataFrame({"h": ["a"], "r": [1]})
    with pytest.raises(dh.ColumnError, match="column 'r' must hold text"):
        dh.RegionalProfile.from_table(rows, label="h", region="r", regions=["1", "B"])
    rows = pd.DataFrame({"h": ["a"], "r": [1.5]})
    with pytest.raises(dh.ColumnError, match="column 'r'"):
        dh.RegionalProfile.from_table(rows, label="h", region="r", regions=[1])


def test_errors_show_no_value() -> None:
    rows = [("a", "sentinel", "u"), ("sentinel2", "x", "u")]
    with pytest.raises(dh.DataError, match="column 'region' has rows of regions") as refused:
        dh.RegionalProfile.from_table(frame_of(rows), **ROWS)
    assert "sentinel" not in str(refused.value)
    assert refused.value.__context__ is None
    with pytest.raises(dh.DataError, match="column 'label' has rows without a label"):
        dh.RegionalProfile.from_table(
            pa.table({"label": ["a", None], "region": ["x", "x"]}), **ROWS
        )
    data = dh.RegionalProfile.from_table(frame_of([("a", "x", "u")] * 7), **ROWS)
    assert "7" not in repr(data)
    with pytest.raises(dh.UnsupportedError):
        np.asarray(data)


CASES: dict[str, dict[str, Any]] = {
    "of a record": {"epsilon": 1},
    "of users": {"epsilon": "0.3", "sensitivity": 3},
    "with a share": {"epsilon": 1, "top_share": "1/5"},
    "of users, with a share": {"epsilon": 2, "top_share": "0.5", "sensitivity": 2},
}


def pairs(mechanism: dh.RegionalProfiles) -> list[tuple[dh.RegionalProfile, dh.RegionalProfile]]:
    return [(pair.one, pair.other) for pair in RegionalNeighbors(mechanism).pairs()]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_more_than_epsilon_is_lost(case: Any) -> None:
    """Neighbors are replayed with the same noisy numbers; what is lost is epsilon, and no more."""
    mechanism = dh.RegionalProfiles(regions=TREE, **case)
    worst = Fraction(0)
    for one, other in pairs(mechanism):
        epsilon, _ = loss_of_neighbours(mechanism.release, one, other, spare=SPARE)
        assert epsilon <= mechanism.epsilon
        worst = max(worst, epsilon)
    assert worst == mechanism.epsilon
    assert mechanism.guarantee.epsilon == mechanism.epsilon
    assert mechanism.guarantee.unit == dh.PrivacyUnit("record", mechanism.sensitivity)
    if not mechanism.top_share:
        alike = dh.AdaptiveScan(epsilon=mechanism.epsilon, sensitivity=mechanism.sensitivity)
        assert (mechanism.guarantee, mechanism.exchanged) == (alike.guarantee, alike.exchanged)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_asked_for_does_not_depend_on_data(case: Any) -> None:
    mechanism = dh.RegionalProfiles(regions=TREE, **case)
    transcript = record(mechanism.release, profiles([5, 3], [1], [40]))
    for other in (profiles(), profiles([2**61]), profiles([], [1] * 50, [], [7])):
        replay(transcript, mechanism.release, other)


def test_every_leaf_is_scanned() -> None:
    """Also those without records: as many scans as leaves, whose noise differs."""
    mechanism = dh.RegionalProfiles(epsilon=1, regions=TREE)
    noisy = mechanism.release(profiles()).noisy
    assert (noisy["column_ends"] == 0).sum() == (noisy["row_ends"] == 0).sum() == 4
    starts = np.flatnonzero(noisy["row_ends"] == 0)
    each = np.split(noisy["rows"], starts[1:] - np.arange(1, 4))
    assert len({tuple(rows[:8].tolist()) for rows in each}) == 4


def test_the_top_is_paid_by_the_leaves() -> None:
    alone = dh.RegionalProfiles(epsilon=1, regions=TREE)
    shared = dh.RegionalProfiles(epsilon=1, regions=TREE, top_share="0.2")
    assert alone.cell_epsilon == 1
    assert (shared.cell_epsilon, shared.top_epsilon) == (Fraction(4, 5), Fraction(1, 5))
    assert alone.noise_scale == 1
    assert shared.noise_scale == Fraction(5, 4)
    assert shared.guarantee.epsilon == alone.guarantee.epsilon == 1
    users = dh.RegionalProfiles(epsilon=1, regions=TREE, top_share="0.2", sensitivity=4)
    assert (users.cell_epsilon, users.top_epsilon) == (Fraction(1, 5), Fraction(1, 20))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_follow_from_noisy_numbers(case: Any) -> None:
    mechanism = dh.RegionalProfiles(regions=TREE, **case)
    release = mechanism.release(profiles([9, 4, 4], [1] * 20, [300]))
    assert mechanism.decode(release.noisy) == release.value
    assert mechanism.compute_total(release.noisy) == release.total
    for name in release.noisy:
        less = {key: held for key, held in release.noisy.items() if key != name}
        with pytest.raises(dh.ParameterError):
            mechanism.decode(less)


def test_data_with_larger_bounds_or_other_regions_are_refused() -> None:
    mechanism = dh.RegionalProfiles(epsilon=1, regions=TREE)
    with pytest.raises(dh.BoundsError, match="sensitivity 3, more than the mechanism's 1"):
        mechanism.release(profiles([1], sensitivity=3))
    for other in ({"north": ["y", "x"], "south": ["z"], "abroad": ["else"]}, ["x"]):
        with pytest.raises(dh.ParameterError, match="must have the regions of the mechanism"):
            mechanism.release(profiles([1], tree=other))
    for wrong in (dh.Profile.from_counts([1]), mechanism.release(profiles()), [1]):
        with pytest.raises(dh.ParameterError):
            mechanism.release(wrong)  # type: ignore[arg-type]


def _give(seed: bytes, _size: int) -> bytes:
    return seed


@pytest.mark.parametrize("turns", [7, 2**16])
def test_a_cell_more_is_dealt_to_one_leaf(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mechanism of a selected region: which rank a leaf gets is drawn without the data."""
    monkeypatch.setattr("dphist.regions.measuring._TURNS", turns)
    mechanism = ScannedLeaves(epsilon=1, sizes=[60, 30, 0, 10], parents=[3, 1])
    draw = random.Random(1)
    for _ in range(60):
        counts = [draw.randrange(1, 6) for _ in range(draw.randrange(25))]
        more = [*counts, 0]
        more[draw.randrange(len(more))] += 1
        seed = draw.randbytes(16)
        one, other = (
            [*mechanism._deal(dh.Profile.from_counts(each), partial(_give, seed))]
            for each in (counts, more)
        )
        assert sum(leaf.total for leaf in one) == sum(counts)
        assert sorted(a.distance(b) for a, b in zip(one, other, strict=True)) == [0, 0, 0, 1]
