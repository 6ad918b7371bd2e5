"""What an audit is given, and what it answers: the same for every tool."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.lab.auditing.suite import Entry

CONFIDENCE = 0.999


@dataclass(frozen=True)
class Task:
    """A claim to refute in a given time.

    Attributes
    ----------
    run : takes data, returns what is released.
    pairs : neighbors.
    epsilon, delta : the claim.
    seconds : how long the tool may draw samples; what it computes besides is measured too.
    """

    run: Callable[[Any], Any]
    pairs: tuple[tuple[Any, Any], ...]
    epsilon: float
    delta: float
    seconds: float

    @classmethod
    def of(cls, entry: Entry, seconds: float) -> "Task":
        """Return the task that an entry of the suite sets."""
        return cls(entry.run, entry.pairs, float(entry.epsilon), float(entry.delta), seconds)


@dataclass(frozen=True)
class Verdict:
    """What a tool found.

    Attributes
    ----------
    refuted : whether it refutes the claim, with probability 1 - CONFIDENCE of doing so wrongly.
    epsilon : its lower bound on the true epsilon at the claimed delta; None if it has none.
    applies : whether the tool has a test for such a claim.
    """

    refuted: bool
    epsilon: float | None
    applies: bool = True


NOT_FOR_THIS = Verdict(refuted=False, epsilon=None, applies=False)

Tool = Callable[[Task], Verdict]
