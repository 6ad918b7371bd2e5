"""Refuting a claim by the law of the noise: releases that are likelier on one of two neighbors.

`record` and `replay` give the exact numbers of two neighbors under the same noisy ones, so that the
law of the noise says how much likelier these are on one of the two. Where the release states them,
the release is that much likelier (`docs/understand/proofs/audits.md`).
"""

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.document.audited import Pair, Told
from dphist.lab.auditing.claim import Claim
from dphist.lab.auditing.layer import Finding
from dphist.lab.auditing.replay.session import record, replay
from dphist.lab.auditing.replay.transcript import (
    DivergedError,
    Entry,
    NumberArray,
    Transcript,
    log_ratio,
)
from dphist.lab.auditing.statistical.bounds import lowest_probability

_CHECKED = 4  # runs with any draws
_MOST_TURNS = 64  # of draws, until all are on the side where they tell most
_FARTHEST = 2**40  # noise that is chosen, in steps
_FEWEST_LOOKS, _LOOKS = 12, 40  # runs in each direction that choose what others bound
_FEWEST, _MOST = 40, 2000  # runs that bound it
_TIMID = 0.05  # error of bounds by which it is chosen
_SHOWN = 6  # noisy numbers that are said


@dataclass(frozen=True)
class Shown:
    """What a run of a mechanism showed, and the noisy numbers that its release states."""

    whole: Any
    stated: tuple[int, ...] | None


@dataclass(frozen=True)
class Laws:
    """A mechanism on two neighbors, on the first of which an event is to be likelier.

    Attributes
    ----------
    show : runs the mechanism on data; returns `Shown`.
    pair : the neighbors; those are `swapped` where the event is likelier on the second.
    seed : of draws with which the noise costs much.
    told : as of `record`.
    falling : whether noisy numbers are stated only where they fall.
    """

    show: Callable[[Any], Shown]
    pair: Pair
    swapped: bool
    seed: int
    told: Mapping[int, Told]
    falling: bool

    def compare(
        self, seed: int, chosen: Sequence[NumberArray] = ()
    ) -> tuple[Transcript, Transcript, Fraction | None]:
        """Return transcripts of both with the same noisy numbers, and the log of their ratio.

        The ratio is None where the release states no noisy numbers.

        Raises
        ------
        DivergedError
            If the two differ in something else, or the release states other noisy numbers.
        """
        one, other = self.pair.one, self.pair.other
        if self.swapped:
            one, other = other, one
        mine = record(self.show, one, seed=seed, told=self.told, chosen=chosen)
        its = replay(mine, self.show, other, told=self.told)
        said: Shown = mine.published
        if said.stated is None:
            return mine, its, None
        if said.stated != mine.noisy_numbers():
            raise DivergedError("the release states other noisy numbers than there were")
        return mine, its, log_ratio(mine, its)


def certain(laws: Laws, claim: Claim) -> Finding | None:
    """Return a release that is as much likelier on the first neighbor as the noise lets it be.

    Draws are chosen, which all have a positive probability: after each run those are turned over
    that are on the wrong side. None where no release states its noisy numbers.
    """
    best: tuple[Fraction, Transcript] = Fraction(0), Transcript()
    chosen: list[NumberArray] = []
    try:
        for seed in range(_CHECKED):  # that they state nothing else
            laws.compare(seed)
        for _ in range(_MOST_TURNS):
            mine, its, ratio = laws.compare(laws.seed, chosen)
            if ratio is not None and ratio > best[0]:
                best = ratio, mine
            chosen = [
                _turned(*entries, claim, laws.falling)
                for entries in zip(mine.entries, its.entries, strict=True)
            ]
            drawn = zip((entry.drawn for entry in mine.entries), chosen, strict=True)
            if all(np.array_equal(*each) for each in drawn):
                break
    except DivergedError:
        return None
    ratio, mine = best
    if not ratio:
        return None
    shown = math.nextafter(float(ratio), 0)
    said = _said(mine.noisy_numbers())
    return Finding("replay", laws.pair, laws.swapped, shown, ((0.0, shown),), said)


