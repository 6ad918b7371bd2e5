"""Functions of a caller that Spark would call in place of its own."""

import re
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dphist.counting.binning.key_grid import KeyColumn, make_listed_search
from dphist.counting.binning.spark_keys import _expressions
from dphist.counting.bounding.bounds import Cut
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.spark import USED, refuse_replaced
from dphist.errors import DataError
from tests.support.refusal import refused

BUILT_IN = "org.apache.spark.sql.catalyst.expressions.aggregate.Max"


def session(
    version: str, path: str | None = None, temporary: bool = True, **classes: str | None
) -> Any:
    """What a session tells of functions of these classes, and of its path if it has one."""
    known = dict.fromkeys(USED, BUILT_IN) | classes

    def listed(pattern: str) -> list[Any]:
        return [
            SimpleNamespace(name=name, className=kind, isTemporary=kind == BUILT_IN or temporary)
            for name, kind in known.items()
            if name in pattern.split("|")
        ]

    def asked(query: str) -> Any:
        assert query == "SELECT system.builtin.current_path()"
        return SimpleNamespace(collect=lambda: [(path,)])

    settings = {} if path is None else {"spark.sql.path.enabled": "true"}
    return SimpleNamespace(
        version=version,
        catalog=SimpleNamespace(listFunctions=listed),
        conf=SimpleNamespace(get=settings.get),
        sql=asked,
    )


@pytest.mark.parametrize("kind", ["org.example.Own", "sqlFunction.", "", None])
@pytest.mark.parametrize("version", ["4.0.0", "4.0.5", "4.3.0", "5.0.0"])
def test_replaced_functions_are_refused(version: str, kind: str | None) -> None:
    """Spark lists the function that it would call; which one that is depends on settings."""
    with refused(DataError, "greatest, md5", "other names"):
        refuse_replaced(session(version, md5=kind, greatest=kind))


def test_functions_that_no_query_calls_may_be_replaced() -> None:
    refuse_replaced(session("4.0.5", soundex="org.example.Own"))


def test_functions_of_schemas_replace_none() -> None:
    """Without a path, Spark looks for them last."""
    refuse_replaced(session("4.3.0", temporary=False, md5="sqlFunction."))


@pytest.mark.parametrize(
    "path",
    [
        "spark_catalog.default,system.builtin,system.session",
        "system.session,spark_catalog.other,system.builtin",
        "spark_catalog.default",
        "",
    ],
    ids=["first", "behind-temporary", "alone", "none"],
)
def test_paths_with_other_schemas_first_are_refused(path: str) -> None:
    with refused(DataError, "SQL path", "system.builtin first"):
        refuse_replaced(session("4.3.0", path))


@pytest.mark.parametrize(
    "path", ["system.builtin,spark_catalog.default", "system.session,system.builtin,a.b"]
)
def test_other_paths_are_not(path: str) -> None:
    refuse_replaced(session("4.3.0", path))


def test_the_functions_that_cut_a_table_are_listed() -> None:
    """Or a caller's function could put a user into every part."""
    frame = SimpleNamespace(dtypes=[("who", "string")])
    condition = Cut(0, 2).condition(SparkRows(frame))
    assert {"md5", "coalesce"} <= called_in(condition) <= USED | {"cast"}


def test_the_functions_that_find_a_cell_are_listed() -> None:
    """Or a caller's function could put the rows of a user anywhere."""
    search = make_listed_search(KeyColumn("x", (300, 5)), pa.int8(), from_text=False)
    value, place = _expressions(search, pa.int8(), "c0", 0, {})
    assert {"array_position", "get"} <= called_in(value + place) <= USED | {"cast"}


def called_in(text: str) -> set[str]:
    return {name.lower() for name in re.findall(r"\b([A-Za-z_]\w*)\s*\(", text)}
