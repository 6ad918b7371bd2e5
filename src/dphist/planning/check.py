"""Comparing a release with the acceptance criteria of a plan: from released values alone."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.errors import ParameterError
from dphist.planning.criteria import Criterion
from dphist.planning.plan import Plan
from dphist.privacy import ApproxDP, PureDP, delta_of
from dphist.privacy.unit import OF_ROWS
from dphist.ranges.reference import random_boxes
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.label_table import LabelTable
from dphist.release.maker import target_of
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts

_KINDS: dict[str, type[Any]] = {
    "anonymized": AnonymizedHistogram,
    "labels": LabelTable,
    "ranges": RangeHistogram,
    "stream": RunningCounts,
}
_LEVEL = "with a probability of 95 % or more"
_LOOK = "only the data show it: asking them costs budget"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a criterion holds.

    Attributes
    ----------
    criterion : the criterion.
    holds : True or False; None where known noise and released values do not decide it.
    said : the value found and what it is, or what it would take to find it.
    """

    criterion: Criterion
    holds: bool | None
    said: str


def check(release: Release, plan: Plan) -> tuple[Verdict, ...]:
    """Return whether a release meets the acceptance criteria of a plan, one verdict for each.

    Only known noise and released values are used, so checking costs nothing. What they do not
    decide would need another look at the data.

    Parameters
    ----------
    release : of the kind that the plan is for.
    plan : made before the data were read.

    Raises
    ------
    ParameterError
        If the release is of another kind.

    Examples
    --------
    >>> from dphist.planning.make import plan
    >>> from dphist.ranges import AdaptiveTree
    >>> asked = plan("ranges", bins=4, total=100, epsilon=1, criteria=["range error < 50"])
    >>> release = AdaptiveTree(epsilon=1, bins=4).release([20, 30, 40, 10])
    >>> [verdict.holds for verdict in check(release, asked)]
    [True]
    """
    if not isinstance(release, Release):
        raise ParameterError("release", "must be a dphist.Release, as mechanism.release returns it")
    held = [kind for kind, values in _KINDS.items() if isinstance(release.value, values)]
    kind = held[0] if held else None
    if kind != plan.kind:
        what = "of another kind" if kind is None else f"of {kind}"
        raise ParameterError("release", f"must be of {plan.kind}, as the plan is; it is {what}")
    return tuple(_verdict(release, plan, each) for each in plan.criteria)


def _verdict(release: Release, plan: Plan, asked: Criterion) -> Verdict:
    unit = release.guarantee.unit
    if asked.quantity in ("epsilon", "delta") and unit in OF_ROWS and plan.unit not in OF_ROWS:
        # Of one record of many, such numbers promise less than of the one who has them.
        said = f"the release protects {unit}, and the plan is for {plan.unit}"
        return Verdict(asked, False, said)
    found = _FOUND[asked.quantity](release, asked)
    if isinstance(found, str):
        return Verdict(asked, None, found)
    value, said = found
    return Verdict(asked, asked.met_by(value), said)


_Found = tuple[float | Fraction, str] | str
"""A value with what it is, or what it would take to find one."""


def _epsilon(release: Release, _asked: Criterion) -> _Found:
    total = _total(release)
    if total is None:
        return "the guarantee states no epsilon; convert it at a delta of your choice"
    return total.epsilon, f"the release satisfies {total}"


def _delta(release: Release, _asked: Criterion) -> _Found:
    total = _total(release)
    delta = delta_of(release.guarantee) if total is None else delta_of(total)
    return delta, f"the release satisfies {total or release.guarantee}"


def _total(release: Release) -> PureDP | ApproxDP | None:
    """Return what the release costs in all: its target, or a guarantee that states an epsilon."""
    target = target_of(release.mechanism)
    if target is not None and target.releases == 1:
        return target.guarantee
    guarantee = release.guarantee
    return guarantee if isinstance(guarantee, PureDP | ApproxDP) else None


