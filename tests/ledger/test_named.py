"""What streams and sessions of a ledger release names the entry that paid for it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dphist as dh
from dphist.privacy.unit import as_unit
from dphist.release.document import checksum
from dphist.report import summary_text

PARAMETERS: dict[str, Any] = {"epsilon": "0.1", "delta": "1e-7"}


@pytest.fixture
def ledger(tmp_path: Path) -> dh.Ledger:
    place = tmp_path / "clinic.ledger"
    return dh.Ledger.create(place, epsilon=9, delta="1e-5", unit="one patient")


def test_a_stream_names_its_entry_and_its_users(ledger: dh.Ledger, tmp_path: Path) -> None:
    state, key = tmp_path / "sales.state", "sales"
    mechanism = dh.ContinualMechanism(**PARAMETERS, horizon=100, max_events_per_user=3)
    with ledger.open_stream(state, mechanism, by="ana", key=key, unit="one patient") as stream:
        stream.update(["a"], user=1)
        release = stream.release()
    with ledger.open_stream(state, by="ana", key=key) as stream:  # without its parameters
        assert stream.released() == release
    assert release.provenance == {
        "unit": dh.PrivacyUnit("patient", events=3),
        "ledger": f"clinic ({ledger.id})",
        "account": "main",
        "entry": str(ledger.find(key).entry),
    }
    assert release.guarantee.unit == dh.PrivacyUnit("patient")
    again = dh.Release.from_json(release.to_json())
    assert again == release
    assert again.guarantee.unit == dh.PrivacyUnit("patient")
    assert "user" not in summary_text(again).replace("max_events_per_user", "")


@pytest.mark.verify
@pytest.mark.parametrize("text", ["one ward 7", "one account, or one row without an account"])
def test_a_stream_of_a_ledger_of_0_2_goes_on(text: str, tmp_path: Path) -> None:
    """The account holds text, and so does what was released before."""
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=9, delta="1e-5", unit=text)
    mechanism = dh.ContinualMechanism(**PARAMETERS, horizon=100, max_events_per_user=3)
    with ledger.open_stream(tmp_path / "s", mechanism, by="ana", key="k", unit=text) as stream:
        stream.update(["a"], user=1)
        release = stream.release()
    with ledger.open_stream(tmp_path / "s", by="ana", key="k") as stream:
        assert str(stream.unit) == f"all events of {text}, of which at most 3 count"
    charged = [each.content for each in ledger.entries() if each.content.get("key") == "k"]
    assert charged[0]["costs"][0]["unit"] == text  # the hash of what was charged includes it
    assert release.guarantee.unit == as_unit(text)
    content = json.loads(release.to_json())
    content["stated"]["unit"] = str(stream.unit)
    content["unit"] = {**content["unit"], "who": text.removeprefix("one "), "or_rows": False}
    del content["checksum"]
    again = dh.Release.from_json(json.dumps({**content, "checksum": checksum(content)}))
    assert again == release


def test_a_stream_of_events_keeps_its_unit(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=9, delta="1e-5", unit="one event")
    mechanism = dh.ContinualMechanism(**PARAMETERS, horizon=100)
    with ledger.open_stream(tmp_path / "s", mechanism, by="ana", key="k") as stream:
        assert stream.release().provenance["unit"] == dh.PrivacyUnit("event")
        assert stream.released().guarantee.unit == dh.PrivacyUnit("event")


def test_a_session_names_its_entry(ledger: dh.Ledger) -> None:
    counts = dh.LabelCounts.from_counts(["a", "b"], [90, 80], max_labels=2, max_count=1)
    mechanism = dh.PayWhatYouGet(**PARAMETERS, budget=4, queries=2)
    guarded = ledger.guard(counts)
    with pytest.raises(dh.LedgerError, match="protects one user"):
        ledger.session(mechanism, guarded, by="ana", key="drugs")
    counts = dh.LabelCounts.from_table(
        pd.DataFrame({"drug": ["a"] * 90, "patient": range(90)}),
        label="drug",
        user="patient",
        max_labels=2,
        unit="one patient",
        ledger=ledger,
    )
    session = ledger.session(mechanism, counts, by="ana", key="drugs")
    release = session.top(counts, k=1, candidates=1)
    assert release.provenance["entry"] == str(ledger.find("drugs").entry)
    assert release.provenance["unit"] == dh.PrivacyUnit("patient")
    assert release.provenance["account"] == "main"
