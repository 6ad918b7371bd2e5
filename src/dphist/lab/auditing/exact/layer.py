"""The layer of an audit that enumerates: laws on small neighbors, and delta between them."""

import contextlib
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
    enumerate_law,
    find_epsilon,
)
from dphist.lab.auditing.exact.products import (
    Moved,
    ProductLaw,
    TooLargeError,
    compute_law,
    find_moved,
)
from dphist.lab.auditing.outcome import capture_run, describe_outcome
from dphist.lab.auditing.replay.session import ask_for_noise, replace_samplers
from dphist.lab.auditing.result import DELTAS, Claim, Finding, LayerReport, LayerResult
from dphist.lab.auditing.subject import Subject, find_auditing
from dphist.mechanism import Mechanism
from dphist.release.mechanisms import find_package
from dphist.sentence import many

_MISSING = Fraction(1, 10**4)
_TOO_MUCH = Fraction(1, 4)  # a law of which more is not reached is left out
_HOPELESS = Fraction(9, 10)  # and not gone on with, if that much is left after a first look
_LITTLE = Fraction(1, 100)  # not reached: what is said to hold holds up to this
_AT_ONCE = 4  # a pair gets this part of the time that is left


Sourced = Callable[[Any, PathSource], Any]
"""Takes data, and randomness along a path."""


@dataclass
class _Seen:
    paths: int = 0
    partial: int = 0
    pairs: list[str] = field(default_factory=list)
    unreached: Fraction = Fraction(0)
    most: Fraction = Fraction(0)
    best: Finding | None = None
    refuted: bool = False


def enumerate_pairs(
    subject: Subject, pairs: tuple[Pair, ...], claim: Claim, seconds: float
) -> LayerResult:
    """Enumerate the laws of what a run shows on small neighbors, in `seconds` for all of them.

    Pairs whose laws cannot be enumerated in time are left out, and it is said.
    """
    sourced = _follow_source(subject)
    if sourced is None and subject.mechanism is not None:
        return _skip("Its kind runs it by itself, where draws cannot be enumerated.")
    if sourced is None:
        return _skip("It takes no source of randomness: a parameter named source.")
    seen, end = _Seen(), time.monotonic() + seconds
    product = _multiply_laws(subject, pairs, claim, end)
    if product is not None:
        return product
    verdict = "not refuted"
    try:
        with replace_samplers():
            for number, pair in enumerate(pairs):
                left = end - time.monotonic()
                if left <= 0 or seen.refuted:
                    break
                share = left / min(len(pairs) - number, _AT_ONCE)
                _compare(sourced, pair, claim, share, seen)
    except KeyboardInterrupt:
        verdict = "interrupted"
    except DphistError as error:
        if isinstance(error, HiddenRandomnessError) or not (seen.pairs or seen.partial):
            return _skip(f"The laws cannot be enumerated: {error}.")
    if verdict != "interrupted":
        if not (seen.pairs or seen.partial):
            return _skip("Laws on the neighbors are too large to enumerate in this time.")
        if seen.refuted:
            verdict = "refuted"
        elif seen.pairs and seen.most - claim.exact_delta <= _LITTLE:
            verdict = "holds"
    return LayerResult(LayerReport("exact", verdict, _describe_covered(seen, pairs)), seen.best)


