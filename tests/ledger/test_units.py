"""A release costs an account what it costs one unit of the account (ledger, Lemma 6)."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import LedgerError, ParameterError
from dphist.ledger.units import DataUnit, cost_for, for_account
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.privacy.guarantees import find_delta, find_rho
from dphist.privacy.unit import asserted_unit
from dphist.report import report_html, summary_text
from tests.support.mechanisms.cases import every_mechanism, made

FRAME = pa.table(
    {"label": ["a", "a", "b"], "user": ["1", "2", "2"], "at": [0.5, 1.5, 2.5], "n": [1, 1, 1]}
)
USER, PATIENT, RECORD = PrivacyUnit("user"), PrivacyUnit("patient"), PrivacyUnit("record")


def profile(**options: Any) -> dh.Profile:
    return dh.Profile.from_table(FRAME, label="label", **options)


def labels(**options: Any) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(FRAME, label="label", **options)


def binned(**options: Any) -> dh.BinnedCounts:
    return dh.bin_counts(FRAME, column="at", start=0, stop=4, width=1, **options)


def test_data_state_whom_they_protect() -> None:
    users = {"user": "user", "max_records": 3}
    assert DataUnit.of(profile(**users)) == DataUnit("one user", 3)
    assert DataUnit.of(profile(unit="one patient", **users)) == DataUnit("one patient", 3)
    assert DataUnit.of(binned(unit="one patient", **users)) == DataUnit("one patient", 3)
    counted = labels(user="user", max_labels=2, max_count=5, unit="one patient")
    assert DataUnit.of(counted) == DataUnit("one patient", 10)
    assert DataUnit.of(labels(max_labels=1)) == DataUnit("one row", 1)
    assert DataUnit.of(dh.Profile.from_counts([1, 2])) == DataUnit(None, 1)
    assert DataUnit.of(FRAME) == DataUnit.of(object()) == DataUnit()


def asserted(kind: str) -> Any:
    """Return a mechanism, and data that dphist has not counted, for patients."""
    if kind == "labels":
        made = dh.LabelCounts.from_counts(
            ["a", "b"], [50, 60], max_labels=2, max_count=1, unit="one patient"
        )
        return dh.ThresholdHistogram(epsilon="0.01", delta="1e-9", max_labels=2), made
    if kind == "bins":
        counted = binned(user="user", max_records=3)
        data = replace(counted, unit=asserted_unit("patient"))
        return dh.LeafCounts(epsilon="0.1", bins=4, sensitivity=3), data
    return dh.AdaptiveScan(epsilon="0.1", sensitivity=3), {
        "counts": lambda: dh.Profile.from_counts([5, 5, 1], 3, unit="one patient"),
        "prevalences": lambda: dh.Profile.from_prevalences([5, 1], [2, 1], 3, unit="patient"),
    }[kind]()


@pytest.mark.parametrize("kind", ["labels", "bins", "counts", "prevalences"])
@pytest.mark.quick(every=3)
def test_counts_without_a_table_name_their_unit(kind: str, tmp_path: Path) -> None:
    """The caller asserts the bounds; the release says so, and never that dphist cut anybody."""
    mechanism, data = asserted(kind)
    assert DataUnit.of(data) == DataUnit("one patient", 2 if kind == "labels" else 3)
    ledger = dh.Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one patient")
    release = ledger.release(mechanism, ledger.guard(data), by="ana", key="k")
    assert release.guarantee.unit == PATIENT
    assert dh.Release.from_json(release.to_json()) == release
    page = " ".join(report_html(release).split())
    assert "asserts that" in page
    for said in (" ".join(summary_text(release).split()), page):
        assert "one patient" in said
        assert "was cut" not in said
        assert "were kept" not in said
        assert "as promised" not in said
    users = dh.Ledger.create(tmp_path / "b", epsilon=1, delta="1e-6", unit="one user")
    with pytest.raises(LedgerError, match="the release protects one patient"):
        users.release(mechanism, data, by="ana", key="k")


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        (PureDP("0.1"), PureDP("0.3", USER)),
        (ZCDP("0.1"), ZCDP("0.9", USER)),
        (PureDP("0.1", PrivacyUnit("record", 3)), PureDP("0.1", USER)),
        (PureDP("0.1", PrivacyUnit("record", 2)), PureDP("0.2", USER)),
        (ZCDP("0.1", PrivacyUnit("record", 2)), ZCDP("0.4", USER)),
        (ApproxDP("0.1", "1e-6"), ApproxDP("0.1", "1e-6").for_unit(USER, has=3)),
        (ApproxZCDP("0.1", "1e-6"), ApproxZCDP("0.1", "1e-6").for_unit(USER, has=3)),
    ],
    ids=str,
)
def test_a_release_for_records_enters_an_account_of_users(
    guarantee: Guarantee, expected: Guarantee
) -> None:
    """Three records of a user are charged as three: pure three times, rho nine times."""
    assert for_account(guarantee, DataUnit("one user", 3), USER, "main") == expected


def test_deltas_of_groups_are_larger() -> None:
    _, one = cost_for(Promise(ApproxDP("0.1", "1e-6")), DataUnit("one user", 1), USER, TENTH, "m")
    _, three = cost_for(Promise(ApproxDP("0.1", "1e-6")), DataUnit("one user", 3), USER, TENTH, "m")
    assert (one.epsilon, one.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert three.epsilon == Fraction(3, 10)
    assert three.delta > 3 * one.delta


TENTH = Fraction(1, 10)


class Promise:
    """A mechanism of somebody else's, which only states what it costs."""

    def __init__(self, guarantee: object) -> None:
        self.guarantee = guarantee


