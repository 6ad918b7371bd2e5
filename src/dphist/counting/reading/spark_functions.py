"""Functions that Spark would call in place of the built-in ones of the same name.

A caller's function may take the place of a built-in one in the session, also in queries of others.
Bounds would then be what this function makes of them. Before Spark 4.3, every temporary function
does. From then on it depends on ``spark.sql.functionResolution.sessionOrder`` and on the SQL path,
which may also name schemas with functions that are not temporary.
"""

from typing import Any

from dphist.errors import DataError

USED = frozenset({
    "aggregate", "array", "coalesce", "concat", "conv", "count", "explode", "get", "greatest",
    "hash", "isnan", "least", "max", "md5", "min", "octet_length", "pmod", "row_number", "substr",
    "substring", "sum", "transform", "unix_date", "unix_micros", "validate_utf8",
})  # fmt: skip
"""The functions that dphist's queries call."""

_BUILT_IN = "org.apache.spark.sql.catalyst.expressions."
_OWN, _TEMPORARY = "system.builtin", "system.session"


def refuse_replaced(session: Any) -> None:
    """Refuse a session in which own functions would be called in place of built-in ones.

    Raises
    ------
    DataError
        Which names them, or the SQL path.
    """
    if found := replaced(session):
        raise DataError(
            f"Spark {session.version} would call your functions {', '.join(found)} in place of its "
            "own: register them under other names, in a new session"
        )
    path = sql_path(session)
    if _OWN not in path or set(path[: path.index(_OWN)]) - {_TEMPORARY}:
        raise DataError(
            "the SQL path of the Spark session has schemas before system.builtin, whose functions "
            "could take the place of Spark's own: SET PATH with system.builtin first"
        )


def replaced(session: Any) -> list[str]:
    """Return the names of `USED` for which Spark would call temporary functions of others."""
    found = session.catalog.listFunctions(pattern="|".join(sorted(USED)))
    return sorted(
        {
            each.name
            for each in found
            if each.name in USED
            and each.isTemporary  # as Spark says of its own ones
            and not str(each.className).startswith(_BUILT_IN)
        }
    )


def sql_path(session: Any) -> list[str]:
    """Return the schemas in which Spark looks for functions, the first one first."""
    if str(session.conf.get("spark.sql.path.enabled", "false")).lower() != "true":
        return [_TEMPORARY, _OWN]  # in one order or the other
    found = session.sql(f"SELECT {_OWN}.current_path()").collect()
    return str(found[0][0]).split(",")
