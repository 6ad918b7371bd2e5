"""BinnedCounts: the number of rows of a table in each bin between public edges.

The counts are secret, for mechanisms only: no repr and no error shows them.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import redact_errors
from dphist.counting.binning.slots import OTHER_SLOTS
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.data.axis.axis import Axis, axes_of_content
from dphist.data.axis.regular import make_grid
from dphist.data.counting import (
    Counting,
    check_treatment,
    make_cut,
    state_treatment,
    unit_of_records,
)
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.partial import Partial, all_parts, no_part
from dphist.data.partial_sums import sum_slots
from dphist.data.uhi import read_uhi
from dphist.errors import ParameterError, UnsupportedError, phrase
from dphist.parameters import whole_number
from dphist.privacy.unit import PrivacyUnit, asserted_unit, unit_of_data
from dphist.signals import stoppable

__all__ = ["BinnedCounts", "bin_counts"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinnedCounts(Secret):
    """Exact counts of the bins of one or more axes, and of the rows in no bin.

    Attributes
    ----------
    counts : (a,) or (a, b, ...) int64, read-only; records per bin. Secret.
    axes : tuple of Axis
        One for each dimension of `counts`; public.
    outside : mapping of str to int, read-only; records in no bin. Secret, like `counts`.
        For one axis: ``below`` the first edge, ``above`` (at the last edge or beyond), and
        ``null`` (no value). For several axes: ``null`` (no value in some column), and
        ``outside`` (a value in every column, and at least one of them in no bin). Empty with
        `counts_users`: each user has at least one record.
    sensitivity : int
        Total of records, in bins or not, that one privacy unit can add or remove; public. A
        mechanism refuses counts with a larger sensitivity than its own.
    unit : PrivacyUnit or None
        The privacy unit: ``one user`` if contributions of users were bounded, ``one row`` if those
        of rows were; None for one record, or for a unit that the caller asserts without a name.
        Public.
    counts_users : bool
        Whether users are counted, each once, and not records: see `count_user_records`. Public.
    null_users : str or None
        "drop" or "separate", if that is done with rows without a user; None if they are refused,
        or no column names users. Public.

    >>> axis = Axis.from_edges([0, 18, 65], "age")
    >>> counts = BinnedCounts(np.array([3, 4]), (axis,), {"below": 0, "above": 1, "null": 2})
    >>> counts
    BinnedCounts(axes=['age'], bins=(2,), sensitivity=1; counts not shown)
    >>> counts.overflow, counts.counts
    (1, array([3, 4]))
    """

    counts: IntArray
    axes: tuple[Axis, ...]
    outside: Mapping[str, int]
    sensitivity: int = 1
    unit: PrivacyUnit | None = None
    counts_users: bool = False
    null_users: str | None = None
    _IN_PLACE_OF_AN_ARRAY = (
        "BinnedCounts must be passed to a ranges mechanism themselves, one at a time: an array "
        "would lose their sensitivity and unit (the data owner may use .counts)"
    )

    def __post_init__(self) -> None:
        axes = tuple(self.axes)
        if not axes or not all(isinstance(axis, Axis) for axis in axes):
            raise ParameterError("axes", "must be dphist.Axis objects, at least one")
        if not isinstance(self.counts, np.ndarray) or self.counts.dtype != np.int64:
            raise ParameterError("counts", "must be an array of int64")
        if self.counts.shape != tuple(axis.bins for axis in axes):
            raise ParameterError(
                "counts", "must have the shape of axes: the number of bins of each"
            )
        names = {"below", "above", "null"} if len(axes) == 1 else {"outside", "null"}
        if self.counts_users:
            names = set()  # each user has at least one record
            if self.sensitivity != 1 or self.null_users == "separate":
                raise ParameterError(
                    "counts_users", "needs a sensitivity of 1, and rows that all have a user"
                )
        if not isinstance(self.outside, Mapping) or set(self.outside) != names:
            raise ParameterError("outside", f"must have the keys {', '.join(sorted(names))}")
        numbers = list(self.outside.values())
        if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise ParameterError("outside", "must hold nonnegative whole numbers")
        if np.any(self.counts < 0):
            raise ParameterError("counts", "must not be negative")
        check_treatment(self.null_users)
        if self.unit is not None:
            object.__setattr__(self, "unit", unit_of_data(self.unit))
        bound = whole_number(self.sensitivity, "sensitivity", 1)
        held = self.counts.copy()
        held.setflags(write=False)
        object.__setattr__(self, "counts", held)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "outside", MappingProxyType(dict(self.outside)))
        object.__setattr__(self, "sensitivity", bound)

    @classmethod
    def from_uhi(
        cls,
        h: Any,
        *,
        edges_are_public: bool,
        sensitivity: int,
        unit: str | PrivacyUnit | None = None,
    ) -> "BinnedCounts":
        """Make one from a histogram of another library; you assert the bounds.

        Parameters
        ----------
        h : histogram of hist, boost-histogram or another library with UHI, or the dictionary of
            its schema. Axes are intervals of numbers or consecutive whole numbers, and do not grow
            with the data; counts are whole numbers. Flow bins become the records in no bin.
        edges_are_public : must be True: the edges are published, so they must have been fixed
            without looking at the data.
        sensitivity : total of records that one privacy unit can add or remove, at most. dphist
            cannot check it.
        unit : what such a unit is, such as "one patient" (default: a number of records).

        Raises
        ------
        ParameterError
            If `edges_are_public` is not True, or `h` is no such histogram.
        DataError
            If a count is negative or 2**62 or more.
        """
        if edges_are_public is not True:
            raise ParameterError(
                "edges_are_public",
                "must be True, which says that the edges were fixed without looking at the data: "
                "they are published",
            )
        bound = whole_number(sensitivity, "sensitivity", 1)
        said = None if unit is None else asserted_unit(unit)
        counts, axes, outside = read_uhi(h)
        return cls(counts, axes, outside, bound, said)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        column: Any,
        user: str,
        max_records: int,
        part: int,
        parts: int,
        others: str = "drop",
        edges: Any = None,
        width: Any = None,
        bins: Any = None,
        start: Any = None,
        stop: Any = None,
        tz: Any = None,
        count: str | None = None,
        null_users: str = "refuse",
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Parameters
        ----------
        part, parts, others : as for `LabelCounts.partial`.
        frame, column, user, max_records, edges, width, bins, start, stop, tz, count, null_users,
        progress, delimiter, unit
            As for `bin_counts`. Rows without a user belong to part 0.

        Raises
        ------
        ParameterError, ColumnError, DataError, InputFileError

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 2, 3], "age": [3, 17, 18, 64]})
        >>> given = {"column": "age", "edges": [0, 18, 65], "user": "who", "max_records": 2}
        >>> cut = [BinnedCounts.partial(rows, **given, part=k, parts=2) for k in range(2)]
        >>> BinnedCounts.merge(cut).counts
        array([2, 2])
        """
        cut = make_cut(user, part, parts, others)
        most = whole_number(max_records, "max_records", 1)
        one, columns = unit_of_records(user, unit, null_users), {"user": user, "count": count}
        reading = Reading(progress=progress, delimiter=delimiter)
        counting = Counting(frame, columns, one, reading, cut)
        grid = make_grid(column, edges=edges, width=width, bins=bins, start=start, stop=stop, tz=tz)
        slots = counting.count_bins(grid, most, null_users)
        kept = np.flatnonzero(slots)
        axes = [axis.to_content() for axis in map(Axis, grid.names, grid.edges, grid.zones)]
        found = pa.table({"slot": kept, "count": slots[kept]})
        said = {"max_records": most, "null_users": null_users}
        return counting.to_partial("bins", found, axes=axes, **said)

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "BinnedCounts":
        """Add the counts of all parts of the users; see `LabelCounts.merge`.

        Raises
        ------
        DataError, InputFileError, ParameterError
        """
        found = all_parts("bins", cls.__name__, parts)
        head = found[0].head
        axes = redact_errors(lambda: axes_of_content(head["axes"]), no_part())
        most = whole_number(head["max_records"], "max_records", 1)
        bins = math.prod(axis.bins for axis in axes)
        slots = sum_slots([each.table for each in found], bins + OTHER_SLOTS)
        unit = PrivacyUnit.from_content(head["unit"])
        return guard(_count_slots(slots, axes, most, unit, head["null_users"]), ledger)

    @property
    def bins(self) -> tuple[int, ...]:
        """The number of bins of each axis."""
        return tuple(axis.bins for axis in self.axes)

    @property
    def underflow(self) -> int:
        """Records below the first edge, for one axis; secret."""
        return self._get_outside("below", "underflow")

    @property
    def overflow(self) -> int:
        """Records at the last edge or beyond, for one axis; secret."""
        return self._get_outside("above", "overflow")

    @property
    def nulls(self) -> int:
        """Records without a value, NaN included; secret."""
        return self.outside.get("null", 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinnedCounts):
            return NotImplemented
        return (
            self.axes == other.axes
            and (self.sensitivity, self.unit) == (other.sensitivity, other.unit)
            and (self.counts_users, self.null_users) == (other.counts_users, other.null_users)
            and np.array_equal(self.counts, other.counts)
            and self.outside == other.outside
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["BinnedCounts"], tuple[Any, ...]]:
        """Copy and unpickle through the constructor, which makes everything read-only."""
        bounds = self.sensitivity, self.unit, self.counts_users, self.null_users
        return BinnedCounts, (self.counts, self.axes, dict(self.outside), *bounds)

    def __repr__(self) -> str:
        names = [axis.name for axis in self.axes]
        unit = "" if self.unit is None else f", unit={str(self.unit)!r}"
        shown = f"axes={names}, bins={self.bins}, sensitivity={self.sensitivity}{unit}"
        return f"BinnedCounts({shown}; counts not shown)"

    def _get_outside(self, key: str, name: str) -> int:
        if len(self.axes) > 1:
            raise UnsupportedError(f"{name} is defined for one axis only: see outside")
        return self.outside.get(key, 0)


