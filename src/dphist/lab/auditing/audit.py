"""`dphist.audit`: try to refute what a mechanism claims, layer by layer."""

import functools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dphist.document.audited import Pair
from dphist.errors import ParameterError
from dphist.lab.auditing.exact.layer import enumerate_pairs
from dphist.lab.auditing.replay.layer import replay_pairs
from dphist.lab.auditing.result import (
    DELTAS,
    LAYERS,
    AuditResult,
    Claim,
    Finding,
    LayerReport,
    LayerResult,
    find_claim,
)
from dphist.lab.auditing.statistical import rounds
from dphist.lab.auditing.statistical.bounds import curve, find_power
from dphist.lab.auditing.subject import (
    Subject,
    check_pairs,
    find_variants,
    make_pairs,
    make_subject,
)
from dphist.parameters import Exact
from dphist.sentence import many

_MOST_NAMED = 8  # pairs that `covered` names
_SHARES = {"exact": 0.25, "replay": 0.1}  # of the time that is left; the last layer gets all
_SAMPLING_SHARE = 0.3  # beside the replay's own, if it samples
_REPEATING_SHARE = 0.03


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
        If a parameter is out of range, neighbors are missing, or each run raised an error and
        nothing is refuted: nothing was seen then.
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
    if isinstance(layers, str) or not layers or set(layers) - set(LAYERS):
        raise ParameterError("layers", "must be some of 'exact', 'replay' and 'statistical'")
    subject = make_subject(mechanism)
    claim = find_claim(subject.mechanism, epsilon, delta)
    begun = time.monotonic()
    if neighbours is not None:
        pairs = check_pairs(neighbours)
    elif subject.mechanism is not None:
        pairs = make_pairs(subject.mechanism)
    else:
        raise ParameterError(
            "neighbours", "must be given for a callable: pairs (one, other) of data"
        )
    asked = [each for each in LAYERS if each in layers]
    left = max(seconds - (time.monotonic() - begun), seconds / 2)
    tell = progress or (lambda _: None)
    ends = _Ends()
    watched = replace(subject, run=ends.watch(subject.run))
    found = _audit_in_layers(watched, pairs, claim, asked, left, 1 - confidence, tell)
    ends.refuse_errors_alone(found)
    return _result(subject, pairs, claim, found, float(confidence), time.monotonic() - begun)


