"""Replaying top-label mechanisms, whose noise is real and known only as far as it is asked about.

They ask `LazyNoise` once for all candidates and the threshold, with centers that are counts less
the next count. Here the real numbers themselves are kept, by label, with that next count added
again, so that they can be given to a run on other data: a label has the same noisy count there, and
the threshold is the same. `docs/understand/proofs/top_labels.md`, Lemmas 3, 5 and 6.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.lab.auditing.replay.session import ONE_AT_A_TIME, replace_objects
from dphist.lab.auditing.replay.transcript import DivergedError
from dphist.noise.for_tests import KNOWN_NOISE
from dphist.noise.lazy import LazyNoise

Counts = Mapping[str, int]
_KEEPING: ContextVar[Callable[..., Any] | None] = ContextVar("keeping", default=None)


def _stand_in(*arguments: Any, **named: Any) -> Any:
    keeping = _KEEPING.get()  # None in other threads, whose releases get the real noise
    return (LazyNoise if keeping is None else keeping)(*arguments, **named)


THRESHOLD = None  # its key beside the labels


def ranked(counts: Counts) -> list[str]:
    """All labels that occur, by count, the largest first, then by label."""
    return sorted((x for x in counts if counts[x] > 0), key=lambda x: (-counts[x], x))


@dataclass
class Asked:
    """One request: `exact` and `noisy` are counts, and the threshold above zero, in records."""

    law: Any
    scale: Fraction
    exact: dict[str | None, Fraction]
    noisy: dict[str | None, Fraction]


@dataclass
class LazyTranscript:
    """All requests of a run, and what it published."""

    asked: list[Asked] = field(default_factory=list)
    published: Any = None


def record_lazy(run: Callable[[Counts], Any], counts: Counts, seed: int = 0) -> LazyTranscript:
    """Run on counts by label, with noise of a normal law whatever is asked for."""
    return _run(run, counts, None, seed)


def replay_lazy(
    transcript: LazyTranscript, run: Callable[[Counts], Any], counts: Counts
) -> LazyTranscript:
    """Run on other counts with the same noisy ones, low ones for labels that were no candidates.

    Raises
    ------
    DivergedError
        If something else is asked for or published.
    """
    found = _run(run, counts, transcript, 0)
    for mine, its in zip(transcript.asked, found.asked, strict=True):
        if (mine.law, mine.scale) != (its.law, its.scale):
            raise DivergedError("noise of another law is asked for")
    if found.published != transcript.published:
        raise DivergedError("the noisy numbers are the same, and what is published is not")
    return found


def changes(one: Asked, other: Asked) -> list[Fraction]:
    """Return by how much the exact numbers of what both ask for differ."""
    return [other.exact[x] - one.exact[x] for x in one.exact if x in other.exact]


def _run(
    run: Callable[[Counts], Any], counts: Counts, recorded: LazyTranscript | None, seed: int
) -> LazyTranscript:
    found = LazyTranscript()
    order, rng = ranked(counts), random.Random(seed)

    class Kept:
        """Stands in for `LazyNoise`."""

        def __init__(self, law: Any, scale: Any, centers: Sequence[Any], source: Any = None):
            if not isinstance(scale, Fraction):
                raise DivergedError("a scale of noise has been through a float")
            names: list[str | None] = [*order[: len(centers) - 1], THRESHOLD]
            # All centers are less the next count, which the threshold's keeps.
            shift = counts[order[0]] - Fraction(centers[0]) if len(centers) > 1 else Fraction(0)
            exact = {x: Fraction(c) + shift for x, c in zip(names, centers, strict=True)}
            noisy = {x: c + scale * _normal(rng) for x, c in exact.items()}
            if recorded is not None:
                known = recorded.asked[len(found.asked)].noisy
                noisy = {x: known.get(x, known[THRESHOLD] - 1) for x in exact}
            found.asked.append(Asked(law, scale, exact, noisy))
            self.values = [noisy[x] - shift for x in names]

        def is_above(self, i: int, j: int) -> bool:
            return self.values[i] > self.values[j]

        def descending_above(self, threshold: int, most: int) -> list[int]:
            above = [i for i in range(len(self.values)) if self.is_above(i, threshold)]
            return sorted(above, key=lambda i: self.values[i], reverse=True)[:most]

        def rounded(self, i: int) -> int:
            return math.floor(self.values[i] + Fraction(1, 2))

    with ONE_AT_A_TIME, replace_objects({id(LazyNoise): _stand_in}):
        earlier = KNOWN_NOISE.get()
        try:
            KNOWN_NOISE.set(True)
            _KEEPING.set(Kept)
            found.published = run(counts)
        finally:
            try:
                _keep_nothing(earlier)
            finally:  # an interrupt may have come in the middle of it
                _keep_nothing(earlier)
    return found


def _keep_nothing(known_before: bool) -> None:
    _KEEPING.set(None)
    KNOWN_NOISE.set(known_before)


def _normal(rng: random.Random) -> Fraction:
    return Fraction(rng.gauss(0, 1))
