"""Axis: ordered bins between public edges, with the name of the binned column."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, FloatArray
from dphist.data.axis.content import KINDS, read_axis, write_axis, write_edge
from dphist.data.axis.edges import MOST_BINS, check_edges, is_number, read_edges
from dphist.data.axis.regular import regular_edges
from dphist.data.axis.times import MOMENTS, in_zone, moment, moment_text
from dphist.data.axis.zones import DAY, local_moments, local_texts, local_times, zone_named
from dphist.errors import ParameterError, phrase
from dphist.parameters import exact_number


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
        minus infinity and the last plus infinity. With a zone they are datetime64[us] of UTC, and
        `local_edges` are what clocks show.
    zone : str or None
        The IANA name of the time zone of the edges, such as "Europe/Zurich"; "UTC" for edges that
        were given with offsets. Such an axis is for columns with a time zone, of any zone: values
        and edges are compared as instants. None for edges of local time, and for numbers.

    >>> Axis(name="age", edges=np.array([0, 18, 65])).bins
    2
    """

    name: str | None
    edges: AnyArray
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise ParameterError("name", "must be text or None")
        if not isinstance(self.edges, np.ndarray) or self.edges.dtype not in KINDS:
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
        if self.zone is not None:
            object.__setattr__(self, "zone", zone_named(self.zone))
            if held.dtype != np.dtype("M8[us]"):
                raise ParameterError("zone", phrase("needs {edges} of datetime64[us]"))
        held.setflags(write=False)
        object.__setattr__(self, "edges", held)

    @classmethod
    def from_edges(cls, edges: Any, name: str | None = None, *, tz: Any = None) -> "Axis":
        """Make an axis from a sequence of edges.

        Parameters
        ----------
        edges : list, tuple, range or NumPy array of at least two numbers, dates, datetimes,
            numpy.datetime64 or ISO text, strictly increasing; or what `pd.date_range`,
            `pl.date_range` or `pl.datetime_range` returns. A date among datetimes means midnight.
        name : what is binned
        tz : the time zone of dates and times that have none of their own: the IANA name, such as
            "Europe/Zurich", or a `zoneinfo.ZoneInfo`. A date is then the first instant of its day.

        Raises
        ------
        ParameterError
            Also if clocks in the zone never show a time, or show it twice.

        >>> Axis.from_edges([0, 18, 65, float("inf")], "age").edges
        array([ 0., 18., 65., inf])
        >>> Axis.from_edges(["2024-03-31", "2024-04-01"], tz="Europe/Zurich").edges
        array(['2024-03-30T23:00:00.000000', '2024-03-31T22:00:00.000000'],
              dtype='datetime64[us]')
        """
        return cls(name, *read_edges(edges, tz))

    @classmethod
    def regular(
        cls,
        start: Any,
        stop: Any,
        width: Any = None,
        name: str | None = None,
        *,
        bins: int | None = None,
        tz: Any = None,
    ) -> "Axis":
        """Make an axis of bins of equal width from `start` to `stop`.

        Parameters
        ----------
        start, stop : two numbers, or two dates, datetimes or ISO texts.
        width : a number; or datetime.timedelta, numpy.timedelta64 or text such as "15m", "1h",
            "1d" or "1w"; or "1mo", "1q" or "1y", for months of the calendar.
        name : what is binned
        bins : instead of `width`, the number of bins.
        tz : as for `from_edges`. With a zone, widths of whole days, weeks and months are steps of
            its calendar, so a day has 23 to 25 hours; others, such as "6h", are elapsed time.

        Notes
        -----
        A float means its shortest decimal, and each edge is the float64 nearest to
        ``start + i * width``. Three whole numbers give int64 edges. Dates with a width of whole
        days give edges that are dates.

        Raises
        ------
        ParameterError
            If `stop` is not a whole number of widths after `start`, or that number exceeds 2**26,
            or `bins` does not divide a time into whole microseconds, or clocks in the zone never
            show one of the edges, or show it twice.

        >>> Axis.regular(0, 1, 0.1).edges[3], Axis.regular("2024-01-01", "2024-01-08", "1d").bins
        (np.float64(0.3), 7)
        >>> Axis.regular(0, 100, bins=20).edges[1], Axis.regular(0, 1, bins=3).edges[1]
        (np.int64(5), np.float64(0.3333333333333333))
        >>> march = Axis.regular("2024-03-01", "2024-04-01", "1d", tz="Europe/Zurich")
        >>> march.in_words, (march.edges[31] - march.edges[30]).astype("m8[h]")
        ('31 bins from 2024-03-01 to 2024-04-01, Europe/Zurich', np.timedelta64(23,'h'))
        """
        return cls(name, *regular_edges(start, stop, width, tz, bins))

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
        """How many bins there are, from where to where, and in which time zone."""
        ends = self.edges[[0, -1]]
        texts = map(str, map(write_edge, ends.tolist()))
        where = "" if self.zone is None else f", {self.zone}"
        first, last = texts if self.zone is None else local_texts(ends, self.zone)
        return f"{self.bins} bins from {first} to {last}{where}"

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

    @property
    def local_edges(self) -> AnyArray:
        """The edges as clocks in the zone show them; without a zone, the edges.

        Where clocks are put back, they show an hour twice: these are not always increasing.
        """
        return self.edges if self.zone is None else local_times(self.edges, self.zone)

    def position(self, value: Any, parameter: str = "value") -> int:
        """Return the index of the edge that is equal to a value.

        Parameters
        ----------
        value : a number for edges that are numbers; a date, datetime, numpy.datetime64 or ISO text
            for others. Without a zone of its own, it is a local time of the axis' zone.
        parameter : what an error calls the value.

        Raises
        ------
        ParameterError
            If no edge is equal to it: the error names the nearest edges.

        >>> Axis.from_edges([0, 18, 65]).position(18)
        1
        """
        wanted = self._as_edge(value, parameter)
        if wanted is not None:
            index = int(np.searchsorted(self.edges, wanted))
            if index < len(self.edges) and self.edges[index] == wanted:
                return index
        if wanted is None and self.edges.dtype.kind == "M" and isinstance(value, MOMENTS):
            wanted = np.datetime64(self._read_time(value, parameter), "us")  # between two dates
        if wanted is None and self.edges.dtype.kind == "i" and is_number(value):
            wanted = float(value)  # between two whole numbers
        raise self._no_edge(wanted, parameter)

    def _no_edge(self, wanted: Any, parameter: str) -> ParameterError:
        """Return the error for a value that is no edge; edges and the value are public."""
        of = "" if self.name is None else f" {self.name!r}"
        said = f"must be an edge of the axis{of}, and of the type of its edges"
        if wanted is None or wanted != wanted:
            return ParameterError(parameter, said)
        place = int(np.searchsorted(self.edges, wanted))
        near = [self._edge_text(edge) for edge in self.edges[max(place - 1, 0) : place + 1]]
        if len(near) == 2:
            beside = f"between {near[0]} and {near[1]}"
        else:
            beside = f"{'before the first' if place == 0 else 'after the last'}, {near[0]}"
        if self.zone is not None:
            beside += f", in {self.zone}"
        return ParameterError(parameter, f"{said}: {self._edge_text(wanted)} is {beside}")

    def positions(self, values: Any, parameter: str = "value") -> Any:
        """Return the indices of the edges that are equal to values.

        Parameters
        ----------
        values : one value as for `position`, or a list, tuple, range, array or column of them.
        parameter : as for `position`.

        Returns
        -------
        int, or an array of int64 of the shape of `values`.

        >>> Axis.from_edges(["2024-01-01", "2024-02-01"]).positions(["2024-02-01", "2024-01-01"])
        array([1, 0])
        """
        if isinstance(values, list | tuple):
            return np.array([self.positions(value, parameter) for value in values], np.int64)
        if isinstance(values, range) or (
            hasattr(values, "__array__") and not isinstance(values, np.ndarray | np.generic)
        ):
            values = np.asarray(values)
        if isinstance(values, np.ndarray):
            found = self._find(values)
            if found is not None:
                return found
            flat = [self.position(value, parameter) for value in values.ravel()]
            return np.array(flat, np.int64).reshape(values.shape)
        return self.position(values, parameter)

    def _find(self, values: AnyArray) -> AnyArray | None:
        """Return the indices of edges of the same type, all at once; None if there are others."""
        kinds = values.dtype.kind + self.edges.dtype.kind
        if kinds in ("iM", "uM", "fM") or values.dtype.kind not in "iufM" or self.zone is not None:
            return None
        if values.dtype != self.edges.dtype:
            whole = values if kinds[0] in "iu" else self.edges if kinds[1] == "i" else values[:0]
            if "M" in kinds or (np.abs(whole.astype(np.float64)) > 2**53).any():
                return None  # conversion would round
        places = np.minimum(np.searchsorted(self.edges, values), len(self.edges) - 1)
        return places if bool((self.edges[places] == values).all()) else None

    def at(self, places: FloatArray) -> AnyArray:
        """Return the values at fractional bin positions, interpolated linearly between edges.

        Parameters
        ----------
        places : (...) float64, from 0 to `bins`; NaN gives NaN or NaT.

        Returns
        -------
        (...) float64, or datetime64[us]; inside an unbounded bin, the infinite edge. With a zone,
        objects: datetimes of this zone, or NaT.

        >>> Axis.from_edges([0, 18, 65]).at(np.array([0.5, 2.0]))
        array([ 9., 65.])
        """
        missing = np.isnan(places)
        start = np.minimum(np.where(missing, 0, places).astype(np.int64), self.bins - 1)
        part = places - start
        if self.edges.dtype.kind == "M":
            edges = self.edges.astype("M8[us]")
            whole = np.where(missing, 0, part * (edges[start + 1] - edges[start]).astype(np.int64))
            times = edges[start] + whole.astype("m8[us]")
            if self.zone is None:
                return np.where(missing, np.datetime64("NaT", "us"), times)
            found = np.empty(times.size, object)
            found[:] = local_moments(times.ravel(), self.zone)
            return np.where(missing, np.datetime64("NaT"), found.reshape(times.shape))
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
        return write_axis(self.name, self.edges, self.zone)

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
        return cls(*read_axis(content))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return (
            (self.name, self.zone) == (other.name, other.zone)
            and self.edges.dtype == other.edges.dtype
            and np.array_equal(self.edges, other.edges)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.zone, self.edges.dtype.str, self.edges.tobytes()))

    def __reduce__(self) -> tuple[type["Axis"], tuple[str | None, AnyArray, str | None]]:
        """Copy and unpickle through the constructor, which makes the edges read-only."""
        return Axis, (self.name, self.edges, self.zone)

    def __repr__(self) -> str:
        return f"Axis(name={self.name!r}, {self.in_words})"

    def _as_edge(self, value: Any, parameter: str) -> Any:
        """Return a value in the type of the edges, or None if no edge of that type equals it."""
        if self.edges.dtype.kind == "M":
            if is_number(value) or value is None:
                return None
            instant = self._read_time(value, parameter)
            day, rest = divmod(instant, DAY)
            if self.edges.dtype == np.dtype("M8[us]"):
                return np.datetime64(instant, "us")
            return None if rest else np.datetime64(day, "D")
        if not is_number(value):
            return None
        if self.edges.dtype.kind == "i":
            whole = exact_number(value, parameter)
            inside = whole.denominator == 1 and -(2**63) <= whole < 2**63
            return np.int64(int(whole)) if inside else None
        if isinstance(value, Integral) and abs(int(value)) > 2**53:
            value = int(value)
            return float(value) if abs(value) < 2**1000 and int(float(value)) == value else None
        return float(value)

    def _read_time(self, value: Any, parameter: str) -> int:
        """Return a date or time in microseconds since 1970, as the edges are meant."""
        found = moment(value, parameter)
        if self.zone is not None:
            return in_zone(found, self.zone, parameter).instant
        if found.zone is not None:
            raise ParameterError(parameter, "must have no time zone, as the edges have none")
        return found.instant

    def _edge_text(self, edge: Any) -> str:
        """Return an edge, or a value like one, for an error."""
        if self.zone is not None:
            return local_texts(np.array([edge], "M8[us]"), self.zone)[0]
        if isinstance(edge, np.datetime64):
            return moment_text(int(edge.astype("M8[us]").astype(np.int64)))
        return str(edge).removesuffix(".0")


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
