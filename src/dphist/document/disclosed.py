"""Disclosed: what a kind discloses of its mechanisms and releases."""

from collections.abc import Sequence
from dataclasses import dataclass

from dphist.sentence import Sentence, many


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """What holds of the releases of one mechanism: no released count is among it.

    Attributes
    ----------
    threshold : from which noisy number on a label is released; empty if all are.
    noisy : what that number is.
    public : what is published without noise, beside parameters and bounds, in sentences.
    cuts : whether the mechanism itself cuts each protected unit to its bounds.
    continues : whether a release holds all earlier ones of its run, at the cost of one.
    """

    threshold: str = ""
    noisy: str = "count"
    public: Sequence[str] = ()
    cuts: bool = False
    continues: bool = False


def number_listed(labels: Sequence[object] | None) -> list[Sentence]:
    """Say how many labels a mechanism lists; nothing where they come from the data."""
    if labels is None:
        return []
    held = many(len(labels), "label")
    return [Sentence("The list of {held} for which there are counts.", held=held)]
