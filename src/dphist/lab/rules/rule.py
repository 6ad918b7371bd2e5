"""`dphist.lab.rule`: a disclosure rule, tested on the table that it is to protect."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dphist.errors import Argument, ParameterError
from dphist.lab.rules.attack import attack
from dphist.lab.rules.counts import OpenCounts, read_counts
from dphist.lab.rules.disclosure_rule import NAMED, DisclosureRule, Named, publish_counts
from dphist.lab.rules.result import Instead, RuleResult
from dphist.parameters import Exact, positive_number, privacy_parameter, whole_number
from dphist.tables import Tables

_MOST_ROWS = 10**6
_MOST_RELEASED = 10**6  # cells


def rule(
    table: object,
    *,
    count: str,
    suppress_below: int = 0,
    round_to: int = 1,
    below_is: int | None = None,
    show_zeros: bool = False,
    complementary: bool = False,
    named: Named | None = None,
    margins: bool = True,
    keys: Sequence[str] | None = None,
    total: str | None = None,
    before: object = None,
    also: object = None,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    max_rows: int = 1,
    seconds: Exact = 60,
    delimiter: str | None = None,
) -> RuleResult:
    """Apply a disclosure rule to a table of counts, and attack what it publishes.

    The table is one that its owner may look at: the result is not private. For each count that the
    rule hides, the smallest and the largest number are found that agree with everything that is
    published: what the rule writes, margins, and the other tables.

    Parameters
    ----------
    table : table or file
        A row for each cell, as `LabelCounts.from_table` takes it. A count that is suppressed
        already, as ``<10``, ``1-9`` or ``*``, is known to be in that interval.
    count : str
        The column of counts.
    suppress_below : int
        Smaller counts are not shown (default: all are).
    round_to : int
        Counts are shown as multiples of this, the nearest one, halves upwards (default: 1, as they
        are).
    below_is : int, optional
        The number that is written for suppressed counts (default: a mark such as <10).
    show_zeros : bool
        Whether a count of 0 is shown, where others below `suppress_below` are not.
    complementary : bool
        Whether a further cell is suppressed where a margin would give the only suppressed one:
        the smallest other cell of this row or column, and so on (secondary suppression).
    named : "ten-five", optional
        A rule by its name, in place of these: below 10 is written 0, others are rounded to 5.
    margins : bool
        Whether sums over each column of keys are published, neither suppressed nor rounded
        (default). Sums over several columns follow from them.
    keys : sequence of str, optional
        The columns that name a cell (default: all but `count`).
    total : str, optional
        The value of a key that marks a row as a sum, such as "Total". It is published as it is.
    before : table or file, optional
        Counts of a part of the same records by the same keys, published by the same rule: such as
        last month's table of counts that only grow. What has come since is a count, too.
    also : table or file, optional
        A table of the same records by other keys, published by the same rule.
    epsilon, delta : numbers, optional
        What a release with this total would show instead (`Tables`).
    max_rows : int
        Records of one person in the table, at most, for that release.
    seconds : number
        Time for the attack. Where it ends first, bounds are wider than they could be.
    delimiter : str, optional
        Field separator of text files.

    Returns
    -------
    RuleResult
        `suppressed` and `rounded` say how many hidden counts follow; `to_pandas()` has each cell.

    Raises
    ------
    ParameterError
        If the rule does nothing, or parameters exclude each other.
    DataError
        If counts are invalid, a cell occurs twice, or the tables contradict each other.

    Notes
    -----
    Bounds are computed for whole numbers, by HiGHS; those of one unknown at a time, so that they
    hold whatever the reader assumes of the other cells.

    >>> table = {"sex": ["f", "m", "f", "m"], "town": ["A", "A", "B", "B"], "n": [25, 3, 30, 14]}
    >>> result = rule(table, count="n", suppress_below=10)
    >>> result.suppressed.counts, result.suppressed.follow
    (1, 1)
    """
    given = (suppress_below, round_to, below_is, show_zeros, complementary)
    chosen = _read_named(named, *given) if named is not None else _read_rule(*given)
    _check_release(epsilon, delta)
    rows = whole_number(max_rows, "max_rows", 1, _MOST_ROWS)
    time = float(positive_number(seconds, "seconds"))
    if isinstance(keys, str):
        raise ParameterError("keys", "must be a list of names of columns")
    names = None if keys is None else tuple(keys)

    def publish(held: object, parameter: str, named: tuple[str, ...] | None) -> Any:
        if held is None:
            return None
        read = read_counts(
            held, count, named, total=total, parameter=parameter, delimiter=delimiter
        )
        return publish_counts(read, chosen, margins=margins)

    published = publish(table, "table", names)
    earlier = publish(before, "before", published.counts.keys)
    other = publish(also, "also", None)
    attacked = attack(published, earlier, other, seconds=time)
    instead = None
    if epsilon is not None:
        instead = _release(published.counts, epsilon, delta, rows, margins=margins)
    return RuleResult(published, attacked, instead, earlier, other)


def _read_rule(
    suppress_below: object, round_to: object, below_is: object, zeros: bool, complementary: bool
) -> DisclosureRule:
    return DisclosureRule.read(
        suppress_below, round_to, below_is, show_zeros=zeros, complementary=complementary
    )


def _read_named(named: object, *given: Any) -> DisclosureRule:
    if named not in NAMED:
        raise ParameterError("named", f"must be one of {', '.join(NAMED)}")
    if given != (0, 1, None, False, False):
        raise ParameterError(
            "named", "is a rule by itself", "leave out the parameters of another, or the name"
        )
    return DisclosureRule(**NAMED[named])  # type: ignore[index]


def _check_release(epsilon: Exact | None, delta: Exact | None) -> None:
    """Find what is wrong with the price of a release before a table is read."""
    if epsilon is None:
        if delta is not None:
            raise ParameterError("delta", "needs " + Argument("epsilon"))
        return
    privacy_parameter(epsilon, "epsilon")
    keys = {"key": ["a", "b"]}  # a release of any table refuses the same
    Tables(epsilon=epsilon, delta=delta, keys=keys, tables=["key"])


def _release(
    counts: OpenCounts, epsilon: Exact, delta: Exact | None, max_rows: int, *, margins: bool
) -> Instead:
    """Return one draw of a release of the same table."""
    if not counts.is_known.all():
        raise ParameterError(
            "epsilon",
            "needs the counts themselves: a release is made of what the table holds before a rule",
            "leave it out for a table in which counts are suppressed already",
        )
    keys = counts.list_values()
    sizes = [len(held) for held in keys.values()]
    if not counts.size or np.prod(np.array(sizes, float)) > _MOST_RELEASED:
        raise ParameterError(
            "epsilon", f"needs a table of 1 to {_MOST_RELEASED:,} combinations of values"
        )
    names = list(keys)
    asked = [names]
    if margins and len(names) > 1:
        asked += [[each for each in names if each != name] for name in names]
    mechanism = Tables(epsilon=epsilon, delta=delta, keys=keys, tables=asked, max_rows=max_rows)
    value = mechanism.release(counts.make_grid()).value
    table = value.table(*names)
    drawn = table.counts.reshape(sizes)[tuple(counts.codes.T)]
    frame = table.to_arrow()
    half = np.max(frame["high"].to_numpy() - frame["low"].to_numpy()) / 2
    return Instead(
        mechanism.guarantee,
        drawn,
        float(half),
        int(np.prod(sizes)),
        max_rows,
        privacy_parameter(epsilon, "epsilon"),
        mechanism.delta,
    )
