"""Addresses of other forms are refused, and never shown: they may hold a password."""

from pathlib import Path

import pytest

from dphist.durable.address import is_address
from dphist.errors import ParameterError
from dphist.ledger import Ledger


@pytest.mark.parametrize(
    "place",
    [
        "postgresql+psycopg://ana:SECRET@db/x",
        "POSTGRESQL://ana:SECRET@db/x",
        " postgresql://ana:SECRET@db/x",
        "mysql://ana:SECRET@db/x",
        "host=db user=ana password=SECRET",
        "postgresql:/ana:SECRET@db/x",
        Path("postgresql://ana:SECRET@db/x"),
        "ana:SECRET@db/x",
    ],
)
def test_other_addresses_are_refused_without_being_shown(place: str | Path) -> None:
    for call in (Ledger.open, lambda at: Ledger.create(at, epsilon=1, unit="one user")):
        with pytest.raises(ParameterError, match="must begin with postgresql://") as caught:
            call(place)
        assert "SECRET" not in str(caught.value)


def test_addresses_and_paths_are_distinguished() -> None:
    assert is_address("postgresql://db/x")
    assert is_address("postgres://db/x")
    assert not is_address("clinic.ledger")
    assert not is_address("C:/clinic.ledger")
