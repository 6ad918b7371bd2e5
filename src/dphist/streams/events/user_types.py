"""The type of users: it identifies them together with their value, so a stream has users of one.

A user has the same bytes in every container of one type, but other bytes in another type: the
integer 17 and the text "17" are two users. If a stream had both, one person could be two users.
"""

from dphist.counting.reading.columns import UserType
from dphist.errors import DataError

USER_TYPES: tuple[UserType, ...] = ("text", "integer", "boolean", "date", "uuid")
"""The types that the users of a stream may have."""


def check_user_type(
    held: UserType | None, given: UserType | None, named: str = "these are"
) -> None:
    """Refuse events with users of the type `given` in a stream with users of the type `held`.

    Both are public: a matter of schema, not of who the users are. An error says what has the type
    `given` as `named`.

    Raises
    ------
    DataError
        If the stream has users, and they are of another type.
    """
    if held not in (None, given):
        raise DataError(
            f"users of this stream are of the type {held}, but {named} of the type {given}, so "
            f"that one person could be two users: convert them to the type {held}, written as "
            "before"
        )