@stoppable
def bin_counts(
    frame: Any,
    *,
    column: Any,
    edges: Any = None,
    width: Any = None,
    bins: Any = None,
    start: Any = None,
    stop: Any = None,
    tz: Any = None,
    count: str | None = None,
    user: str | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    progress: Progress | None = None,
    delimiter: str | None = None,
    unit: str | PrivacyUnit | None = None,
    ledger: Guarding | None = None,
) -> BinnedCounts:
    """Count the rows of a table in bins between public edges, in the table's own engine.

    A value is in bin i if ``edges[i] <= value < edges[i + 1]``, compared exactly. A value equal to
    the last edge is above all bins, unless that edge is plus infinity. Every row is counted once,
    in a bin or in `outside`; with `count`, as often as its count says.

    Parameters
    ----------
    frame : dataframe of pandas, Polars (also lazy), DuckDB, Arrow or Spark; a dict of columns, a
        list of dicts; or a file, several files of the same columns, a folder or a pattern,
        counted as one table, or `dphist.Files`: see docs/guides/files.md.
    column : the column to bin, or a list of columns, one for each axis. Columns hold integers,
        floats, decimals of up to 38 digits, dates or timestamps. NaN is a missing value.
    edges : at least two increasing edges: numbers for a column of numbers; dates or ISO text for
        dates; these or datetimes for timestamps; also `pd.date_range(...)`, `pl.date_range(...)`
        and `pl.datetime_range(...)`. A first edge of minus infinity and a last edge of
        plus infinity make open-ended bins. Or an `Axis`. For several columns, a list of these.
    width, start, stop : instead of `edges`, bins of equal width from `start` to `stop`, a whole
        number of widths apart: numbers, or dates, datetimes or ISO text with a width such as
        "15m", "1h", "1d", "1w" or a datetime.timedelta, or "1mo", "1q", "1y" of the calendar. For
        several columns, one value for all or a list with one value for each.
    bins : instead of `width`, the number of bins of equal width from `start` to `stop`.
    tz : the time zone of edges that are dates and times without one: its IANA name, such as
        "Europe/Zurich", or a `zoneinfo.ZoneInfo`. It needs a column with a time zone, of any zone.
        For several columns, one zone for all or a list with one, or None, for each.
    count : column of counts, whole numbers from 0 to 2**62 - 1, if a row stands for that many
        records: a table that is counted already. Without `user` and `max_records`, one of these
        records is protected, and not the row.
    user : column of users. Each user keeps at most `max_records` rows (with `count`, records), each
        with the same chance and independently of other users; those in no bin count as well. The
        result has ``sensitivity=max_records``: the privacy unit is a user, with all of the user's
        rows.
    max_records : required with `user`. With `count` and without `user`, a row counts at most that
        often, and the privacy unit is a row. Refused without both.
    null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as a user
        of its own with at most `max_records` records; the privacy unit is then a user, or a row
        without one. Refused without `user`.
    progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

    Returns
    -------
    BinnedCounts, of int64: secret data, the input of a mechanism.

    Raises
    ------
    ParameterError
        If the edges would depend on the data or make more than 2**26 bins, `frame` is not a
        table, `user` is given without `max_records`, or `max_records` or `null_users` alone.
    ColumnError
        If a column is missing or repeated, does not match the type of its edges, has a time zone
        and its edges have none, or cannot hold users or counts.
    DataError
        If a field of a text file is not a number or time, a row without a user is refused, a count
        is missing, negative or above 2**62 - 1, or the engine fails.
    InputFileError
        If the file is missing or its content does not match its extension.

    Notes
    -----
    **Exactness.** Integers and decimals are not converted to floats, and timestamps are not
    rounded. A float edge is compared with floats as a float64, and with decimals as its shortest
    decimal: 0.1 is 1/10. In text files, whole numbers are exact; other numbers are read as the
    nearest float64.

    **Time zones.** A column with a time zone needs edges with one, and they are compared as
    instants; a column of local times without a zone needs edges without one. In a text file, each
    time has a zone, or none has. With a zone, widths of whole days, weeks and months are steps of
    its calendar, so a day has 23 to 25 hours; a date is the first instant of its day.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [3, 17, 18, 64, 65, 130]})
    >>> counts = bin_counts(rows, column="age", edges=[0, 18, 65, 120])
    >>> counts.counts, counts.overflow
    (array([2, 2, 1]), 1)
    >>> rows["who"] = [1, 1, 1, 2, 3, 3]
    >>> bin_counts(rows, column="age", edges=[0, 18, 65, 120], user="who", max_records=2)
    BinnedCounts(axes=['age'], bins=(3,), sensitivity=2, unit='one user'; counts not shown)
    >>> by_age = pd.DataFrame({"age": [3, 17, 18], "n": [200, 100, 5]})  # counted already
    >>> bin_counts(by_age, column="age", edges=[0, 18, 65], count="n").counts
    array([300,   5])
    """
    if user is not None and max_records is None:
        raise ParameterError(("user", "max_records"), "must be given together, or neither")
    if user is None and count is None and max_records is not None:
        raise ParameterError(
            "max_records", phrase("needs {user}, a column of users, or {count}, one of counts")
        )
    most = 1 if max_records is None else whole_number(max_records, "max_records", 1)
    one = unit_of_records(user, unit, null_users)
    reading = Reading(progress=progress, delimiter=delimiter)
    counting = Counting(frame, {"user": user, "count": count}, one, reading)
    grid = make_grid(column, edges=edges, width=width, bins=bins, start=start, stop=stop, tz=tz)
    slots = counting.count_bins(grid, None if max_records is None else most, null_users)
    protected = None if max_records is None else one
    axes = tuple(map(Axis, grid.names, grid.edges, grid.zones))
    return guard(_count_slots(slots, axes, most, protected, null_users), ledger)


def _count_slots(
    slots: IntArray,
    axes: tuple[Axis, ...],
    most: int,
    unit: PrivacyUnit | None,
    null_users: str,
) -> BinnedCounts:
    """Return the counts of slots; see `dphist.counting.binning.slots`."""
    below, above, nulls = (int(slots[place]) for place in (0, -2, -1))
    several = {"outside": below, "null": nulls}
    outside = {"below": below, "above": above, "null": nulls} if len(axes) == 1 else several
    shape = tuple(axis.bins for axis in axes)
    stated = state_treatment(null_users)
    counts = slots[1:-2].reshape(shape)
    return BinnedCounts(counts, axes, outside, most, unit, null_users=stated)
