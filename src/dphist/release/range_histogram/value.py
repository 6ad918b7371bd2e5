"""RangeHistogram: released bins of an ordered domain, and answers to range queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray, NumberArray
from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError
from dphist.release.range_histogram.boxes import checked_boxes
from dphist.release.range_histogram.picture import ERRORS, band

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_OUTSIDE_ONE = ("below", "above", "null")
_OUTSIDE_MORE = ("outside", "null")


class Answers(Protocol):
    """A mechanism's answers to ranges; ends are checked, one (q,) array for each axis."""

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return (q,) estimates of the records in each box."""

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (q,) standard errors of these, in records."""

    def interval(self, lo: list[IntArray], hi: list[IntArray]) -> tuple[NumberArray, NumberArray]:
        """Return both ends of (q,) 95 % intervals (default: 1.96 errors to either side)."""
        return band(self.count(lo, hi), ERRORS * self.error(lo, hi))

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeHistogram:
    """A released histogram over one or more ordered axes. Not secret.

    Attributes
    ----------
    bins : (bins,) or (a, b, ...) int64 or float64
        Estimates of the records in each bin. Whole numbers, except for plain least squares.
    axes : tuple of Axis, or None
        The public edges, if the data have edges.
    outside : mapping of str to int
        Released counts of records in no bin, if the data have them: ``below``, ``above`` and
        ``null``; for several axes ``outside`` and ``null``.

    answers : object that answers ranges, or None for a histogram made by hand.

    Notes
    -----
    All methods are post-processing and cost nothing.
    """

    bins: NumberArray
    axes: tuple[Axis, ...] | None = None
    outside: Mapping[str, int] = field(default_factory=dict)
    answers: Answers | None = None

    def __post_init__(self) -> None:
        self.bins.flags.writeable = False

    def __repr__(self) -> str:
        size = " x ".join(f"{size:,}" for size in self.bins.shape)
        return f"RangeHistogram({size} bins)"

    def count(self, lo: Any, hi: Any) -> Any:
        """Return the number of records in bins `lo`, ..., `hi` - 1.

        Parameters
        ----------
        lo, hi : int or arrays of int; for several axes tuples of these, one for each axis
            ``0 <= lo <= hi <= bins``, half-open.

        Returns
        -------
        int or float, or an array of int64 or float64, records.

        Raises
        ------
        ParameterError
            If `lo` or `hi` is out of range.
        """
        return self._asked("count", lo, hi)

    def error(self, lo: Any, hi: Any) -> Any:
        """Return the standard error of `count(lo, hi)`, in records, known from the mechanism.

        1.96 standard errors to either side of the count are a 95 % interval for each single range.
        For least squares the error is exact. For nonnegative estimates it is the error before
        they were made nonnegative, which on sparse data is larger than the true one. For an
        adaptive tree, 1.96 standard errors reach the farther end of `interval`.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        float or array of float64, records.
        """
        return self._asked("error", lo, hi)

    def interval(self, lo: Any, hi: Any) -> tuple[Any, Any]:
        """Return a 95 % interval for the true `count(lo, hi)`, for each single range.

        For most mechanisms it is 1.96 standard errors to either side, cut at 0, or at the count if
        that is negative. For an adaptive tree it assumes nothing about how records are spread: it
        reaches from 1.96 standard errors below the minimum that the noisy counts imply for the
        range to 1.96 above the maximum. The count need not be in its middle.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        low, high : float, or arrays of float64, records.
        """
        low, high = self._asked("interval", lo, hi)
        return low, high

    def _asked(self, what: str, lo: Any, hi: Any) -> Any:
        if self.answers is None:
            raise ParameterError("the histogram was made by hand; release one with a mechanism")
        low, high, single = checked_boxes(self.bins.shape, lo, hi)
        found = getattr(self.answers, what)([e.ravel() for e in low], [e.ravel() for e in high])
        many = found if isinstance(found, tuple) else (found,)
        shaped = [one[0].item() if single else one.reshape(low[0].shape) for one in many]
        return tuple(shaped) if isinstance(found, tuple) else shaped[0]

    def cdf(self) -> FloatArray:
        """Return the share of records below each edge of the single axis, from 0 to 1.

        Returns
        -------
        (bins + 1,) float64, nondecreasing; all NaN if the estimates have no records.

        Raises
        ------
        ParameterError
            If there are several axes.
        """
        bins = len(self._line())
        if self.answers is None:
            sums = np.append(0.0, np.cumsum(self.bins))
        else:
            sums = self.count(0, np.arange(bins + 1)).astype(np.float64)
        below = np.maximum.accumulate(np.maximum(sums, 0))
        with np.errstate(invalid="ignore"):
            share: FloatArray = below / below[-1]
        return share

    def quantile(self, q: Any) -> Any:
        """Return the value below which a share `q` of the records lies, for a single axis.

        Parameters
        ----------
        q : number or array of numbers, from 0 to 1.

        Returns
        -------
        A value, or an array of them, in the unit of the edges (numbers, dates, times) or, for data
        without edges, in bins; interpolated linearly within a bin. NaN or NaT if the estimates
        have no records.

        Raises
        ------
        ParameterError
            If there are several axes, or `q` is not from 0 to 1.
        """
        asked = np.asarray(q, np.float64)
        if not ((asked >= 0) & (asked <= 1)).all():
            raise ParameterError("q must be from 0 to 1")
        share = self.cdf()
        if np.isnan(share[-1]):
            places = np.full(asked.shape, np.nan)
        else:
            # The smallest value with that share: in the bin before the first edge that has it.
            stop = np.searchsorted(share, asked, side="left")
            start = np.maximum(stop - 1, 0)
            inside = (asked - share[start]) / np.where(stop > 0, share[stop] - share[start], 1)
            places = start + inside
        found = places if self.axes is None else self.axes[0].at(places)
        return found[()] if asked.ndim == 0 else found

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each bin: start, stop, count and standard error.

        Columns are ``start, stop, count, error``; for several axes, a start and a stop of each,
        ``start_x, stop_x, ...``, by the columns' names or numbers.
        """
        import pandas as pd

        grid = np.indices(self.bins.shape).reshape(self.bins.ndim, -1)
        columns: dict[str, Any] = {}
        for axis, places in enumerate(grid):
            edges = self.edges[axis]
            suffix = "" if self.bins.ndim == 1 else f"_{self.axis_name(axis)}"
            columns[f"start{suffix}"] = edges[places]
            columns[f"stop{suffix}"] = edges[places + 1]
        columns["count"] = self.bins.ravel()
        if self.answers is not None:
            columns["error"] = self.answers.bin_errors().ravel()
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the bins of one or two axes, and return matplotlib's axes.

        Raises
        ------
        ParameterError
            If there are more than two axes.
        """
        from dphist.release.range_histogram.picture import draw

        return draw(self, ax)

    @property
    def edges(self) -> list[AnyArray]:
        """Return the edges of each axis, (bins + 1,); by default whole numbers from 0."""
        if self.axes is None:
            return [np.arange(size + 1) for size in self.bins.shape]
        return [axis.edges for axis in self.axes]

    def axis_name(self, axis: int) -> str:
        """Return the column's name, or the axis' number."""
        name = None if self.axes is None else self.axes[axis].name
        return str(axis) if name is None else name

    def _line(self) -> NumberArray:
        if self.bins.ndim != 1:
            raise ParameterError("a histogram of several axes has no cdf and no quantiles")
        return self.bins

    def to_content(self) -> dict[str, Any]:
        """Return a JSON object for saving."""
        return {
            "bins": self.bins.tolist(),
            "axes": None if self.axes is None else [axis.to_content() for axis in self.axes],
            "outside": dict(self.outside),
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "RangeHistogram":
        """Make a histogram from the result of `to_content`; ValueError or TypeError otherwise."""
        bins = np.array(content["bins"])
        if bins.dtype.kind not in "if" or bins.size == 0 or not np.isfinite(bins).all():
            raise ValueError("bins are finite numbers")
        saved = content["axes"]
        axes = None if saved is None else tuple(Axis.from_content(axis) for axis in saved)
        if axes is not None and tuple(axis.bins for axis in axes) != bins.shape:
            raise ValueError("the axes do not have as many bins")
        outside = content["outside"]
        names = _OUTSIDE_ONE if bins.ndim == 1 else _OUTSIDE_MORE
        if outside and tuple(sorted(outside)) != tuple(sorted(names)):
            raise ValueError("outside counts are of no known kind")
        if not all(type(count) is int and count >= 0 for count in outside.values()):
            raise ValueError("outside counts are whole numbers, none negative")
        kind = np.dtype(np.float64 if bins.dtype.kind == "f" else np.int64)
        return cls(bins.astype(kind), axes, {name: outside[name] for name in names if outside})
