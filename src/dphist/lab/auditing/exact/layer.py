"""The layer of an audit that enumerates: laws on small neighbors, and delta between them."""

import inspect
import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.document.audited import Pair
from dphist.errors import DphistError
from dphist.lab.auditing.exact.laws import (
    HiddenRandomnessError,
    Law,
    PathSource,
    delta_between,
    enumerated,
    epsilon_of,
)
from dphist.lab.auditing.outcome import in_words, whole_of_run
from dphist.lab.auditing.replay.session import asked, standing_in
from dphist.lab.auditing.result import Finding, LayerReport
from dphist.lab.auditing.subject import Run, auditing_of
from dphist.mechanism import Mechanism
from dphist.release.mechanisms import package_of

_MISSING = Fraction(1, 10**4)
_TOO_MUCH = Fraction(1, 4)  # a law of which more is not reached is left out
_HOPELESS = Fraction(9, 10)  # and not gone on with, if that much is left after a first look
_LITTLE = Fraction(1, 100)  # not reached: what is said to hold holds up to this
_AT_ONCE = 4  # a pair gets one part in so many of the time that is left


Sourced = Callable[[Any, PathSource], Any]
"""Takes data, and randomness along a path."""


@dataclass
class Enumeration:
    """What the layer found."""

    report: LayerReport
    finding: Finding | None = None


@dataclass
class _Seen:
    paths: int = 0
    partial: int = 0
    pairs: list[str] = field(default_factory=list)
    unreached: Fraction = Fraction(0)
    most: Fraction = Fraction(0)
    best: Finding | None = None
    refuted: bool = False


def takes_source(run: Callable[..., Any]) -> bool:
    """Whether a callable takes its randomness as `source`."""
    try:
        return "source" in inspect.signature(run).parameters
    except (TypeError, ValueError):
        return False


def enumeration(
    run: Run,
    mechanism: Any,
    pairs: tuple[Pair, ...],
    *,
    epsilon: Fraction,
    delta: Fraction,
    deltas: tuple[float, ...],
    seconds: float,
) -> Enumeration:
    """Enumerate the laws of what a run shows on small neighbors.

    Parameters
    ----------
    run : takes data and `source`, or is of a mechanism of dphist.
    mechanism : None for a callable.
    pairs : neighbors; those whose laws cannot be enumerated in time are left out, and it is said.
    epsilon, delta : the claim.
    deltas : at which the curve is found.
    seconds : for all laws together.
    """
    sourced = _sourced(run, mechanism)
    if sourced is None and mechanism is not None:
        return _without("Its kind runs it by itself, where draws cannot be enumerated.")
    if sourced is None:
        return _without("It takes no source of randomness: a parameter named source.")
    seen, end = _Seen(), time.monotonic() + seconds
    try:
        with standing_in():
            for number, pair in enumerate(pairs):
                left = end - time.monotonic()
                if left <= 0:
                    break
                share = left / min(len(pairs) - number, _AT_ONCE)
                _compare(sourced, pair, share, seen, epsilon, delta, deltas)
                if seen.refuted:
                    break
    except KeyboardInterrupt:
        return Enumeration(LayerReport("exact", "interrupted", _covered(seen, pairs)), seen.best)
    except HiddenRandomnessError as error:
        return _without(f"The laws cannot be enumerated: {error}.")
    except DphistError as error:
        if not (seen.pairs or seen.partial):
            return _without(f"The laws cannot be enumerated: {error}.")
    if not (seen.pairs or seen.partial):
        return _without("Laws on the neighbors are too large to enumerate in this time.")
    verdict = "refuted" if seen.refuted else "not refuted"
    if not seen.refuted and seen.pairs and seen.most - delta <= _LITTLE:
        verdict = "holds"
    return Enumeration(LayerReport("exact", verdict, _covered(seen, pairs)), seen.best)


