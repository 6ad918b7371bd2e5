"""The number of edges at or below each value of a column, computed exactly for every column type.

Converting a value to the type of the edges could round it. So the edges are converted to the type
of the values, each to the smallest value of that type that is not below it. Then ``value >= edge``
and ``value >= converted`` are equivalent. Dates, timestamps and decimals are searched as the
integers in which Arrow stores them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from dphist.errors import Argument, ColumnError

# Number of edges that are Python numbers at the same time: these take several times the memory.
EDGES_AT_ONCE = 1 << 16
# Up to this number a float64 represents every whole number.
_EXACT_FLOATS = 2**53


def starts_below_all(edges: AnyArray) -> int:
    """Return 1 if the first edge is minus infinity, else 0."""
    return int(edges.dtype.kind == "f" and edges[0] == -np.inf)


def find_step(keys: IntArray) -> int:
    """Return the distance between neighboring keys if they are evenly spaced; otherwise 0.

    Fewer than two keys have no distance, so the result is 0.
    """
    if len(keys) < 2 or int(keys[-1]) - int(keys[0]) > 2**63 - 1:
        return 0
    step = int(keys[1]) - int(keys[0])
    return step if step > 0 and np.all(np.diff(keys) == step) else 0


def ceilings(edges: AnyArray, scale: Fraction | None) -> Iterator[int]:
    """Yield, for each finite edge, the smallest whole number of units that is not below it.

    Parameters
    ----------
    scale : units in 1, for a column of decimals or moments; None for a column of whole numbers.

    Notes
    -----
    A float with a fractional part means its shortest decimal, so 0.1 means 1/10. Then a decimal 0.1
    is not below an edge at 0.1. For columns of whole numbers the two readings agree.
    """
    units = Fraction(1) if scale is None else scale
    above, below = units.numerator, units.denominator
    for start in range(0, len(edges), EDGES_AT_ONCE):
        for edge in edges[start : start + EDGES_AT_ONCE].tolist():
            if isinstance(edge, int):
                yield -(-edge * above // below)
            elif math.isfinite(edge):
                if edge.is_integer():
                    yield -(-int(edge) * above // below)
                elif scale is None:
                    yield math.ceil(edge)
                else:
                    yield math.ceil(Fraction(repr(edge)) * units)


def float_ceilings(edges: AnyArray) -> FloatArray:
    """Return, for each edge, the smallest float64 that is not below it."""
    floats = edges.astype(np.float64)
    if edges.dtype.kind == "i":
        # Only beyond this number can a whole number lie between two floats.
        for place in np.flatnonzero((edges > _EXACT_FLOATS) | (edges < -_EXACT_FLOATS)).tolist():
            if int(floats[place]) < int(edges[place]):
                floats[place] = np.nextafter(floats[place], np.inf)
    return floats


# Two arrays (rows,): the number of edges at or below each value, and whether the row has no value.
# The second is None if every row has a value.
Places: TypeAlias = tuple[IntArray, BoolArray | None]

_LEAST, _MOST = -(2**63), 2**63 - 1
_DIGITS_OF_INT64 = 18
_IN_A_MICROSECOND = {
    "s": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "us": Fraction(1),
    "ns": Fraction(1000),
}
_MICROSECONDS_A_DAY = 86_400 * 10**6


class Search(Protocol):
    """A search among fixed edges for values of one Arrow type."""

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value."""


