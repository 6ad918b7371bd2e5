"""Charts as they are declared: what is drawn, and in which words; nothing of how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from dphist.arrays import FloatArray, IntArray

NARROW = "The 95 % band is narrower than the line."
"""The note of a chart whose band cannot be seen."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart.

    Attributes
    ----------
    label : what it measures, and its unit in brackets.
    low, high : its limits.
    log : whether it is logarithmic.
    """

    label: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points.

    Attributes
    ----------
    name : in the legend.
    x, y : (p,) the points.
    """

    name: str
    x: FloatArray
    y: FloatArray | IntArray


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon, such as the band around a line.

    Attributes
    ----------
    name : in the legend; empty for an area that cannot be seen beside its line.
    x, y : (p,) float64, the corners.
    strength : how opaque it is, from 0 to 1.
    """

    name: str
    x: FloatArray
    y: FloatArray
    strength: float = 0.25


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes
    ----------
    name : one word, different for each chart of a document.
    title : its heading.
    text : what it shows, for a caption and for readers who do not see it.
    areas, lines : in the order in which they are drawn, areas below lines.
    note : a sentence that the caption adds; empty for none.
    empty : what stands in the middle of a chart without a line to draw.
    """

    name: str
    title: str
    text: str
    x: Axis
    y: Axis
    areas: Sequence[Area] = ()
    lines: Sequence[Line] = ()
    note: str = ""
    empty: str = ""
