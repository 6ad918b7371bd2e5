"""An axis as a JSON object, which is how it is saved."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.data.axis.edges import MOST_BINS
from dphist.data.axis.regular import nearest_floats, whole_edges
from dphist.data.axis.times import moment, read_width, width_text
from dphist.data.axis.zones import DAY, exact_texts, zone_named
from dphist.parameters import exact_number, whole_number

_DTYPES = {"whole": "i8", "real": "f8", "dates": "M8[D]", "datetimes": "M8[us]"}
KINDS = {np.dtype(dtype): kind for kind, dtype in _DTYPES.items()}
"""What the edges are, by their type."""

_LONGEST_WIDTH = 60


def write_axis(name: str | None, edges: AnyArray, zone: str | None) -> dict[str, Any]:
    """Return what `read_axis` reads; bins of equal width as start, width and number."""
    kind = KINDS[edges.dtype]
    width = _width_of_floats(edges) if kind == "real" else _width_of_edges(edges, kind)
    shown: dict[str, Any] = {"name": name, "kind": kind}
    if zone is not None:
        shown["zone"] = zone
    held = edges if width is None else edges[:1]
    texts = (
        [write_edge(edge) for edge in held.tolist()] if zone is None else exact_texts(held, zone)
    )
    if width is None:
        return shown | {"edges": texts}
    return shown | {"start": texts[0], "width": width, "bins": len(edges) - 1}


def read_axis(content: Any) -> tuple[str | None, AnyArray, str | None]:
    """Return the name, the edges and the zone of an axis that `write_axis` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError
        If `content` does not have that form.
    """
    if not isinstance(content, Mapping):
        raise TypeError("an axis must be an object")
    kind = content["kind"]
    if kind not in _DTYPES:
        raise ValueError("the kind of an axis must be whole, real, dates or datetimes")
    zone = None
    if "zone" in content:
        zone = zone_named(content["zone"])
        if kind != "datetimes":
            raise ValueError("an axis with a zone must be of datetimes")
    keys = {"edges"} if "edges" in content else {"start", "width", "bins"}
    if set(content) - {"zone"} != {"name", "kind"} | keys:
        raise KeyError("an axis must have a name, a kind, and edges or start, width and bins")
    if "edges" in content:
        if not isinstance(content["edges"], list):
            raise TypeError("the edges of an axis must be a list")
        edges = [_read(edge, kind, zone) for edge in content["edges"]]
        return content["name"], np.array(edges, _DTYPES[kind]), zone
    bins = whole_number(content["bins"], "bins", 1, MOST_BINS)
    start = _read(content["start"], kind, zone)
    if kind == "real":
        width = exact_number(content["width"], "width")
        return content["name"], nearest_floats(exact_number(start, "start"), width, bins), zone
    first, step = int(start), content["width"]
    if kind == "whole":
        step = whole_number(step, "width", 1, 2**64)
    else:
        step, rest = divmod(read_width(step), DAY if kind == "dates" else 1)
        if rest:
            raise ValueError("the width of dates must be whole days")
    if not first + bins * step < 2**63:
        raise ValueError("the edges of an axis must be within int64")
    return content["name"], whole_edges(first, step, bins).view(_DTYPES[kind]), zone


def write_edge(edge: Any) -> Any:
    """Return an edge as a JSON value: a number, ISO text, "inf" or "-inf"."""
    if isinstance(edge, datetime.date):
        return edge.isoformat()
    return str(edge) if edge in (np.inf, -np.inf) else edge


def _read(edge: Any, kind: str, zone: str | None) -> Any:
    """Check the type of a JSON value of an edge, and return it as an element of the array."""
    if kind == "whole":
        return whole_number(edge, "an edge", -(2**63), 2**63 - 1)
    if kind == "real":
        if edge in ("inf", "-inf"):
            return float(edge)
        if not isinstance(edge, float) or edge != edge:
            raise TypeError("an edge of kind real must be a number with a point, inf or -inf")
        return edge
    if not isinstance(edge, str):
        raise TypeError("an edge must be ISO text")
    found = moment(edge, "an edge")
    if found.is_date != (kind == "dates"):
        raise ValueError("an edge must be a date, or for datetimes, a date with a time")
    if (found.zone is None) != (zone is None):
        raise ValueError("an edge must have an offset if the axis has a zone, and otherwise none")
    return found.instant // DAY if kind == "dates" else found.instant


def _width_of_edges(edges: AnyArray, kind: str) -> Any:
    """Return the width of equal bins between integers, dates or datetimes; None if they differ."""
    whole = edges.view(np.int64)
    if int(whole[-1]) - int(whole[0]) >= 2**63:  # a difference could wrap
        return None
    widths = np.diff(whole)
    if not np.all(widths == widths[0]):
        return None
    step = int(widths[0])
    return step if kind == "whole" else width_text(step * (DAY if kind == "dates" else 1))


def _width_of_floats(edges: AnyArray) -> Any:
    """Return a width that reproduces all edges bit by bit, or None."""
    if not np.all(np.isfinite(edges)):
        return None
    start, stop = (Fraction(Decimal(repr(edge))) for edge in edges[[0, -1]].tolist())
    width = (stop - start) / (len(edges) - 1)
    text = f"{width.numerator}/{width.denominator}"
    # The second edge rules out most irregular axes at low cost. Edges of very different magnitude
    # give a width whose text is longer than the edges.
    if len(text) > _LONGEST_WIDTH or float(start + width) != edges[1]:
        return None
    if not np.array_equal(nearest_floats(start, width, len(edges) - 1), edges):
        return None
    shortest = float(width)
    is_short = Fraction(Decimal(repr(shortest))) == width
    return shortest if is_short else text
