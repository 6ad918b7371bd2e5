"""Contender: a way to make a mechanism for an epsilon and data, and what it is given of these."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.privacy import Guarantee, PureDP, delta_of

NOTHING, LABELS, TOTAL, LARGEST = "nothing", "number of labels", "n", "maximum"
"""What a mechanism is given in advance. A data owner may not know it, and may not look."""

# Okabe and Ito's colors, which color-blind readers tell apart; a variant of a mechanism has
# its color and a dashed line.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
SKY, YELLOW, GRAY, BLACK = "#56B4E9", "#B8A800", "#8A94A0", "#000000"


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to make a mechanism for an epsilon and data, of which it is given something.

    Attributes
    ----------
    name : what it is called in tables and pictures.
    told : what of the data it is given, such as `LABELS`.
    make : called with epsilon and the data.
    color : of its line; empty for the next one that is free.
    dashed : whether the line is dashed.
    parameters : those other than epsilon, as text: two contenders of one name and other parameters
        are not the same.
    """

    name: str
    told: str
    make: Callable[[Any, Any], Any]
    color: str = ""
    dashed: bool = False
    parameters: str = ""


def guarantee_text(guarantee: Guarantee) -> str:
    """Say in a word or two whether a guarantee is pure."""
    if isinstance(guarantee, PureDP):
        return "pure"
    delta = float(delta_of(guarantee))
    return f"approximate, δ = {delta:g}" if delta else "zCDP"
