"""Profiles by region that are counted in parts of the users, and merged."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.binning import leaf_sizes
from dphist.data.partial import Partial
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.data.partial import part_in_python, refusal

TREE = {"north": ["x", "y"], "south": ["z"], "abroad": ["else"]}
PARTS = 3
GIVEN: dict[str, Any] = {
    "label": "home", "region": "place", "regions": TREE, "other": "else", "user": "who",
    "max_records": 100,
}  # fmt: skip
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def rows(many: int = 300, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "home": [draw.choice(["a", "é", "", "0", "1"]) for _ in range(many)],
            "place": [draw.choice(["x", "x", "y", "z", "else", "X", "zz"]) for _ in range(many)],
            "who": [f"p{draw.randrange(60)}" for _ in range(many)],
        }
    )


def whole(frame: Any, **more: Any) -> dh.RegionalProfile:
    return dh.RegionalProfile.from_table(frame, **{**GIVEN, **more})


def part(frame: Any, number: int, **more: Any) -> Partial:
    return dh.RegionalProfile.partial(frame, part=number, **{"parts": PARTS, **GIVEN, **more})


def cut(frame: Any, **more: Any) -> list[Partial]:
    return [part(frame, number, **more) for number in range(PARTS)]


def content(data: dh.RegionalProfile) -> Any:
    said = (data.sensitivity, data.unit, data.null_users, data.unlisted, data.other)
    return data.regions, said, data.leaves


@every_engine
def test_parts_add_up_to_the_whole(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(rows(), tmp_path)
    merged = dh.RegionalProfile.merge(cut(frame))
    assert content(merged) == content(whole(rows()))
    assert sum(leaf.total for leaf in merged.leaves) == 300


@pytest.mark.parametrize("asked", [{"unlisted": "drop", "other": None}, {"unit": "one patient"}])
def test_what_is_said_of_rows_is_merged(asked: dict[str, Any], tmp_path: Path) -> None:
    parts = cut(rows(), **asked)
    parts[1].save(tmp_path / "1.parquet")
    given = [parts[2].to_arrow(), tmp_path / "1.parquet", parts[0]]
    assert content(dh.RegionalProfile.merge(given)) == content(whole(rows(), **asked))


@pytest.mark.parametrize("kind", [pa.int16(), pa.binary(), pa.large_string()])
def test_labels_of_all_types_are_counted_alike(kind: pa.DataType) -> None:
    labels = pa.array([str(row % 7) for row in range(300)])
    frame = rows().set_column(0, "home", labels.cast(kind))
    assert content(dh.RegionalProfile.merge(cut(frame))) == content(whole(frame))


@pytest.mark.parametrize("most", [1, 3])
def test_a_user_changes_as_many_cells_of_merged_leaves_as_are_kept(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaf_sizes, "draw_key", lambda: "0123456789abcdef" * 2)
    table = rows()
    for user in ("p1", "p2", "p3"):
        without = table.filter(pa.compute.not_equal(table["who"], user))
        one, other = (
            dh.RegionalProfile.merge(cut(each, max_records=most)) for each in (table, without)
        )
        changed = [a.distance(b) for a, b in zip(one.leaves, other.leaves, strict=True)]
        assert sum(changed) == min(most, table.num_rows - without.num_rows)
        assert one.sensitivity == most
    users = len(set(without["who"].to_pylist()))
    assert sum(leaf.total for leaf in other.leaves) <= users * most


def test_a_merged_profile_is_released_like_any_other() -> None:
    merged = dh.RegionalProfile.merge(cut(rows(), max_records=2))
    mechanism = dh.RegionalProfiles(epsilon=1, regions=TREE, sensitivity=2)
    release = mechanism.release(merged)
    assert str(release.guarantee.unit) == "one user"
    assert release.provenance == mechanism.release(whole(rows(), max_records=2)).provenance
    with pytest.raises(dh.BoundsError):
        dh.RegionalProfiles(epsilon=1, regions=TREE).release(merged)


OTHERS: dict[str, dict[str, Any]] = {
    "order of regions": {"regions": {"south": ["z"], "north": ["x", "y"], "abroad": ["else"]}},
    "regions above": {"regions": {"north": ["x", "y", "z"], "abroad": ["else"]}},
    "other regions": {"other": "z"},
    "dropped regions": {"other": None, "unlisted": "drop"},
    "bound": {"max_records": 99},
    "column of regions": {"region": "home", "label": "place"},
}


@pytest.mark.parametrize("case", OTHERS)
def test_parts_of_other_arguments_are_refused(case: str) -> None:
    parts = [*cut(rows())[:2], part(rows(), 2, **OTHERS[case])]
    with pytest.raises(ParameterError, match="regions in the same order"):
        dh.RegionalProfile.merge(parts)


def test_parts_of_two_types_of_labels_are_refused() -> None:
    """The label 7 of one and "7" of another may or may not be the same: "07" may be meant."""
    numbers = rows().set_column(0, "home", pa.array(range(300)))
    with pytest.raises(ParameterError, match="type of labels"):
        dh.RegionalProfile.merge([*cut(rows())[:2], part(numbers, 2)])
    days = rows().set_column(0, "home", pa.array(range(300), pa.int32()).cast(pa.date32()))
    with pytest.raises(ColumnError, match="column 'home' must hold text, integers, bytes"):
        part(days, 0)


def test_rows_of_other_regions_and_of_other_parts_are_refused() -> None:
    with pytest.raises(DataError, match="column 'place' has rows of regions"):
        part(rows(), 0, other=None)
    with pytest.raises(DataError, match="column 'who' has users of another part"):
        part(rows(), 0, others="refuse")
    with pytest.raises(ParameterError, match="other must be the name of a leaf"):
        part(rows(), 0, other="nowhere")


@every_engine
def test_rows_that_are_left_out_are_not_looked_at(engine: Engine, tmp_path: Path) -> None:
    """Those without a user, and of other parts: their regions refuse no table, in any engine."""
    table = pa.table(
        {"home": ["a", "b", "c"], "place": ["x", "zz", "y"], "who": ["p1", None, "p2"]}
    )
    frame = engine.make(table, tmp_path)
    given = {"other": None, "null_users": "drop"}
    assert [leaf.total for leaf in whole(frame, **given).leaves] == [1, 1, 0, 0]
    refused = "column 'place' has rows of regions that are no leaf"
    for treatment in ("separate", "refuse"):
        said = refusal(lambda: whole(frame, other=None, null_users=treatment))  # noqa: B023
        assert said.startswith(refused if treatment == "separate" else "column 'who' has rows")
    other = table.set_column(2, "who", pa.array(["p1", "p2", "p3"]))
    own = part_in_python("p2", PARTS)
    frame = engine.make(other, tmp_path)
    for number in range(PARTS):
        said = refusal(lambda: part(frame, number, other=None))  # noqa: B023
        assert said.startswith(refused if number == own else "")
        assert bool(said) == (number == own)


def test_terms_of_no_leaf_are_refused_without_a_value() -> None:
    head = cut(rows())[0].head
    for term in (b"secret", b"", b"1000000005a", b"1000000000a", b"+000000001a", b" 100000001a"):
        table = pa.table({"term": pa.array([term], pa.large_binary()), "count": [1]})
        parts = [Partial({**head, "part": number}, table) for number in range(PARTS)]
        said = refusal(lambda: dh.RegionalProfile.merge(parts))  # noqa: B023
        assert said == "parts must hold labels of their leaves: count them again"
    kept = pa.table({"term": pa.array([b"1000000002a"], pa.large_binary()), "count": [2]})
    merged = dh.RegionalProfile.merge([Partial({**head, "part": k}, kept) for k in range(PARTS)])
    assert [leaf.sorted_counts().tolist() for leaf in merged.leaves] == [[], [6], [], []]


def test_tables_that_no_part_has_are_refused(tmp_path: Path) -> None:
    """A term that is there twice, or without records, and a head that says something else."""
    parts = cut(rows())
    head, table = parts[0].head, parts[0].table
    more = {"term": pa.array([b"1000000001secret"], pa.large_binary())}
    wrong = [
        Partial(head, pa.concat_tables([table, table.slice(0, 1)])),
        Partial(head, pa.concat_tables([table, pa.table({**more, "count": [0]})])),
        Partial(head, pa.concat_tables([table, pa.table({**more, "count": [-1]})])),
        Partial({**head, "secret": "secret"}, table),
        Partial({name: said for name, said in head.items() if name != "label_type"}, table),
    ]
    for each in wrong:
        each.save(tmp_path / "0.parquet")
        for given in (each, each.to_arrow(), tmp_path / "0.parquet"):
            said = refusal(lambda: dh.RegionalProfile.merge([given, *parts[1:]]))  # noqa: B023
            assert said.startswith("the part was not made by Partial.to_arrow")
    empty = dh.RegionalProfile.merge(
        Partial({**each.head}, each.table.slice(0, 0)) for each in parts
    )
    assert sum(leaf.total for leaf in empty.leaves) == 0


def test_heads_that_state_no_regions_are_refused_without_a_name() -> None:
    parts = cut(rows())
    wrong: list[Any] = [[["secret"], ["secret"]], [["secret", "b"], ["b", "secret"]], ["secret"]]
    for regions in wrong:
        edited = [Partial({**each.head, "regions": regions}, each.table) for each in parts]
        said = refusal(lambda: dh.RegionalProfile.merge(edited))  # noqa: B023
        assert "not made by" in said
        assert "secret" not in said
