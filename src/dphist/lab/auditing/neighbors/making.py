"""Neighbors for a mechanism of dphist, by kind."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.errors import DphistError, ParameterError
from dphist.lab.auditing.neighbors.bins import BinsKind
from dphist.lab.auditing.neighbors.labels import LabelsKind
from dphist.lab.auditing.neighbors.pair import HUGE, Kind, Pair, Variants
from dphist.lab.auditing.neighbors.profiles import ProfilesKind
from dphist.lab.auditing.neighbors.streams import StreamsKind
from dphist.labels.mechanism import LabelsMechanism
from dphist.ranges.mechanism import RangesMechanism
from dphist.streams import ContinualMechanism

_KINDS: dict[type[Any], Callable[[Any], Kind]] = {
    AnonymizedMechanism: ProfilesKind,
    RangesMechanism: BinsKind,
    LabelsMechanism: LabelsKind,
    ContinualMechanism: StreamsKind,
}


def pairs_for(mechanism: Any) -> tuple[Pair, ...]:
    """Return neighbors for a mechanism of dphist: edge cases first, then random ones.

    Raises
    ------
    ParameterError
        If the mechanism is of no kind that dphist knows.
    """
    kind = _kind_of(mechanism)
    if kind is None:
        raise ParameterError(
            "neighbours", "must be given: no kind of dphist says what data this mechanism takes"
        )
    return tuple(_usable(kind.pairs(), mechanism))


def variants_for(mechanism: Any) -> Variants | None:
    """Return what makes pairs like those that showed most; None where no kind is known."""
    kind = _kind_of(mechanism)
    if kind is None:
        return None

    def vary(pair: Pair, draw: random.Random) -> Iterator[Pair]:
        if pair.raw is not None:
            yield from _usable(kind.vary(pair.name, pair.raw, draw), mechanism)

    return vary


def _kind_of(mechanism: Any) -> Kind | None:
    for known, make in _KINDS.items():
        if isinstance(mechanism, known):
            return make(mechanism)
    return None


def _usable(pairs: Iterator[Pair], mechanism: Any) -> Iterator[Pair]:
    """Leave out huge counts that the mechanism refuses, in both data sets alike."""
    for pair in pairs:
        if HUGE not in pair.name or not all(
            _refuses(mechanism, data) for data in (pair.one, pair.other)
        ):
            yield pair


def _refuses(mechanism: Any, data: Any) -> bool:
    try:
        mechanism.release(data)
    except DphistError:
        return True
    return False
