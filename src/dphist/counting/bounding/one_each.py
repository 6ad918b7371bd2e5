"""One record a user for each value of a key: ahead of the bound on all records of the user.

A key is a digit of the number of a cell, so the records of a user with one value of it are those
whose terms have one digit. One of them is kept, each with the same chance. What is kept depends on
the key of the choice and on the user's own rows alone (docs/understand/proofs/bounding.md, Lemma
13).
"""

import hashlib
from dataclasses import dataclass

from dphist.counting.bounding.bounds import bound_records
from dphist.counting.engine.rows import Rows


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
