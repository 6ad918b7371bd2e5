"""Functions of a caller that Spark before 4.3 would call in place of its own."""

from types import SimpleNamespace
from typing import Any

import pytest

from dphist.errors import DataError
from dphist.tables.reading.spark_functions import USED, refuse_replaced
from tests.tables.refusal import refused

BUILT_IN = "org.apache.spark.sql.catalyst.expressions.aggregate.Max"


def session(version: str, **classes: str | None) -> Any:
    """What a session of this version tells, with functions of these classes."""
    known = dict.fromkeys(USED, BUILT_IN) | classes

    def listed(pattern: str) -> list[Any]:
        return [
            SimpleNamespace(name=name, className=known[name])
            for name in known
            if name in pattern.split("|")
        ]

    return SimpleNamespace(version=version, catalog=SimpleNamespace(listFunctions=listed))


@pytest.mark.parametrize("kind", ["org.example.Own", "", None])
@pytest.mark.parametrize("version", ["4.0.0", "4.0.5", "4.2.1"])
def test_replaced_functions_are_refused(version: str, kind: str | None) -> None:
    with refused(DataError, "greatest, md5", "other names"):
        refuse_replaced(session(version, md5=kind, greatest=kind))


@pytest.mark.parametrize("version", ["4.3.0", "4.10.1", "5.0.0"])
def test_later_versions_call_their_own(version: str) -> None:
    refuse_replaced(session(version, md5="org.example.Own"))


def test_functions_that_no_query_calls_may_be_replaced() -> None:
    refuse_replaced(session("4.0.5", soundex="org.example.Own"))
