"""Axis: ordered bins between public edges, with the name of the binned column."""

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, FloatArray
from dphist.data.axis.edges import (
    MOST_BINS,
    check_edges,
    edges_of,
    is_number,
    nearest_floats,
    regular_edges,
    whole_edges,
)
from dphist.data.axis.times import DAY, MOMENTS, moment, moment_text, width_of, width_text
from dphist.errors import ParameterError
from dphist.parameters import exact_number, whole_number

_DTYPES = {"whole": "i8", "real": "f8", "dates": "M8[D]", "datetimes": "M8[us]"}
_LONGEST_WIDTH = 60
_KINDS = {np.dtype(dtype): kind for kind, dtype in _DTYPES.items()}


@dataclass(frozen=True, slots=True)
class AxisTraits:
    """Traits of an axis, as in `uhi.typing.plottable.PlottableTraits`."""

    circular: bool = False
    discrete: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Axis:
    """Bins ``[edges[i], edges[i + 1])``; a last edge of plus infinity is in the last bin.

    Attributes
    ----------
    name : str or None
        What is binned: usually a column.
    edges : (n + 1,) int64, float64, datetime64[D] or datetime64[us]; strictly increasing, read-only
        Public: fixed without looking at the data, and published. The first float edge may be
        minus infinity and the last plus infinity. Datetimes with a zone are converted to UTC.

    >>> Axis(name="age", edges=np.array([0, 18, 65])).bins
    2
    """

    name: str | None
    edges: AnyArray

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise ParameterError("name", "must be text or None")
        if not isinstance(self.edges, np.ndarray) or self.edges.dtype not in _KINDS:
            raise ParameterError(
                "edges",
                "must be an array of int64, float64, datetime64[D] or datetime64[us]",
                "use Axis.from_edges for anything else",
            )
        if self.edges.ndim != 1:
            raise ParameterError("edges", "must be one-dimensional")
        held = self.edges.copy()
        if held.dtype.kind == "f":
            held += 0.0  # turns -0.0 into 0.0, which is equal but has another hash
        check_edges(held)
        held.setflags(write=False)
        object.__setattr__(self, "edges", held)

    @classmethod
    def from_edges(cls, edges: Any, name: str | None = None) -> "Axis":
        """Make an axis from a sequence of edges.

        Parameters
        ----------
        edges : list, tuple, range or NumPy array of at least two numbers, dates, datetimes,
            numpy.datetime64 or ISO text, strictly increasing; or what `pd.date_range`,
            `pl.date_range` or `pl.datetime_range` returns. A date among datetimes means midnight;
            times with a zone are converted to UTC.
        name : what is binned

        Raises
        ------
        ParameterError

        >>> Axis.from_edges([0, 18, 65, float("inf")], "age").edges
        array([ 0., 18., 65., inf])
        """
        return cls(name, edges_of(edges)[0])

    @classmethod
    def regular(cls, start: Any, stop: Any, width: Any, name: str | None = None) -> "Axis":
        """Make an axis of bins of equal width from `start` to `stop`.

        Parameters
        ----------
        start, stop : two numbers, or two dates, datetimes or ISO texts.
        width : a number; or datetime.timedelta, numpy.timedelta64 or text such as "15m", "1h",
            "1d" (24 hours) or "1w"; or "1mo", "1q" or "1y", for months of the calendar.
        name : what is binned

        Notes
        -----
        A float means its shortest decimal, and each edge is the float64 nearest to
        ``start + i * width``. Three whole numbers give int64 edges. Dates with a width of whole
        days give edges that are dates.

        Raises
        ------
        ParameterError
            If `stop` is not a whole number of widths after `start`, or that number exceeds 2**26.

        >>> Axis.regular(0, 1, 0.1).edges[3], Axis.regular("2024-01-01", "2024-01-08", "1d").bins
        (np.float64(0.3), 7)
        """
        return cls(name, regular_edges(start, stop, width)[0])

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def traits(self) -> AxisTraits:
        """What UHI asks of an axis: it does not wrap around, and its bins are intervals."""
        return AxisTraits()

    @property
    def in_words(self) -> str:
        """How many bins there are, from where to where."""
        first, last = (_written(edge) for edge in self.edges[[0, -1]].tolist())
        return f"{self.bins} bins from {first} to {last}"

    def __len__(self) -> int:
        return self.bins

    def __getitem__(self, place: int) -> tuple[float, float]:
        """Return both edges of a bin as floats, for UHI; of times, in days since 1970."""
        edges = self.as_floats()
        number = range(self.bins)[place]
        return float(edges[number]), float(edges[number + 1])

    def __iter__(self) -> Iterator[tuple[float, float]]:
        edges = self.as_floats().tolist()
        return pairwise(edges)

    def as_floats(self) -> FloatArray:
        """Return the edges as float64; of dates and times, in days since 1970, as matplotlib."""
        if self.edges.dtype.kind == "M":
            return self.edges.astype("M8[us]").astype(np.int64) / DAY
        return self.edges.astype(np.float64)

    def position(self, value: Any) -> int:
        """Return the index of the edge that is equal to a value.

        Parameters
        ----------
        value : a number for edges that are numbers; a date, datetime, numpy.datetime64 or ISO text
            for others.

        Raises
        ------
        ParameterError
            If no edge is equal to it.

        >>> Axis.from_edges([0, 18, 65]).position(18)
        1
        """
        wanted = self._as_edge(value)
        if wanted is not None:
            index = int(np.searchsorted(self.edges, wanted))
            if index < len(self.edges) and self.edges[index] == wanted:
                return index
        if wanted is None and self.edges.dtype.kind == "M" and isinstance(value, MOMENTS):
            wanted = np.datetime64(moment(value, "value").instant, "us")  # between two dates
        raise self._no_edge(wanted)

    def _no_edge(self, wanted: Any) -> ParameterError:
        """Return the error for a value that is no edge; edges and the value are public."""
        of = "" if self.name is None else f" {self.name!r}"
        said = f"must be an edge of the axis{of}, and of the type of its edges"
        if wanted is None or wanted != wanted:
            return ParameterError("value", said)
        place = int(np.searchsorted(self.edges, wanted))
        near = [_edge_text(edge) for edge in self.edges[max(place - 1, 0) : place + 1]]
        if len(near) == 2:
            beside = f"between {near[0]} and {near[1]}"
        else:
            beside = f"{'before the first' if place == 0 else 'after the last'}, {near[0]}"
        return ParameterError("value", f"{said}: {_edge_text(wanted)} is {beside}")

    def positions(self, values: Any) -> Any:
        """Return the indices of the edges that are equal to values.

        Parameters
        ----------
        values : one value as for `position`, or a list, tuple or array of them.

        Returns
        -------
        int, or an array of int64 of the shape of `values`.

        >>> Axis.from_edges(["2024-01-01", "2024-02-01"]).positions(["2024-02-01", "2024-01-01"])
        array([1, 0])
        """
        if isinstance(values, list | tuple):
            return np.array([self.positions(value) for value in values], np.int64)
        if isinstance(values, np.ndarray):
            flat = [self.position(value) for value in values.ravel()]
            return np.array(flat, np.int64).reshape(values.shape)
        return self.position(values)

    def at(self, places: FloatArray) -> AnyArray:
        """Return the values at fractional bin positions, interpolated linearly between edges.

        Parameters
        ----------
        places : (...) float64, from 0 to `bins`; NaN gives NaN or NaT.

        Returns
        -------
        (...) float64, or datetime64[us]; inside an unbounded bin, the infinite edge.

        >>> Axis.from_edges([0, 18, 65]).at(np.array([0.5, 2.0]))
        array([ 9., 65.])
        """
        missing = np.isnan(places)
        start = np.minimum(np.where(missing, 0, places).astype(np.int64), self.bins - 1)
        part = places - start
        if self.edges.dtype.kind == "M":
            edges = self.edges.astype("M8[us]")
            whole = np.where(missing, 0, part * (edges[start + 1] - edges[start]).astype(np.int64))
            return np.where(
                missing, np.datetime64("NaT", "us"), edges[start] + whole.astype("m8[us]")
            )
        edges = self.edges.astype(np.float64)
        low, high = edges[start], edges[start + 1]
        endless = np.where(np.isinf(low), low, high)
        with np.errstate(invalid="ignore"):
            inside = np.where(part == 0, low, np.where(part == 1, high, low + part * (high - low)))
        return np.where(np.isinf(high - low) & (part > 0) & (part < 1), endless, inside)

    def to_content(self) -> dict[str, Any]:
        """Return the axis as a JSON object, from which `from_content` makes an equal axis.

        Bins of equal width are stored as start, width and number.

        >>> Axis.regular(0, 1, 0.1, "x").to_content()
        {'name': 'x', 'kind': 'real', 'start': 0.0, 'width': 0.1, 'bins': 10}
        >>> Axis.from_edges([0, 18, 65]).to_content()
        {'name': None, 'kind': 'whole', 'edges': [0, 18, 65]}
        """
        kind = _KINDS[self.edges.dtype]
        width = (
            _width_of_floats(self.edges) if kind == "real" else _width_of_edges(self.edges, kind)
        )
        shown: dict[str, Any] = {"name": self.name, "kind": kind}
        if width is None:
            return shown | {"edges": [_written(edge) for edge in self.edges.tolist()]}
        start = _written(self.edges[:1].tolist()[0])
        return shown | {"start": start, "width": width, "bins": self.bins}

    @classmethod
    def from_content(cls, content: Any) -> "Axis":
        """Make an axis from the result of `to_content`.

        Raises
        ------
        KeyError, TypeError, ValueError
            If `content` does not have that form.

        >>> Axis.from_content({"name": "d", "kind": "dates", "start": "2024-01-01", "width": "1d",
        ...     "bins": 2}).edges
        array(['2024-01-01', '2024-01-02', '2024-01-03'], dtype='datetime64[D]')
        """
        if not isinstance(content, Mapping):
            raise TypeError("an axis must be an object")
        kind = content["kind"]
        if kind not in _DTYPES:
            raise ValueError("the kind of an axis must be whole, real, dates or datetimes")
        keys = {"edges"} if "edges" in content else {"start", "width", "bins"}
        if set(content) != {"name", "kind"} | keys:
            raise KeyError("an axis must have a name, a kind, and edges or start, width and bins")
        if "edges" in content:
            if not isinstance(content["edges"], list):
                raise TypeError("the edges of an axis must be a list")
            edges = [_read(edge, kind) for edge in content["edges"]]
            return cls(content["name"], np.array(edges, _DTYPES[kind]))
        bins = whole_number(content["bins"], "bins", 1, MOST_BINS)
        start = _read(content["start"], kind)
        if kind == "real":
            width = exact_number(content["width"], "width")
            return cls(content["name"], nearest_floats(exact_number(start, "start"), width, bins))
        first, step = int(start), content["width"]
        if kind == "whole":
            step = whole_number(step, "width", 1, 2**64)
        else:
            step, rest = divmod(width_of(step), DAY if kind == "dates" else 1)
            if rest:
                raise ValueError("the width of dates must be whole days")
        if not first + bins * step < 2**63:
            raise ValueError("the edges of an axis must be within int64")
        return cls(content["name"], whole_edges(first, step, bins).view(_DTYPES[kind]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return (
            self.name == other.name
            and self.edges.dtype == other.edges.dtype
            and np.array_equal(self.edges, other.edges)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.edges.dtype.str, self.edges.tobytes()))

    def __reduce__(self) -> tuple[type["Axis"], tuple[str | None, AnyArray]]:
        """Copy and unpickle through the constructor, which makes the edges read-only."""
        return Axis, (self.name, self.edges)

    def __repr__(self) -> str:
        return f"Axis(name={self.name!r}, {self.in_words})"

    def _as_edge(self, value: Any) -> Any:
        """Return a value in the type of the edges, or None if no edge of that type equals it."""
        if self.edges.dtype.kind == "M":
            if is_number(value) or value is None:
                return None
            instant = moment(value, "value").instant
            day, rest = divmod(instant, DAY)
            if self.edges.dtype == np.dtype("M8[us]"):
                return np.datetime64(instant, "us")
            return None if rest else np.datetime64(day, "D")
        if not is_number(value):
            return None
        if self.edges.dtype.kind == "i":
            whole = exact_number(value, "value")
            inside = whole.denominator == 1 and -(2**63) <= whole < 2**63
            return np.int64(int(whole)) if inside else None
        if isinstance(value, Integral) and abs(int(value)) > 2**53:
            value = int(value)
            return float(value) if abs(value) < 2**1000 and int(float(value)) == value else None
        return float(value)


def axes_of_content(contents: Any) -> tuple[Axis, ...]:
    """Return the axes of results of `Axis.to_content`.

    Raises
    ------
    KeyError, TypeError, ValueError
        If they are not of that form, or there are none, or more bins than may be counted.
    """
    axes = tuple(map(Axis.from_content, contents))
    if not axes or math.prod(axis.bins for axis in axes) > MOST_BINS:
        raise ValueError(f"there must be axes, with at most {MOST_BINS} bins together")
    return axes


def _edge_text(edge: Any) -> str:
    """Return an edge, or a value like one, for an error."""
    if isinstance(edge, np.datetime64):
        return moment_text(int(edge.astype("M8[us]").astype(np.int64)))
    return str(edge).removesuffix(".0")


def _written(edge: Any) -> Any:
    """Return an edge as a JSON value: a number, ISO text, "inf" or "-inf"."""
    if isinstance(edge, datetime.date):
        return edge.isoformat()
    return str(edge) if edge in (np.inf, -np.inf) else edge


def _read(edge: Any, kind: str) -> Any:
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
    if found.zoned or found.is_date != (kind == "dates"):
        raise ValueError("an edge must be a date, or for datetimes, a date with a time in UTC")
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
