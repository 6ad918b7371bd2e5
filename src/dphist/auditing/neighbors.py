"""Neighbors: pairs of data that differ in one protected unit, chosen where mechanisms go wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import DphistError, ParameterError
from dphist.labels.mechanism import LabelsMechanism
from dphist.ranges.mechanism import RangesMechanism
from dphist.streams import ContinualMechanism

_RANDOM_PAIRS = 6
_MOST_CELLS = 4096


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one protected unit, and what they are called."""

    name: str
    one: Any
    other: Any


def given_pairs(neighbors: Any) -> tuple[Pair, ...]:
    """Return the caller's own pairs: `(one, other)` or `(name, one, other)` each."""
    pairs = []
    try:
        for number, each in enumerate(neighbors, 1):
            name, one, other = each if len(each) == 3 else (f"pair {number}", *each)
            pairs.append(Pair(str(name), one, other))
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ParameterError(
            "neighbours must be pairs (one, other), or triples with a name first: data that differ "
            "in one protected unit"
        )
    return tuple(pairs)


def pairs_for(mechanism: Any) -> tuple[Pair, ...]:
    """Return neighbors for a mechanism of dphist: edge cases first, then random ones.

    Raises
    ------
    ParameterError
        If the mechanism is of no kind that dphist knows.
    """
    for kind, make in _MAKERS.items():
        if isinstance(mechanism, kind):
            return tuple(_usable(make, mechanism))
    raise ParameterError(
        "neighbours must be given: no kind of dphist says what data this mechanism takes"
    )


def _usable(make: "Callable[[Any], Iterator[Pair]]", mechanism: Any) -> Iterator[Pair]:
    """Leave out pairs that the mechanism refuses for public reasons, both alike."""
    for pair in make(mechanism):
        if isinstance(mechanism, ContinualMechanism):
            yield pair
            continue
        refused = []
        for data in (pair.one, pair.other):
            try:
                mechanism.release(data)
                refused.append(False)
            except DphistError:
                refused.append(True)
        if not all(refused):
            yield pair


def _profiles(mechanism: AnonymizedMechanism) -> Iterator[Pair]:
    """Counts of labels: one unit adds a record to each of `sensitivity` labels."""
    by = min(mechanism.sensitivity, 8)
    added = [1] * by
    cases: dict[str, tuple[list[int], list[int]]] = {
        "nothing, and one unit": ([], added),
        "a label grows from 1 to 2": ([1] * by, [2] * by),
        "a new label beside one": ([1], [1, *added]),
        "a tie is broken": ([5] * (by + 1), [6] * by + [5]),
        "a tie comes about": ([6] + [5] * by, [6] + [6] * by),
        "a large count grows": ([10**4] * by + [1], [10**4 + 1] * by + [1]),
        "stairs": (list(range(1, 40)), [*range(1, 40), *added]),
    }
    draw = random.Random(2)  # noqa: S311 - public data
    for number in range(_RANDOM_PAIRS):
        counts = [draw.choice((1, 1, 1, 2, 3, 8, 40)) for _ in range(draw.randrange(by, 20 + by))]
        grown = [c + (k < by) for k, c in enumerate(counts)]
        cases[f"random counts, {number + 1}"] = (counts, grown)
    for name, (one, other) in cases.items():
        try:
            first, second = (
                Profile.from_counts(c, sensitivity=mechanism.sensitivity) for c in (one, other)
            )
        except DphistError:
            continue
        yield Pair(name, first, second)


def _bins(mechanism: RangesMechanism) -> Iterator[Pair]:
    """Counts of bins: one unit adds `sensitivity` records to bins."""
    size = int(np.prod(mechanism.bins))
    if size > _MOST_CELLS:
        raise ParameterError(f"bins must be at most {_MOST_CELLS} in all to be audited")
    by = mechanism.sensitivity
    flat = np.zeros(size, np.int64)
    places = {"the first bin": 0, "the last bin": size - 1, "a bin in the middle": size // 2}
    bases = {"no records": flat, "a few in each bin": flat + 3, "many in one bin": flat.copy()}
    bases["many in one bin"][size // 3] = 10**6
    for name, base in bases.items():
        for where, place in places.items():
            grown = base.copy()
            grown[place] += by
            yield Pair(f"{name}; one unit in {where}", *_shaped(mechanism, base, grown))
    spread = flat.copy()
    for k in range(by):
        spread[k * (size - 1) // max(by - 1, 1)] += 1
    yield Pair("no records; one unit in many bins", *_shaped(mechanism, flat, spread))


def _shaped(mechanism: RangesMechanism, one: Any, other: Any) -> tuple[Any, Any]:
    return one.reshape(mechanism.bins), other.reshape(mechanism.bins)


def _labels(mechanism: LabelsMechanism) -> Iterator[Pair]:
    """Counts of labels: one user adds up to `max_count` to each of up to `max_labels`."""
    most, by = min(mechanism.max_labels or 4, 50), mechanism.max_count
    names = list(getattr(mechanism, "labels", None) or [f"label {k}" for k in range(most + 2)])
    most = min(most, len(names))
    line = int(mechanism.threshold or 0)
    levels = {
        "new labels": 0,
        "labels as frequent as the threshold": max(line - by // 2, 0),
        "frequent labels": line + 100 * by,
    }
    for said, level in levels.items():
        for many in sorted({1, most}):
            one = {name: level for name in names[:most] if level}
            other = {**one, **dict.fromkeys(names[:many], level + by)}
            text = f"{said}; one user has {many} of them"
            yield Pair(text, _counted(mechanism, one), _counted(mechanism, other))
    if len(names) > most or most > 1:
        tie = dict.fromkeys(names, line + 10)
        yield Pair(
            "all labels are equally frequent; one user has one",
            _counted(mechanism, tie),
            _counted(mechanism, {**tie, names[-1]: line + 10 + by}),
        )


def _counted(mechanism: LabelsMechanism, counts: dict[Any, int]) -> LabelCounts:
    return LabelCounts.from_counts(
        list(counts),
        list(counts.values()),
        max_labels=mechanism.max_labels,
        max_count=mechanism.max_count,
    )


def _streams(mechanism: ContinualMechanism) -> Iterator[Pair]:
    """Events: one, or those of one user, are empty in one of the two."""
    length = min(mechanism.horizon, 12)
    names = list(mechanism.labels or [f"label {k}" for k in range(mechanism.max_labels + 1)])
    event = names[: mechanism.max_labels]
    bound = mechanism.max_events_per_user
    for name, base in (("empty events", []), ("a label in every event", names[:1])):
        for where in sorted({0, length // 2}):
            many = range(where, min(where + (bound or 1), length))
            one = [_event(base, k, bound) for k in range(length)]
            other = list(one)
            for k in many:
                one[k] = _event([], "one" if bound else k, bound)
                other[k] = _event(event, "one" if bound else k, bound)
            yield Pair(f"{name}; one unit from event {where + 1} on", one, other)


def _event(labels: list[str], user: Any, bound: int | None) -> list[str]:
    return list(labels) if bound is None else [str(user), *labels]


_MAKERS: dict[type[Any], Any] = {
    AnonymizedMechanism: _profiles,
    RangesMechanism: _bins,
    LabelsMechanism: _labels,
    ContinualMechanism: _streams,
}
