"""Plots of a released histogram as Vega-Lite specifications."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.errors import UnsupportedError
from dphist.release.range_histogram.picture import MOST_CELLS, finite, grouped

if TYPE_CHECKING:
    from dphist.release.range_histogram.value import RangeHistogram

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_INK = "#1f4e79"
_SIZE = {"width": 480, "height": 280}


def vega_of(histogram: "RangeHistogram") -> dict[str, Any]:
    """Return the specification of a histogram: see `RangeHistogram.to_vega`."""
    if histogram.bins.ndim > 2:
        raise UnsupportedError("a histogram of more than two axes cannot be drawn")
    if histogram.answers is None:
        raise UnsupportedError("the histogram was made by hand; release one with a mechanism")
    drawn = _steps(histogram) if histogram.bins.ndim == 1 else _map(histogram)
    return {"$schema": _SCHEMA, **_SIZE, **drawn}


def _steps(histogram: "RangeHistogram") -> dict[str, Any]:
    places = grouped(len(histogram.bins))
    lo, hi = places[:-1], places[1:]
    start, stop = _ends(histogram, 0, places)
    low, high = histogram.interval(lo, hi)
    columns = {
        "start": start,
        "stop": stop,
        "count": histogram.count(lo, hi).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }
    x: dict[str, Any] = _position(histogram, 0, "start")
    y: dict[str, Any] = {"type": "quantitative", "title": "records"}
    along: dict[str, Any] = {"x": x, "x2": {"field": "stop"}}
    band = {**along, "y": {"field": "low", **y}, "y2": {"field": "high"}}
    shown = [{"field": name, "type": "quantitative"} for name in ("count", "low", "high")]
    shown[:0] = [{"field": name, "type": x["type"]} for name in ("start", "stop")]
    line = {**along, "y": {"field": "count", **y}, "tooltip": shown}
    return {
        "description": "Released counts with a band of 95 % for the noise.",
        "data": {"values": _rows(columns)},
        "layer": [
            {"mark": {"type": "rect", "opacity": 0.2, "color": _INK}, "encoding": band},
            {"mark": {"type": "rule", "strokeWidth": 2, "color": _INK}, "encoding": line},
        ],
    }


def _map(histogram: "RangeHistogram") -> dict[str, Any]:
    places = [grouped(size, MOST_CELLS) for size in histogram.bins.shape]
    grid = [axis.ravel() for axis in np.indices([len(ends) - 1 for ends in places])]
    lo, hi = (
        tuple(ends[cells + far] for ends, cells in zip(places, grid, strict=True)) for far in (0, 1)
    )
    columns: dict[str, Any] = {}
    for axis, (name, ends) in enumerate(zip("xy", places, strict=True)):
        start, stop = (np.array(part, object) for part in _ends(histogram, axis, ends))
        columns |= {name: start[grid[axis]].tolist(), f"{name}2": stop[grid[axis]].tolist()}
    columns |= {
        "count": histogram.count(lo, hi).tolist(),
        "error": histogram.error(lo, hi).tolist(),
    }
    encoding: dict[str, Any] = {}
    for axis, name in enumerate("xy"):
        encoding |= {name: _position(histogram, axis, name), f"{name}2": {"field": f"{name}2"}}
    encoding["color"] = {
        "field": "count",
        "type": "quantitative",
        "title": "records",
        "scale": {"type": "symlog", "scheme": "viridis"},
    }
    encoding["tooltip"] = [{"field": name, "type": "quantitative"} for name in ("count", "error")]
    return {
        "description": "Released counts of the cells of a map.",
        "data": {"values": _rows(columns)},
        "mark": "rect",
        "encoding": encoding,
    }


def _position(histogram: "RangeHistogram", axis: int, field: str) -> dict[str, Any]:
    temporal = histogram.edges[axis].dtype.kind == "M"
    title = histogram.axis_name(axis) if histogram.has_edges else f"bin of axis {axis}"
    # Dates of edges are in UTC, and are shown as such wherever the reader is.
    scale: dict[str, Any] = {"type": "utc"} if temporal else {"zero": False}
    kind = "temporal" if temporal else "quantitative"
    return {"field": field, "title": title, "type": kind, "scale": scale}


def _ends(histogram: "RangeHistogram", axis: int, places: AnyArray) -> tuple[list[Any], list[Any]]:
    """Return where groups of bins start and stop, as numbers or as text in UTC."""
    edges = finite(histogram.edges[axis])[places]
    if edges.dtype.kind == "M":
        edges = np.datetime_as_string(edges.astype("M8[us]"), timezone="UTC")
    return edges[:-1].tolist(), edges[1:].tolist()


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
