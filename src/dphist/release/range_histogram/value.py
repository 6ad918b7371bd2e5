"""RangeHistogram: released bins of an ordered domain, and answers to range queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, NumberArray
from dphist.counting import LARGEST
from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.document import read_numbers
from dphist.release.range_histogram.answers import (
    Answers,
    PartAnswers,
    part_of_axes,
    part_of_bins,
)
from dphist.release.range_histogram.bin_numbers import BinNumbers
from dphist.release.range_histogram.boxes import check_boxes
from dphist.release.range_histogram.distribution import Distribution
from dphist.release.range_histogram.exchange import Exchanged
from dphist.release.tabular import Released, pandas_module
from dphist.shown import show_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeHistogram(Distribution, Exchanged, Released):
    """A released histogram over one or more ordered axes. Not secret.

    Attributes
    ----------
    counts : (bins,) or (a, b, ...) int64 or float64
        Estimates of the records in each bin. Whole numbers, except for plain least squares.
    axes : tuple of Axis
        The public edges; those of `BinNumbers`, 0, 1, 2, ..., if the data have none.
    outside : mapping of str to int
        Released counts of records in no bin, if the data have them: ``below``, ``above`` and
        ``null``; for several axes ``outside`` and ``null``.

    answers : object that answers ranges, or None for a histogram made by hand.

    Notes
    -----
    All methods are post-processing and cost nothing.

    Questions go by value: the arguments of `count`, `error`, `interval` and `slice` are edges, in
    the unit of the data. Those of `count_bins` and the others with this ending are positions of
    bins. Bins without edges are numbered from 0, and their numbers are their edges.
    """

    counts: NumberArray
    axes: tuple[Axis, ...] = ()
    outside: Mapping[str, int] = field(default_factory=dict)
    answers: Answers | None = None

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False
        if not self.axes:
            object.__setattr__(self, "axes", tuple(map(BinNumbers, self.counts.shape)))

    def __repr__(self) -> str:
        size = " x ".join(f"{size:,}" for size in self.counts.shape)
        return f"RangeHistogram({size} bins)"

    def count(self, start: Any, stop: Any) -> Any:
        """Return the number of records from one edge to another.

        Parameters
        ----------
        start, stop : edges, or lists or arrays of them; for several axes tuples of these, one for
            each axis. Records are counted from `start` on and below `stop`. Numbers for edges that
            are numbers; dates, datetimes or ISO text for others. Positions of bins are for
            `count_bins`.

        Returns
        -------
        int or float, or an array of int64 or float64, records.

        Raises
        ------
        ParameterError
            If a value is no edge, which the error tells the nearest edges of, or `stop` is before
            `start`.

        >>> from dphist import LeafCounts, bin_counts
        >>> people = {"age": [20, 40, 41, 70]}
        >>> counted = bin_counts(people, column="age", edges=[0, 18, 65, 120])
        >>> ages = LeafCounts(epsilon=50, bins=3).release(counted).value
        >>> ages.count(18, 65), ages.count_bins(1, 2), ages.counts
        (3, 3, array([0, 3, 1]))
        """
        return self._ask("count", *self._positions(start, stop), ("start", "stop"))

    def error(self, start: Any, stop: Any) -> Any:
        """Return the standard error of `count(start, stop)`, in records, known from the mechanism.

        1.96 standard errors to either side of the count are a 95 % interval for each single range.
        For least squares the error is exact. For nonnegative estimates it is the error before
        they were made nonnegative, which on sparse data is larger than the true one. For an
        adaptive tree, 1.96 standard errors reach the farther end of `interval`.

        Parameters
        ----------
        start, stop
            As for `count`.

        Returns
        -------
        float or array of float64, records.
        """
        return self._ask("error", *self._positions(start, stop), ("start", "stop"))

    def interval(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """Return a 95 % interval for the true `count(start, stop)`, for each single range.

        For most mechanisms it is 1.96 standard errors to either side, cut at 0, or at the count if
        that is negative. For an adaptive tree it assumes nothing about how records are spread: it
        reaches from 1.96 standard errors below the minimum that the noisy counts imply for the
        range to 1.96 above the maximum. The count need not be in its middle.

        Parameters
        ----------
        start, stop
            As for `count`.

        Returns
        -------
        low, high : float, or arrays of float64, records.
        """
        low, high = self._ask("interval", *self._positions(start, stop), ("start", "stop"))
        return low, high

    def count_bins(self, lo: Any, hi: Any) -> Any:
        """Return the number of records in the bins at positions `lo`, ..., `hi` - 1.

        Parameters
        ----------
        lo, hi : int or arrays of int, ``0 <= lo <= hi <= bins``; for several axes tuples of these.

        Returns
        -------
        int or float, or an array of int64 or float64, records.

        Raises
        ------
        ParameterError
            If they are no positions of bins.
        """
        return self._ask("count", lo, hi)

    def error_bins(self, lo: Any, hi: Any) -> Any:
        """Return the standard error of `count_bins(lo, hi)`; see `error`."""
        return self._ask("error", lo, hi)

    def interval_bins(self, lo: Any, hi: Any) -> tuple[Any, Any]:
        """Return a 95 % interval for the true `count_bins(lo, hi)`; see `interval`."""
        low, high = self._ask("interval", lo, hi)
        return low, high

    def marginal(self, *axes: str | int) -> "RangeHistogram":
        """Return the histogram over some of the axes, in the order given; the others are summed.

        Parameters
        ----------
        axes : names or numbers of the axes to keep; at least one.

        Returns
        -------
        RangeHistogram
            Its errors and intervals are those that the mechanism gives for the same records. Of
            records in no bin it has no counts, as they are known for all axes together only.

        Raises
        ------
        ParameterError
            If there is no such axis, or one is named twice.
        """
        kept = tuple(self._find_axis(axis) for axis in axes)
        if not kept or len(set(kept)) < len(kept):
            raise ParameterError("axes", "must name at least one axis, and each once")
        return self._part(kept, (0,) * self.counts.ndim, self.counts.shape)

    def slice(self, start: Any, stop: Any, axis: str | int = 0) -> "RangeHistogram":
        """Return the histogram of the bins from one edge of an axis to another.

        Parameters
        ----------
        start, stop : as for `count`, for this axis; at least one bin.
        axis : name or number of the axis (default: the first). All bins of the others are kept.

        Returns
        -------
        RangeHistogram
            As for `marginal`. Bins without edges are numbered from 0 again.

        Raises
        ------
        ParameterError
            If there is no such axis, or `start` and `stop` are not the ends of some bins.
        """
        number = self._find_axis(axis)
        low, high = (
            self.axes[number].positions(end, name)
            for end, name in ((start, "start"), (stop, "stop"))
        )
        if not (isinstance(low, int) and isinstance(high, int) and low < high):
            raise ParameterError(("start", "stop"), "must be the ends of at least one bin")
        first, last = [0] * self.counts.ndim, list(self.counts.shape)
        first[number], last[number] = low, high
        return self._part(tuple(range(self.counts.ndim)), tuple(first), tuple(last))

    def _part(
        self, kept: tuple[int, ...], start: tuple[int, ...], stop: tuple[int, ...]
    ) -> "RangeHistogram":
        axes = part_of_axes(self.axes, kept, start, stop) if self.has_edges else ()
        if self.answers is None:
            return RangeHistogram(part_of_bins(self.counts, kept, start, stop), axes)
        answers = PartAnswers(self.answers, kept, start, stop)
        return RangeHistogram(answers.counts(), axes, {}, answers)

    def _find_axis(self, axis: str | int) -> int:
        """Return the number of an axis that is given by its name or number."""
        names = [self.axis_name(number) for number in range(self.counts.ndim)]
        if isinstance(axis, str) and names.count(axis) == 1:
            return names.index(axis)
        if not isinstance(axis, str | bool) and axis in range(self.counts.ndim):
            return int(axis)
        listed = ", ".join(map(repr, names))
        raise ParameterError(
            "axis", f"must be the name or number of an axis; the names are {listed}"
        )

    def _positions(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """Return the positions of edges; for several axes tuples of them."""
        if len(self.axes) == 1:
            axis = self.axes[0]
            return axis.positions(start, "start"), axis.positions(stop, "stop")
        ends = []
        for name, end in (("start", start), ("stop", stop)):
            if not isinstance(end, tuple | list) or len(end) != len(self.axes):
                many = f"one entry for each of {len(self.axes)} axes"
                raise ParameterError(name, f"must be a tuple with {many}")
            each = zip(self.axes, end, strict=True)
            ends.append(tuple(axis.positions(value, name) for axis, value in each))
        return ends[0], ends[1]

    def _ask(self, what: str, lo: Any, hi: Any, names: tuple[str, str] = ("lo", "hi")) -> Any:
        if self.answers is None:
            raise UnsupportedError("the histogram was made by hand; release one with a mechanism")
        low, high, single = check_boxes(self.counts.shape, lo, hi, names)
        found = getattr(self.answers, what)([e.ravel() for e in low], [e.ravel() for e in high])
        many = found if isinstance(found, tuple) else (found,)
        shaped = [one[0].item() if single else one.reshape(low[0].shape) for one in many]
        return tuple(shaped) if isinstance(found, tuple) else shaped[0]

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each bin: start, stop, count and standard error.

        Columns are ``start, stop, count, error``; for several axes, a start and a stop of each,
        ``start_x, stop_x, ...``, by the columns' names or numbers. Times keep their time zone.
        """
        pandas = pandas_module()

        def with_zone(edges: AnyArray, zone: str) -> Any:
            return pandas.Series(edges).dt.tz_localize("UTC").dt.tz_convert(zone)

        frame: pd.DataFrame = pandas.DataFrame(self._columns(with_zone))
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the columns of `to_pandas` as an Arrow table; dates are dates."""
        return pa.table(
            self._columns(lambda edges, zone: pa.array(edges).view(pa.timestamp("us", zone)))
        )

    def _columns(self, with_zone: Callable[[AnyArray, str], Any]) -> dict[str, Any]:
        """Return the columns; `with_zone` makes one of instants in UTC and the name of a zone."""
        grid = np.indices(self.counts.shape).reshape(self.counts.ndim, -1)
        columns: dict[str, Any] = {}
        for axis, places in enumerate(grid):
            edges, zone = self.edges[axis], self.axes[axis].zone
            suffix = "" if self.counts.ndim == 1 else f"_{self.axis_name(axis)}"
            for name, found in (("start", edges[places]), ("stop", edges[places + 1])):
                columns[f"{name}{suffix}"] = found if zone is None else with_zone(found, zone)
        columns["count"] = self.counts.ravel()
        if self.answers is not None:
            columns["error"] = self.answers.bin_errors().ravel()
        return columns

    def plot(
        self, ax: "Axes | None" = None, *, color: str | None = None, label: str | None = None
    ) -> "Axes":
        """Draw the bins of one axis as steps with a 95 % band, or those of two axes as a map.

        It is the chart of a page: neighboring bins are drawn together where there are many, and of
        a long axis the part that holds nearly all records. Axes that hold a plot are extended.

        Parameters
        ----------
        ax : where to draw (default: new axes).
        color : of the steps and their band, as matplotlib reads it.
        label : of the steps in a legend (default: "Released").

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        UnsupportedError
            If there are more than two axes.
        """
        axes: Axes = show_by("plot_value", self, ax=ax, color=color, label=label)
        return axes

    @property
    def has_edges(self) -> bool:
        """Whether the data have edges; without them, bins are known by their numbers alone."""
        return not isinstance(self.axes[0], BinNumbers)

    @property
    def edges(self) -> list[AnyArray]:
        """Return the edges of each axis, (bins + 1,); by default whole numbers from 0.

        Those of an axis with a time zone are in UTC; its `local_edges` are what clocks show.
        """
        return [axis.edges for axis in self.axes]

    def axis_name(self, axis: int) -> str:
        """Return the column's name, or the axis' number."""
        name = self.axes[axis].name
        return str(axis) if name is None else name

    def infer_again(self, decoded: "RangeHistogram") -> "RangeHistogram":
        """Return what was decoded from noisy counts, with the axes and outside counts of this."""
        return replace(decoded, axes=self.axes, outside=self.outside)

    def complete(self, decoded: "RangeHistogram") -> "RangeHistogram":
        """Return this histogram with what answers ranges, as decoded from its noisy counts."""
        if decoded.counts.shape != self.counts.shape:
            raise ValueError("the bins are not those of the noisy counts")
        return replace(self, answers=decoded.answers)

    def to_content(self) -> dict[str, Any]:
        """Return a JSON object for saving."""
        return {
            "bins": self.counts.tolist(),
            "axes": [axis.to_content() for axis in self.axes] if self.has_edges else None,
            "outside": dict(self.outside),
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "RangeHistogram":
        """Make a histogram from the result of `to_content`; ValueError or TypeError otherwise."""
        bins = read_numbers(content["bins"])
        if bins.size == 0 or not (np.abs(bins) < LARGEST).all():
            raise ValueError("bins are numbers below 2**62")
        saved = content["axes"]
        axes = () if saved is None else tuple(map(Axis.from_content, saved))
        if saved is not None and tuple(axis.bins for axis in axes) != bins.shape:
            raise ValueError("the axes do not have as many bins")
        outside = content["outside"]
        names = ("below", "above", "null") if bins.ndim == 1 else ("outside", "null")
        if outside and sorted(outside) != sorted(names):
            raise ValueError("outside counts are of no known kind")
        if not all(type(count) is int and count >= 0 for count in outside.values()):
            raise ValueError("outside counts are whole numbers, none negative")
        return cls(bins, axes, {name: outside[name] for name in names if outside})
