"""Counts of terms, which are whole numbers found in the rows, after each user or row was bounded.

A row is one record or, where the rows have amounts, that many. A user with more records than the
maximum keeps some of them, and which depends only on the key and on this user's own rows.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.bounding.bounds import (
    Bounds,
    bound_records,
    check_rows,
    clamped_sum,
    fresh_key,
)
from dphist.counting.bounding.contributions import MISSING_USERS
from dphist.counting.bounding.cuts import Cut
from dphist.counting.bounding.kept import count_kept, hold_checked
from dphist.counting.bounding.problems import WORST, raise_problem
from dphist.counting.checks import LARGEST
from dphist.counting.engine.rows import DuckRows, Rows
from dphist.counting.reading.columns import Wanted
from dphist.counting.reading.source import Source
from dphist.errors import ParameterError

# Terms, their counts, and the largest problem number.
_Found: TypeAlias = tuple[IntArray, IntArray, int]

_START = -1  # hashed in place of a term, for where a user's share begins; no term is negative


def count_bounded_terms(
    opened: Callable[[], Rows],
    run: Callable[[Callable[[], _Found]], _Found],
    source: Source,
    *,
    wanted: Sequence[Wanted],
    terms: int,
    max_records: int | None,
    key: str | None = None,
    cut: Cut | None = None,
) -> tuple[IntArray, IntArray]:
    """Bound each user, or each row, to `max_records` records, then count the terms.

    Parameters
    ----------
    opened : function
        Returns rows of term and the `wanted` columns; term is an int64 from 0 to ``terms - 1``,
        never null. Called once.
    run : function
        Calls a function that evaluates rows, and drops the engine's messages.
    source : the source of the rows.
    wanted : the columns ``amount``, how many records a row is, and ``who``, in this order, or one
        of them. Without ``who``, each row is bounded by itself.
    terms : the number of terms.
    max_records : maximum number of records; None for no maximum, without ``who``.
    key : 32 hexadecimal digits
        Key for the choice of records (default: drawn at random).
    cut : the part of the users that is counted; None for all of them.

    Returns
    -------
    terms, counts : (d,) int64
        The terms kept, in any order, and the count of each, at most 2**62 - 1.

    Raises
    ------
    ParameterError
        If there are users, and no maximum of their records.
    DataError
        If a user is missing, an amount is missing, negative or above 2**62 - 1, or the engine
        fails.
    """
    roles = {column.role for column in wanted}
    most = LARGEST if max_records is None else min(max_records, LARGEST)
    alone, salt = "who" not in roles, key or fresh_key()
    if max_records is None and not alone:
        raise ParameterError("max_records", "must be given where there are users")

    def counted() -> _Found:
        rows = opened()
        checked = check_rows(rows, wanted, Bounds(None, most if alone else LARGEST, cut=cut))
        if isinstance(checked, DuckRows) and "amount" not in roles:
            held, worst = hold_checked(checked)
            counts = np.zeros(0, np.int64) if worst else count_kept(held, most, salt, terms)
            return np.arange(len(counts)), counts, worst
        if "amount" not in roles:
            kept = bound_records(checked, most, salt).group(["term"], "count(*) AS records", WORST)
        else:
            bounded = checked if alone else _share_records(checked, most, salt)
            kept = bounded.group(["term"], clamped_sum(rows, str(LARGEST), "records"), WORST)
        found = kept.to_arrow(["term", "records", "problem"])
        worst = pc.max(found["problem"]).as_py() or 0
        return found["term"].to_numpy(), found["records"].to_numpy(), worst

    found, counts, worst = run(counted)
    raise_problem(
        worst,
        wanted,
        source.wall.problem,
        from_text=source.from_text,
        missing=MISSING_USERS,
    )
    return found, counts


def _share_records(rows: Rows, most: int, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, amount, problem), each user bounded.

    A user's records stand in a row, term by term, the terms in the order of their hashes. Of T
    records, m = min(most, T) are kept: a ruler with marks T / m apart is laid along them, moved by
    a share of one mark that a hash decides, and the record at each mark is kept. So each record is
    kept with the same chance, a term's count differs from its share of m by less than 1, and no
    step grows with the amounts. All numbers are whole, so no rounding depends on other users.
    """
    rows = rows.group(["who", "term"], clamped_sum(rows, str(LARGEST), "amount"), WORST)
    rows = rows.where("amount > 0 OR problem > 0")
    rows = rows.project("who", "term", "amount", "problem", f"{rows.hashed(key)} AS mixed")
    held = rows.project(
        "who", "term AS place", "amount", "problem", "mixed", f"CAST({_START} AS BIGINT) AS term"
    )
    total = held.total("amount")
    reached = (
        f"{total} OVER (PARTITION BY who ORDER BY mixed, place "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    summed = held.project(
        "place AS term",
        "amount",
        "problem",
        f"{held.spun(held.hashed(key))} AS spun",
        f"{held.wide(reached)} AS reached",
        f"{held.wide(f'least({total} OVER (PARTITION BY who), {LARGEST})')} AS whole",
    )
    # What lies beyond LARGEST records is not kept, so that no product exceeds 2**125.
    ends = [held.wide(f"least({end}, {LARGEST})") for end in ("reached - amount", "reached")]
    kept = held.wide(f"least(whole, {most})")
    before, until = (held.quotient(f"{end} * {kept} + spun % whole", "whole") for end in ends)
    share = f"CASE WHEN amount > 0 THEN {until} - {before} ELSE 0 END AS amount"
    return summed.project("term", share, "problem").where("amount > 0 OR problem > 0")
