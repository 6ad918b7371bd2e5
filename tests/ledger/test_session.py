"""Sessions of pay what you get are charged in full when a ledger opens them (ledger, Lemma 5)."""

import multiprocessing
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.ledger import Ledger
from dphist.privacy import PrivacyUnit
from tests.support.ledgers import refused

FRAME = pa.table({"label": ["a"] * 900 + ["b"], "user": [str(n) for n in range(901)]})


def counted(**options: Any) -> Any:
    return dh.LabelCounts.from_table(FRAME, label="label", user="user", max_labels=2, **options)


def new_session() -> dh.PayWhatYouGet:
    return dh.PayWhatYouGet(budget=4, queries=3, epsilon="0.1", delta="1e-9", max_labels=2)


@pytest.fixture
def users(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one user")


def test_a_session_is_charged_in_full_before_its_first_query(users: Ledger) -> None:
    session = users.session(new_session(), by="ana", key="s")
    assert users.spent.rho == Fraction(4, 800) == new_session().guarantee.rho
    assert users.spent.delta == Fraction(3, 10**9)
    spent = users.spent
    assert (session.remaining, session.remaining_queries) == (4, 3)
    release = session.top(users.guard(counted()), k=2, candidates=10)
    assert len(release.value) <= 2
    assert session.remaining == 4 - len(release.value)
    assert session.remaining_queries == 2
    assert users.spent == spent  # a query costs nothing more, and what is left stays charged
    with pytest.raises(ParameterError, match="labels of the budget are left"):
        session.top(counted(), k=4)
    users.verify()


def test_a_key_opens_one_session(users: Ledger) -> None:
    users.session(new_session(), by="ana", key="s")
    refused(users, lambda: users.session(new_session(), by="ana", key="s"), "has not finished")


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon="0.01", delta="1e-6", unit="one user")
    refused(ledger, lambda: ledger.session(new_session(), by="a", key="s"), "costs", BudgetError)
    pure = Ledger.create(tmp_path / "b", epsilon=9, unit="one user")
    refused(pure, lambda: pure.session(new_session(), by="a", key="s"), "costs", BudgetError)


def test_only_a_fresh_session_is_opened(users: Ledger) -> None:
    used = new_session()
    used.top(counted(), k=1)
    for mechanism in (used, dh.TopLabels(k=1, candidates=2, epsilon=1, delta="1e-9"), None):
        call = lambda mechanism=mechanism: users.session(mechanism, by="a", key="s")  # noqa: E731
        refused(users, call, "mechanism must be", ParameterError)


def test_tables_of_another_unit_are_refused_in_each_query(tmp_path: Path) -> None:
    """Rows are not users: their tables are not what the account of users paid for."""
    users = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one user")
    session = users.session(new_session(), by="ana", key="s")
    rows = dh.LabelCounts.from_table(FRAME, label="label", max_labels=1)
    visits = counted(unit="one visit")
    for data in (rows, visits, users.guard(visits)):
        with pytest.raises(LedgerError, match="'main' protects one user"):
            session.top(data, k=1)
    assert (session.remaining, session.remaining_queries) == (4, 3)
    session.top(counted(), k=1)


def test_a_session_for_data_that_name_their_unit(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one patient")
    patients = counted(unit="one patient")
    refused(ledger, lambda: ledger.session(new_session(), by="a", key="s"), "protects one patient")
    session = ledger.session(new_session(), ledger.guard(patients), by="ana", key="s")
    session.top(patients, k=1)
    with pytest.raises(LedgerError, match="one patient"):
        session.top(counted(), k=1)


def test_a_group_is_refused(tmp_path: Path) -> None:
    """Lemma 5 is for one step of neighbors; group privacy beside other releases is not proved."""
    ledger = Ledger.create(tmp_path / "a", epsilon=9, delta="1e-6", unit=PrivacyUnit("user", 2))
    with pytest.raises(LedgerError, match="several of them together are not covered"):
        ledger.session(new_session(), by="ana", key="s")
    assert ledger.spent.rho == 0


def test_a_session_ends_as_a_context(users: Ledger) -> None:
    with users.session(new_session(), by="ana", key="s") as session:
        session.top(counted(), k=1)
    assert users.spent.rho == new_session().guarantee.rho  # nothing is given back


def test_a_session_is_not_copied_and_not_used_in_a_forked_process(users: Ledger) -> None:
    session = users.session(new_session(), by="ana", key="s")
    with pytest.raises(LedgerError, match="cannot be copied or pickled"):
        pickle.dumps(session)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def forked() -> None:
        try:
            session.top(counted(), k=1)
            there.send("answered")
        except LedgerError as error:
            there.send(str(error))

    child = context.Process(target=forked)
    child.start()
    said = here.recv()
    child.join()
    assert "a forked process would spend its budget twice" in said
