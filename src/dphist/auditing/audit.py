"""`dphist.audit`: try to refute what a mechanism claims."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from dphist.auditing.neighbors import given_pairs, pairs_for
from dphist.auditing.result import AuditResult
from dphist.auditing.statistical.bounds import caught_from, curve
from dphist.auditing.statistical.rounds import Found, Progress, in_rounds
from dphist.auditing.subject import subject_of
from dphist.errors import ParameterError
from dphist.parameters import Exact, exact_number, probability
from dphist.privacy import ApproxDP, PureDP
from dphist.release.maker import target_of

_DELTAS = (0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3)


def audit(
    mechanism: Any,
    neighbours: Iterable[Any] | None = None,
    *,
    epsilon: Exact | None = None,
    delta: Exact = 0,
    seconds: float = 60,
    confidence: float = 0.999,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Try to refute what a mechanism claims, by running it many times on neighbors.

    Half of the runs choose two neighbors and an event that tells them apart; the other half bound
    how likely it is on each. That an audit refutes nothing proves nothing: `power` says how large
    a fault it would have seen.

    Parameters
    ----------
    mechanism : mechanism, or callable
        A mechanism of any kind, or a callable that takes data and returns what is released:
        numbers, text, sequences, mappings, arrays, dataframes, releases. What it prints, warns of
        and raises counts as released. `dphist.auditing.subject.command` makes one of a program.
    neighbours : iterable of pairs (one, other), or of triples (name, one, other), optional
        Data sets that differ in one protected unit. Those of dphist's mechanisms are made where
        none are given. All are public: the result describes them.
    epsilon, delta : the claim. Those of `mechanism.guarantee` where epsilon is left out.
    seconds : how long, in seconds; a run that has begun is finished.
    confidence : probability with which a correct mechanism is not refuted.
    progress : called with a sentence after each round.

    Returns
    -------
    AuditResult
        Interrupting the audit (Ctrl-C) returns what was found so far.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or neighbors are missing.

    Notes
    -----
    Clopper and Pearson's bounds, of which round r may be wrong with probability
    (1 - confidence) / (r (r + 1)). So the audit may stop after any round.

    >>> import random
    >>> def leaks(number):
    ...     return number + random.randrange(2)
    >>> found = audit(leaks, [(0, 1)], epsilon=1, seconds=20)
    >>> found.refuted
    True
    """
    if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        raise ParameterError("seconds must be a number above 0")
    if not (isinstance(confidence, int | float) and 0.5 <= confidence < 1):
        raise ParameterError("confidence must be at least 0.5 and below 1")
    subject = subject_of(mechanism)
    claimed, off = _claim(subject.mechanism, epsilon, delta)
    pairs = given_pairs(neighbours) if neighbours is not None else _own_pairs(subject.mechanism)

    def tell(now: Progress) -> None:
        if progress is not None:
            best = now.best
            shown = f"{max(best.epsilon, 0):.3g}" if best else "0"
            progress(f"{now.runs:,} runs: the true epsilon is at least {shown}")

    begun = time.monotonic()
    found = in_rounds(
        subject.run,
        pairs,
        epsilon=claimed,
        delta=off,
        error=1 - confidence,
        seconds=float(seconds),
        tell=tell,
    )
    taken = time.monotonic() - begun
    names = "; ".join(pair.name for pair in pairs[:20])
    covered = f"{len(pairs)} pairs of neighbors in {found.rounds} rounds ({names})."
    return _result(subject.name, found, claimed, off, confidence, covered, taken)


def _own_pairs(mechanism: Any) -> Any:
    if mechanism is None:
        raise ParameterError("neighbours must be given for a callable: pairs (one, other) of data")
    return pairs_for(mechanism)


def _claim(mechanism: Any, epsilon: Exact | None, delta: Exact) -> tuple[float, float]:
    """Return the claim in float64, rounded up: no true claim is refuted by rounding it."""
    if epsilon is not None:
        stated = exact_number(epsilon, "epsilon"), probability(delta, "delta") if delta else 0
        if stated[0] < 0:
            raise ParameterError("epsilon must be at least 0")
        return math.nextafter(float(stated[0]), math.inf), float(stated[1])
    if mechanism is None:
        raise ParameterError("epsilon must be given: a callable states no guarantee")
    guarantee = mechanism.guarantee
    target = target_of(mechanism)
    if target is not None and target.releases == 1:
        guarantee = target.guarantee
    if isinstance(guarantee, PureDP | ApproxDP):
        off = guarantee.delta if isinstance(guarantee, ApproxDP) else 0
        return math.nextafter(float(guarantee.epsilon), math.inf), float(off)
    off = probability(delta, "delta") if delta else 0
    if not off:
        raise ParameterError("delta must be given: the guarantee is stated in rho")
    found = mechanism.epsilon_at(off)
    if found is None:
        raise ParameterError("delta must be larger than that of the guarantee")
    return math.nextafter(float(found), math.inf), float(off)


def _result(
    name: str,
    found: Progress,
    epsilon: float,
    delta: float,
    confidence: float,
    covered: str,
    seconds: float,
) -> AuditResult:
    best = found.best
    shown = max(best.epsilon, 0.0) if best is not None else 0.0
    return AuditResult(
        name=name,
        refuted=shown > epsilon,
        epsilon=epsilon,
        delta=delta,
        epsilon_lower=shown,
        curve=tuple(_curve(best)) if best is not None else (),
        event=str(best.event) if best is not None else "",
        neighbours=_said(best) if best is not None else "",
        hits=best.hits if best is not None else 0,
        other_hits=best.other_hits if best is not None else 0,
        runs=best.runs if best is not None else 0,
        layer="statistical",
        samples=found.runs,
        confidence=confidence,
        power=_power(best, epsilon, delta),
        covered=covered,
        stopped=found.stopped,
        seconds=seconds,
    )


def _curve(best: Found) -> list[tuple[float, float]]:
    return curve(best.hits, best.other_hits, best.runs, _DELTAS, best.error)


def _power(best: Found | None, epsilon: float, delta: float) -> float | None:
    if best is None:
        return None
    return caught_from(best.other_hits, best.runs, epsilon, delta, best.error)


def _said(best: Found) -> str:
    side = "second" if best.swapped else "first"
    return f"{best.pair.name}; the event is likelier on the {side}"
