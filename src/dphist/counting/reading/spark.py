"""Dataframes of PySpark, classic and Connect: their rows stay in Spark.

PySpark is imported only if there is such a frame. Text is converted to bytes, so that no collation
of a caller merges two labels.

A caller's function may take the place of a built-in one of the same name in the session, also in
queries of others. Bounds would then be what this function makes of them. Before Spark 4.3, every
temporary function does. From then on it depends on
``spark.sql.functionResolution.sessionOrder`` and on the SQL path, which may also name schemas with
functions that are not temporary. Such sessions are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from dphist.counting.engine.redaction import Wall
from dphist.counting.engine.rows import SparkRows
from dphist.counting.engine.spark import call_spark, refuse_stopped
from dphist.counting.reading.columns import UNFIT, Use, Wanted, find_position
from dphist.counting.reading.source import Batches, Source, T, engine_failure
from dphist.errors import DataError

# The Arrow types of Spark's types.
_KINDS = {
    **{"boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32()},
    **{"long": pa.int64(), "float": pa.float32(), "double": pa.float64()},
    **{"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC")},
    **{"timestamp_ntz": pa.timestamp("us"), "binary": pa.binary(), "void": pa.null()},
    **{"string": pa.string(), "char": pa.string(), "varchar": pa.string()},
}


def is_spark(frame: object) -> bool:
    """Whether this is a dataframe of PySpark, without importing it."""
    kind = type(nw.to_native(frame, pass_through=True))
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def open_spark(frame: object, wanted: Sequence[Wanted]) -> "SparkSource":
    """Open a Spark dataframe; raises the errors of `open_source`."""
    native: Any = nw.to_native(frame, pass_through=True)
    wall = Wall(engine_failure(wanted))
    stopped = DataError(
        "the Spark session of frame was stopped: make the frame again in a session that runs"
    )
    refuse_stopped(native.sparkSession, stopped)
    wall(lambda: refuse_replaced(native.sparkSession))
    existing = wall(lambda: list(native.columns))
    named = []
    for column in wanted:
        find_position(column.name, existing, ignore_case=True)
        escaped = column.name.replace("`", "``")
        named.append(f"`{escaped}` AS {column.role}")
    renamed = wall(lambda: native.selectExpr(*named))
    fields = wall(lambda: {field.name: field.dataType for field in renamed.schema})
    kinds = {role: _find_type(field) for role, field in fields.items()}
    return SparkSource(wanted, kinds, renamed, wall)


class SparkSource(Source):
    """Columns of a Spark dataframe.

    Attributes
    ----------
    frame : the dataframe; columns are named by their roles, and text keys are bytes.
    """

    def __init__(
        self, wanted: Sequence[Wanted], kinds: Mapping[str, pa.DataType], frame: Any, wall: Wall
    ) -> None:
        super().__init__(wanted, kinds, wall)
        values = [_format_value(kinds[column.role], column) for column in wanted]
        self.frame = wall(lambda: frame.selectExpr(*values))

    def rows(self) -> SparkRows:
        """Return the rows, which stay in Spark."""
        return SparkRows(self.frame)

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``; Ctrl-C cancels its jobs, and the tasks of its stages are reported."""
        session = self.frame.sparkSession
        return call_spark(session, lambda: self.wall(call), self.progress)

    def batches(self) -> Batches:
        """Refuse: only counts leave Spark, never rows."""
        raise TypeError("rows of Spark cannot be read in batches")


def _find_type(field: Any) -> pa.DataType:
    if field.typeName() == "decimal":
        return pa.decimal128(field.precision, field.scale)
    return _KINDS.get(field.typeName(), UNFIT)


def _format_value(kind: pa.DataType, column: Wanted) -> str:
    text = kind in (pa.string(), pa.null())
    if column.use is Use.KEY and text:
        # Text that is not UTF-8 fails: Spark would display it like another value's text.
        return f"CAST(validate_utf8(CAST({column.role} AS STRING)) AS BINARY) AS {column.role}"
    return column.role


USED = frozenset({
    "aggregate", "array", "array_position", "coalesce", "concat", "conv", "count", "explode", "get",
    "greatest", "hash", "isnan", "least", "max", "md5", "min", "octet_length", "pmod", "row_number",
    "substr", "substring", "sum", "transform", "unix_date", "unix_micros", "validate_utf8",
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
    if found := list_replaced(session):
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


def list_replaced(session: Any) -> list[str]:
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
