"""Numbers, dates and times read from the text of a CSV file.

The accepted forms are fixed here. They are fewer than those of Arrow, which reads 0x1F as a number.
A field of any other form is a record that is invalid in itself, so the file is refused: leaving the
record out silently would miscount, and treating it as missing would hide a wrong column.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.edges import Places, RealSearch, WholeSearch, WideSearch, missing_rows

_WHOLE = r"^[+-]?0*[0-9]{1,18}$"
_LONG = r"^[+-]?[0-9]{19,38}$"
_LONG_TYPE, _SHORTEST_LONG = pa.decimal128(38, 0), 19
_REAL = (
    r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?|[iI][nN][fF]([iI][nN][iI][tT][yY])?"
    r"|[nN][aA][nN])$"
)
_MOMENT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
)
_ZONE = r":[0-9.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_BEYOND_MICROSECONDS = r"(\.[0-9]{6})[0-9]+"
_LENGTH_TO_MICROSECONDS = len("2024-01-31T12:30:15.123456")


class UnreadableText(Exception):  # noqa: N818 - internal, so not one of the library's errors
    """A field cannot be read. The exception has no message, because it would quote a record."""


@dataclass(slots=True)
class NumberTextSearch:
    """Search in a column of numbers written as text.

    Whole numbers of up to 38 digits are searched exactly. Other numbers are searched as the nearest
    float64, as other readers of text files represent them.

    Attributes
    ----------
    edges : (n + 1,) int64 or float64.
    whole, real : searches for whole numbers of up to 18 digits, and for floats.
    long : the search for longer whole numbers; None until the first of them, which are rare.
    """

    edges: AnyArray
    whole: WholeSearch
    real: RealSearch
    long: WideSearch | None = None

    @classmethod
    def from_edges(cls, edges: AnyArray) -> "NumberTextSearch":
        """Prepare edges that are numbers."""
        return cls(
            edges, WholeSearch.from_edges(edges, np.int64), RealSearch.from_edges(edges, np.float64)
        )

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value.

        Raises
        ------
        UnreadableText
            If a field is not a number.
        """
        text = _drop_plus(pc.ascii_trim_whitespace(values))
        is_whole = pc.match_substring_regex(text, _WHOLE)
        wholes = pc.if_else(is_whole, text, None).cast(pa.int64())
        found, missing = self.whole.places(wholes)
        if wholes.null_count == values.null_count:
            return found, missing
        is_other = pc.invert(is_whole)
        rows, others = _rows(is_other), text.filter(is_other)
        if pc.any(pc.greater_equal(pc.binary_length(others), _SHORTEST_LONG)).as_py():
            is_long = pc.match_substring_regex(others, _LONG)
            longs = rows[_rows(is_long)]
            if self.long is None:
                self.long = WideSearch.from_edges(self.edges, Fraction(1))
            found[longs], _ = self.long.places(_cast(others.filter(is_long), _LONG_TYPE))
            is_other = pc.invert(is_long)
            rows, others = rows[_rows(is_other)], others.filter(is_other)
        if pc.any(pc.invert(pc.match_substring_regex(others, _REAL))).as_py():
            raise UnreadableText
        found[rows], unreal = self.real.places(_floats(others))
        nulls = missing_rows(values)
        missing = np.zeros(len(values), np.bool_) if nulls is None else nulls.copy()
        if unreal is not None:
            missing[rows] = unreal
        return found, missing


@dataclass(frozen=True, slots=True)
class MomentTextSearch:
    """Search in a column of dates, or dates with times, written as text in ISO 8601.

    Attributes
    ----------
    moments : search for moments in microseconds.
    zoned : whether the edges have a time zone; then each time must have one, and otherwise none.
    """

    moments: WholeSearch
    zoned: bool

    @classmethod
    def from_edges(cls, edges: AnyArray, zoned: bool) -> "MomentTextSearch":
        """Prepare edges that are dates or datetimes."""
        return cls(WholeSearch.from_edges(edges.astype("M8[us]").view(np.int64), np.int64), zoned)

    def places(self, values: pa.Array) -> Places:
        """Return the number of edges at or below each value.

        Raises
        ------
        UnreadableText
            If a field is not a date or time, or has a time zone and the edges none, or vice versa.
        """
        text = pc.ascii_trim_whitespace(values)
        if pc.any(pc.invert(pc.match_substring_regex(text, _MOMENT))).as_py():
            raise UnreadableText
        if pc.any(pc.greater(pc.binary_length(text), _LENGTH_TO_MICROSECONDS)).as_py():
            text = pc.replace_substring_regex(text, _BEYOND_MICROSECONDS, r"\1")
        if pc.any(pc.xor(pc.match_substring_regex(text, _ZONE), self.zoned)).as_py():
            raise UnreadableText
        times = _cast(text, pa.timestamp("us", "UTC" if self.zoned else None))
        return self.moments.places(times.cast(pa.int64()))


def read_real_texts(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return numbers written as text without spaces, and the nearest floats; both null if missing.

    Raises
    ------
    UnreadableText
        If a field is not a number.
    """
    text = _drop_plus(pc.ascii_trim_whitespace(values))
    if pc.any(pc.invert(pc.match_substring_regex(text, _REAL))).as_py():
        raise UnreadableText
    return text, _floats(text)


def _rows(chosen: pa.Array) -> IntArray:
    """Return the rows in which a condition is true, rather than false or null."""
    return np.flatnonzero(pc.fill_null(chosen, False).to_numpy(zero_copy_only=False))


def _drop_plus(text: pa.Array) -> pa.Array:
    """Remove one plus sign before a number, which not every version of Arrow reads."""
    if not pc.any(pc.starts_with(text, "+")).as_py():
        return text
    return pc.replace_substring_regex(text, r"^\+([0-9.iInN])", r"\1")


def _floats(text: pa.Array) -> pa.Array:
    """Read floats. A sign before nan is removed: it has no meaning, and Arrow does not read it."""
    if pc.any(pc.starts_with(text, "-n", ignore_case=True)).as_py():
        text = pc.replace_substring_regex(text, r"^-([nN])", r"\1")
    return _cast(text, pa.float64())


def _cast(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """Read text as values of a type; this can still fail, as for the 31st of February."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        pass
    raise UnreadableText
