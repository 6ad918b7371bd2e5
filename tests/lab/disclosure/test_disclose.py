"""An entry for the registry: valid for every mechanism, a draft always, and never of nothing."""

import json
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import pandas as pd
import pytest
import yaml

import dphist as dh
from dphist.document import errata
from dphist.document.errata import Erratum
from dphist.lab.disclosure.entry import SCHEMA, RegistryEntry, make_slug
from tests.support.abouts import ABOUT, TIER_3
from tests.support.mechanisms.cases import CASES, made, released
from tests.support.report.releases import HOSTILE, hostile_release

VISITS = pd.DataFrame({"patient": [i % 90 for i in range(270)], "drug": ["a", "b", "c"] * 90})
SECRETS = ("secret-name", "secret-key", "secret purpose", "secret data set")


def release_of(name: str = "LeafCounts") -> dh.Release:
    return released(made(name), CASES[name][1])


def content_of(what: Any, **about: Any) -> dict[str, Any]:
    """The entry as a reader of the file gets it."""
    content = yaml.safe_load(dh.disclose(what, about={**ABOUT, **about}).to_yaml())
    jsonschema.validate(content, SCHEMA)
    assert content["status"] == "Draft"
    found: dict[str, Any] = content["deployment"]
    return found


@pytest.fixture
def ledger(tmp_path: Path) -> dh.Ledger:
    """A ledger that paid for a release, a session and a stream, and holds a reservation."""
    name, key, note, dataset = SECRETS
    made = dh.Ledger.create(
        tmp_path / "clinic.ledger", epsilon=2, delta="1e-6", unit="one patient", dataset=dataset
    )
    drugs = dh.LabelCounts.from_table(
        VISITS, label="drug", user="patient", max_labels=2, unit="one patient"
    )
    counted = dh.ThresholdHistogram(epsilon="0.1", delta="1e-9", max_labels=2)
    made.release(counted, drugs, by=name, key=key, note=note)
    asked = dh.PayWhatYouGet(budget=9, queries=3, epsilon="0.05", delta="1e-9", max_labels=2)
    with made.session(asked, drugs, by=name, key=f"{key} 2") as session:
        session.top(drugs, k=2, candidates=2)
    stream = made.open_stream(
        tmp_path / "state", epsilon="0.01", delta="1e-9", horizon=99, max_events_per_user=2,
        by=name, key=f"{key} 3", unit="one patient",
    )  # fmt: skip
    stream.close()
    made.reserve(dh.LeafCounts(epsilon="0.001", bins=3), by=name, key=f"{key} 4", data=bounded())
    return made


def bounded() -> dh.BinnedCounts:
    visits = pd.DataFrame({"patient": [1, 2, 3], "age": [10, 20, 30]})
    return dh.bin_counts(
        visits, column="age", start=0, stop=60, width=20, user="patient", max_records=1,
        unit="one patient",
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(every=8)
def test_every_mechanism_has_a_valid_entry(name: str) -> None:
    found = content_of(release_of(name))
    assert f"`{made(name).__class__.__name__}`" in found["implementation"]["mechanisms"]
    assert found["deployment_model"]["model_name"] == "Central"
    stream = name.startswith("Continual")
    many = found["deployment_model"]["release_type"]
    assert many == ("Many releases" if stream else "One release")
    assert ("data_source_type" in found["deployment_model"]) is stream


def test_people_and_software_fill_the_fields() -> None:
    entry = dh.disclose(release_of("ThresholdHistogram, laplace"), about=ABOUT)
    found = entry.content["deployment"]
    assert entry.content["tier"] == 2
    assert found["basic"] == {
        **{name: ABOUT[name] for name in found["basic"] if name in ABOUT},
        "data_product_type": "Summary statistics",
    }
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert found["privacy_loss"]["privacy_unit"] == "one user"
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.4, "delta": 1e-6}
    mechanisms = found["implementation"]["mechanisms"]
    assert "drawn exactly" in mechanisms
    assert f"dphist {dh.__version__}" in mechanisms
    assert "Timing, memory and disk use are not protected" in mechanisms
    assert "is above 21 records;" in mechanisms
    assert "3e9c812" in found["administrative"]["notes"]
    assert found["administrative"]["registry_authors"] == ["Ana Example"]


