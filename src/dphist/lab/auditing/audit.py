"""`dphist.audit`: try to refute what a mechanism claims, layer by layer."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dphist.document.audited import Pair
from dphist.errors import ParameterError
from dphist.lab.auditing.exact.layer import enumeration
from dphist.lab.auditing.replay.layer import replayed
from dphist.lab.auditing.result import LAYERS, AuditResult, Claim, Finding, LayerReport, claim_of
from dphist.lab.auditing.statistical import rounds
from dphist.lab.auditing.statistical.bounds import caught_from, curve
from dphist.lab.auditing.statistical.rounds import Progress, in_rounds, repetitions
from dphist.lab.auditing.subject import Subject, given_pairs, pairs_for, subject_of, variants_for
from dphist.parameters import Exact

_MOST_NAMED = 8  # pairs that `covered` names
_SHARES = {"exact": 0.25, "replay": 0.1}  # of the time that is left; the last layer gets all
_SAMPLING_SHARE = 0.3  # beside the replay's own, if it samples
_REPEATING_SHARE = 0.03
DELTAS = (0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3)


@dataclass
class Found:
    """What the layers found so far."""

    reports: list[LayerReport] = field(default_factory=list)
    by_law: list[Finding] = field(default_factory=list)
    runs: Progress = field(default_factory=Progress)
    warning: str = ""

    def take(self, report: LayerReport, finding: Finding | None = None) -> None:
        """Add what a layer found."""
        self.reports.append(report)
        if finding is not None:
            self.by_law.append(finding)

    @property
    def refuted(self) -> bool:
        """Whether a layer refutes the claim."""
        return any(each.verdict == "refuted" for each in self.reports)


def audit(
    mechanism: Any,
    neighbours: Iterable[Any] | None = None,
    *,
    epsilon: Exact | None = None,
    delta: Exact = 0,
    seconds: float = 60,
    confidence: float = 0.999,
    progress: Callable[[str], None] | None = None,
    layers: Sequence[str] = LAYERS,
) -> AuditResult:
    """Try to refute what a mechanism claims, by running it on neighbors.

    Three layers, the strongest first. *Exact* enumerates all that happens on small data, of
    mechanisms of dphist and of callables that take their randomness from a parameter `source`.
    *Replay* compares what is asked of the noise on two neighbors, of mechanisms of dphist and of
    callables with a sampler wrapped by `dphist.lab.auditing.replay.replayable`. *Statistical*
    counts an event in many runs: some choose it, others bound its probability on each of two
    neighbors.
    That an audit refutes nothing proves nothing: `layers` says what was covered, and `power` how
    large a fault the runs would have shown.

    Parameters
    ----------
    mechanism : mechanism, or callable
        A mechanism of any kind, or a callable that takes data and returns what is released:
        numbers, text, sequences, mappings, arrays, dataframes, releases. What it prints, warns of
        and raises counts as released. `dphist.lab.auditing.subject.command` makes one of a program.
    neighbours : iterable of pairs (one, other), or of triples (name, one, other), optional
        Data sets that differ in one protected unit. Those of dphist's mechanisms are made where
        none are given. All are public: the result describes them.
    epsilon, delta : the claim. Those of `mechanism.guarantee` where epsilon is left out.
    seconds : how long, in seconds; a run that has begun is finished.
    confidence : probability with which a correct mechanism is not refuted.
    progress : called with a sentence after each step.
    layers : which to try, of "exact", "replay" and "statistical" (default: all).

    Returns
    -------
    AuditResult
        Interrupting the audit (Ctrl-C) returns what was found so far.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or neighbors are missing.
    UnsupportedError
        If a program does not answer each line with a line.

    Notes
    -----
    The statistical layer takes exact bounds, of which round r may be wrong with probability
    (1 - confidence) / (r (r + 1)), and the last one with (1 - confidence) / r. So the audit may
    stop after any round.

    >>> import random
    >>> def leaks(number):
    ...     return number + random.randrange(2)
    >>> found = audit(leaks, [(0, 1)], epsilon=1, seconds=20)
    >>> found.refuted
    True
    """
    if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        raise ParameterError("seconds", "must be a number above 0")
    if not (isinstance(confidence, int | float) and 0.5 <= confidence < 1):
        raise ParameterError("confidence", "must be at least 0.5 and below 1")
    asked = _asked(layers)
    subject = subject_of(mechanism)
    claim = claim_of(subject.mechanism, epsilon, delta)
    begun = time.monotonic()
    pairs = given_pairs(neighbours) if neighbours is not None else _own_pairs(subject.mechanism)

    def tell(text: str) -> None:
        if progress is not None:
            progress(text)

    left = max(seconds - (time.monotonic() - begun), seconds / 2)
    found = in_layers(subject, pairs, claim, asked, seconds=left, error=1 - confidence, tell=tell)
    taken = time.monotonic() - begun
    names = "; ".join(pair.name for pair in pairs[:_MOST_NAMED])
    if len(pairs) > _MOST_NAMED:
        names += f"; and {len(pairs) - _MOST_NAMED} more"
    covered = f"{len(pairs)} pairs of neighbors in {found.runs.rounds} rounds ({names})."
    return _result(subject.name, found, claim, float(confidence), covered, taken)


def _asked(layers: Sequence[str]) -> tuple[str, ...]:
    if isinstance(layers, str) or not layers or set(layers) - set(LAYERS):
        raise ParameterError("layers", "must be some of 'exact', 'replay' and 'statistical'")
    return tuple(each for each in LAYERS if each in layers)


def _own_pairs(mechanism: Any) -> Any:
    if mechanism is None:
        raise ParameterError(
            "neighbours", "must be given for a callable: pairs (one, other) of data"
        )
    return pairs_for(mechanism)


def _result(
    name: str, found: Found, claim: Claim, confidence: float, covered: str, seconds: float
) -> AuditResult:
    best = found.runs.best
    law = max(found.by_law, key=lambda each: each.epsilon, default=None)
    counted = max(best.epsilon, 0.0) if best is not None else 0.0
    shared: dict[str, Any] = {
        "name": name,
        "refuted": found.refuted,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "hits": best.hits if best is not None else 0,
        "other_hits": best.other_hits if best is not None else 0,
        "runs": best.runs if best is not None else 0,
        "samples": found.runs.runs,
        "power": _power(best, claim),
        "covered": covered,
        "stopped": "refuted" if found.refuted else found.runs.stopped or _ended(found),
        "seconds": seconds,
        "layers": tuple(found.reports),
        "warning": found.warning,
    }
    if law is not None and law.epsilon >= counted:
        return AuditResult(
            epsilon_lower=law.epsilon,
            curve=law.curve,
            event=law.event,
            neighbours=_said(law.pair.name, law.swapped),
            layer=law.layer,
            confidence=confidence,
            **shared,
        )
    return AuditResult(
        epsilon_lower=counted,
        curve=tuple(_curve(best)) if best is not None else (),
        event=str(best.event) if best is not None else "",
        neighbours=_said(best.pair.name, best.swapped) if best is not None else "",
        layer="statistical" if found.runs.runs else found.reports[-1].layer,
        confidence=confidence,
        **shared,
    )


def _ended(found: Found) -> str:
    interrupted = any(each.verdict == "interrupted" for each in found.reports)
    return "interrupted" if interrupted else "all layers have ended"


def _curve(best: rounds.Found) -> list[tuple[float, float]]:
    return curve(best.hits, best.other_hits, best.runs, DELTAS, best.error, joint=best.joint)


def _power(best: rounds.Found | None, claim: Claim) -> float | None:
    if best is None:
        return None
    return caught_from(
        best.other_hits, best.runs, claim.epsilon, claim.delta, best.error, joint=best.joint
    )


def _said(name: str, swapped: bool) -> str:
    return f"{name}; the event is likelier on the {'second' if swapped else 'first'}"


def in_layers(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    asked: tuple[str, ...],
    *,
    seconds: float,
    error: float,
    tell: Callable[[str], None],
) -> Found:
    """Audit layer by layer, the strongest first, until the claim is refuted or the time is up.

    Parameters
    ----------
    subject, pairs, claim : what is audited.
    asked : names of layers.
    seconds : for all layers; the statistical one gets what the others leave.
    error : probability with which a correct claim may be refuted. The statistical layer gets all
        of it, or half where a replay has sampled runs.
    tell : called with a sentence after each step.
    """
    found, end = Found(), time.monotonic() + seconds
    for layer in asked:
        if found.refuted or _interrupted(found):
            break
        left = max(end - time.monotonic(), 0.0)
        share = left * (_SHARES[layer] if layer != asked[-1] else 1)
        if layer == "exact":
            _exact(subject, pairs, claim, share, found)
        elif layer == "replay":
            result = replayed(
                subject, pairs, claim, deltas=DELTAS, seconds=share,
                sampling=left * _SAMPLING_SHARE, error=error / 2,
            )  # fmt: skip
            found.take(result.report, result.finding)
            error = error / 2 if result.sampled else error
        else:
            _statistical(subject, pairs, claim, left, error, found, tell)
        tell(str(found.reports[-1]))
    return found


def _interrupted(found: Found) -> bool:
    return any(each.verdict == "interrupted" for each in found.reports)


def _exact(
    subject: Subject, pairs: tuple[Pair, ...], claim: Claim, seconds: float, found: Found
) -> None:
    result = enumeration(
        subject.run,
        subject.mechanism,
        pairs,
        epsilon=claim.exact_epsilon,
        delta=claim.exact_delta,
        deltas=DELTAS,
        seconds=seconds,
    )
    found.take(result.report, result.finding)


def _statistical(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    seconds: float,
    error: float,
    found: Found,
    tell: Callable[[str], None],
) -> None:
    def told(now: Progress) -> None:
        best = now.best
        least = f"{max(best.epsilon, 0):.3g}" if best else "0"
        tell(f"{now.runs:,} runs: the true epsilon is at least {least}")

    found.runs = in_rounds(
        subject.run,
        pairs,
        epsilon=claim.epsilon,
        delta=math.nextafter(claim.delta, 1) if claim.delta else 0.0,
        error=error,
        seconds=seconds * (1 - _REPEATING_SHARE),
        tell=told,
        variants=variants_for(subject.mechanism),
    )
    if found.runs.stopped != "interrupted":
        refuted = found.runs.stopped == "refuted"
        share = seconds * _REPEATING_SHARE
        repeated = repetitions(subject.run, pairs[0].one, min(share, 0.3) if refuted else share)
        found.warning = repeated.warning
        found.runs.runs += repeated.runs
        if repeated.interrupted:
            found.runs.stopped = "interrupted"
    found.take(_report(found.runs, claim, pairs))


def _report(now: Progress, claim: Claim, pairs: tuple[Pair, ...]) -> LayerReport:
    refuted = any(each.epsilon > claim.epsilon for each in now.found)
    verdict = "refuted" if refuted else "not refuted"
    if now.stopped == "interrupted" and not refuted:
        verdict = "interrupted"
    most = f"{now.pairs} of {len(pairs)}" if now.pairs < len(pairs) else f"{len(pairs)}"
    said = f"{now.runs:,} runs on {most} pairs of neighbors, in {now.rounds} rounds."
    return LayerReport("statistical", verdict, said)
