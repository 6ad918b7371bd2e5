"""Budgets for units that are exchanged, on the command line."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.tables.law import largest_rho
from tests.support.command_line import run
from tests.support.commands.ledgers import WHO, made, no_defaults, written

__all__ = ["no_defaults"]  # a fixture of every test here

PATIENT = dh.PrivacyUnit("patient", exchanged=True)
AGES = ("--column", "age", "--start", 0, "--stop", 90, "--width", 10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.csv")


def test_an_account_for_exchanged_units_is_made_and_opened(tmp_path: Path, capsys: Any) -> None:
    ledger = made(tmp_path / "a.ledger", "--epsilon", 2, "--exchanged")
    assert "epsilon=2, for one patient, exchanged for another." in capsys.readouterr().out
    more = ("--account", "b", "--rho", 1, "--unit", "one patient")
    assert run("ledger", "open", ledger, *more, "--exchanged", "--json") == 0
    assert json.loads(capsys.readouterr().out)["account"]["unit"] == {
        "who": "patient", "at_most": 1, "exchanged": True
    }  # fmt: skip
    assert run("ledger", "open", ledger, *more[2:], "--account", "c") == 0
    units = {each.name: each.unit for each in dh.Ledger.open(ledger).accounts}
    assert units == {"main": PATIENT, "b": PATIENT, "c": dh.PrivacyUnit("patient")}


@pytest.mark.parametrize("found", [(), ("--max-records", 2)])
@pytest.mark.parametrize("given", [("--epsilon", "1/2"), ("--rho", "1/50")])
def test_a_budget_for_an_exchange_costs_an_account_that(
    given: Any, found: Any, file: Path, tmp_path: Path, capsys: Any
) -> None:
    """Also where a look at the users comes first, which has a part of it."""
    ledger, out = made(tmp_path / "a.ledger", given[0], 1, "--exchanged"), tmp_path / "r.json"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "one", "--output", out)
    command = ("ranges", file, *AGES, *WHO, *given, *found, "--mechanism", "leaves", "--exchanged")
    assert run(*command, *paying) == 0
    assert "for one patient, exchanged for another." in capsys.readouterr().out
    release, spent = dh.Release.load(out), dh.Ledger.open(ledger).balance().spent
    name = given[0][2:]
    asked = dh.PureDP(given[1]).epsilon
    assert getattr(spent, name) == asked == getattr(release.exchanged, name)
    assert getattr(release.guarantee, name) == asked / 2
    assert release.exchanged is not None
    assert release.exchanged.unit == PATIENT


def test_anonymized_histograms_take_it_too(file: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "r.json"
    command = ("anonymize", file, "--label", "label", *WHO, "--max-records", 2, "--epsilon", 1)
    assert run(*command, "--exchanged", "--output", out) == 0
    release = dh.Release.load(out)
    assert (release.guarantee.epsilon, release.exchanged.epsilon) == (0.5, 1)


def test_an_account_of_the_other_kind_charges_its_own_price(file: Path, tmp_path: Path) -> None:
    """A release states both, so it is charged for whom the account protects."""
    ledger = made(tmp_path / "a.ledger", "--epsilon", 1)
    paying = ("--ledger", ledger, "--by", "ana", "--key", "one")
    command = ("ranges", file, *AGES, *WHO, "--max-records", 2, "--epsilon", "1/2", "--exchanged")
    assert run(*command, *paying, "--quiet", "--output", tmp_path / "r.json") == 0
    assert dh.Ledger.open(ledger).balance().spent.epsilon == dh.PureDP("1/4").epsilon


@pytest.mark.parametrize(
    ("given", "rho"),
    [
        (("--rho", "1/10"), Fraction(1, 10)),
        (("--epsilon", 1, "--delta", "1e-6"), largest_rho(Fraction(1), Fraction(1, 10**6))),
    ],
)
def test_tables_get_noise_for_an_exchange(
    given: Any, rho: Fraction, file: Path, tmp_path: Path, capsys: Any
) -> None:
    """The least noise of which an exchange costs what was asked."""
    ledger, out = made(tmp_path / "a.ledger", "--rho", 1, "--exchanged"), tmp_path / "r.json"
    paying = ("--ledger", ledger, "--by", "ana", "--key", "one", "--output", out)
    axes = ("--axis", "age=0:90:30", "--axis", "label=d0,d1,d2,d3", "--tables", "age,age+label")
    command = ("tables", file, *axes, *WHO, "--max-rows", 2, *given, "--exchanged")
    assert run(*command, "--dry-run") == 0
    planned = " ".join(capsys.readouterr().out.split())
    assert run(*command, *paying) == 0
    said = "If exchanged: ρ = {}, for one patient, exchanged for another."
    said = said.format("0.1" if given[0] == "--rho" else "0.0280145")
    if given[0] == "--epsilon":
        said += " That is the (1, 1e-6)-differential privacy that was asked for."
    assert said in capsys.readouterr().out
    assert said in planned
    release = dh.Release.load(out)
    assert isinstance(release.exchanged, dh.ZCDP)
    assert rho * (1 - Fraction(1, 10**7)) <= release.exchanged.rho <= rho
    assert release.guarantee.rho > rho / 4
    assert dh.Ledger.open(ledger).balance().spent.rho == release.exchanged.rho


def test_pure_tables_pay_half_and_found_values_are_refused(
    file: Path, tmp_path: Path, capsys: Any
) -> None:
    out, tables = tmp_path / "r.json", ("--axis", "age=0:90:30", "--tables", "age")
    command = ("tables", file, *tables, *WHO, "--max-rows", 2, "--exchanged", "--output", out)
    assert run(*command, "--epsilon", 1) == 0
    release = dh.Release.load(out)
    assert (release.guarantee.epsilon, release.exchanged.epsilon) == (0.5, 1)
    capsys.readouterr()
    found = ("--axis", "label=discover:0.3", "--tables", "label", "--epsilon", 1, "--delta", "1e-6")
    refused = ("tables", file, *found, *WHO, "--max-rows", 2, "--exchanged", "--output", out)
    assert run(*refused) == 2
    said = "--exchanged must be left out if values of a key are found"
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_largest_that_fits_is_said_to_be_of_the_other_unit(
    file: Path, tmp_path: Path, capsys: Any
) -> None:
    """--epsilon 1 --exchanged would fit: the mechanism's own epsilon is half of that."""
    ledger = made(tmp_path / "a.ledger", "--epsilon", 2, "--exchanged")
    paying = ("--ledger", ledger, "--by", "ana", "--output", tmp_path / "r.json", "--overwrite")
    tables = ("--axis", "age=0:90:30", "--tables", "age")
    command = ("tables", file, *tables, *WHO, "--max-rows", 1, "--exchanged", *paying)
    assert run(*command, "--epsilon", 1, "--key", "one") == 0
    assert "fits has epsilon=0.5 (of a unit added or removed)." in capsys.readouterr().out
    assert run(*command, "--epsilon", 3, "--key", "two") == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "the largest epsilon that fits is 0.5 (of a unit added or removed). It costs 3-" in said


def test_a_pure_account_says_that_gaussian_noise_does_not_fit(
    file: Path, tmp_path: Path, capsys: Any
) -> None:
    ledger = made(tmp_path / "a.ledger", "--epsilon", 2)
    paying = ("--ledger", ledger, "--by", "ana", "--key", "one", "--output", tmp_path / "r.json")
    tables = ("--axis", "age=0:90:30", "--tables", "age", "--epsilon", 1)
    command = ("tables", file, *tables, *WHO, "--max-rows", 1, *paying)
    said = "it takes only releases that state an epsilon, and this one states none"
    assert run(*command, "--delta", "1e-6") == 3
    assert said in capsys.readouterr().err
    assert run(*command, "--delta", "1e-6", "--dry-run") == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert run(*command) == 0
