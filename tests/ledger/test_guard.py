"""Guarded data: released by their ledger, and refused by everything else."""

import copy
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import DphistError, LedgerError, ParameterError
from dphist.ledger import Deferred, Ledger
from tests.support.ledgers import PROFILE, SCAN
from tests.support.mechanisms.cases import CASES, made

FRAME = pa.table({"label": ["a", "a", "b"], "user": ["1", "2", "2"], "at": [0.5, 1.5, 2.5]})
MECHANISMS = sorted(name for name in CASES if not name.startswith("Continual"))


def labels(**options: Any) -> Any:
    return dh.LabelCounts.from_table(FRAME, label="label", user="user", max_labels=2, **options)


def profile(**options: Any) -> Any:
    return dh.Profile.from_table(FRAME, label="label", user="user", max_records=2, **options)


def binned(**options: Any) -> Any:
    return dh.bin_counts(FRAME, column="at", start=0, stop=4, width=1, **options)


@cache
def every_kind() -> dict[str, Any]:
    return {"profile": PROFILE, "labels": labels(), "bins": binned(), "frame": FRAME}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.quick(every=3)
def test_every_mechanism_refuses_guarded_data(name: str, ledger: Ledger) -> None:
    data = ledger.guard(CASES[name][1])
    with pytest.raises(LedgerError, match=r"ledger\.release\(mechanism, data"):
        made(name).release(data)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.quick(every=9)
def test_every_mechanism_releases_them_through_their_ledger(name: str, tmp_path: Path) -> None:
    mechanism, data = made(name), CASES[name][1]
    unit = mechanism.guarantee.unit
    ledger = Ledger.create(tmp_path / "a", epsilon=50, delta="0.01", unit=unit)
    release = ledger.release(mechanism, ledger.guard(data), by="ana", key="k")
    assert release.guarantee == mechanism.guarantee
    assert ledger.release(mechanism, ledger.guard(data), by="ana", key="k") == release


@pytest.mark.parametrize("make", [labels, profile, binned])
def test_from_table_guards_at_once(make: Callable[..., Any], ledger: Ledger) -> None:
    data = make(ledger=ledger)
    plain = make()
    for name in ("counts", "unit", "total", "labels", "sensitivity", "counts_of", "table"):
        with pytest.raises(LedgerError, match="guarded by the ledger"):
            getattr(data, name)
    assert type(data.open_for(ledger.id)) is type(plain)
    assert data.open_for(ledger.id) == plain or make is labels


@pytest.mark.parametrize(
    "use",
    [
        dh.properties.entropy,
        dh.properties.support_size,
        lambda data: dh.properties.support_coverage(data, extra=3),
        lambda data: dh.properties.renyi_entropy(data, order=2),
        dh.properties.distance_to_uniformity,
        dh.properties.guessing,
        lambda data: dh.anonymize(data, epsilon=1),
        dh.plot,
        lambda data: dh.write_report(data, "never.html"),
        lambda data: dh.Profile.from_table(data, label="label"),
        lambda data: dh.LabelCounts.from_table(data, label="label", max_labels=1),
        lambda data: dh.bin_counts(data, column="at", start=0, stop=4, width=1),
        lambda data: dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=9).update_many(data),
        lambda data: dh.PayWhatYouGet(epsilon=1, delta="1e-6").top(data),
        list,
        len,
        sum,
        np.asarray,
        np.sum,
        pa.array,
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        lambda data: data[0],
        lambda data: data + 1,
        lambda data: 3 in data,
        float,
        str.join,
    ],
)
@pytest.mark.parametrize("kind", ["profile", "labels", "bins", "frame"])
@pytest.mark.quick(every=8)
def test_nothing_else_takes_them(use: Callable[[Any], object], kind: str, ledger: Ledger) -> None:
    data = every_kind()[kind]
    with pytest.raises((DphistError, TypeError)):
        use(ledger.guard(data))
    assert not Path("never.html").exists()


def test_a_guard_shows_nothing(ledger: Ledger) -> None:
    data = ledger.guard(dh.Profile.from_counts([31337, 4242]))
    for text in (repr(data), str(data), f"{data}"):
        assert text == f"Guarded(by {ledger.place}; not shown)"
    with pytest.raises(LedgerError) as caught:
        data.counts  # noqa: B018
    assert "31337" not in str(caught.value)


def test_another_ledger_refuses_them(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other", epsilon=1, unit="one record")
    data = ledger.guard(PROFILE)
    for call in (
        lambda: other.release(SCAN, data, by="ana", key="k"),
        lambda: other.guard(data),
        lambda: other.plan([SCAN], data=data),
        lambda: other.reserve(SCAN, data=data, by="ana", key="k"),
    ):
        with pytest.raises(LedgerError, match="guarded by another ledger"):
            call()
    assert other.spent.epsilon == 0
    again = ledger.guard(data)
    assert Ledger.open(ledger.place).release(SCAN, again, by="ana", key="k")


def test_guarded_data_may_be_opened_late(ledger: Ledger) -> None:
    data = Deferred(lambda: ledger.guard(PROFILE), records=1)
    assert ledger.release(SCAN, data, by="ana", key="k")


def test_data_that_are_opened_must_be_what_was_paid_for(tmp_path: Path) -> None:
    """Three records of a user were promised, and the data allow five: the charge stays."""
    ledger = Ledger.create(tmp_path / "a", epsilon=1, unit="one user")
    mechanism = dh.AdaptiveScan(epsilon="0.01", sensitivity=5)
    five = dh.Profile.from_table(FRAME, label="label", user="user", max_records=5)
    with pytest.raises(LedgerError, match="lack the bound, that was paid for"):
        ledger.release(mechanism, Deferred(lambda: five, "one user", 3), by="ana", key="wrong")
    assert ledger.spent.epsilon == mechanism.epsilon
    ledger.release(mechanism, Deferred(lambda: five, "one user", 5), by="ana", key="right")


def test_a_unit_needs_a_column_of_users(ledger: Ledger) -> None:
    for make in (
        lambda: dh.Profile.from_table(FRAME, label="label", unit="one patient"),
        lambda: dh.LabelCounts.from_table(FRAME, label="label", max_labels=1, unit="one patient"),
        lambda: binned(unit="one patient"),
    ):
        with pytest.raises(ParameterError, match="unit needs user"):
            make()
