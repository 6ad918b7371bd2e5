"""A released histogram in the forms that other libraries read: UHI and Vega-Lite.

UHI is the protocol and the schema by which hist, boost-histogram, mplhep and uproot exchange
histograms. The variances are those of the noise: the squares of the standard errors.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dphist.arrays import AnyArray, FloatArray, NumberArray
from dphist.data.axis.axis import Axis
from dphist.errors import UnsupportedError
from dphist.release.range_histogram.answers import Answers
from dphist.release.range_histogram.picture import MOST_CELLS, finite, grouped

if TYPE_CHECKING:
    from dphist.release.range_histogram.value import RangeHistogram

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_INK = "#1f4e79"
_SIZE = {"width": 480, "height": 280}


class Exchanged:
    """A released histogram, as `uhi.typing.plottable.PlottableHistogram`."""

    __slots__ = ()

    bins: NumberArray
    axes: tuple[Axis, ...]
    outside: Mapping[str, int]
    answers: Answers | None

    @property
    def kind(self) -> str:
        """What UHI calls a histogram of counts: "COUNT"."""
        return "COUNT"

    def values(self) -> FloatArray:
        """Return the estimates of the bins, as `bins`, for UHI; float64."""
        return self.bins.astype(np.float64)

    def variances(self) -> FloatArray | None:
        """Return the variances of the noise of the bins, in records squared, for UHI.

        None for a histogram made by hand. They are not the counts, as of sampled data they are:
        the intervals are those of `interval`, which do not cover sampling.
        """
        if self.answers is None:
            return None
        squared: FloatArray = self.answers.bin_errors().reshape(self.bins.shape) ** 2
        return squared

    def counts(self) -> FloatArray:
        """Return the estimates of the bins, as `values`, for UHI."""
        return self.values()

    def to_uhi(self) -> dict[str, Any]:
        """Return the histogram by the schema of UHI, version 1: lists, numbers and text.

        ``boost_histogram.Histogram(h.to_uhi())`` and ``hist.Hist(h.to_uhi())`` are histograms.
        Bins to infinity become flow bins. Edges that are dates become days since 1970, those of
        datetimes with fractions, as matplotlib counts them; the axis says so in its metadata.
        Counts of records in no bin are metadata.

        Raises
        ------
        UnsupportedError
            If an axis has fewer than two finite edges.
        """
        axes = [self._uhi_axis(axis) for axis in range(self.bins.ndim)]
        errors = self.variances()
        storage: dict[str, Any] = {"type": "double", "values": self.values().tolist()}
        if errors is not None:
            storage |= {"type": "weighted", "variances": errors.tolist()}
        return {
            "uhi_schema": 1,
            "writer_info": {"dphist": {"differentially_private": True}},
            "metadata": {f"records_{name}": count for name, count in self.outside.items()},
            "axes": axes,
            "storage": storage,
        }

    def _to_uhi_(self) -> dict[str, Any]:
        return self.to_uhi()

    def _uhi_axis(self, number: int) -> dict[str, Any]:
        axis = self.axes[number]
        edges = axis.as_floats()
        finite = edges[np.isfinite(edges)]
        if len(finite) < 2:
            raise UnsupportedError("an axis must have two finite edges to be a histogram of UHI")
        metadata: dict[str, Any] = {} if axis.name is None else {"name": axis.name}
        if axis.edges.dtype.kind == "M":
            metadata["edges"] = "days since 1970-01-01, UTC"
        return {
            "type": "variable",
            "edges": finite.tolist(),
            "underflow": bool(np.isinf(edges[0])),
            "overflow": bool(np.isinf(edges[-1])),
            "circular": False,
            "metadata": metadata,
        }

    def to_vega(self) -> dict[str, Any]:
        """Return a plot of one axis or two as a Vega-Lite specification (version 6).

        Steps with a band of 95 %, or a map. More than 2,000 bins, or 1,000 of each of two axes,
        are drawn in groups. `altair.Chart.from_dict(h.to_vega())` shows it in a notebook.

        Raises
        ------
        UnsupportedError
            If there are more than two axes, or the histogram was made by hand.
        """
        if self.bins.ndim > 2:
            raise UnsupportedError("a histogram of more than two axes cannot be drawn")
        if self.answers is None:
            raise UnsupportedError("the histogram was made by hand; release one with a mechanism")
        draw = _steps if self.bins.ndim == 1 else _map
        return {"$schema": _SCHEMA, **_SIZE, **draw(cast("RangeHistogram", self))}


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
