"""A chart as a Vega-Lite specification, version 6: its areas and lines."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.document.chart import Area, Axis, Chart, Line
from dphist.sentence import fill

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_INK = "#1f4e79"
_SIZE = {"width": 480, "height": 280}
_DAY = 86_400 * 10**6  # in microseconds


def vega(chart: Chart, slots: Mapping[str, str]) -> dict[str, Any]:
    """Return a chart, in the owner's words; it loads nothing."""
    position = {name: _axis(axis, slots) for name, axis in (("x", chart.x), ("y", chart.y))}
    order = {"field": "order", "type": "quantitative"}
    shades = {
        "domain": [fill(area.name, slots) for area in chart.areas],
        "range": [area.strength for area in chart.areas],
    }
    shade = {"field": "name", "type": "nominal", "title": None, "scale": shades}
    layers: list[dict[str, Any]] = []
    every: list[Area | Line] = [*chart.areas, *chart.lines]
    for drawn in every:
        mark: dict[str, Any] = {"type": "line", "color": _INK, "tooltip": True}
        encoding: dict[str, Any] = {**position, "order": order}
        if isinstance(drawn, Area):
            mark = {"type": "line", "color": _INK, "filled": True, "strokeWidth": 0}
            encoding |= {"opacity": shade, "detail": {"field": "part"}}
        rows = _rows(chart, drawn.x, drawn.y, fill(drawn.name, slots))
        layers.append({"data": {"values": rows}, "mark": mark, "encoding": encoding})
    text = fill(chart.text, slots)
    return {"$schema": _SCHEMA, **_SIZE, "description": text, "layer": layers}


def _axis(axis: Axis, slots: Mapping[str, str]) -> dict[str, Any]:
    """Return how an axis is encoded."""
    ends = np.array([axis.low, axis.high])
    scale: dict[str, Any] = {"domain": _places(axis, ends), "nice": False}
    found: dict[str, Any] = {"type": "quantitative", "title": fill(axis.label, slots)}
    if axis.ticks == "dates":  # in UTC, and shown as such wherever the reader is
        found["type"], scale["type"] = "temporal", "utc"
    else:
        scale |= {"type": "log"} if axis.log else {"zero": False}
    if not isinstance(axis.ticks, str):
        places, texts = [place for place, _ in axis.ticks], [text for _, text in axis.ticks]
        label = f"{json.dumps(texts)}[indexof({places}, datum.value)]"
        found["axis"] = {"values": places, "labelExpr": label}
    return {**found, "scale": scale}


def _places(axis: Axis, numbers: AnyArray) -> list[Any]:
    """Return places along an axis, those of dates as text in UTC."""
    if axis.ticks != "dates":
        return [float(number) for number in numbers]
    dates = np.rint(numbers * _DAY).astype(np.int64).astype("M8[us]")
    return [str(text) for text in np.datetime_as_string(dates, timezone="UTC")]


def _rows(chart: Chart, x: AnyArray, y: AnyArray, name: str) -> list[dict[str, Any]]:
    """Return the corners of a line or of polygons, (p,) or (k, p)."""
    parts, order = np.indices(np.atleast_2d(x).shape)
    rows = zip(
        _places(chart.x, x.ravel()),
        _places(chart.y, y.ravel()),
        order.ravel().tolist(),
        parts.ravel().tolist(),
        strict=True,
    )
    names = "x", "y", "order", "part"
    return [{"name": name, **dict(zip(names, row, strict=True))} for row in rows]
