"""The layer of an audit that replays: the same noisy numbers on neighbors, and what that costs.

`record` and `replay` give the exact numbers of two neighbors under the same noisy ones, so that the
law of the noise says how much likelier these are on one of the two. Where the release states them,
the release is that much likelier, which may refute a claim (`docs/understand/proofs/audits.md`).
"""

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.document.audited import Pair, Told
from dphist.lab.auditing.outcome import make_comparable, watch_run
from dphist.lab.auditing.replay.session import record, replace_samplers, replay
from dphist.lab.auditing.replay.transcript import (
    DivergedError,
    Entry,
    NumberArray,
    Transcript,
    log_ratio,
    loss,
)
from dphist.lab.auditing.result import DELTAS, Claim, Finding, LayerReport, LayerResult
from dphist.lab.auditing.statistical.bounds import lowest_probability
from dphist.lab.auditing.subject import Subject, find_setup, find_statement, read_stated
from dphist.sentence import many

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


def show_run(subject: Subject, data: Any) -> Shown:
    """Run once; the mechanism of a subject says what its releases state."""
    shown = watch_run(subject.run, data)
    return Shown(make_comparable(shown), read_stated(subject.mechanism, shown.result, data))


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

        The ratio is None if the release states no noisy numbers.

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


def prove_by_law(laws: Laws, claim: Claim) -> Finding | None:
    """Return a release that is as much likelier on the first neighbor as the noise lets it be.

    Draws are chosen, which all have a positive probability: after each run those are turned over
    that are on the wrong side. None if no release states its noisy numbers.
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
                _turn_draws(*entries, claim, laws.falling)
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
    said = _format_numbers(mine.noisy_numbers())
    return Finding("replay", laws.pair, laws.swapped, shown, ((0.0, shown),), said)


def _turn_draws(mine: Entry, its: Entry, claim: Claim, falling: bool) -> NumberArray:
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


def _format_numbers(numbers: tuple[int, ...]) -> str:
    first = ", ".join(map(str, numbers[:_SHOWN]))
    more = len(numbers) - _SHOWN
    return f"the noisy numbers of the release are {first}" + (f" and {more} more" * (more > 0))


def bound_by_sampling(
    directions: Sequence[Laws],
    claim: Claim,
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
        (delta, _epsilon(best.ratio, hits, runs, delta, error)) for delta in (claim.delta, *DELTAS)
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


_MOST_SEEDS = 5
Cost = tuple[Fraction, Fraction]


def replay_pairs(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    *,
    seconds: float,
    sampling: float,
    error: float,
) -> LayerResult:
    """Replay a mechanism on neighbors, and say whether the claim covers what its noise costs.

    Parameters
    ----------
    subject, pairs, claim : what is audited.
    seconds : after which no further pair is begun.
    sampling : seconds for runs that bound a probability, where the claim has a delta.
    error : probability with which such a finding may be wrong.
    """
    replaying = _Replaying(subject)
    if replaying.setup.why_not:
        why_not = replaying.setup.why_not
        return _result("does not apply", f"{why_not[0].upper()}{why_not[1:]}.")
    try:
        with replace_samplers():
            replaying.replay_all(pairs, claim, seconds)
            return replaying.result(claim, sampling, error)
    except KeyboardInterrupt:
        return _result("interrupted", replaying.covered())


@dataclass
class _Replaying:
    """A mechanism or a callable that is replayed, and what was seen so far.

    Attributes
    ----------
    worst : the largest cost of a change; `where` is a pair that has it, with a seed.
    objection : what is wrong, in words; `uncovered` if it is the cost.
    """

    subject: Subject
    pairs: int = 0
    reached: set[str] = field(default_factory=set)
    replays: int = 0
    requests: int = 0
    worst: Cost = (Fraction(0), Fraction(0))
    where: tuple[Pair, int] | None = None
    objection: str = ""
    uncovered: bool = False

    def __post_init__(self) -> None:
        self.setup = find_setup(self.subject.mechanism)

    def show(self, data: Any) -> Shown:
        """Run once."""
        return show_run(self.subject, data)

    def replay_all(self, pairs: tuple[Pair, ...], claim: Claim, seconds: float) -> None:
        """Replay pair by pair, until something is wrong or the time is up."""
        end = time.monotonic() + seconds
        self.pairs = len(pairs)
        meant = [pair for pair in pairs if self.setup.is_meant(pair.one, pair.other)]
        for seed, pair in ((seed, pair) for seed in range(_MOST_SEEDS) for pair in meant):
            if time.monotonic() > end and self.replays:
                return
            self._replay(pair, seed, claim)
            if self.objection or not self.requests:
                return

    def _replay(self, pair: Pair, seed: int, claim: Claim) -> None:
        """Replay a pair in both directions, up to the first objection."""
        told, spare = self.setup.told, self.setup.spare
        for one, other, way in ((pair.one, pair.other, "second"), (pair.other, pair.one, "first")):
            try:
                transcript = record(self.show, one, seed=seed, told=told)
            except DivergedError as error:
                self.objection = f"In the first run: {error} ({pair.name})."
                return
            if not transcript.entries:
                continue
            self.requests += len(transcript.entries)
            try:
                transcript.check_uses(spare)
                replay(transcript, self.show, one, told=told)
            except DivergedError as error:
                self.objection = f"On the same data: {error} ({pair.name})."
                return
            try:
                its = replay(transcript, self.show, other, told=told)
                its.check_uses(spare)
            except DivergedError as error:
                self.objection = f"On the {way} of two neighbors: {error} ({pair.name})."
                return
            cost = loss(transcript, its)
            if cost > self.worst:
                self.worst, self.where = cost, (pair, seed)
            if not claim.covers(cost):
                said = f"The noise costs {_cost_in_words(cost)}, which the claim does not cover"
                self.objection, self.uncovered = f"{said} ({pair.name}).", True
                return
            self.replays += 1
            self.reached.add(pair.name)

    def result(self, claim: Claim, seconds: float, error: float) -> LayerResult:
        """Return what was found; the law of the noise may show more than a cost."""
        if self.objection and not self.uncovered:
            return _result("objects", self.objection)
        if not self.requests:
            return _result("does not apply", "No noise was asked of a sampler that it knows.")
        by_chance = self.uncovered and claim.exact_delta > 0
        finding = None
        if by_chance:
            finding = bound_by_sampling(self._laws(), claim, seconds=seconds, error=error)
        elif not claim.exact_delta:  # else only probabilities count
            found = [prove_by_law(laws, claim) for laws in self._laws()]
            finding = max(filter(None, found), key=lambda each: each.epsilon, default=None)
        if not self.uncovered:
            return _result("holds", self.covered(), finding)
        verdict, said = "objects", self.objection
        if finding is not None and finding.epsilon > claim.epsilon:
            verdict, said = "refuted", f"{said} Its law shows that the claim is wrong."
        return _result(verdict, said, finding, sampled=by_chance)

    def _laws(self) -> list[Laws]:
        """Return both directions of the pair of the largest cost, where releases state enough."""
        statement = find_statement(self.subject.mechanism)
        if statement is None or self.where is None:
            return []
        (pair, seed), told, falling = self.where, self.setup.told, statement.falling
        return [Laws(self.show, pair, way, seed, told, falling) for way in (False, True)]

    def covered(self) -> str:
        """Return what was covered, in words."""
        return (
            f"{many(self.replays, 'replay')} of {len(self.reached)} of {many(self.pairs, 'pair')} "
            "asked for the same noise and showed the same; changes cost "
            f"{_cost_in_words(self.worst)} at most."
        )


def _result(
    verdict: str, covered: str, finding: Finding | None = None, *, sampled: bool = False
) -> LayerResult:
    return LayerResult(LayerReport("replay", verdict, covered), finding, sampled)


def _cost_in_words(cost: Cost) -> str:
    parts = [
        f"{name} {float(part):.6g}"
        for name, part in zip(("epsilon", "rho"), cost, strict=True)
        if part
    ]
    return " and ".join(parts) or "nothing"
