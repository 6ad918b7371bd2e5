"""Histograms by group to compare on: errors of the ranks of quantiles, and of counts below."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray
from dphist.document import compared
from dphist.document.options import Needs, Option, whole
from dphist.errors import ParameterError
from dphist.groups.comparing.published import google_quantiles, smith_quantiles
from dphist.groups.grouped_counts import GroupedCounts
from dphist.groups.grouping import as_groups
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.mechanism import GroupedHistogram
from dphist.parameters import Exact, privacy_parameter
from dphist.privacy import PrivacyUnit, PureDP
from dphist.release.range_histogram import RangeHistogram
from dphist.tables.command import KEYS_OPTION
from dphist.tables.written_keys import read_keys

SHARES = (0.5, 0.9)
"""The quantiles that are compared."""
LEAST = 50
"""Records of a group whose quantiles are compared: of a smaller one nothing is known."""
_MOST_RECORDS = 10**7  # that a mechanism for comparison only holds one by one

Estimating: TypeAlias = Callable[
    [IntArray, float, Sequence[float], np.random.Generator], Sequence[float]
]


@dataclass(frozen=True, slots=True)
class ForComparison:
    """Quantiles of each group by a published mechanism, to be compared with and not released.

    Groups share no record, so each gets the whole of epsilon.

    Attributes
    ----------
    estimating : called with the counts of a group, epsilon for a record, shares and a generator.
    epsilon : of all groups and shares together, for a unit of `max_rows` records.
    """

    estimating: Estimating
    epsilon: Fraction
    max_rows: int

    @property
    def guarantee(self) -> PureDP:
        """What its paper claims, with noise of real numbers."""
        return PureDP(self.epsilon, PrivacyUnit("record", self.max_rows))

    def estimate(self, counts: IntArray) -> "Quantiles":
        """Return the quantiles of each group, (groups, shares)."""
        each, draw = float(self.epsilon) / self.max_rows, np.random.default_rng()
        return Quantiles(np.array([self.estimating(own, each, SHARES, draw) for own in counts]))


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of each group without a histogram.

    Attributes
    ----------
    places : (groups, shares) float64, among the edges of bins.
    """

    places: FloatArray


