"""Rows dropped in arrays are those of plain Python, also where ranks are equal or nearly so."""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from dphist.arrays import AnyArray
from dphist.counting.bounding import user_parts
from dphist.counting.bounding.ranking import drop_labels, keep_labels
from dphist.counting.bounding.user_parts import UserParts, UserRows, stir
from tests.support.counting.ranked import unstirred

LARGEST = 2**64 - 1
# Ranks by how many values they have, from where, and at what distance.
RANKS: dict[str, Callable[[random.Random], int]] = {
    "of 64 bits": lambda draw: draw.getrandbits(64),
    "often equal": lambda draw: draw.randrange(4) << 60,
    "all equal": lambda draw: 7,
    "alike in their high bits": lambda draw: (1 << 63) + draw.randrange(9),
    "large": lambda draw: LARGEST - draw.randrange(40),
}


def some_pairs(seed: str, rank: Callable[[random.Random], int]) -> UserRows:
    draw = random.Random(seed)
    users, labels = draw.randrange(1, 12), draw.randrange(1, 30)
    rows = [(draw.randrange(users), draw.randrange(labels)) for _ in range(draw.randrange(1, 90))]
    ranks = {row: rank(draw) for row in rows}
    return pairs_of([(*row, ranks[row]) for row in rows])


def pairs_of(rows: list[tuple[int, int, int]]) -> UserRows:
    return UserRows(*(np.array(column, np.uint64) for column in zip(*rows, strict=True)))


def in_python(pairs: UserRows, most: int) -> list[int]:
    """Labels of rows beyond the first of each label, and of labels with a place beyond `most`."""
    own: dict[int, dict[int, int]] = defaultdict(dict)
    dropped = []
    assert pairs.ranks is not None
    columns = (pairs.users.tolist(), pairs.terms.tolist(), pairs.ranks.tolist())
    rows = list(zip(*columns, strict=True))
    for user, label, rank in rows:
        if label in own[user]:
            dropped.append(label)
        own[user][label] = rank
    for labels in own.values():
        for label, rank in labels.items():
            if sum(other <= rank for other in labels.values()) > most:
                dropped.append(label)
    return sorted(dropped)


def dropped_of(parts: UserParts, most: int) -> list[AnyArray]:
    return parts.each(lambda own: drop_labels(own, most)[0], 2)


@pytest.mark.parametrize("kind", RANKS)
@pytest.mark.quick("[alike in their high bits]", "[of 64 bits]", "[often equal]")
def test_rows_dropped_are_those_of_plain_python(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_parts, "_PART_ROWS", 16)
    for seed in range(60):
        pairs, most = some_pairs(f"{kind} {seed}", RANKS[kind]), seed % 7 + 1
        expected = in_python(pairs, most)
        assert sorted(drop_labels(pairs, most)[0].tolist()) == expected
        order = np.random.default_rng(seed).permutation(len(pairs))
        assert sorted(drop_labels(pairs.take(order), most)[0].tolist()) == expected
        parts: UserParts = UserParts(len(pairs))
        for start in range(0, len(pairs), 25):
            parts.add(pairs.take(slice(start, start + 25)))
        assert sorted(np.concatenate(dropped_of(parts, most)).tolist()) == expected


@pytest.mark.parametrize("kind", RANKS)
def test_rows_kept_are_the_others_ordered_by_rank(kind: str) -> None:
    for seed in range(40):
        pairs, most = some_pairs(f"{kind} {seed}", RANKS[kind]), seed % 7 + 1
        terms, held, places = keep_labels(pairs, most)
        dropped, _ = drop_labels(pairs, most)
        assert sorted([*terms.tolist(), *dropped.tolist()]) == sorted(pairs.terms.tolist())
        assert held.max() <= most
        assert pairs.ranks is not None
        columns = (pairs.users.tolist(), pairs.terms.tolist(), pairs.ranks.tolist())
        rows = {(user, label): rank for user, label, rank in zip(*columns, strict=True)}
        users = {
            user: sorted((r, t) for (u, t), r in rows.items() if u == user) for user, _ in rows
        }
        expected = [
            [(label, sum(other <= rank for other, _ in own)) for rank, label in own]
            for own in users.values()
        ]
        starts = np.cumsum([0, *held])
        for first, last in itertools.pairwise(starts):
            kept = list(zip(terms[first:last].tolist(), places[first:last].tolist(), strict=True))
            assert kept in [each[: len(kept)] for each in expected]


@pytest.mark.parametrize("labels", [90, 300])
def test_places_of_a_user_with_many_labels(labels: int) -> None:
    draw = random.Random(labels)
    pairs = pairs_of([(1, label, draw.getrandbits(64)) for label in range(labels)])
    for most in (1, 80):
        assert sorted(drop_labels(pairs, most)[0].tolist()) == in_python(pairs, most)


def test_no_rows_drop_nothing() -> None:
    assert not any(map(len, drop_labels(pairs_of([(1, 1, 1)]).take(slice(0, 0)), 1)))
    assert not any(map(len, keep_labels(pairs_of([(1, 1, 1)]).take(slice(0, 0)), 1)))
    nothing: UserParts = UserParts(0)
    assert not dropped_of(nothing, 1)


@pytest.mark.parametrize("place", [0, 8, 23, 48, 60])
def test_users_who_are_alike_where_rows_are_ordered(place: int) -> None:
    """Users that agree in the bits by which rows are ordered, and others, with equal labels."""
    draw = random.Random(place)
    users = [unstirred(number << place) for number in range(5)] + [1, 2]
    assert len({int(user) for user in stir(np.array(users, np.uint64))}) == 7
    ranks = {(user, label): draw.getrandbits(64) for user in users for label in range(12)}
    rows = [draw.choice(list(ranks)) for _ in range(200)]
    pairs = pairs_of([(*row, ranks[row]) for row in rows])
    for most in (1, 3, 12):
        assert sorted(drop_labels(pairs, most)[0].tolist()) == in_python(pairs, most)


def test_what_a_user_drops_does_not_depend_on_others() -> None:
    """Also if another has labels whose ranks need exact comparison."""
    mine = [(1, label, (label * 0x9E3779B97F4A7C15) % 2**64) for label in range(40)]
    alone, _ = drop_labels(pairs_of(mine), 5)
    for rank in (0, LARGEST, 1 << 40):
        others = [(user, 100 + label, rank) for user in (0, 2, 3) for label in range(9)]
        together, _ = drop_labels(pairs_of(others + mine), 5)
        assert sorted(together[together < 100].tolist()) == sorted(alone.tolist())
        assert np.count_nonzero(together >= 100) == len(others)
