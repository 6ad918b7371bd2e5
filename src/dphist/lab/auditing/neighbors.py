"""Neighbors: pairs of data that differ in one protected unit, made by a kind or given."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from dphist.document.audited import Pair
from dphist.errors import DphistError, ParameterError
from dphist.lab.auditing.declared import auditing_of
from dphist.lab.auditing.subject import Run, subject_of

Variants = Callable[[Pair, random.Random], Iterator[Pair]]
"""Returns neighbors that are like a pair, both data sets changed alike."""


def pairs_for(mechanism: Any) -> tuple[Pair, ...]:
    """Return neighbors for a mechanism, as its kind makes them: edge cases first, then random ones.

    Raises
    ------
    ParameterError
        If the mechanism is of no kind that declares neighbors.
    """
    declared = auditing_of(mechanism)
    if declared is None:
        raise ParameterError(
            "neighbours", "must be given: no kind of dphist says what data this mechanism takes"
        )
    return tuple(_usable(declared.neighbors(mechanism).pairs(), mechanism))


def variants_for(mechanism: Any) -> Variants | None:
    """Return what makes pairs like those that showed most; None if no kind is known."""
    declared = auditing_of(mechanism)
    if declared is None:
        return None
    neighbors = declared.neighbors(mechanism)

    def vary(pair: Pair, draw: random.Random) -> Iterator[Pair]:
        if pair.raw is not None:
            yield from _usable(neighbors.vary(pair.name, pair.raw, draw), mechanism)

    return vary


def _usable(pairs: Iterator[Pair], mechanism: Any) -> Iterator[Pair]:
    """Leave out huge counts that the mechanism refuses, in both data sets alike."""
    run = subject_of(mechanism).run
    for pair in pairs:
        if not pair.huge or not all(_refuses(run, data) for data in (pair.one, pair.other)):
            yield pair


def _refuses(run: Run, data: Any) -> bool:
    try:
        run(data)
    except DphistError:
        return True
    return False


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
            "neighbours",
            "must be pairs (one, other), or triples with a name first: data that differ in one "
            "protected unit",
        )
    return tuple(pairs)