class GroupsCase(compared.Case):
    """Counts of bins by group, and the ways to release their quantiles."""

    measures = (
        compared.Measure(
            "rank error of quantiles",
            "% of a group",
            "How far the share of a group's records below a released median or ninetieth "
            f"percentile is from 50 or 90 %: the mean over groups with {LEAST} records or more.",
        ),
        compared.Measure(
            "error below a place",
            "records",
            "The root of the mean squared error of a group's number of records in the first bins, "
            "over all numbers of bins and all groups.",
            root=True,
        ),
    )

    def __init__(self, data: GroupedCounts, opened: IntArray, delta: Any) -> None:
        super().__init__(data, opened, delta)
        self.counts = opened
        """(groups, bins) exact counts."""
        self._below = np.cumsum(self.counts, axis=1)

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, groups, bins and the bound."""
        totals = self.counts.sum(axis=1)
        return {
            "records": f"{int(totals.sum()):,}",
            "groups": f"{len(totals):,}",
            f"groups of {LEAST} or more": f"{int((totals >= LEAST).sum()):,}",
            "bins": f"{self.data.bins:,}",
            "max_rows": str(self.data.max_rows),
        }

    @property
    def digest(self) -> str:
        """Names the counts, the groups and the bound."""
        stated = f"{self.data.groups.to_content()} {self.data.bins} {self.data.max_rows}"
        held = np.ascontiguousarray(self.counts, "<i8")
        return compared.compute_digest([stated.encode(), held.tobytes()])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Return groups, bins, the bound and a delta, which are public."""
        given = {
            "groups": compared.Given(self.data.groups),
            "bins": compared.Given(self.data.bins),
            "max_rows": compared.Given(self.data.max_rows, always=True),
        }
        return given | ({"delta": compared.Given(self.delta, always=True)} if self.delta else {})

    def list_published(self) -> list[compared.Contender]:
        """Return the mechanism with each mechanism of ranges, and quantiles of others."""
        inner = partial(GroupedHistogram, inner="HierarchicalTree")
        leaves = partial(GroupedHistogram, inner="LeafCounts")
        found = [
            self.contender("GroupedHistogram", GroupedHistogram, compared.BLACK),
            self.contender("HierarchicalTree in each group", inner, compared.GRAY, dashed=True),
            self.contender("LeafCounts in each group", leaves, compared.GRAY),
            self._other("exponential mechanism", smith_quantiles, compared.BLUE),
        ]
        if self.counts.sum() <= _MOST_RECORDS:
            found.append(self._other("bounded quantiles", google_quantiles, compared.ORANGE))
        return found

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the groups once."""
        if isinstance(mechanism, ForComparison):
            return compared.make_run(partial(mechanism.estimate, self.counts), self._errors)
        return compared.make_run(partial(mechanism.release, self.data), self._errors)

    def _other(self, name: str, estimating: Estimating, color: str) -> compared.Contender:
        def make(epsilon: Exact, _: object) -> ForComparison:
            exact = privacy_parameter(epsilon, "epsilon")
            return ForComparison(estimating, exact, self.data.max_rows)

        return compared.Contender(
            name, compared.NOTHING, make, color, parameters="for comparison only"
        )

    def _errors(self, value: Any) -> Sequence[float | None]:
        if isinstance(value, Quantiles):
            return self._rank_error(value.places), None
        below, places = _read_released(value, self.counts.shape)
        return self._rank_error(places), float(np.square(below - self._below).mean())

    def _rank_error(self, places: FloatArray) -> float | None:
        """Return the mean error of ranks in percent; 0 in the bin of the true quantile."""
        errors = [
            _find_rank_error(below / below[-1], place, share)
            for below, own in zip(self._below, places, strict=True)
            if below[-1] >= LEAST
            for place, share in zip(own.tolist(), SHARES, strict=True)
        ]
        return 100 * math.fsum(errors) / len(errors) if errors else None


def _find_rank_error(curve: FloatArray, place: float, share: float) -> float:
    """Return how far the shares below the bins around a place are from the share that was asked.

    Parameters
    ----------
    curve : the share of the records in the first 1, 2, ... bins.
    """
    curve, bins = np.append(0.0, curve), len(curve)
    first = min(max(math.ceil(place) - 1, 0), bins - 1)
    last = min(max(math.floor(place) + 1, 1), bins)
    return float(max(curve[first] - share, share - curve[last], 0.0))


def _read_released(value: Any, shape: tuple[int, ...]) -> tuple[AnyArray, FloatArray]:
    """Return the records in the first 1, 2, ... bins of each group, and places of its quantiles."""
    if isinstance(value, HistogramsByGroup):
        # Without edges: quantiles are then places among bins.
        held = [replace(each, axes=()) for each in value.histograms]
        if (len(held), *held[0].counts.shape) == shape:
            ends = np.arange(1, shape[1] + 1)
            below = np.array([each.count_bins(np.zeros_like(ends), ends) for each in held])
            return below, np.array([_read_quantiles(each) for each in held])
    bins = np.asarray(value) if isinstance(value, np.ndarray | list) else np.empty(0)
    if bins.shape != shape or bins.dtype.kind not in "iuf":
        raise ParameterError(
            "mechanisms",
            "for groups must release what GroupedHistogram does, or an array with a row for each "
            "group and a column for each bin",
        )
    curves = np.cumsum(np.maximum(bins, 0), axis=1)
    return np.cumsum(bins, axis=1), np.array([_interpolate(each) for each in curves])


def _interpolate(below: AnyArray) -> list[float]:
    """Return places of quantiles by the records in the first 1, 2, ... bins."""
    curve, bins = np.append(0.0, below), len(below)
    if not curve[-1] > 0:
        return [bins / 2] * len(SHARES)
    return [float(np.interp(share * curve[-1], curve, np.arange(bins + 1))) for share in SHARES]


def _read_quantiles(histogram: RangeHistogram) -> list[float]:
    """Return the quantiles as places among bins, also where they are said to be unknown."""
    found = histogram.quantile([*SHARES])
    guesses = _interpolate(np.nan_to_num(histogram.cdf()[1:]))
    pairs = zip(found, guesses, strict=True)
    return [float(each.value) if each.is_known else guess for each, guess in pairs]


def read_groups_of_rows(
    path: str | Path,
    *,
    group: str,
    axis: list[str],
    count: str | None,
    user: str | None,
    max_rows: int | None,
) -> GroupedCounts:
    """Count the rows of a file by a group and the bins of a column, as these are typed.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
    """
    bins = read_keys(axis, None).keys
    if len(bins) != 1 or bins[0].axis is None:
        raise ParameterError("axis", "must name the column that is binned, with its bins")
    return GroupedCounts.from_table(
        path,
        groups=as_groups(lambda: read_keys([group], None)),
        column=bins[0].name,
        bins=bins[0].axis,
        count=count,
        user=user,
        max_rows=max_rows,
    )


COMPARING = compared.Comparing(
    title="Mechanisms for quantiles of groups",
    data="GroupedCounts",
    takes=lambda data: isinstance(data, GroupedCounts),
    case=GroupsCase,
    file=compared.DataFile(
        option=Option(
            "by_group",
            "a row per record, or several with --count: quantiles of the column of --axis in each "
            "group of --group",
            "FILE",
            rules=(
                Needs(["group"], "the column of groups, with its values"),
                Needs(["axis"], "the column that is binned, with its bins"),
            ),
        ),
        columns=[
            Option("group", "the column of the groups and its public values", "NAME=VALUES"),
            replace(KEYS_OPTION, required=False),
            compared.COUNT,
            compared.USER,
            Option(
                "max_rows",
                "rows of a user that are kept, with --rows or --by-group",
                "M",
                whole,
                least=1,
            ),
        ],
        read=read_groups_of_rows,
    ),
)
