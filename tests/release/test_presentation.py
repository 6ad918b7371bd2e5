"""Words of people, and the date: saved, loaded, checked, and never a promise."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import ParameterError, ReleaseFileError
from dphist.release.document import checksum
from dphist.release.presentation import WORDS, Presentation

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "reference" / "release-1.schema.json").read_text())
WORDED = {
    "title": "Genes mutated in tumors",
    "unit": "patient",
    "label_name": "gene",
    "record_name": "mutation",
    "dataset": "TCGA breast cancer",
    "period": "2010 to 2014",
    "owner": "Clinic, data office",
    "note": "قائمة 基因 👩\u200d🔬 <b>bold</b>",
}


@cache
def of_users(unit: str | None = None) -> dh.Release:
    table = pa.table({"label": ["a"] * 50, "user": list(range(50))})
    counts = dh.LabelCounts.from_table(
        table, label="label", user="user", max_labels=1, max_count=1, unit=unit
    )
    return dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(counts)


def of_records() -> dh.Release:
    return dh.anonymize(dh.Profile.from_counts([8, 8, 3]), epsilon=1)


def edited(release: dh.Release, **words: object) -> str:
    content = json.loads(release.to_json())
    del content["checksum"]
    content["provenance"] |= words
    return json.dumps({**content, "checksum": checksum(content)})


def test_words_are_saved_and_loaded(tmp_path) -> None:
    release = of_users().present(**WORDED)
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded == release
    assert loaded.presentation == release.presentation
    content = json.loads(release.to_json())
    assert content["provenance"] == {**WORDED, "date": datetime.now(UTC).date().isoformat()}
    jsonschema.validate(content, SCHEMA)


def test_words_change_nothing_else() -> None:
    release = of_users()
    worded = release.present(**WORDED)
    assert worded.guarantee == release.guarantee
    assert worded.value is release.value
    assert worded.provenance == release.provenance
    assert worded.present(**dict.fromkeys(WORDED)) == release


def test_a_file_of_an_earlier_version_has_no_date() -> None:
    content = json.loads(of_records().to_json())
    del content["checksum"], content["provenance"]
    old = dh.Release.from_json(json.dumps({**content, "checksum": checksum(content)}))
    assert old.presentation == Presentation(date=None)
    assert "provenance" not in json.loads(old.to_json())
    assert old.present(title="Old").presentation == Presentation(title="Old", date=None)


def test_the_date_stays_the_day_of_the_release() -> None:
    made = replace(of_records(), presentation=Presentation(date="2020-02-29"))
    later = made.present(title="Later").redecode()
    assert later.presentation == Presentation(title="Later", date="2020-02-29")
    with pytest.raises(ParameterError, match="date is unknown: the words are title"):
        made.present(date="2026-01-01")  # type: ignore[call-arg]


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize(
    "value",
    ["", "  ", "a\nb", "a\x1b[2J", "a\u202eb", "a\x00", "x" * 1001, 3, b"a", "a\u2028b"],
)
def test_what_cannot_be_shown_is_refused(name, value) -> None:
    release = of_users()
    with pytest.raises(ParameterError, match=f"^{name} must be one line") as caught:
        release.present(**{name: value})
    assert "\x1b" not in str(caught.value)
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(edited(release, **{name: value if value != b"a" else 4}))


@pytest.mark.parametrize("noun", ["a/b/c", "/b", "a/", "one ", "x" * 61, "a/" + "x" * 61])
def test_names_have_one_or_two_forms(noun) -> None:
    with pytest.raises(ParameterError, match="unit must be"):
        Presentation(unit=noun)


@pytest.mark.parametrize("date", ["2026-13-01", "26-1-1", "20261123", 20261123, "today"])
def test_a_date_is_a_day(date) -> None:
    with pytest.raises(ParameterError, match="date must be a day"):
        Presentation(date=date)


def test_a_word_for_a_user_promises_nothing_more() -> None:
    """Calling a record a patient would say that patients are protected; renaming one, others."""
    assert of_users().present(unit="one patient").presentation.unit == "patient"
    assert of_users("one person").present(unit="person/people").presentation.unit == "person/people"
    for release, unit in [
        (of_records(), "patient"),
        (of_users("one visit"), "patient"),
        (dh.LeafCounts(epsilon=1, bins=2).release([3, 5]), "user"),
    ]:
        with pytest.raises(ParameterError, match="unit must be left out"):
            release.present(unit=unit)
        with pytest.raises(ReleaseFileError):
            dh.Release.from_json(edited(release, unit=unit))


def test_a_release_from_a_ledger_keeps_its_first_words(tmp_path) -> None:
    ledger = dh.Ledger.create(tmp_path / "l.ledger", epsilon=2, delta="1e-5", unit="one user")
    table = pa.table({"label": ["a"] * 50, "user": list(range(50))})
    counts = dh.LabelCounts.from_table(table, label="label", user="user", max_labels=1, max_count=1)
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
    words = Presentation(title="First", unit="patient", date="2001-01-01")
    first = ledger.release(mechanism, counts, presentation=words, by="ana", key="k")
    today = datetime.now(UTC).date().isoformat()
    assert first.presentation == replace(words, date=today)
    other = Presentation(title="Other")
    again = ledger.release(mechanism, counts, presentation=other, by="ana", key="k")
    assert again == first
    with ledger:
        assert ledger.stored("k").presentation.title == "First"


def test_a_ledger_refuses_a_wrong_word_before_it_charges(tmp_path) -> None:
    ledger = dh.Ledger.create(tmp_path / "l.ledger", epsilon=2, unit="record")
    profile = dh.Profile.from_counts([8, 8, 3])
    with ledger:
        before = ledger.spent
        words = Presentation(unit="patient")
        with pytest.raises(ParameterError, match="unit must be left out"):
            scan = dh.AdaptiveScan(epsilon=1)
            ledger.release(scan, profile, presentation=words, by="ana", key="k")
        assert ledger.spent == before