def _labels(release: Release, _asked: Criterion) -> _Found:
    number = _number_of_labels(release.value)
    if isinstance(release.value, AnonymizedHistogram):
        return number, f"the released histogram has {number:,} labels, an estimate"
    return number, f"{number:,} labels were released"


def _number_of_labels(value: Any) -> int:
    if isinstance(value, RunningCounts):
        return len(value.latest)
    if isinstance(value, AnonymizedHistogram):
        return value.labels
    return sum(label is not None for label in value.labels)


def _appears_from(release: Release, _asked: Criterion) -> _Found:
    count = _of_labels(release).appears_from
    if count is None:
        return 0, "all listed labels are released"
    return count, f"a label with a count of {count:,} is released {_LEVEL}"


def _count_error(release: Release, asked: Criterion) -> _Found:
    width = _of_labels(release).half_width
    if width is None:
        return "the release has no counts"
    if not asked.percent:
        return width, f"the noise of a count is within {width:,} records {_LEVEL}"
    counts = _counts(release.value)
    if counts.size == 0:
        return 0, "no label was released"
    smallest = int(np.min(counts))
    if smallest <= 0:
        return "a released count is 0 or less: a share of it says nothing"
    share = Fraction(width, smallest)
    return share, (
        f"the noise of a count is within {width:,} records {_LEVEL}, {_percent(share)} of the "
        f"smallest released count, {smallest:,}"
    )


def _counts(value: Any) -> Any:
    counts = (value.latest if isinstance(value, RunningCounts) else value).counts
    return np.asarray(counts, np.int64)


def _of_labels(release: Release) -> Any:
    return release.mechanism.expected_error()


def _range_error(release: Release, asked: Criterion) -> _Found:
    histogram = release.value
    if histogram.answers is None:
        return "the histogram was made by hand: its error is not known"
    lo, hi = random_boxes(histogram.bins.shape)
    low, high = (ends[0] if len(ends) == 1 else tuple(ends) for ends in (lo, hi))
    error = float(np.sqrt(np.mean(np.square(histogram.error(low, high)))))
    return _of_total(release, asked, error, "a random range is about {} off (root mean square)")


def _profile_error(release: Release, asked: Criterion) -> _Found:
    error = float(release.mechanism.expected_error(shape=release))
    said = "the profile is about {} off in all, as tried on the released one"
    return _of_total(release, asked, error, said)


def _of_total(release: Release, asked: Criterion, error: float, said: str) -> _Found:
    records = said.format(f"{error:,.3g} records" if error < 1000 else f"{error:,.0f} records")
    if not asked.percent:
        return error, records
    total = release.total or 0
    if total <= 0:
        return "the released total is 0: a share of it says nothing"
    return error / total, f"{records}, {_percent(Fraction(error) / total)} of the released total"


def _cut_users(release: Release, asked: Criterion) -> _Found:
    cut = getattr(release.mechanism, "cut_users", None)
    found = None if cut is None else cut(release.noisy)
    if found is None:
        return f"{_LOOK}; release with count_cut_users, and it is known"
    low, high = Fraction(found.low), Fraction(found.high)
    said = f"{_percent(low)} to {_percent(high)} of users were cut, {_LEVEL}"
    if asked.met_by(low) != asked.met_by(high):
        return f"{said}: the noise leaves it open"
    return Fraction(found.share), said


def _hidden(_release: Release, _asked: Criterion) -> _Found:
    return _LOOK


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.3g} %"


_FOUND: dict[str, Callable[[Release, Criterion], _Found]] = {
    "epsilon": _epsilon,
    "delta": _delta,
    "labels": _labels,
    "appears from": _appears_from,
    "count error": _count_error,
    "range error": _range_error,
    "profile error": _profile_error,
    "cut users": _cut_users,
    "missing labels": _hidden,
    "bounding error": _hidden,
    "data": _hidden,
}
