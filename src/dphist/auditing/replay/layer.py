"""The layer of an audit that replays: the same noisy numbers on neighbors, and what that costs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.auditing.layer import LayerReport
from dphist.auditing.neighbors import Pair
from dphist.auditing.outcome import whole_of_run
from dphist.auditing.replay.kinds import Setup
from dphist.auditing.replay.session import record, replay
from dphist.auditing.replay.standing_in import standing_in
from dphist.auditing.replay.transcript import DivergedError, loss
from dphist.auditing.subject import Run

_MOST_SEEDS = 5
Cost = tuple[Fraction, Fraction]
Covers = Callable[[Cost], bool]


@dataclass
class _Seen:
    """What was replayed so far."""

    pairs: set[str] = field(default_factory=set)
    replays: int = 0
    requests: int = 0
    worst: Cost = (Fraction(0), Fraction(0))
    objection: str = ""


def replayed(
    run: Run, pairs: tuple[Pair, ...], covers: Covers, setup: Setup, seconds: float
) -> LayerReport:
    """Replay a mechanism on neighbors, and say whether the claim covers what its noise costs.

    Parameters
    ----------
    run : what is audited.
    pairs : neighbors.
    covers : whether the claim covers a cost in epsilon and in rho.
    setup : what is known of the mechanism.
    seconds : after which no further pair is begun.
    """
    if setup.why_not:
        return LayerReport("replay", "does not apply", f"{_upper(setup.why_not)}.")
    meant = [pair for pair in pairs if setup.is_meant(pair.one, pair.other)]
    seen, end = _Seen(), time.monotonic() + seconds
    try:
        with standing_in():
            for seed, pair in ((seed, pair) for seed in range(_MOST_SEEDS) for pair in meant):
                if time.monotonic() > end and seen.replays:
                    break
                seen.objection = _replay(run, pair, seed, covers, setup, seen)
                if seen.objection or not seen.requests:
                    break
    except KeyboardInterrupt:
        return LayerReport("replay", "interrupted", _covered(seen, len(pairs)))
    return _report(seen, len(pairs))


def _replay(run: Run, pair: Pair, seed: int, covers: Covers, setup: Setup, seen: _Seen) -> str:
    """Replay a pair in both directions; return what is wrong, in words, or nothing."""

    def shown(data: Any) -> Any:
        return whole_of_run(run, data)

    for one, other, way in ((pair.one, pair.other, "second"), (pair.other, pair.one, "first")):
        try:
            transcript = record(shown, one, seed=seed, told=setup.told)
        except DivergedError as error:
            return f"{_upper(str(error))} ({pair.name})."
        if not transcript.entries:
            continue
        seen.requests += len(transcript.entries)
        try:
            transcript.check_uses(setup.spare)
            replay(transcript, shown, one, told=setup.told)
        except DivergedError as error:
            return f"On the same data: {error} ({pair.name})."
        try:
            its = replay(transcript, shown, other, told=setup.told)
            its.check_uses(setup.spare)
        except DivergedError as error:
            return f"On the {way} of two neighbors: {error} ({pair.name})."
        cost = loss(transcript, its)
        seen.worst = max(seen.worst, cost)
        if not covers(cost):
            return f"The noise costs {_said(cost)}, which the claim does not cover ({pair.name})."
        seen.replays += 1
        seen.pairs.add(pair.name)
    return ""


def _report(seen: _Seen, pairs: int) -> LayerReport:
    if seen.objection:
        return LayerReport("replay", "objects", seen.objection)
    if not seen.requests:
        return LayerReport(
            "replay", "does not apply", "No noise was asked of a sampler that it knows."
        )
    return LayerReport("replay", "holds", _covered(seen, pairs))


def _covered(seen: _Seen, pairs: int) -> str:
    return (
        f"{seen.replays} replays of {len(seen.pairs)} of {pairs} pairs asked for the same noise "
        f"and showed the same; changes cost {_said(seen.worst)} at most."
    )


def _said(cost: Cost) -> str:
    parts = [
        f"{name} {float(part):.6g}"
        for name, part in zip(("epsilon", "rho"), cost, strict=True)
        if part
    ]
    return " and ".join(parts) or "nothing"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
