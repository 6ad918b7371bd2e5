"""dphist's own audit."""

import dphist as dh
from benchmarks.auditors.task import CONFIDENCE, Task, Verdict


def dphist(task: Task) -> Verdict:
    """All layers of `dphist.audit`; it stops when it has refuted the claim."""
    found = dh.audit(
        task.run, task.pairs, epsilon=task.epsilon, delta=task.delta, seconds=task.seconds,
        confidence=CONFIDENCE,
    )  # fmt: skip
    return Verdict(found.refuted, found.epsilon_lower)
