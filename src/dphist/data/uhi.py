"""Histograms of other libraries, read by UHI: counts and edges, in plain arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, IntArray
from dphist.counting import redact_errors
from dphist.counting.checks import LARGEST, check_counts
from dphist.data.axis.axis import Axis
from dphist.data.axis.edges import read_edges
from dphist.errors import ParameterError

_KINDS = ("regular", "variable")
_CATEGORIES = ("category_int", "category_str")


def read_uhi(h: Any) -> tuple[IntArray, tuple[Axis, ...], dict[str, int]]:
    """Return the counts, axes and outside counts of a histogram of UHI.

    Raises
    ------
    ParameterError
        If it is no such histogram, or its counts are not whole numbers.
    DataError
        If a count is negative or 2**62 or more.
    """
    axes, values, flows = redact_errors(
        lambda: _read_dictionary(h) if isinstance(h, dict) else _read_object(h), _not_uhi()
    )
    inside = tuple(
        slice(int(under), size - int(over))
        for size, (under, over) in zip(values.shape, flows, strict=True)
    )
    whole = check_counts(_whole(values).ravel(), "values").reshape(values.shape)
    counts = np.ascontiguousarray(whole[inside])
    if len(axes) == 1:
        below = int(whole[0]) if flows[0][0] else 0
        above = int(whole[-1]) if flows[0][1] else 0
        return counts, axes, {"below": below, "above": above, "null": 0}
    # Sums of Python integers cannot wrap; clamping never increases a difference.
    left = sum(whole.ravel().tolist()) - sum(counts.ravel().tolist())
    return counts, axes, {"outside": min(left, LARGEST), "null": 0}


Read = tuple[tuple[Axis, ...], AnyArray, list[tuple[bool, bool]]]


def _read_object(h: Any) -> Read:
    """Read an object: its axes, its values with flow bins, and which axes have these."""
    if str(getattr(h.kind, "value", h.kind)) != "COUNT":
        raise _not_uhi()
    flows = [_find_flows(axis) for axis in h.axes]
    values = np.asarray(h.values(flow=True) if any(map(any, flows)) else h.values())
    return tuple(_read_axis(axis) for axis in h.axes), values, flows


def _find_flows(axis: Any) -> tuple[bool, bool]:
    traits = axis.traits
    return bool(getattr(traits, "underflow", False)), bool(getattr(traits, "overflow", False))


def _read_axis(axis: Any) -> Axis:
    """Return an axis with the edges of an axis of UHI: intervals, or consecutive whole numbers."""
    if axis.traits.circular or getattr(axis.traits, "growth", False):  # edges follow the data
        raise _not_uhi()
    bins = [axis[place] for place in range(len(axis))]
    # Categories have no order, though they may be consecutive numbers: their sums are no ranges.
    if not getattr(axis.traits, "ordered", True) or any(isinstance(each, str) for each in bins):
        raise _categories()
    if all(isinstance(each, int | np.integer) for each in bins):
        first = int(bins[0])
        if bins != list(range(first, first + len(bins))):
            raise _not_uhi()
        return Axis(_find_name(axis), np.arange(first, first + len(bins) + 1))
    edges = [*(low for low, _ in bins), bins[-1][1]]
    if any(low != high for (low, _), (_, high) in zip(bins[1:], bins, strict=False)):
        raise _not_uhi()
    return Axis(_find_name(axis), read_edges(edges)[0])


def _find_name(axis: Any) -> str | None:
    names: Iterator[Any] = (getattr(axis, name, None) for name in ("name", "label"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _read_dictionary(content: dict[str, Any]) -> Read:
    """Read the dictionary of UHI's schema."""
    storage = content["storage"]
    kinds = {axis["type"] for axis in content["axes"]}
    if kinds & set(_CATEGORIES):
        raise _categories()
    if content["uhi_schema"] != 1 or not kinds <= set(_KINDS) or "index" in storage:
        raise _not_uhi()
    if storage["type"] not in ("int", "double", "weighted"):
        raise _not_uhi()
    flows = [(bool(axis["underflow"]), bool(axis["overflow"])) for axis in content["axes"]]
    return tuple(map(_axis_in, content["axes"])), np.asarray(storage["values"]), flows


def _axis_in(axis: dict[str, Any]) -> Axis:
    written = axis.get("writer_info", {}).values()
    if axis["circular"] or any(writer.get("growth") for writer in written):
        raise _not_uhi()
    name = axis.get("metadata", {}).get("name")
    if axis["type"] == "variable":
        return Axis(name, read_edges(np.asarray(axis["edges"]))[0])
    edges = np.linspace(axis["lower"], axis["upper"], axis["bins"] + 1)
    return Axis(name, read_edges(edges)[0])


def _whole(values: AnyArray) -> AnyArray:
    """Return whole numbers that are held as floats as int64; others as they are, to be refused."""
    if values.dtype.kind != "f":
        return values
    fits = np.all((values == np.floor(values)) & (np.abs(values) < 2**53))
    return values.astype(np.int64) if fits else values


def _categories() -> ParameterError:
    return ParameterError(
        "h",
        "must have axes of numbers, not of categories, which have no order",
        "count them as labels",
    )


def _not_uhi() -> ParameterError:
    return ParameterError(
        "h",
        "must be a histogram of UHI, such as one of hist or boost-histogram, or the dictionary "
        "of its schema, with axes of numbers that do not grow with the data, of kind COUNT",
    )
