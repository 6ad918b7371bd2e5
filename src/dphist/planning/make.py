"""Making a plan without data, and comparing a release with the criteria of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from typing import Any

from dphist.document.kind import find_kind_of_value
from dphist.document.planning import LOOK
from dphist.errors import ParameterError, join_arguments
from dphist.parameters import decimal_text
from dphist.planning.criteria import Criterion, criterion
from dphist.planning.declared import count_guessers, find_planning, find_quantities
from dphist.planning.plan import Plan
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import OF_ROWS, as_unit, unit_of_data
from dphist.release.kind_names import kind_name
from dphist.release.release import Release


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a criterion holds.

    Attributes
    ----------
    criterion : the criterion.
    holds : True or False; None if known noise and released values do not decide it.
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
    kind, planned = find_kind_of_value(release.value), kind_name(plan.kind)
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
    found = find_quantities(plan.kind)[asked.quantity].found(release, asked.percent)
    if isinstance(found, str):
        return Verdict(asked, None, found)
    if found.ends is not None and len({asked.is_met_by(end) for end in found.ends}) > 1:
        return Verdict(asked, None, f"{found.said}: the noise leaves it open")
    return Verdict(asked, asked.is_met_by(found.value), found.said)


def plan(
    kind: str, *, unit: str | PrivacyUnit | None = None, criteria: Sequence[str] = (), **asked: Any
) -> Plan:
    """Return what a release would cost and be worth, for several settings. No data are read.

    Parameters
    ----------
    kind : "anonymized", "ranges", "labels", "tables", "groups", "streams", or the name of a
        registered kind
    unit : str or PrivacyUnit, optional
        What is protected, such as "one patient" (default: "one user"; "one record" or "one event"
        where no bound of a user is given).
    criteria : sequence of str
        Acceptance criteria, such as "range error < 0.5 %" or "at least 50 labels". They are saved
        with the plan, and `check` compares a release with them.
    **asked
        Each takes one value, or a list of values to compare:

        - all kinds: `epsilon`, total (default: 0.1, 0.2, 0.5, 1, 2 and 4);
        - labels: `max_labels` (default: 1, 3, 10 and 30), `max_count` (default: 1), `delta`;
        - ranges, anonymized: `sensitivity`, records of one unit (default: 1);
        - tables: `max_rows` (default: 1), `delta`;
        - groups: `max_rows` (default: 1);
        - streams: `max_labels` (default: 1), `max_events` of one user (default: single events are
          protected), `delta`.

        And one value each, all of them public guesses or choices:

        - labels: `users`, how many there are; `noise` (default: "best", of all); `labels`, a
          public list, or how many labels it has, with `correlated` and `sums_of` as in
          `ThresholdHistogram` (True is "auto" there); `users_like`, "flights", "forum" or "shop":
          public examples of how many labels users have, for how much too low counts are; `sums`
          and `sums_share` as in `ThresholdHistogram`, with a row for each column;
        - ranges: `bins`, `total` number of records, `workload`;
        - tables: `keys`, each with its values, their number or how they are found, `tables`,
          `other`, `weights`, `errors` and `ranges` as in `Tables`; `found`, how many values are
          found, by key (default: the most there may be); `total` number of records, `users`. A
          row is one table of a release that has all of them;
        - groups: `bins`, `total` number of records of a usual group;
        - anonymized: `total` number of records, `shape`, see `AdaptiveScan.expected_error`;
        - streams: `horizon`, events of the stream, `readings`, `users`.

        `delta` is by default one that is small for `users` (times that, 0.01), or 1e-6. With
        `labels` it may be 0.

    Returns
    -------
    Plan
        A row for each combination. Every number is one that the mechanism of these settings
        states itself.

    Raises
    ------
    ParameterError
        If a number is out of range, or there are more than 1,000 settings.

    Examples
    --------
    >>> found = plan("labels", epsilon=[1, 2], max_labels=10, delta="1e-6", users=10_000)
    >>> found.column("appears_from"), found.column("guessed_right")
    ([93, 50], [74, 89])
    """
    planning = find_planning(kind)
    kind = kind_name(kind)
    known = signature(planning.settings).parameters
    unknown = [name for name in asked if name not in known]
    if unknown:
        fault = f"is not for a plan of {kind}; it takes " + join_arguments(list(known))
        raise ParameterError(unknown[0], fault, planning.elsewhere.get(unknown[0], ""))
    needed = [n for n, each in known.items() if each.default is each.empty and n not in asked]
    if needed:
        raise ParameterError(tuple(needed), f"must be given for a plan of {kind}: a public number")
    checked = tuple(criterion(each, kind) for each in criteria)
    protected = planning.unit(asked) if unit is None else _name_unit(unit)
    for name, kept in planning.kept.items():
        if asked.get(name) is not None:
            asked[name] = kept(asked[name])
    rows = [
        {**row, "guessed_right": count_guessers(row["epsilon"], row.get("delta", Fraction(0)))}
        for row in planning.settings(**asked)
    ]
    return Plan(
        kind=kind,
        asked={name: _make_plain(value) for name, value in asked.items()},
        unit=protected,
        columns=tuple(rows[0]),
        rows=tuple(tuple(row.values()) for row in rows),
        criteria=checked,
    )


def _name_unit(unit: str | PrivacyUnit) -> PrivacyUnit:
    try:
        named = as_unit(unit)
    except ParameterError:
        named = None
    if named is not None and named.exchanged:
        raise ParameterError(
            "unit",
            "of a plan must not be exchanged: plans are for units that are added or removed",
        )
    if named is not None and named.at_most == 1:
        return unit_of_data(named)
    raise ParameterError(
        "unit", "must be one line of at most 200 characters, such as 'one patient'"
    )


def _make_plain(value: Any) -> Any:
    """Return what was asked for as JSON holds it: exact numbers as text."""
    if isinstance(value, list | tuple | range):
        return [_make_plain(each) for each in value]
    if isinstance(value, Fraction):
        return decimal_text(value, 150)
    return value if isinstance(value, int | str) or value is None else str(value)
