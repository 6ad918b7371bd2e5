"""What a reader learns, against all tables that agree with what is published, one by one."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dphist as dh
from dphist.lab.rules import programs
from dphist.lab.rules.attack import attack
from dphist.lab.rules.counts import OpenCounts, read_counts
from dphist.lab.rules.disclosure_rule import DisclosureRule, Published, publish_counts
from dphist.lab.rules.programs import find_bounds
from dphist.lab.rules.system import System

MOST = 7  # of a count
RULES = [
    DisclosureRule(4),
    DisclosureRule(3, 3),
    DisclosureRule(4, show_zeros=True),
    DisclosureRule(round_to=3),
    DisclosureRule(round_to=2),
    DisclosureRule(3, 2, below_is=0),
    DisclosureRule(3, 2, below_is=2),
    DisclosureRule(3, complementary=True),
]


def full_table(shape: tuple[int, ...], numbers: list[int], first: int = 0) -> OpenCounts:
    """Return counts of a full table, whose keys are named from `first` on."""
    keys = [f"k{first + axis}" for axis in range(len(shape))]
    cells = list(product(*([f"v{value}" for value in range(size)] for size in shape)))
    rows = [dict(zip(keys, cell, strict=True)) for cell in cells]
    return read_counts([{**row, "n": n} for row, n in zip(rows, numbers, strict=True)], "n")


def agreeing(published: Published) -> np.ndarray[Any, Any]:
    """Return all tables that agree with what is published of one, by trying them.

    They grow cell by cell; those in which a margin is passed, or missed, are left out at once.
    """
    total = int(published.counts.low.sum()) if published.lines else 2 * MOST
    spans = zip(published.low.tolist(), published.high.tolist(), strict=True)
    tried = np.zeros((1, 0), np.int64)
    for place, (low, high) in enumerate(spans):
        values = np.arange(low, min(high, total) + 1)
        tried = np.column_stack(
            [np.repeat(tried, len(values), axis=0), np.tile(values, len(tried))]
        )
        for line in published.lines:
            sums = tried[:, line.places[line.places <= place]].sum(axis=1)
            whole = line.places.max() <= place
            tried = tried[sums == line.low if whole else sums <= line.low]
    return tried


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(st.integers(0, MOST), min_size=6, max_size=6),
    rule=st.sampled_from(RULES),
    shape=st.sampled_from([(2, 3), (6,), (3, 2)]),
)
def test_bounds_are_those_of_all_tables_that_agree(
    numbers: list[int], rule: DisclosureRule, shape: tuple[int, ...]
) -> None:
    published = publish_counts(full_table(shape, numbers), rule, margins=True)
    learned = attack(published, None, None, seconds=60).cells
    tables = agreeing(published)
    assert learned.low.tolist() == tables.min(axis=0).tolist()
    assert learned.high.tolist() == tables.max(axis=0).tolist()
    assert learned.is_sharp.all()


@settings(max_examples=25, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 3), min_size=8, max_size=8),
    rule=st.sampled_from([DisclosureRule(3), DisclosureRule(2, 2), DisclosureRule(round_to=3)]),
    moves=st.booleans(),
)
def test_bounds_of_three_keys_are_those_of_all_tables_that_agree(
    numbers: list[int], rule: DisclosureRule, moves: bool
) -> None:
    """With three keys, bounds in fractions are not those in whole numbers."""
    published = publish_counts(full_table((2, 2, 2), numbers), rule, margins=True)
    with pytest.MonkeyPatch.context() as patched:
        if not moves:
            patched.setattr("dphist.lab.rules.attack.Moves.make", lambda codes: None)
        learned = attack(published, None, None, seconds=60).cells
    tables = agreeing(published)
    assert learned.low.tolist() == tables.min(axis=0).tolist()
    assert learned.high.tolist() == tables.max(axis=0).tolist()


@settings(max_examples=40, deadline=None)
@given(
    old=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    new=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    rule=st.sampled_from(RULES[:4]),
)
def test_bounds_with_a_table_before(old: list[int], new: list[int], rule: DisclosureRule) -> None:
    before = publish_counts(full_table((2, 2), old), rule, margins=True)
    now = [one + other for one, other in zip(old, new, strict=True)]
    published = publish_counts(full_table((2, 2), now), rule, margins=True)
    attacked = attack(published, before, None, seconds=60)
    pairs = [
        (one, other)
        for one in agreeing(published)
        for other in agreeing(before)
        if (one >= other).all()
    ]
    tables = np.array([one for one, _ in pairs])
    changes = np.array([one - other for one, other in pairs])
    assert attacked.changes is not None
    for learned, every in ((attacked.cells, tables), (attacked.changes, changes)):
        assert learned.low.tolist() == every.min(axis=0).tolist()
        assert learned.high.tolist() == every.max(axis=0).tolist()


@settings(max_examples=40, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 3), min_size=8, max_size=8),
    rule=st.sampled_from(RULES[:4]),
    margins=st.booleans(),
)
def test_bounds_with_a_table_of_the_same_records(
    numbers: list[int], rule: DisclosureRule, margins: bool
) -> None:
    """One table has the keys k0 and k1, the other k1 and k2."""
    cube = np.array(numbers).reshape(2, 2, 2)
    ours = full_table((2, 2), cube.sum(axis=2).ravel().tolist())
    theirs = full_table((2, 2), cube.sum(axis=0).ravel().tolist(), first=1)
    published, also = (publish_counts(each, rule, margins=margins) for each in (ours, theirs))
    learned = attack(published, None, also, seconds=60).cells

    def shared(tried: np.ndarray[Any, Any], axis: int) -> list[bytes]:
        return [each.reshape(2, 2).sum(axis=axis).tobytes() for each in tried]

    others = set(shared(agreeing(also), 1))
    tables = agreeing(published)
    tables = tables[[each in others for each in shared(tables, 0)]]
    assert learned.low.tolist() == tables.min(axis=0).tolist()
    assert learned.high.tolist() == tables.max(axis=0).tolist()


def test_a_count_that_is_suppressed_already_is_known_to_be_in_its_interval() -> None:
    counts = {
        "town": ["A", "A", "B", "B", "Total", "Total"],
        "sex": ["f", "m", "f", "m", "f", "m"],
        "n": ["<5", "7", "9", "1-9", "12", ">=10"],
    }
    found = dh.lab.rule(counts, count="n", suppress_below=5, total="Total").to_arrow()
    assert found["low"].to_pylist() == [3, 7, 9, 3]
    assert found["high"].to_pylist() == [3, 7, 9, 9]
    assert found["count"].to_pylist() == [None, 7, 9, None]


def test_a_text_below_a_number_stands_for_smaller_ones() -> None:
    counts = {"town": ["A", "B", "C"], "n": ["<5", "≤5", "1-9"]}
    found = dh.lab.rule(counts, count="n", suppress_below=10, margins=False).to_arrow()
    assert found["high"].to_pylist() == [4, 5, 9]


def test_a_program_finds_what_single_sums_do_not_tell() -> None:
    system = System()
    places = system.add_unknowns([0] * 3, [100] * 3)
    for one, other, most in ((0, 1, 3), (1, 2, 3), (0, 2, 4)):
        system.add_sum(places[[one, other]], (), most, most)
    found = find_bounds(system.freeze(), np.arange(3), None, 9)
    assert found.low.tolist() == found.high.tolist() == [2, 1, 2]
    assert found.programs > 0
    assert found.is_exact.all()


def test_what_contradicts_itself_is_refused() -> None:
    wrong = {"town": ["A", "B", "Total"], "n": ["<5", "7", "20"]}
    with pytest.raises(dh.DataError, match="no counts agree with all that is given"):
        dh.lab.rule(wrong, count="n", suppress_below=5, total="Total")


def test_bounds_hold_where_the_time_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    counts = full_table((6, 5, 5), rng.negative_binomial(1, 0.1, 150).tolist())
    published = publish_counts(counts, DisclosureRule(10), margins=True)
    attacked = attack(published, None, None, seconds=1e-6)
    assert attacked.programs == 0
    assert attacked.open > 0
    assert (attacked.cells.low <= counts.low).all()
    assert (attacked.cells.high >= counts.low).all()


def test_what_the_solver_prints_is_caught(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = programs.milp

    def loud(*given: Any, **options: Any) -> Any:
        import os
        import warnings

        os.write(1, b"secret")
        os.write(2, b"secret")
        warnings.warn("secret", programs.OptimizeWarning, stacklevel=1)
        return solve(*given, **options)

    monkeypatch.setattr(programs, "milp", loud)
    monkeypatch.setattr("dphist.lab.rules.attack.Moves.make", lambda codes: None)
    published = publish_counts(
        full_table((3, 3), [1, 2, 3, 2, 3, 1, 3, 2, 1]), DisclosureRule(5), margins=True
    )
    assert attack(published, None, None, seconds=60).programs > 0
    print("said")
    assert capfd.readouterr() == ("said\n", "")


def test_a_few_thousand_cells_take_little_time() -> None:
    rng = np.random.default_rng(0)
    counts = full_table((60, 50), rng.negative_binomial(1, 0.03, 3000).tolist())
    published = publish_counts(counts, DisclosureRule(10, 5), margins=True)
    attacked = attack(published, None, None, seconds=60)
    assert attacked.open == 0
    assert (attacked.cells.low <= counts.low).all()
    assert (attacked.cells.high >= counts.low).all()
