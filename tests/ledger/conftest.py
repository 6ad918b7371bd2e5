"""Places for ledgers: new SQLite files, and new schemas of a PostgreSQL server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dphist.ledger import Ledger
from tests.support.postgres import Server, running_server

KINDS = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_place(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[], str | Path]:
    """Return a maker of places without a ledger."""
    if kind == "postgres":
        found: Server = request.getfixturevalue("server")
        return found.new
    made = (tmp_path / f"{number}.ledger" for number in range(1000))
    return lambda: next(made)


@pytest.fixture
def place(new_place: Callable[[], str | Path]) -> str | Path:
    return new_place()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a ledger of one account, in a file."""
    place = tmp_path / "clinic.ledger"
    return Ledger.create(place, epsilon=1, delta="1e-6", unit="one record")


@pytest.fixture
def any_ledger(place: str | Path) -> Ledger:
    """Return a ledger of one account, in either store."""
    return Ledger.create(place, epsilon=1, delta="1e-6", unit="one record", name="clinic")