@dataclass
class _Found:
    """What the layers found so far."""

    reports: list[LayerReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    runs: rounds.Progress = field(default_factory=rounds.Progress)
    warning: str = ""

    def take(self, result: LayerResult) -> None:
        """Add what a layer found."""
        self.reports.append(result.report)
        if result.finding is not None:
            self.findings.append(result.finding)

    def has(self, verdict: str) -> bool:
        """Whether it is the verdict of a layer."""
        return any(each.verdict == verdict for each in self.reports)


@dataclass
class _Ends:
    """How runs ended: whether one has returned a result, and the first error."""

    returned: bool = False
    error: str = ""

    def watch(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same callable, whose runs are noted."""

        @functools.wraps(run, updated=())
        def run_noted(*arguments: Any, **named: Any) -> Any:
            try:
                result = run(*arguments, **named)
            except Exception as error:
                self.error = self.error or f"{type(error).__name__}: {error}"
                raise
            self.returned = True
            return result

        return run_noted

    def refuse_errors_alone(self, found: _Found) -> None:
        """Refuse to say that a claim holds of which nothing but errors was compared."""
        claimed = found.has("holds") or found.has("not refuted")
        if claimed and self.error and not self.returned and not found.has("refuted"):
            raise ParameterError(
                "neighbours",
                f"must be data of which a release is made: each run raised an error, so the audit "
                f"saw nothing; the first is {self.error}",
                "give pairs of data that the mechanism takes",
            )


def _audit_in_layers(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    asked: Sequence[str],
    seconds: float,
    error: float,
    tell: Callable[[str], None],
) -> _Found:
    """Audit layer by layer, the strongest first, until the claim is refuted or the time is up.

    The statistical layer gets the time that the others leave. It gets all of the `error`, the
    probability with which a correct claim may be refuted, or half if a replay has sampled runs.
    """
    found, end = _Found(), time.monotonic() + seconds
    for layer in asked:
        if found.has("refuted") or found.has("interrupted"):
            break
        left = max(end - time.monotonic(), 0.0)
        share = left * (_SHARES[layer] if layer != asked[-1] else 1)
        if layer == "exact":
            found.take(enumerate_pairs(subject, pairs, claim, share))
        elif layer == "replay":
            sampling = left * _SAMPLING_SHARE
            result = replay_pairs(
                subject, pairs, claim, seconds=share, sampling=sampling, error=error / 2
            )
            found.take(result)
            error = error / 2 if result.sampled else error
        else:
            _count_runs(subject, pairs, claim, left, error, found, tell)
        tell(str(found.reports[-1]))
    return found


def _count_runs(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    seconds: float,
    error: float,
    found: _Found,
    tell: Callable[[str], None],
) -> None:
    """Let the statistical layer count, then look whether runs repeat each other."""

    def tell_progress(now: rounds.Progress) -> None:
        best = now.best
        least = f"{max(best.epsilon, 0):.3g}" if best else "0"
        tell(f"{now.runs:,} runs: the true epsilon is at least {least}")

    found.runs = now = rounds.run_in_rounds(
        subject.run,
        pairs,
        epsilon=claim.epsilon,
        delta=math.nextafter(claim.delta, 1) if claim.delta else 0.0,
        error=error,
        seconds=seconds * (1 - _REPEATING_SHARE),
        tell=tell_progress,
        variants=find_variants(subject.mechanism),
    )
    refuted = any(each.epsilon > claim.epsilon for each in now.found)
    if now.stopped != "interrupted":
        share = seconds * _REPEATING_SHARE
        repeated = rounds.look_for_repetitions(
            subject.run, pairs[0].one, min(share, 0.3) if refuted else share
        )
        found.warning = repeated.warning
        now.runs += repeated.runs
        now.stopped = "interrupted" if repeated.interrupted else now.stopped
    verdict = "interrupted" if now.stopped == "interrupted" else "not refuted"
    tried = f"{now.pairs} of " if now.pairs < len(pairs) else ""
    on = f"{tried}{many(len(pairs), 'pair of neighbors')}"
    said = f"{many(now.runs, 'run')} on {on}, in {many(now.rounds, 'round')}."
    report = LayerReport("statistical", "refuted" if refuted else verdict, said)
    found.take(LayerResult(report, _make_finding(now.best)))


def _make_finding(best: rounds.Found | None) -> Finding | None:
    """Return what the round that shows most found."""
    if best is None:
        return None
    hits = best.hits, best.other_hits, best.runs
    shown = tuple(curve(*hits, DELTAS, best.error, joint=best.joint))
    epsilon = max(best.epsilon, 0.0)
    return Finding("statistical", best.pair, best.swapped, epsilon, shown, str(best.event))


def _result(
    subject: Subject,
    pairs: tuple[Pair, ...],
    claim: Claim,
    found: _Found,
    confidence: float,
    seconds: float,
) -> AuditResult:
    named = "; ".join(pair.name for pair in pairs[:_MOST_NAMED])
    if len(pairs) > _MOST_NAMED:
        named += f"; and {len(pairs) - _MOST_NAMED} more"
    best, refuted = found.runs.best, found.has("refuted")
    shown = max(found.findings, key=lambda each: each.epsilon, default=None)
    ended = "interrupted" if found.has("interrupted") else "all layers have ended"
    layer = "statistical" if found.runs.runs else found.reports[-1].layer
    return AuditResult(
        name=subject.name,
        refuted=refuted,
        epsilon=claim.epsilon,
        delta=claim.delta,
        epsilon_lower=shown.epsilon if shown else 0.0,
        curve=shown.curve if shown else (),
        event=shown.event if shown else "",
        neighbours=shown.neighbors if shown else "",
        hits=best.hits if best else 0,
        other_hits=best.other_hits if best else 0,
        runs=best.runs if best else 0,
        layer=shown.layer if shown else layer,
        samples=found.runs.runs,
        confidence=confidence,
        power=_power(best, claim),
        covered=f"{many(len(pairs), 'pair of neighbors')} in "
        f"{many(found.runs.rounds, 'round')} ({named}).",
        stopped="refuted" if refuted else found.runs.stopped or ended,
        seconds=seconds,
        layers=tuple(found.reports),
        warning=found.warning,
    )


def _power(best: rounds.Found | None, claim: Claim) -> float | None:
    if best is None:
        return None
    return find_power(
        best.other_hits, best.runs, claim.epsilon, claim.delta, best.error, joint=best.joint
    )
