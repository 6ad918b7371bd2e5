"""Releases speak of patients if the caller named the unit so: summary, page, files, guarantee."""

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dphist as dh
from dphist.document import mechanism_facts
from dphist.document.kind import DataFacts
from dphist.document.unit_words import describe_counted_after_cut
from dphist.labels import bounding
from dphist.labels import words as labels_words
from dphist.privacy.unit import as_unit
from dphist.report import summary_text
from dphist.streams import words as streams_words

CUT: dict[str, Any] = {"max_labels": 2}
TOTAL: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
OF_PATIENTS = "all events of one patient, of which at most 3 count"


def visits() -> pd.DataFrame:
    """300 patients with up to 3 drugs, and ages."""
    rows = range(900)
    return pd.DataFrame(
        {
            "patient": [row % 300 for row in rows],
            "drug": ["abc"[row % 3] for row in rows],
            "age": [row % 90 for row in rows],
        }
    )


def labels(mechanism: Any, **how: Any) -> dh.Release:
    frame = visits().astype({"patient": "Int64"})
    if how.get("null_users"):
        frame.loc[:9, "patient"] = pd.NA
    of: dict[str, Any] = {"label": "drug", "user": "patient", "unit": "one patient", **CUT}
    return mechanism.release(dh.LabelCounts.from_table(frame, **of, **how))


def releases() -> dict[str, dh.Release]:
    of: dict[str, Any] = {"user": "patient", "max_records": 2, "unit": "one patient"}
    threshold = dh.calibrate(dh.ThresholdHistogram, **TOTAL, **CUT)
    counting = dh.calibrate(dh.ThresholdHistogram, **TOTAL, **CUT, users_by_labels=100)
    top = dh.TopLabels(epsilon=1, delta="1e-6", max_labels=2, k=2, candidates=3)
    binned = dh.bin_counts(visits(), column="age", edges=range(0, 91, 10), **of)
    return {
        "threshold": labels(threshold, null_users="drop"),
        "separate": labels(threshold, null_users="separate"),
        "users by labels": labels(counting, users_by_labels=100),
        "top": labels(top),
        "anonymized": dh.AdaptiveScan(epsilon=1, sensitivity=2).release(
            dh.Profile.from_table(visits(), label="drug", **of)
        ),
        "ranges": dh.AdaptiveTree(epsilon=1, bins=9, sensitivity=2).release(binned),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, dh.Release]:
    return releases()


def page_of(release: dh.Release, folder: Path) -> str:
    """Return the words of a page, without what it says of the mechanism and its parameters."""
    dh.write_report(release, folder / "page.html")
    text = (folder / "page.html").read_text()
    text = re.sub(r"<(style|svg|script).*?</\1>", " ", text, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    assert "patient" in text
    for parameter in mechanism_facts.parameters(release.mechanism):
        text = text.replace(parameter.meaning, "")
    of_the_mechanism = "The numbers of users within the bounds, and of those who had more"
    return text.replace(of_the_mechanism, "").replace("users_by_labels", "")


@pytest.mark.verify
@pytest.mark.parametrize("name", list(releases()))
def test_a_release_speaks_of_patients(name: str, made, tmp_path: Path) -> None:
    release = made[name]
    assert release.guarantee.unit.who.startswith("patient")
    again = dh.Release.from_json(release.to_json())
    assert again == release
    assert again.guarantee.unit == release.guarantee.unit
    summary = summary_text(again).replace("users_by_labels", "")
    assert "patient" in summary
    for text in (summary, page_of(again, tmp_path)):
        assert not re.search(r"\b[Uu]sers?\b", text), re.findall(r".{40}\b[Uu]sers?\b.{40}", text)


def test_rows_without_a_patient_are_patients_of_their_own(made) -> None:
    release = made["separate"]
    assert str(release.guarantee.unit) == "one patient, or one row without a patient"
    summary = " ".join(summary_text(release).split())
    assert "Rows without a patient each count as a separate patient." in summary
    assert "does not state how many labels patients have" in summary
    limits = dict(labels_words.describe_limits(release.mechanism, DataFacts.of(release)))
    assert limits["Rows without a patient."].startswith("Each counts as a separate patient")
    assert "what patients had beyond that" in limits["What patients had beyond the bounds."]


def test_numbers_are_of_patients(made) -> None:
    assert "of patients have more" in " ".join(summary_text(made["users by labels"]).split())
    of_both = dh.PrivacyUnit("patient", or_rows=True)
    assert of_both.plural == "patients, or rows without a patient"
    few = dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="1e-2", max_labels=2)
    for how, plural in (({}, "patients"), ({"null_users": "separate"}, of_both.plural)):
        summary = " ".join(summary_text(labels(few, **how)).split())
        assert f"δ times the number of {plural}, " in summary


def test_articles_and_plurals_of_other_units() -> None:
    said = DataFacts(unit=dh.PrivacyUnit("account"), bounds={"null_users": "drop"})
    mechanism = dh.ThresholdHistogram(**TOTAL, **CUT)
    text = bounding.bounding_in_words(mechanism, said)
    assert "If an account has more" in text
    assert "Rows without an account are dropped." in text
    for unit in ("agency", "hospital stay"):
        counted = describe_counted_after_cut(dh.PrivacyUnit(unit), "at most 2 labels", "2 labels")
        assert (counted.who, str(counted.cut)) == ("bounded", f"each {unit} bounded to 2 labels")


def test_a_stream_speaks_of_patients() -> None:
    mechanism = dh.ContinualMechanism(**TOTAL, horizon=100, max_events_per_user=3)
    unit = as_unit(OF_PATIENTS)
    assert "At most 3 events of a patient count" in streams_words.bounding_in_words(mechanism, unit)
    assert "the events of one patient by" in streams_words.describe_neighbors(mechanism, unit)
    assert "What patients had beyond the bound." in dict(
        streams_words.describe_limits(mechanism, unit)
    )
    assert "of a user count" in streams_words.bounding_in_words(mechanism, mechanism.unit)