def test_a_unit_in_another_number() -> None:
    two = PrivacyUnit("user", 2)
    assert for_account(PureDP("0.1", USER), DataUnit(), two, "main") == PureDP("0.2", two)
    assert for_account(ZCDP("0.1", USER), DataUnit(), two, "main") == ZCDP("0.4", two)
    five = PrivacyUnit("record", 5)
    assert for_account(PureDP("0.1", five), DataUnit(), RECORD, "m") == PureDP("0.1", RECORD)
    assert for_account(PureDP("0.1"), DataUnit("one user", 3), two, "m") == PureDP("0.6", two)


@pytest.mark.parametrize(
    ("guarantee", "data", "unit"),
    [
        (PureDP(1), DataUnit(), USER),
        (PureDP(1), DataUnit("one user"), USER),
        (PureDP(1), DataUnit("one patient", 2), USER),
        (PureDP(1, USER), DataUnit("one visit", 2), PATIENT),
        (PureDP(1, USER), DataUnit(), PATIENT),
        (PureDP(1, USER), DataUnit(), RECORD),
        (PureDP(1), DataUnit("one user", 3), RECORD),
        (PureDP(1, PrivacyUnit("event")), DataUnit("one patient"), PATIENT),
        (PureDP(1, PrivacyUnit("event")), DataUnit(), USER),
        (PureDP(1, PrivacyUnit("edge")), DataUnit(None, 2), USER),
    ],
)
def test_units_that_nothing_relates_are_refused(
    guarantee: Guarantee, data: DataUnit, unit: PrivacyUnit
) -> None:
    with pytest.raises(LedgerError, match="'main' protects"):
        for_account(guarantee, data, unit, "main")


def test_a_bounded_number_of_events_is_a_group() -> None:
    event = PureDP("0.1", PrivacyUnit("event"))
    assert for_account(event, DataUnit("one patient", 4), PATIENT, "main") == PureDP("0.4", PATIENT)


@pytest.mark.parametrize(
    ("mechanism", "data", "unit", "epsilon"),
    [
        (
            dh.AdaptiveScan(epsilon="0.1", sensitivity=3),
            profile(user="user", max_records=3),
            USER,
            "0.1",
        ),
        (dh.AdaptiveScan(epsilon="0.1"), profile(), RECORD, "0.1"),
        (
            dh.LeafCounts(epsilon="0.1", bins=4, sensitivity=2),
            binned(user="user", max_records=2, unit="one patient"),
            PATIENT,
            "0.1",
        ),
        (
            dh.ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=2),
            labels(user="user", max_labels=2, unit="one patient"),
            PATIENT,
            "0.2",
        ),
        (
            dh.ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=1),
            labels(max_labels=1),
            RECORD,
            "0.1",
        ),
        (
            dh.AdaptiveScan(epsilon="0.1", sensitivity=2),
            dh.Profile.from_edges(pa.table({"u": [1, 2], "v": [2, 3]}), source="u", target="v"),
            PrivacyUnit("edge"),
            "0.1",
        ),
    ],
    ids=["profile", "profile of rows", "bins", "labels", "labels of rows", "edges"],
)
def test_what_dphist_counts_costs_its_unit(
    mechanism: Any, data: Any, unit: PrivacyUnit, epsilon: str
) -> None:
    guarantee, cost = cost_for(mechanism, DataUnit.of(data), unit, Fraction(1, 10**5), "main")
    assert guarantee.unit == unit
    assert cost.epsilon == Fraction(epsilon)
    other = PrivacyUnit("visit")
    with pytest.raises(LedgerError, match="one visit"):
        cost_for(mechanism, DataUnit.of(data), other, Fraction(1, 10**5), "main")


def test_a_sharper_statement_does_not_survive_a_group() -> None:
    """For a group the code uses the one guarantee that group privacy was applied to."""
    mechanism = dh.ThresholdHistogram(epsilon="0.1", delta="1e-9", max_labels=1)
    _, one = cost_for(mechanism, DataUnit(), USER, Fraction(1, 10**5), "main")
    _, two = cost_for(mechanism, DataUnit(), PrivacyUnit("user", 2), Fraction(1, 10**5), "main")
    assert one.epsilon == Fraction(1, 10)
    assert two.epsilon is None
    assert two.rho == 4 * one.rho
    assert two.delta > 2 * one.delta


