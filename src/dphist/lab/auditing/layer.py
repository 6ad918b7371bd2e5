"""What one layer of an audit found."""

from dataclasses import dataclass

from dphist.document.audited import Pair

LAYERS = ("exact", "replay", "statistical")
"""All layers, the strongest first."""


@dataclass(frozen=True)
class LayerReport:
    """What one layer of an audit found, and what it covered.

    Attributes
    ----------
    layer : "exact", "replay" or "statistical".
    verdict : "refuted", "objects" (replay alone: the noise does not account for the claim, and
        nothing shows that the claim is wrong), "holds" (for what was covered), "not refuted",
        "does not apply" or "interrupted".
    covered : what was covered, and what was found, in words.
    """

    layer: str
    verdict: str
    covered: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.verdict}. {self.covered}"


@dataclass(frozen=True)
class Finding:
    """An event that known laws show to be likelier on one of two neighbors.

    Attributes
    ----------
    layer : "exact" or "replay".
    pair : the neighbors; `swapped` if the event is likelier on the second.
    epsilon : the pair exceeds it at the audit's delta.
    curve : pairs (delta, epsilon).
    event : in words.
    """

    layer: str
    pair: Pair
    swapped: bool
    epsilon: float
    curve: tuple[tuple[float, float], ...]
    event: str
