"""A table cut by its users into parts, so that each part can be counted somewhere else.

The part of a user is computed from the user alone: MD5 of the user's text in UTF-8 (of an integer,
its decimal digits; of bytes, the bytes; of a UUID, its text), of which the first 15 hexadecimal
digits are a whole number, modulo the number of parts. So every engine, machine and language agrees.
Users of two types are not written alike, so that one person could be in two parts: each part
records the type of its users, and parts of two types are refused. Privacy does not depend on MD5:
any function of the user would do (docs/understand/proofs/bounding.md, Lemma 8).
"""

from dataclasses import dataclass
from typing import Any

from dphist.counting.engine.rows import Rows
from dphist.counting.reading.source import Source
from dphist.counting.reading.types import UserType, type_of_users
from dphist.errors import ColumnError, ParameterError
from dphist.parameters import whole_number

MOST_PARTS = 1 << 20
"""Maximum number of parts."""

RULE = "md5-60"
"""Name of the rule above; a part that was cut by another rule is refused."""

USER_TYPES: tuple[UserType, ...] = ("text", "integer", "bytes", "uuid")
"""The types of users that may decide about a part."""


@dataclass(slots=True)
class Cut:
    """Which part of the users is counted.

    Attributes
    ----------
    part : from 0 to `parts` - 1.
    parts : number of parts.
    others : "drop" the rows of users of other parts, or "refuse" them.
    user_type : one of `USER_TYPES`, which `check_users` finds; None before.
    """

    part: int
    parts: int
    others: str = "drop"
    user_type: UserType | None = None

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
        raise ParameterError("others", 'must be "drop" or "refuse"')
    return Cut(whole_number(part, "part", 0, number - 1), number, others)


def check_users(source: Source, cut: Cut | None) -> None:
    """Note the type of the users in `cut`, if there is one.

    Raises
    ------
    ColumnError
        If the text of users of this type could differ from engine to engine.
    """
    if cut is None:
        return
    found = type_of_users(source.identity("who"))
    if found not in USER_TYPES:
        raise ColumnError(
            f"column {source.names['who']!r} must hold text, integers, bytes or UUIDs where a "
            "table is cut by its users: cast it to text"
        )
    cut.user_type = found
