"""Charts as they are declared: what is drawn, and in which words; nothing of how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    whole : whether only whole numbers are marked, as along an axis of counts.
    ticks : how the numbers along it are written: in short (20k), in full (20000), or as the dates
        that they are, in days since 1970. Or the places that are marked, and what stands there,
        such as released labels.
    """

    label: str
    low: float
    high: float
    log: bool = False
    whole: bool = False
    ticks: Literal["in short", "in full", "dates"] | Sequence[tuple[float, str]] = "in short"


LineStyle: TypeAlias = Literal["solid", "dashed", "dotted", "dots", "marked", "diamonds"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points.

    Attributes
    ----------
    name : in the legend.
    x, y : (p,) the points.
    style : how it is drawn; dots and diamonds stand alone, without a line. Of marked lines, at
        most 6, each has marks and dashes of its own.
    """

    name: str
    x: FloatArray | IntArray
    y: FloatArray | IntArray
    style: LineStyle = "solid"


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals of single points, as thick lines.

    Attributes
    ----------
    name : in the legend.
    places : (p,) where they stand on the other axis.
    low, high : (p,) their ends.
    axis : the axis that they lie along.
    """

    name: str
    places: FloatArray | IntArray
    low: FloatArray | IntArray
    high: FloatArray | IntArray
    axis: Literal["x", "y"]


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon, such as the band around a line, or several, such as cells of a map.

    Attributes
    ----------
    name : in the legend; empty for an area that cannot be seen beside its line.
    x, y : (p,) float64, the corners; (k, p) of several polygons.
    strength : how opaque it is, from 0 to 1.
    """

    name: str
    x: FloatArray
    y: FloatArray
    strength: float = 0.25


@dataclass(frozen=True, slots=True)
class Series:
    """A line in a color of its own, with the band around it, and its name where it ends.

    Attributes
    ----------
    name : as it is, such as a released label.
    x : (p,) float64, increasing; the same for all series of a chart.
    y, low, high : (p,) float64, the line and its band; NaN where the line has a gap.
    """

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured points, joined by a line, with bars that say how sure each is.

    Attributes
    ----------
    name : in the legend, as it is, such as the name of a mechanism.
    x, y : (p,) the points.
    low, high : (p,) the ends of their bars.
    color : the same wherever the name is drawn, as matplotlib reads it; empty for that of text.
    dashed : whether the line is dashed and the points are hollow, as those of a variant.
    strong : whether it stands out.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    color: str
    dashed: bool = False
    strong: bool = False


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
    spans : drawn between areas and lines.
    measured : in their order in the legend.
    height : on a page, in units of which it is `width` wide.
    series : at most 8; their names stand beyond the end of the x axis.
    band : name of the bands of all series in the legend; empty if none can be seen.
    width : on a page, in units of which its text is 13 high; that of a small multiple is less.
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
    spans: Sequence[Spans] = ()
    measured: Sequence[Measured] = ()
    height: int = 330
    series: Sequence[Series] = ()
    band: str = ""
    width: int = 400


def short_number(value: float) -> str:
    """Write a tick's number in the width a phone has.

    >>> [short_number(n) for n in (0, 150, 1_500, -20_000, 2_500_000, 10**15)]
    ['0', '150', '1.5k', '-20k', '2.5M', '1000T']
    """
    for unit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
