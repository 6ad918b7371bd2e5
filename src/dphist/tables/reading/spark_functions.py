"""Functions of Spark that a caller has replaced by own ones of the same name.

Before 4.3, a function that is registered under the name of a built-in one takes its place in the
session, also in queries of others. Bounds would then be what this function makes of them.
"""

from typing import Any

from dphist.errors import DataError

USED = frozenset({
    "aggregate", "array", "concat", "conv", "count", "explode", "get", "greatest", "hash", "isnan",
    "least", "max", "md5", "min", "octet_length", "pmod", "row_number", "split", "substr",
    "substring", "sum", "transform", "unix_date", "unix_micros", "validate_utf8",
})  # fmt: skip
"""The functions that dphist's queries call."""

_BUILT_IN = "org.apache.spark.sql.catalyst.expressions."
_FIRST_SAFE = (4, 3)


def refuse_replaced(session: Any) -> None:
    """Refuse a session in which own functions would be called in place of built-in ones.

    Raises
    ------
    DataError
        Which names them.
    """
    release = tuple(int(part) for part in str(session.version).split(".")[:2])
    if release >= _FIRST_SAFE:
        return
    if found := replaced(session):
        raise DataError(
            f"Spark {session.version} would call your functions {', '.join(found)} in place of its "
            "own: register them under other names, or take Spark 4.3 or later, in a new session"
        )


def replaced(session: Any) -> list[str]:
    """Return the names of `USED` that are registered in this session as functions of others."""
    found = session.catalog.listFunctions(pattern="|".join(sorted(USED)))
    return sorted(
        {
            each.name
            for each in found
            if each.name in USED and not str(each.className).startswith(_BUILT_IN)
        }
    )