def _multiply_laws(
    subject: Subject, pairs: tuple[Pair, ...], claim: Claim, end: float
) -> LayerResult | None:
    """Find the laws of pairs as products of laws of draws; None if they are none, or too large."""
    known: dict[Moved, ProductLaw] = {}
    best: tuple[Fraction, Pair, ProductLaw] | None = None
    covered = 0
    try:
        with replace_samplers():
            for pair in pairs:
                moved = find_moved(subject, pair)
                if moved is None:
                    return None
                covered += 1
                if moved in known:
                    continue
                known[moved] = law = compute_law(moved, end)
                shown = law.epsilon_at(claim.exact_delta)
                if best is None or shown > best[0]:
                    best = shown, pair, law
    except KeyboardInterrupt:
        return LayerResult(LayerReport("exact", "interrupted", "Laws of draws were multiplied."))
    except TooLargeError:
        covered -= 1
    if best is None:
        return None
    least = max(law.delta_at_least(claim.exact_epsilon) for law in known.values())
    most = max(law.delta_at_most(claim.exact_epsilon) for law in known.values())
    verdict = "refuted" if least > claim.exact_delta else "not refuted"
    if verdict != "refuted" and covered == len(pairs) and most - claim.exact_delta <= _LITTLE:
        verdict = "holds"
    epsilon, pair, law = best
    said = (
        f"The laws of {covered} of {many(len(pairs), 'pair')} are products of those of up to "
        f"{many(max(each.draws for each in known.values()), 'draw')}; at the claimed epsilon "
        f"delta is from {float(least):.4g} to {float(most):.4g} there, in both directions."
    )
    curve = tuple((delta, float(law.epsilon_at(Fraction(delta)))) for delta in DELTAS)
    words = (
        f"the noisy numbers of the release are likelier on the one by a factor above "
        f"e**{float(epsilon):.4g}, as they are with a probability of at least "
        f"{float(law.chance_above(epsilon)):.4g} on it"
    )
    finding = Finding("exact", pair, False, float(epsilon), tuple(c for c in curve if c[1]), words)
    return LayerResult(LayerReport("exact", verdict, said), finding)


def _skip(text: str) -> LayerResult:
    return LayerResult(LayerReport("exact", "does not apply", text))


def _compare(run: Sourced, pair: Pair, claim: Claim, seconds: float, seen: _Seen) -> None:
    epsilon, delta, laws = claim.exact_epsilon, claim.exact_delta, []
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
        shown = find_epsilon(one, other, delta)
        refuted = bounds.low > delta
        if refuted or seen.best is None or float(shown) > seen.best.epsilon:
            here = delta_between(one, other, min(shown, epsilon)).event
            words = _words(here, one, other)
            curve = _curve(one, other)
            seen.best = Finding("exact", pair, swapped, float(shown), curve, words)
        if refuted:
            seen.refuted = True
            return


def _follow_source(subject: Subject) -> Sourced | None:
    """Return a callable of data and a path, or None if no source of randomness is taken."""
    run: Callable[..., Any] = subject.run
    mechanism = subject.mechanism
    declared = find_auditing(mechanism)
    if declared is not None and declared.run is not None:
        # All noise of our streams is from samplers. Of others nobody has looked.
        return (lambda data, _: run(data)) if find_package(type(mechanism)) is None else None
    if isinstance(mechanism, Mechanism):
        return lambda data, path: run(data, source=path.refuse_bytes)
    with contextlib.suppress(TypeError, ValueError):  # of callables without a signature
        if "source" in inspect.signature(run).parameters:
            return lambda data, path: run(data, source=path)
    return None


def _law(run: Sourced, data: Any, seconds: float) -> Law:
    """Enumerate a law; what is far too large is given up early."""

    def capture_path(path: PathSource) -> Hashable:
        with ask_for_noise(path):
            return capture_run(lambda held: run(held, path), data)

    begun = time.monotonic()
    look = begun + seconds / 8, _HOPELESS
    return enumerate_law(capture_path, missing=_MISSING, until=begun + seconds, look=look)


def _curve(one: Law, other: Law) -> tuple[tuple[float, float], ...]:
    found = (
        (delta, math.floor(float(find_epsilon(one, other, Fraction(delta))) * 1e6) / 1e6)
        for delta in DELTAS
    )
    return tuple(each for each in found if each[1] > 0)


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
    text = describe_outcome(shown)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _describe_covered(seen: _Seen, pairs: tuple[Pair, ...]) -> str:
    paths, pair = many(seen.paths, "path"), many(len(pairs), "pair")
    are = "is" if len(pairs) == 1 else "are"
    said = f"{paths}; the laws of {len(seen.pairs)} of {pair} {are} known"
    if seen.pairs:
        said += (
            f" but for a probability of {float(seen.unreached):.2g}, and at the claimed epsilon "
            f"delta is at most {float(seen.most):.3g} there, in both directions"
        )
    if seen.partial:
        said += f"; of {seen.partial} more some are known, for three quarters or more"
    return f"{said}."