def test_an_entry_of_the_third_tier_has_what_it_needs() -> None:
    entry = dh.disclose(release_of(), about={**ABOUT, **TIER_3, "plans": "One a year."})
    found = entry.content["deployment"]
    assert entry.content["tier"] == 3
    assert found["dp_variant"]["data_domain"] == TIER_3["data_domain"]
    assert found["deployment_model"]["actors"] == TIER_3["actors"]
    assert "One a year." in found["deployment_model"]["release_type_details"]
    assert found["implementation"]["justification"] == TIER_3["justification"]
    tuning = found["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert tuning.startswith("- None.\n- Each record is protected by itself")


@pytest.mark.verify
def test_public_numbers_are_named_as_unprotected() -> None:
    named = {
        "SortedCounts": "The parameter labels = 60, which was given as public knowledge.",
        "ThresholdHistogram, known": "The list of 2 labels",
        "LeafCounts": "The number of bins",
        "ContinualMechanism": "The number of events, which is not protected",
    }
    for name, text in named.items():
        assert text in content_of(release_of(name))["dp_variant"]["unprotected_quantities"]
    ages = dh.LeafCounts(epsilon=1, bins=3).release(bounded())
    found = content_of(ages)["dp_variant"]["unprotected_quantities"]
    assert "The columns and the edges of the bins: age from 0 to 60." in found


def test_what_dphist_cut_and_what_a_caller_asserts_are_told_apart() -> None:
    drugs = dh.LabelCounts.from_table(
        VISITS, label="drug", user="patient", max_labels=2, unit="one patient"
    )
    cut = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2).release(drugs)
    field = "preprocessing_and_hyperparameter_tuning"
    assert (
        "dphist bounded each patient to at most 2 labels"
        in content_of(cut)["implementation"][field]
    )
    asserted = content_of(release_of("TopLabels"))["implementation"][field]
    assert "Whoever made the data asserts that one user has" in asserted
    asserted = content_of(release_of("AdaptiveScan, users"))["implementation"][field]
    assert "asserts that one unit has at most 3 records" in asserted


def test_several_releases_are_one_entry() -> None:
    releases = [release_of("LeafCounts"), release_of("AdaptiveTree"), release_of("AdaptiveTree")]
    found = content_of(releases)
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.1}
    assert found["deployment_model"]["release_type"] == "Many releases"
    assert "taken to be of one data set" in found["privacy_loss"]["privacy_parameters_details"]
    assert "`AdaptiveTree` (2 releases)" in found["implementation"]["mechanisms"]


def test_releases_for_tests_are_refused(seeded) -> None:
    release = dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3], seeded(1))
    with pytest.raises(dh.UnsupportedError, match="the release protects nobody"):
        dh.disclose(release, about=ABOUT)
    with pytest.raises(dh.UnsupportedError, match="release 2 protects nobody"):
        dh.disclose([release_of(), release], about=ABOUT)


def test_a_release_for_tests_in_a_ledger_is_refused(tmp_path: Path, seeded) -> None:
    ledger = dh.Ledger.create(tmp_path / "x.ledger", epsilon=1, unit="one record")
    ledger.release(dh.LeafCounts(epsilon="0.1", bins=3), [1, 2, 3], by="ana", key="1")
    dh.disclose(ledger, about=ABOUT)
    mechanism = dh.LeafCounts(epsilon="0.2", bins=3)
    ledger.release(mechanism, [1, 2, 3], by="ana", key="2", source=seeded(1))
    with pytest.raises(dh.UnsupportedError, match="the release of entry 5 protects nobody"):
        dh.disclose(ledger, about=ABOUT)


def test_a_release_with_a_known_fault_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Erratum(">=0.1,<9", "It was wrong.", "Release again.", ("LeafCounts",))
    monkeypatch.setattr(errata, "ERRATA", (fault,))
    with pytest.raises(dh.UnsupportedError, match=r"known privacy fault: It was wrong\. Release"):
        dh.disclose(release_of(), about=ABOUT)
    dh.disclose(release_of("AdaptiveTree"), about=ABOUT)


