"""What the wall between engines and callers lets through."""

import duckdb
import pytest

from dphist.counting.engine.redaction import redact_errors
from dphist.errors import DataError, InputFileError
from tests.support.refusal import SENTINEL, refused


class OutOfMemoryException(Exception):  # noqa: N818
    """Named as DuckDB's."""


class Panic(BaseException):
    """Like a Rust panic, no Exception."""


def failing(error: BaseException) -> None:
    def call() -> None:
        try:
            raise LookupError(SENTINEL)
        except LookupError:
            raise error from ValueError(SENTINEL)

    redact_errors(call, InputFileError("no table"), DataError("no memory"))


def test_results_pass() -> None:
    assert redact_errors(lambda: 3, DataError("no table")) == 3


@pytest.mark.parametrize("error", [ValueError(SENTINEL), Panic(SENTINEL), OSError(5, SENTINEL)])
def test_errors_are_replaced(error: BaseException) -> None:
    with refused(InputFileError, "no table"):
        failing(error)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(SENTINEL),
        OutOfMemoryException(SENTINEL),
        OSError(28, "No space left on device"),
        duckdb.IOException(f'Could not remove file "/{SENTINEL}/duckdb_temp_7_0_storage-0.tmp"'),
    ],
)
def test_shortages_are_told_apart(error: BaseException) -> None:
    with refused(DataError, "no memory"):
        failing(error)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_interrupts_stay_interrupts(error: BaseException) -> None:
    with pytest.raises(KeyboardInterrupt):
        failing(error)