@pytest.mark.parametrize("times", [2, 3])
@every_mechanism
def test_a_group_costs_what_group_privacy_says(name: str, times: int) -> None:
    """Whatever else a mechanism states of one unit, also with listed labels and a delta of 0."""
    mechanism = made(name)
    one = mechanism.guarantee
    group = PrivacyUnit(one.unit.who, times * one.unit.at_most)
    guarantee, cost = cost_for(mechanism, DataUnit(), group, Fraction(1, 2), "main")
    if isinstance(one, PureDP | ApproxDP):
        assert cost.epsilon == times * one.epsilon
    else:
        assert cost.epsilon is None
        assert cost.rho == times**2 * one.rho
    assert cost.rho == find_rho(guarantee)
    assert cost.delta == find_delta(guarantee) >= times * find_delta(one)
    assert cost.alone == guarantee.to_approx_dp(Fraction(1, 2)).epsilon


class Sharper:
    """Somebody else's mechanism, which states more than its guarantee."""

    guarantee = ApproxZCDP(1, "1e-9")
    epsilon_guarantee = ApproxDP("0.001", "1e-9")

    def to_approx_dp(self, delta: object) -> ApproxDP:
        return ApproxDP("0.001", "1e-9")


def test_of_somebody_else_s_mechanism_its_guarantee_counts_alone() -> None:
    _, cost = cost_for(Sharper(), DataUnit(), RECORD, Fraction(1, 10**6), "main")
    assert cost.epsilon is None
    assert cost.alone == ApproxZCDP(1, "1e-9").to_approx_dp("1e-6").epsilon


@pytest.mark.parametrize("guarantee", [None, 1, "PureDP(1)", {"epsilon": 1}])
def test_a_mechanism_must_state_a_guarantee(guarantee: object) -> None:
    for mechanism in (Promise(guarantee), object()):
        with pytest.raises(ParameterError, match="mechanism must have a guarantee"):
            cost_for(mechanism, DataUnit(), RECORD, Fraction(0), "main")


def test_what_is_too_large_for_the_account_s_delta_has_no_epsilon_by_itself() -> None:
    _, cost = cost_for(Promise(ApproxZCDP(1, "0.1")), DataUnit(), RECORD, TENTH, "main")
    assert cost.alone is None
    _, cost = cost_for(Promise(ZCDP(1)), DataUnit(), RECORD, Fraction(0), "main")
    assert cost.alone is None


@pytest.mark.parametrize("who", ["visit", "edge", "row", "cell", "household"])
def test_another_unit_of_a_mechanism_is_not_taken_for_that_of_the_data(who: str) -> None:
    """A patient has any number of visits: the price of one is not that of a patient."""
    guarantee = PureDP("0.1", PrivacyUnit(who))
    with pytest.raises(LedgerError, match=f"the release protects one {who}"):
        for_account(guarantee, DataUnit("one patient", 3), PATIENT, "main")


@pytest.mark.parametrize("account", ["user", "patient", "account", "record"])
@pytest.mark.parametrize("account_rows", [False, True])
@pytest.mark.parametrize("who", ["user", "patient", "account", "record"])
@pytest.mark.parametrize("or_rows", [False, True])
@pytest.mark.parametrize("end", ["", ", as promised by the caller"])
def test_text_of_0_2_is_charged_as_the_unit_that_it_names(
    account: str, account_rows: bool, who: str, or_rows: bool, end: str
) -> None:
    """With rows or without them are two units; who asserts the bounds decides nothing."""
    name = PrivacyUnit(account, or_rows=account_rows).name
    unit = PrivacyUnit.from_content({"who": name, "at_most": 1})  # as ledgers hold it
    named = PrivacyUnit(who, or_rows=or_rows)
    data = DataUnit(f"{named}{end}", 7)
    if unit == named:
        assert for_account(PureDP(1, USER), data, unit, "main") == PureDP(1, unit)
        times = 1 if unit == RECORD else 7
        assert for_account(PureDP(1), data, unit, "main") == PureDP(times, unit)
    else:
        for own in (USER, RECORD):
            with pytest.raises(LedgerError, match="protects"):
                for_account(PureDP(1, own), data, unit, "main")


def test_a_deferred_unit_is_spelt_as_data_spell_it() -> None:
    assert DataUnit("patient", 3) == DataUnit(" one  patient ", 3) == DataUnit("one patient", 3)
    for no_unit in (3, "", PrivacyUnit("patient", 2)):
        with pytest.raises(ParameterError, match="unit must be"):
            DataUnit(no_unit, 3)  # type: ignore[arg-type]
