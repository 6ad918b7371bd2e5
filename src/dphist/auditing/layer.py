"""What one layer of an audit found."""

from dataclasses import dataclass

LAYERS = ("exact", "replay", "statistical")
"""All layers, the strongest first."""


@dataclass(frozen=True)
class LayerReport:
    """What one layer of an audit found, and what it covered.

    Attributes
    ----------
    layer : "exact", "replay" or "statistical".
    verdict : "refuted", "objects" (replay alone: the noise does not account for the claim, which
        may hold for another reason), "holds" (for what was covered), "not refuted", "does not
        apply" or "interrupted".
    covered : what was covered, and what was found, in words.
    """

    layer: str
    verdict: str
    covered: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.verdict}. {self.covered}"