def _turned(mine: Entry, its: Entry, claim: Claim, falling: bool) -> NumberArray:
    """Return draws on the side where they tell most, and normal ones far enough out."""
    if falling:
        top = max(mine.exact.max(initial=0), its.exact.max(initial=0)) + len(mine.exact)
        return np.asarray(top - np.arange(len(mine.exact)) - mine.exact)
    size = np.abs(mine.drawn)
    if mine.request.sampler == "gaussian":
        enough = math.ceil(claim.exact_epsilon * mine.request.parameter**2) + 1
        size = np.maximum(size, min(enough, _FARTHEST))
    moved = np.sign(mine.exact - its.exact)
    return np.where(moved == 0, mine.drawn, moved * size)


def _said(numbers: tuple[int, ...]) -> str:
    first = ", ".join(map(str, numbers[:_SHOWN]))
    more = len(numbers) - _SHOWN
    return f"the noisy numbers of the release are {first}" + (f" and {more} more" * (more > 0))


def sampled(
    directions: Sequence[Laws],
    claim: Claim,
    deltas: Sequence[float],
    *,
    seconds: float,
    error: float,
) -> Finding | None:
    """Bound the probability of releases that are much likelier on one neighbor, by fresh runs.

    Some runs in each direction choose how much likelier; fresh ones bound how often a release is.

    Parameters
    ----------
    directions : of one pair.
    claim : of which delta is above 0.
    deltas : at which the curve is found.
    seconds : for all runs; there are `_FEWEST` however long they take.
    error : probability with which the finding is wrong.
    """
    end = time.monotonic() + seconds
    try:
        lines = [_line(laws, claim.delta, seconds / 4) for laws in directions]
        best = max(lines, key=lambda line: line.shown, default=None)
        if best is None or best.shown == -math.inf:
            return None
        runs = min(max(int((end - time.monotonic()) / best.seconds), _FEWEST), _MOST)
        hits = sum(ratio >= best.ratio for ratio in _ratios(best.laws, runs))
    except DivergedError:
        return None
    found = [
        (delta, _epsilon(best.ratio, hits, runs, delta, error)) for delta in (claim.delta, *deltas)
    ]
    said = (
        f"the noisy numbers of the release are likelier on the one by a factor of e**"
        f"{float(best.ratio):.4g} or more, as they were in {hits:,} of {runs:,} fresh runs on it"
    )
    curve = tuple(sorted({each for each in found if each[1] > 0}))
    pair, swapped = best.laws.pair, best.laws.swapped
    return Finding("replay", pair, swapped, found[0][1], curve, said)


@dataclass(frozen=True)
class _Line:
    """The log of a ratio that releases reach often, what it seems to show, and seconds a run."""

    laws: Laws
    ratio: Fraction
    shown: float
    seconds: float


def _line(laws: Laws, delta: float, seconds: float) -> _Line:
    begun, runs = time.monotonic(), 0
    ratios: list[Fraction] = []
    while runs < _FEWEST_LOOKS or (runs < _LOOKS and time.monotonic() < begun + seconds):
        ratios += _ratios(laws, 1)
        runs += 1
    shown = {
        ratio: _epsilon(ratio, sum(each >= ratio for each in ratios), runs, delta, _TIMID)
        for ratio in {Fraction(0), *ratios}
    }
    best = max(shown, key=lambda ratio: shown[ratio])
    return _Line(laws, best, shown[best], (time.monotonic() - begun) / runs)


def _ratios(laws: Laws, runs: int) -> list[Fraction]:
    """Return the log ratios of fresh runs on the first neighbor, of those that state numbers."""
    found = (laws.compare(secrets.randbits(128))[2] for _ in range(runs))
    return [each for each in found if each is not None]


def _epsilon(line: Fraction, hits: int, runs: int, delta: float, error: float) -> float:
    """Return what is shown at `delta` by an event that is e**line times likelier on one side."""
    low = float(lowest_probability(np.array([hits]), runs, error)[0])
    return float(line) + math.log1p(-delta / low) if low > delta else -math.inf
