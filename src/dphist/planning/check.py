"""Comparing a release with the acceptance criteria of a plan: from released values alone."""

from dataclasses import dataclass

from dphist.document.kinds import kind_of_value
from dphist.document.plan_parts import LOOK
from dphist.errors import ParameterError
from dphist.planning.criteria import Criterion
from dphist.planning.declared import quantities_of
from dphist.planning.plan import Plan
from dphist.privacy.unit import OF_ROWS
from dphist.release.kind_names import kind_name
from dphist.release.release import Release


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
    kind, planned = kind_of_value(release.value), kind_name(plan.kind)
    if kind is None or kind.name != planned:
        what = "of another kind" if kind is None else f"of {kind.name}"
        raise ParameterError("release", f"must be of {planned}, as the plan is; it is {what}")
    return tuple(_verdict(release, plan, each) for each in plan.criteria)


def _verdict(release: Release, plan: Plan, asked: Criterion) -> Verdict:
    unit = release.guarantee.unit
    if asked.quantity in ("epsilon", "delta") and unit in OF_ROWS and plan.unit not in OF_ROWS:
        # Of one record of many, such numbers promise less than of the one who has them.
        said = f"the release protects {unit}, and the plan is for {plan.unit}"
        return Verdict(asked, False, said)
    if asked.quantity == "data":
        return Verdict(asked, None, LOOK)
    found = quantities_of(plan.kind)[asked.quantity].found(release, asked.percent)
    if isinstance(found, str):
        return Verdict(asked, None, found)
    if found.ends is not None and len({asked.met_by(end) for end in found.ends}) > 1:
        return Verdict(asked, None, f"{found.said}: the noise leaves it open")
    return Verdict(asked, asked.met_by(found.value), found.said)
