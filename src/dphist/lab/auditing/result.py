"""AuditResult: what an audit found, and how much it could have found."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from dphist.lab.auditing.layer import LayerReport


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
        from dphist.lab.auditing.document import document_of
        from dphist.render.text import text

        return text(document_of([self])).rstrip()

    def to_json(self) -> str:
        """Return the result as a JSON object."""
        content: dict[str, Any] = asdict(self)
        return json.dumps(content)