def test_nothing_counts_twice() -> None:
    release = release_of()
    with pytest.raises(dh.ParameterError, match="number 3 is the same as number 1"):
        dh.disclose([release, release_of(), release], about=ABOUT)
    with pytest.raises(dh.ParameterError, match="number 2 is the same as number 1"):
        dh.disclose([release, release.present(title="Another title")], about=ABOUT)
    stream = dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=99)
    readings = []
    for _ in range(2):
        stream.update_many([["x"]] * 40)
        readings.append(stream.release())
    with pytest.raises(dh.ParameterError, match="name the last one"):
        dh.disclose(readings, about=ABOUT)


def test_what_is_not_a_release_is_refused() -> None:
    with pytest.raises(dh.ParameterError, match="at least one release"):
        dh.disclose([], about=ABOUT)
    with pytest.raises(dh.ParameterError, match=r"must be a dphist\.Release"):
        dh.disclose([dh.Profile.from_counts([1, 2])], about=ABOUT)  # type: ignore[list-item]
    with pytest.raises(dh.ParameterError, match="account goes with a ledger"):
        dh.disclose(release_of(), about=ABOUT, account="main")


def test_a_ledger_states_its_budget_and_not_what_was_spent(ledger: dh.Ledger) -> None:
    entry = dh.disclose(ledger, about=ABOUT)
    found = entry.content["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 2, "delta": 1e-6}
    assert found["privacy_loss"]["privacy_unit"] == "one patient"
    model = found["deployment_model"]
    assert model["release_type"] == "Many releases"
    assert model["data_source_type"] == "Dynamic"
    assert model["access_type"] == "Interactive"
    # Of four entries one is a reservation, which has released nothing.
    assert model["release_type_details"].startswith("3 releases charged to the account")
    for name in ("ThresholdHistogram", "PayWhatYouGet", "ContinualMechanism"):
        assert f"`{name}`" in found["implementation"]["mechanisms"]
    assert "LeafCounts" not in found["implementation"]["mechanisms"]


def test_a_monthly_budget_is_disclosed_as_the_sum_of_its_months(tmp_path: Path) -> None:
    monthly: dict[str, Any] = {"unit": "one record", "renew": "monthly"}
    ledger = dh.Ledger.create(tmp_path / "a", epsilon=2, delta="1e-6", **monthly)
    scan, profile = dh.AdaptiveScan(epsilon="0.5"), dh.Profile.from_counts([3])
    for month in ("2031-01", "2031-03"):
        with patch("dphist.ledger.entries.now", lambda _, at=month: f"{at}-01T00:00:00"):
            ledger.release(scan, profile, by="ana", key=month)
    found = dh.disclose(ledger, about=ABOUT).content["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 4, "delta": 2e-6}
    said = str(found)
    assert "sum of the monthly budgets of an account of a ledger, over the 2 calendar" in said
    assert "epsilon=2, delta=1e-6 in each calendar month (UTC). 2 months have been" in said
    assert "each further month adds as much" in said
    assert "never renewed" not in said


def test_words_of_a_ledger_s_users_are_not_published(ledger: dh.Ledger) -> None:
    text = dh.disclose(ledger, about=ABOUT).to_yaml()
    assert not [secret for secret in SECRETS if secret in text]


def test_an_account_is_chosen_by_name(ledger: dh.Ledger) -> None:
    ledger.open_account("second", rho="0.1", unit="one record")
    with pytest.raises(dh.ParameterError, match="account must be one of 'main', 'second'"):
        dh.disclose(ledger, about=ABOUT)
    with pytest.raises(dh.LedgerError, match="has paid for no release"):
        dh.disclose(ledger, about=ABOUT, account="second")
    with pytest.raises(dh.LedgerError, match="no account 'third'"):
        dh.disclose(ledger, about=ABOUT, account="third")
    ledger.release(
        dh.LeafCounts(rho="0.05", bins=3), [1, 2, 3], by="ana", key="x", account="second"
    )
    ledger.close_account("second")
    found = dh.disclose(ledger, about=ABOUT, account="second").content["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"rho": 0.1}
    assert found["deployment_model"]["release_type"] == "One release"


def test_a_charge_for_another_package_without_a_release_is_refused(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "x.ledger", epsilon=1, unit="one record")
    with pytest.raises(dh.ParameterError):
        ledger.release(_Failing(), [1], by="ana", key="1")
    with pytest.raises(dh.LedgerError, match="entry 3 paid for _Failing, which is not of dphist"):
        dh.disclose(ledger, about=ABOUT)


class _Failing:
    """A mechanism of somebody else's that fails after it was charged."""

    guarantee = dh.PureDP("0.1")

    def release(self, data: object) -> dh.Release:
        raise dh.ParameterError("data", "failed")


def test_markup_in_names_stays_text() -> None:
    text = dh.disclose(hostile_release(), about=ABOUT).to_yaml()
    assert HOSTILE.startswith("<script>")
    assert "<script>" not in text
    assert "&lt;script>" in text


def test_texts_of_people_come_back_as_they_were() -> None:
    said = {
        "name": "Ærzte: \"x\" # '&' | >",
        "description": "- one\n- two: *three*\n\n    code \\\\( \\epsilon \\\\)",
        "sources": "yes",
        "intended_use": "2026-11-30",
        "data_product_region": "県 📊 العربية",
        "publication_date": date(2026, 1, 2),
    }
    found = content_of(release_of(), **said)
    for name in ("name", "description", "intended_use", "data_product_region"):
        assert found["basic"][name] == said[name]
    assert found["basic"]["publication_date"] == "2026-01-02"
    assert found["administrative"]["sources"] == "yes"


def test_backslashes_that_the_registry_refuses_are_refused_here() -> None:
    with pytest.raises(dh.ParameterError, match="about has two backslashes"):
        dh.disclose(release_of(), about={**ABOUT, "description": r"a \\epsilon b"})


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(dh.ParameterError, match="name must have letters"):
        dh.disclose(
            release_of(), about={**ABOUT, "name": "!", "data_curators": ["!", "!x"]}
        ).to_yaml()


def test_the_first_line_is_the_address_as_the_registry_makes_it() -> None:
    entry = dh.disclose(release_of(), about=ABOUT)
    first = entry.to_yaml().splitlines()[0]
    assert first == "url_slug: drugs-dispensed-in-2026-county-hospital-health-office-2026"
    assert make_slug("Élan_vital (2)", ["A & B"], "2026-01-01") == "élan-vital-2--a-b-2026"


def test_an_entry_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    entry = dh.disclose(release_of(), about=ABOUT)
    entry.save(tmp_path / "entry.yaml")
    assert (tmp_path / "entry.yaml").read_text() == entry.to_yaml()
    with pytest.raises(dh.OutputFileError):
        entry.save(tmp_path / "none" / "entry.yaml")
    assert repr(entry) == f"RegistryEntry({entry.content['url_slug']!r}, Draft)"


@pytest.mark.verify
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "Approved"),
        ("tier", 1),
        ("tier", 3),  # without the fields of the third tier
        ("deployment.surprise", "x"),
        ("deployment.basic.name", ""),
        ("deployment.basic.publication_date", "2026-13-01"),
        ("deployment.dp_variant.variant_name", "Zero-concentrated DP"),  # with epsilon and delta
        ("deployment.privacy_loss.privacy_parameters", {"epsilon": 1}),
        ("deployment.privacy_loss.privacy_parameters.delta", 1),
        ("deployment.administrative.notes", "Nothing of a version."),
        ("deployment.administrative.registry_authors", []),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, value: Any) -> None:
    entry = dh.disclose(release_of("TopLabels"), about=ABOUT)
    content = json.loads(json.dumps(entry.content))
    *parents, last = path.split(".")
    held = content
    for name in parents:
        held = held[name]
    held[last] = value
    with pytest.raises(dh.ParameterError):
        RegistryEntry(content)


def test_the_schema_is_one_and_names_the_commit_it_follows() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert "commit 3e9c812 (2026-07-15)" in SCHEMA["$comment"]