def _without(text: str) -> Enumeration:
    return Enumeration(LayerReport("exact", "does not apply", text))


def _compare(
    run: Sourced,
    pair: Pair,
    seconds: float,
    seen: _Seen,
    epsilon: Fraction,
    delta: Fraction,
    deltas: tuple[float, ...],
) -> None:
    laws = []
    for data in (pair.one, pair.other):
        law = _law(run, data, seconds / 2)
        if law.unreached > _TOO_MUCH:
            return
        laws.append(law)
        seen.paths += law.runs
    whole = max(law.unreached for law in laws) <= _LITTLE
    if whole:
        seen.pairs.append(pair.name)
        seen.unreached = max(seen.unreached, *(law.unreached for law in laws))
    else:
        seen.partial += 1
    for swapped in (False, True):
        one, other = reversed(laws) if swapped else laws
        bounds = delta_between(one, other, epsilon)
        seen.most = max(seen.most, bounds.high) if whole else seen.most
        shown = epsilon_of(one, other, delta)
        refuted = bounds.low > delta
        if refuted or seen.best is None or float(shown) > seen.best.epsilon:
            here = delta_between(one, other, min(shown, epsilon)).event
            words = _words(here, one, other)
            curve = _curve(one, other, deltas)
            seen.best = Finding("exact", pair, swapped, float(shown), curve, words)
        if refuted:
            seen.refuted = True
            return


def _sourced(run: Callable[..., Any], mechanism: Any) -> Sourced | None:
    """Return a callable of data and a path, or None where no source of randomness is taken."""
    declared = auditing_of(mechanism)
    if declared is not None and declared.run is not None:
        # All noise of our streams is from samplers. Of others nobody has looked.
        return (lambda data, _: run(data)) if package_of(type(mechanism)) is None else None
    if isinstance(mechanism, Mechanism):
        return lambda data, path: run(data, source=path.refused)
    return (lambda data, path: run(data, source=path)) if takes_source(run) else None


def _law(run: Sourced, data: Any, seconds: float) -> Law:
    """Enumerate a law; what is far too large is given up early."""

    def shown(path: PathSource) -> Hashable:
        with asked(path):
            return whole_of_run(lambda held: run(held, path), data)

    begun = time.monotonic()
    look = begun + seconds / 8, _HOPELESS
    return enumerated(shown, missing=_MISSING, until=begun + seconds, look=look)


def _curve(one: Law, other: Law, deltas: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    found = [(each, math.floor(float(epsilon_of(one, other, Fraction(each))) * 1e6) / 1e6)
             for each in deltas]  # fmt: skip
    return tuple((each, epsilon) for each, epsilon in found if epsilon > 0)


def _words(event: frozenset[Hashable], one: Law, other: Law) -> str:
    if not event:
        return ""
    ranked = sorted(event, key=lambda shown: -one.probability(shown)[0])
    first = _short(ranked[0])
    more = f" or one of {len(ranked) - 1:,} others" if len(ranked) > 1 else ""
    here = sum((one.probability(shown)[0] for shown in event), Fraction(0))
    there = sum((other.probability(shown)[1] for shown in event), Fraction(0)) + other.unreached
    return (
        f"{first}{more}; its probability is at least {float(here):.6g} on the one, and at most "
        f"{float(min(there, Fraction(1))):.6g} on the other"
    )


def _short(shown: Hashable) -> str:
    text = in_words(shown)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _covered(seen: _Seen, pairs: tuple[Pair, ...]) -> str:
    said = f"{seen.paths:,} paths; the laws of {len(seen.pairs)} of {len(pairs)} pairs are known"
    if seen.pairs:
        said += (
            f" but for a probability of {float(seen.unreached):.2g}, and at the claimed epsilon "
            f"delta is at most {float(seen.most):.3g} there, in both directions"
        )
    if seen.partial:
        said += f"; of {seen.partial} more some are known, for three quarters or more"
    return f"{said}."
