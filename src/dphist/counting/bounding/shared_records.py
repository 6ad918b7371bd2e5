"""Which records of a user are kept of a table that is counted already, and one for each value.

A key is a digit of the number of a cell, so the records of a user with one value of it are those
whose terms have one digit. What is kept depends on the key of the choice and on the user's own rows
alone (docs/understand/proofs/bounding.md, Lemmas 7 and 13).
"""

import hashlib
from dataclasses import dataclass

from dphist.counting.bounding.bounds import bound_records, format_clamped_sum
from dphist.counting.bounding.problems import WORST
from dphist.counting.checks import LARGEST
from dphist.counting.engine.rows import Rows

_START = -1  # hashed in place of a term, for where a user's share begins; no term is negative


def share_records(rows: Rows, most: int, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, amount, problem), each user bounded.

    A row with a null `who` is a user of its own, of which the first records are kept.

    A user's records stand in a row, term by term, the terms in the order of their hashes. Of T
    records, m = min(most, T) are kept: a ruler with marks T / m apart is laid along them, moved by
    a share of one mark that a hash decides, and the record at each mark is kept. So each record is
    kept with the same chance, a term's count differs from its share of m by less than 1, and no
    step grows with the amounts. All numbers are whole, so no rounding depends on other users.
    """
    own = f"CASE WHEN who IS NULL THEN least(amount, {most}) ELSE amount END AS amount"
    rows = rows.project("who", "term", own, "problem")
    rows = rows.group(["who", "term"], format_clamped_sum(rows, str(LARGEST), "amount"), WORST)
    rows = rows.where("amount > 0 OR problem > 0")
    rows = rows.project("who", "term", "amount", "problem", f"{rows.hash_columns(key)} AS mixed")
    held = rows.project(
        "who", "term AS place", "amount", "problem", "mixed", f"CAST({_START} AS BIGINT) AS term"
    )
    total = held.total("amount")
    reached = (
        f"{total} OVER (PARTITION BY who ORDER BY mixed, place "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    summed = held.project(
        "who",
        "place AS term",
        "amount",
        "problem",
        f"{held.spin(held.hash_columns(key))} AS spun",
        f"{held.wide(reached)} AS reached",
        f"{held.wide(f'least({total} OVER (PARTITION BY who), {LARGEST})')} AS whole",
    )
    # What lies beyond LARGEST records is not kept, so that no product exceeds 2**125.
    ends = [held.wide(f"least({end}, {LARGEST})") for end in ("reached - amount", "reached")]
    kept = held.wide(f"least(whole, {most})")
    before, until = (held.quotient(f"{end} * {kept} + spun % whole", "whole") for end in ends)
    share = f"CASE WHEN who IS NULL THEN amount WHEN amount > 0 THEN {until} - {before} ELSE 0 END"
    return summed.project("term", f"{share} AS amount", "problem").where(
        "amount > 0 OR problem > 0"
    )


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of terms, which are whole numbers: ``term // stride % size``."""

    stride: int
    size: int

    def read(self, rows: Rows) -> str:
        """Return the expression of the digit of `term`."""
        return f"{rows.quotient('term', str(self.stride))} % {self.size}"


def keep_one_each(rows: Rows, digit: Digit, key: str) -> Rows:
    """From (who, term, amount, problem) to the same, with one row of a user for each digit.

    Rows without a user stay: those with a problem, and those of users of their own. The key of this
    choice follows from `key`, and is another one: a row that is the first of many of its digit must
    not come first among those of all digits, too.
    """
    own = hashlib.sha256(key.encode()).hexdigest()[: len(key)]
    kept = bound_records(rows, 1, own, f"who, {digit.read(rows)}")
    return kept.project("who", "term", "CAST(1 AS BIGINT) AS amount", "problem")
