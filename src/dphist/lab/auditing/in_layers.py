"""Running the layers of an audit, one after the other, within its time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dphist.document.audited import Pair
from dphist.lab.auditing.claim import Claim
from dphist.lab.auditing.exact.layer import enumeration
from dphist.lab.auditing.layer import Finding, LayerReport
from dphist.lab.auditing.neighbors import variants_for
from dphist.lab.auditing.replay.layer import replayed
from dphist.lab.auditing.statistical.repetition import repetitions
from dphist.lab.auditing.statistical.rounds import Progress, in_rounds
from dphist.lab.auditing.subject import Subject

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