@dataclass(frozen=True, slots=True)
class WholeSearch:
    """Search for integers of 64 bits, and for types that Arrow stores as such integers.

    Attributes
    ----------
    stored : NumPy type of the numbers in Arrow's buffer. The first bit of a uint64 is flipped: the
        result is an int64, and the order is the same.
    words : numbers in the buffer per value; the first of them is searched (decimals have 2).
    below : number of edges at or below all values of the type.
    keys : (m,) int64, ascending: the other edges, without those above all values of the type.
    step : distance between neighboring keys; 0 if they are not evenly spaced, or fewer than two.
    """

    stored: np.dtype[Any]
    words: int
    below: int
    keys: IntArray
    step: int

    @classmethod
    def from_edges(
        cls, edges: AnyArray, stored: Any, *, scale: Fraction | None = None, words: int = 1
    ) -> "WholeSearch":
        """Prepare edges; an edge of 1 is `scale` units of the column (default: 1)."""
        kind = np.dtype(stored)
        shift = 2**63 if kind == np.uint64 else 0
        if edges.dtype.kind == "i" and scale is None and not shift:
            return cls(kind, words, 0, edges, find_step(edges))
        below, kept = starts_below_all(edges), [np.zeros(0, np.int64)]
        found = ceilings(edges, scale)
        while block := list(islice(found, EDGES_AT_ONCE)):
            keys = [key - shift for key in block]
            below += sum(key <= _LEAST for key in keys)
            kept.append(np.array([key for key in keys if _LEAST < key <= _MOST], np.int64))
        joined = np.concatenate(kept)
        return cls(kind, words, below, joined, find_step(joined))

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value."""
        raw = view_numbers(values, self.stored, self.words)
        if self.stored == np.uint64:
            raw = (raw ^ np.uint64(2**63)).view(np.int64)
        found = self._search(raw.astype(np.int64, copy=False))
        found += self.below
        return found, missing_rows(values)

    def _search(self, values: IntArray) -> IntArray:
        if not self.step:
            return np.searchsorted(self.keys, values, side="right").astype(np.int64, copy=False)
        first, last = self.keys[0], self.keys[-1]
        steps = np.clip(values, first, last)
        # int64 may wrap here. Read as uint64, the result is the difference modulo 2**64.
        with np.errstate(over="ignore"):
            steps -= first
        found = (steps.view(np.uint64) // np.uint64(self.step)).view(np.int64)
        found += 1
        found[values < first] = 0
        return found


@dataclass(frozen=True, slots=True)
class RealSearch:
    """Search for floats; NaN is a missing value.

    Attributes
    ----------
    stored : NumPy type of the values.
    below : 1 if the first edge is minus infinity, otherwise 0.
    keys : (m,) float64, finite, ascending. An edge at plus infinity is left out, so that the
        value plus infinity falls into the last bin.
    """

    stored: np.dtype[Any]
    below: int
    keys: FloatArray

    @classmethod
    def from_edges(cls, edges: AnyArray, stored: Any) -> "RealSearch":
        """Prepare edges."""
        keys = float_ceilings(edges)
        return cls(np.dtype(stored), starts_below_all(keys), keys[np.isfinite(keys)])

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value."""
        raw = view_numbers(values, self.stored).astype(np.float64, copy=False)
        found = np.searchsorted(self.keys, raw, side="right").astype(np.int64, copy=False)
        found += self.below
        missing = np.isnan(raw)
        nulls = missing_rows(values)
        if nulls is not None:
            missing |= nulls
        return found, missing if missing.any() else None


@dataclass(frozen=True, slots=True)
class WideSearch:
    """Search for decimals of up to 38 digits: integers of 128 bits, compared as two halves.

    Attributes
    ----------
    below : number of edges at or below all integers of 128 bits.
    high, low : (m,) int64 and uint64, the halves of the edges, in units of the last digit.
    """

    below: int
    high: IntArray
    low: WordArray

    @classmethod
    def from_edges(cls, edges: AnyArray, scale: Fraction) -> "WideSearch":
        """Prepare edges; an edge of 1 is `scale` units of the column."""
        below = starts_below_all(edges)
        high, low = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
        found = ceilings(edges, scale)
        while block := list(islice(found, EDGES_AT_ONCE)):
            below += sum(key <= -(2**127) for key in block)
            keys = [key for key in block if -(2**127) < key < 2**127]
            high.append(np.array([key >> 64 for key in keys], np.int64))
            low.append(np.array([key & 2**64 - 1 for key in keys], np.uint64))
        return cls(below, np.concatenate(high), np.concatenate(low))

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value; bisects for all values at once."""
        pairs = view_numbers(values, np.dtype(np.int64), 2, whole=True)
        low, high = pairs[:, 0].view(np.uint64), pairs[:, 1]  # Arrow is little-endian
        start = np.zeros(len(high), np.int64)
        stop = np.full(len(high), len(self.high), np.int64)
        for _ in range(len(self.high).bit_length()):
            middle = np.minimum((start + stop) // 2, len(self.high) - 1)
            reached = (self.high[middle] < high) | (
                (self.high[middle] == high) & (self.low[middle] <= low)
            )
            searching = start < stop
            start = np.where(searching & reached, middle + 1, start)
            stop = np.where(searching & ~reached, middle, stop)
        return start + self.below, missing_rows(values)


@dataclass(frozen=True, slots=True)
class NoSearch:
    """Search in a column of Arrow's null type, which has no values."""

    def places(self, values: pa.Array) -> Places:
        """Return that every row is missing its value."""
        return np.zeros(len(values), np.int64), np.ones(len(values), np.bool_)


