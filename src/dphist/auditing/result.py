"""AuditResult: what an audit found, and how much it could have found."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from dphist.auditing.layer import LayerReport


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    name : of what was audited.
    refuted : whether the claim is wrong, with the stated confidence.
    epsilon, delta : the claim.
    epsilon_lower : the true epsilon at `delta` is at least this, with the stated confidence.
    curve : pairs (delta, epsilon), each a lower bound; all hold together.
    event : what was counted, in words.
    neighbours : the two data sets, in words, and on which of them the event is likelier.
    hits, other_hits, runs : how often the event happened in as many runs on each of the two.
    layer : which layer found it: "exact", "replay" or "statistical".
    samples : runs in all.
    confidence : probability with which `epsilon_lower` and `curve` hold, unless they are certain.
    power : the least true epsilon that such runs refute with a probability of .9 or more, for an
        event as likely as this one; None if there is none.
    covered : what was tried, in words.
    stopped : why the audit ended.
    seconds : how long it took.
    layers : what each layer found and covered, the strongest first.
    warning : what the runs themselves give reason to doubt, in words; empty for most mechanisms.
    """

    name: str
    refuted: bool
    epsilon: float
    delta: float
    epsilon_lower: float
    curve: tuple[tuple[float, float], ...]
    event: str
    neighbours: str
    hits: int
    other_hits: int
    runs: int
    layer: str
    samples: int
    confidence: float
    power: float | None
    covered: str
    stopped: str
    seconds: float
    layers: tuple[LayerReport, ...] = ()
    warning: str = ""

    @property
    def objects(self) -> bool:
        """Whether the noise that was asked for does not account for the claim."""
        return any(each.verdict == "objects" for each in self.layers)

    @property
    def certain(self) -> bool:
        """Whether `epsilon_lower` and `curve` follow from known laws alone, not from runs."""
        return self.layer == "exact" or (self.layer == "replay" and not self.delta)

    def __str__(self) -> str:
        claim = f"epsilon {self.epsilon:g}" + (f" and delta {self.delta:g}" if self.delta else "")
        says = "is refuted" if self.refuted else "is not refuted"
        how = "certain" if self.refuted and self.certain else f"confidence {self.confidence:g}"
        doubt = ", but its noise does not account for it" * (self.objects and not self.refuted)
        lines = [
            f"{self.name}: {claim} {says} ({how}){doubt}.",
            f"The true epsilon is at least {self.epsilon_lower:.3g}.",
        ]
        if self.event:
            lines += [f"Event: {self.event}.", f"Neighbors: {self.neighbours}."]
        if self.event and self.layer == "statistical":
            lines.append(
                f"It happened in {self.hits:,} of {self.runs:,} runs on the one, and in "
                f"{self.other_hits:,} of as many on the other."
            )
        if not self.refuted and self.layer == "statistical":
            lines.append(self._could_have_found)
        if self.warning:
            lines.append(self.warning)
        lines += [f"Layer {each}" for each in self.layers]
        lines.append(f"{self.covered} {self.samples:,} runs in {self.seconds:.1f} s.")
        return "\n".join(lines)

    @property
    def _could_have_found(self) -> str:
        if self.power is None:
            return "Events like these cannot refute any epsilon in so few runs."
        return (
            f"A true epsilon of {self.power:.3g} or more would have been refuted with a "
            "probability of .9, by an event as likely as this one."
        )

    def to_json(self) -> str:
        """Return the result as a JSON object."""
        content: dict[str, Any] = asdict(self)
        return json.dumps(content)
