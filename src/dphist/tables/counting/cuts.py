"""A table cut by its users into parts, so that each part can be counted somewhere else.

The part of a user is computed from the user alone: MD5 of the user's text in UTF-8 (of an integer,
its decimal digits; of bytes, the bytes), of which the first 15 hexadecimal digits are a whole
number, modulo the number of parts. So every engine, machine and language agrees. An integer and its
digits as text are in one part, so the type of a column cannot put a user into two. Privacy does not
depend on MD5: any function of the user would do (docs/proofs/bounding.md, Lemma 8).
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dphist.errors import ColumnError, ParameterError
from dphist.parameters import whole_number
from dphist.tables.engine.rows import Rows
from dphist.tables.reading.source import Source
from dphist.tables.reading.types import decoded_type, plain

MOST_PARTS = 1 << 20
"""Maximum number of parts."""

RULE = "md5-60"
"""Name of the rule above; a part that was cut by another rule is refused."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of the users is counted.

    Attributes
    ----------
    part : from 0 to `parts` - 1.
    parts : number of parts.
    others : "drop" the rows of users of other parts, or "refuse" them.
    """

    part: int
    parts: int
    others: str = "drop"

    def condition(self, rows: Rows) -> str:
        """Return the expression that is true for the rows of this part; part 0 has the nulls."""
        return f"coalesce({rows.part('who', self.parts)}, 0) = {self.part}"


def cut_of(part: Any, parts: Any, others: Any) -> Cut:
    """Return a cut, checked.

    Raises
    ------
    ParameterError
    """
    number = whole_number(parts, "parts", 1, MOST_PARTS)
    if others not in ("drop", "refuse"):
        raise ParameterError('others must be "drop" or "refuse"')
    return Cut(whole_number(part, "part", 0, number - 1), number, others)


def check_users(source: Source, cut: Cut | None) -> None:
    """Refuse users of a type whose text could differ from engine to engine.

    Raises
    ------
    ColumnError
    """
    if cut is None:
        return
    kind = plain(decoded_type(source.kinds["who"]))
    if not (pa.types.is_integer(kind) or kind in (pa.string(), pa.binary())):
        raise ColumnError(
            f"column {source.names['who']!r} must hold text, integers or bytes where a table is "
            "cut by its users: cast it to text"
        )
