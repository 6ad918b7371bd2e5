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
        "ana:SEC/RET@db/x",
        "jdbc:postgresql://ana:SECRET@db/x",
        "jdbc:postgresql://db/x?user=ana&password=SECRET",
        "host=db user=ana password = SECRET",
        "postgresql://:SECRET@db\nx".upper(),
    ],
)
def test_other_addresses_are_refused_without_being_shown(place: str | Path) -> None:
    for call in (Ledger.open, lambda at: Ledger.create(at, epsilon=1, unit="one user")):
        with pytest.raises(ParameterError, match="that begins with postgresql://") as caught:
            call(place)
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://ana:SEC@RET@db/x",
        "postgresql://ana:SEC/RET@db/x",
        "postgresql://ana:SEC?RET@db/x",
        "postgresql://ana:SEC?user=RET@db/x",
        "postgres://ana:SECRET@R/ET@db/x",
        "postgresql://db/x?password=SEC@RET",
        "postgresql://SEC/RET@",
    ],
)
def test_passwords_whose_end_is_not_certain_are_not_shown(place: str) -> None:
    """PostgreSQL takes a part of each for a host or a database, which messages name."""
    for call in (Ledger.open, lambda at: Ledger.create(at, epsilon=1, unit="one user")):
        with pytest.raises(ParameterError, match="written as %40") as caught:
            call(place)
        assert "SEC" not in str(caught.value)
        assert "RET" not in str(caught.value)


def test_addresses_and_paths_are_distinguished() -> None:
    assert is_address("postgresql://db/x")
    assert is_address("postgres://db/x")
    assert is_address("postgresql://an%40a:p%2Fw%40d#:@[::1]:5432,other/x?host=/run/a")
    assert not is_address("clinic.ledger")
    assert not is_address("clinic@home/a b:c.ledger")
    assert not is_address(Path("C:/ana@home/clinic.ledger"))
    assert not is_address("C:/clinic.ledger")
