"""The layer of an audit that replays: the same noisy numbers on neighbors, and what that costs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.document.audited import Pair
from dphist.lab.auditing.claim import Claim
from dphist.lab.auditing.declared import setup_of, stated, statement_of
from dphist.lab.auditing.layer import Finding, LayerReport
from dphist.lab.auditing.outcome import whole_of
from dphist.lab.auditing.replay.proof import Laws, Shown, certain, sampled
from dphist.lab.auditing.replay.session import record, replay
from dphist.lab.auditing.replay.standing_in import standing_in
from dphist.lab.auditing.replay.transcript import DivergedError, loss
from dphist.lab.auditing.subject import Subject
from dphist.lab.auditing.watching import watch_run

_MOST_SEEDS = 5
Cost = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Replayed:
    """What the layer found.

    Attributes
    ----------
    finding : releases that are likelier on one of two neighbors; None if no law says so.
    sampled : whether runs were sampled for it, so that it is wrong with a probability.
    """

    report: LayerReport
    finding: Finding | None = None
    sampled: bool = False


def replayed(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    *,
    deltas: Sequence[float],
    seconds: float,
    sampling: float,
    error: float,
) -> Replayed:
    """Replay a mechanism on neighbors, and say whether the claim covers what its noise costs.

    Parameters
    ----------
    subject, pairs, claim : what is audited.
    deltas : at which a curve is found.
    seconds : after which no further pair is begun.
    sampling : seconds for runs that bound a probability, where the claim has a delta.
    error : probability with which such a finding may be wrong.
    """
    replaying = _Replaying(subject)
    if replaying.setup.why_not:
        return Replayed(_report("does not apply", f"{_upper(replaying.setup.why_not)}."))
    try:
        with standing_in():
            replaying.replay_all(pairs, claim, seconds)
            return replaying.result(claim, deltas, sampling, error)
    except KeyboardInterrupt:
        return Replayed(_report("interrupted", replaying.covered()))


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
        self.setup = setup_of(self.subject.mechanism)

    def show(self, data: Any) -> Shown:
        """Run once; the mechanism of a subject says what its releases state."""
        shown = watch_run(self.subject.run, data)
        return Shown(whole_of(shown), stated(self.subject.mechanism, shown.result, data))

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
                said = f"The noise costs {_said(cost)}, which the claim does not cover"
                self.objection, self.uncovered = f"{said} ({pair.name}).", True
                return
            self.replays += 1
            self.reached.add(pair.name)

    def result(
        self, claim: Claim, deltas: Sequence[float], seconds: float, error: float
    ) -> Replayed:
        """Return what was found; the law of the noise may show more than a cost."""
        if self.objection and not self.uncovered:
            return Replayed(_report("objects", self.objection))
        if not self.requests:
            said = "No noise was asked of a sampler that it knows."
            return Replayed(_report("does not apply", said))
        by_chance = self.uncovered and claim.exact_delta > 0
        if by_chance:
            finding = sampled(self._laws(), claim, deltas, seconds=seconds, error=error)
        else:
            finding = self._certain(claim)
        if not self.uncovered:
            return Replayed(_report("holds", self.covered()), finding)
        verdict, said = "objects", self.objection
        if finding is not None and finding.epsilon > claim.epsilon:
            verdict, said = "refuted", f"{said} Its law shows that the claim is wrong."
        return Replayed(_report(verdict, said), finding, by_chance)

    def _certain(self, claim: Claim) -> Finding | None:
        """Return the release that is likeliest on one side; none where only probabilities count."""
        if claim.exact_delta:
            return None
        found = [certain(laws, claim) for laws in self._laws()]
        return max(filter(None, found), key=lambda each: each.epsilon, default=None)

    def _laws(self) -> list[Laws]:
        """Return both directions of the pair of the largest cost, where releases state enough."""
        statement = statement_of(self.subject.mechanism)
        if statement is None or self.where is None:
            return []
        (pair, seed), told, falling = self.where, self.setup.told, statement.falling
        return [Laws(self.show, pair, way, seed, told, falling) for way in (False, True)]

    def covered(self) -> str:
        """Return what was covered, in words."""
        return (
            f"{self.replays} replays of {len(self.reached)} of {self.pairs} pairs asked for the "
            f"same noise and showed the same; changes cost {_said(self.worst)} at most."
        )


def _report(verdict: str, covered: str) -> LayerReport:
    return LayerReport("replay", verdict, covered)


def _said(cost: Cost) -> str:
    parts = [
        f"{name} {float(part):.6g}"
        for name, part in zip(("epsilon", "rho"), cost, strict=True)
        if part
    ]
    return " and ".join(parts) or "nothing"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