@dataclass(frozen=True, slots=True)
class DictionarySearch:
    """Search in a dictionary-encoded column."""

    decoded: Search

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each decoded value."""
        return self.decoded.places(values.dictionary_decode())


def search_for(kind: pa.DataType, edges: AnyArray, name: str, zone: str | None) -> Search:
    """Check that a column's type suits its edges, and return the search for it.

    Parameters
    ----------
    kind : type of the column.
    edges : (n + 1,) int64 or float64 (numbers), datetime64[D] (dates) or datetime64[us] (times).
    name : name of the column, for error messages.
    zone : name of the time zone of the edges, in which case they are in UTC; otherwise None.

    Raises
    ------
    ColumnError
        If the type cannot be binned, or does not suit the edges.
    """
    types = pa.types
    if types.is_null(kind):
        return NoSearch()
    if types.is_dictionary(kind):
        return DictionarySearch(search_for(kind.value_type, edges, name, zone))
    numbers = edges.dtype.kind in "if"
    if types.is_integer(kind) or types.is_floating(kind) or _is_decimal(kind):
        if not numbers:
            raise ColumnError(
                f"column {name!r} holds numbers, but its edges are dates or times: give "
                + Argument("edges")
                + " that are numbers, or cast the column to dates or timestamps"
            )
        return _search_of_numbers(kind, edges)
    if not types.is_date(kind) and not types.is_timestamp(kind):
        raise ColumnError(
            f"column {name!r} must hold numbers, dates or timestamps to be binned, not text, truth "
            "values, Python objects or anything else: cast it, in pandas with pd.to_numeric or "
            "pd.to_datetime (decimals have up to 38 digits)"
        )
    if numbers:
        raise ColumnError(
            f"column {name!r} holds dates or timestamps, but its edges are numbers: give "
            + Argument("edges")
            + " that are dates, datetimes or ISO text such as '2024-01-31'"
        )
    days = edges.dtype == np.dtype("datetime64[D]")
    whole = edges.view(np.int64)
    if types.is_date32(kind) or types.is_date64(kind):
        if zone is not None:
            raise ColumnError(
                f"column {name!r} holds dates, which have no time zone, but its edges have one: "
                "leave out " + Argument("tz") + " and the zones of edges"
            )
        if not days:
            raise ColumnError(
                f"column {name!r} holds dates, but its edges are times: give "
                + Argument("edges")
                + " that are dates, or cast the column to timestamps"
            )
        scale = Fraction(_MICROSECONDS_A_DAY, 1000) if types.is_date64(kind) else None
        return WholeSearch.from_edges(whole, f"i{kind.bit_width // 8}", scale=scale)
    if zone is not None and kind.tz is None:
        raise ColumnError(
            f"column {name!r} has no time zone, but its edges have one: leave out "
            + Argument("tz")
            + " and the zones of edges, or set the time zone of the column"
        )
    if zone is None and kind.tz is not None:
        raise ColumnError(
            f"column {name!r} has a time zone, but its edges have none: give "
            + Argument("tz")
            + ", the time zone of the edges, such as 'Europe/Zurich' or 'UTC', or cast the column "
            "to local time without a zone"
        )
    scale = _IN_A_MICROSECOND[kind.unit] * (_MICROSECONDS_A_DAY if days else 1)
    return WholeSearch.from_edges(whole, np.int64, scale=None if scale == 1 else scale)


def view_numbers(
    values: pa.Array, stored: np.dtype[Any], words: int = 1, *, whole: bool = False
) -> AnyArray:
    """Return the numbers in the buffer of an Arrow array; arbitrary numbers for null values.

    Parameters
    ----------
    stored : NumPy type of the numbers.
    words : numbers per value.
    whole : whether to return all numbers of a value, (rows, words), or only the first, (rows,).
    """
    buffer = values.buffers()[1]
    if not len(values) or buffer is None:
        table = np.zeros((len(values), words), stored)
    else:
        start = values.offset * words * stored.itemsize
        table = np.frombuffer(buffer, stored, len(values) * words, start).reshape(-1, words)
    return table if whole else table[:, 0]


def missing_rows(values: pa.Array) -> BoolArray | None:
    """Return which rows are null, or None if no row is."""
    if not values.null_count:
        return None
    missing: BoolArray = values.is_null().to_numpy(zero_copy_only=False)
    return missing


def _search_of_numbers(kind: pa.DataType, edges: AnyArray) -> Search:
    if pa.types.is_integer(kind):
        return WholeSearch.from_edges(edges, kind.to_pandas_dtype())
    if pa.types.is_floating(kind):
        return RealSearch.from_edges(edges, kind.to_pandas_dtype())
    scale = Fraction(10) ** kind.scale
    if kind.bit_width < 128:
        return WholeSearch.from_edges(edges, f"i{kind.bit_width // 8}", scale=scale)
    if kind.precision <= _DIGITS_OF_INT64:
        return WholeSearch.from_edges(edges, np.int64, scale=scale, words=2)
    return WideSearch.from_edges(edges, scale)


def _is_decimal(kind: pa.DataType) -> bool:
    """Whether this is a decimal of at most 128 bits."""
    return bool(pa.types.is_decimal(kind)) and kind.bit_width <= 128
