"""What the page of a release discloses, under its headings."""

import html
import re
from collections.abc import Callable

import pandas as pd
import pytest

import dphist as dh
from dphist.document import errata
from dphist.document.disclosure import disclosure_blocks
from dphist.document.errata import Erratum
from dphist.document.mechanism_facts import describe_noise
from dphist.report import make_release_document, report_html
from tests.support.mechanisms.cases import CASES, calibrated, made, released
from tests.support.report.releases import SENTINELS, hostile_release, secret_release

HEADINGS = [
    "Privacy unit",
    "Privacy parameters",
    "Dataset characteristics",
    "Data creation pipeline",
    "Invariants",
    "Privacy-loss accounting",
    "Post-processing",
    "Implementation",
    "Caveats",
    "Errata",
]


def release_of(name: str) -> dh.Release:
    return released(made(name), CASES[name][1])


def lines_of(release: dh.Release) -> dict[str, list[str]]:
    facts = disclosure_blocks(release, make_release_document(release))
    return {fact.name: [*fact.lines] for fact in facts}


def said(release: dh.Release) -> dict[str, str]:
    return {heading: "\n".join(lines) for heading, lines in lines_of(release).items()}


def disclosed(page: str) -> str:
    """The text of the section of a page."""
    found = re.search(r'aria-labelledby="disclosure">(.*?)</section>', page, re.DOTALL)
    assert found
    text = html.unescape(re.sub(r"<[^>]*>", " ", found[1]))
    for typeset, plain in (("\u00a0", " "), ("\u2019", "'")):
        text = text.replace(typeset, plain)
    return text


@pytest.mark.verify
@pytest.mark.parametrize("name", CASES)
def test_every_release_has_every_section(name: str) -> None:
    sections = lines_of(release_of(name))
    assert [*sections] == HEADINGS
    for paragraphs in sections.values():
        assert paragraphs
        for paragraph in paragraphs:
            assert paragraph[-1] in ".;)"
            assert "None" not in paragraph
            assert "Fraction(" not in paragraph


def test_unit_parameters_noise_and_threshold_are_stated() -> None:
    found = said(release_of("ThresholdHistogram, laplace"))
    assert "Protected: one user" in found["Privacy unit"]
    assert "Not covered: m users together" in found["Privacy unit"]
    assert "ε = 1.4, δ = 0.000001 (Approximate DP)" in found["Privacy parameters"]
    assert "Noise: two-sided geometric" in found["Privacy parameters"]
    assert "Noise scale: 1.42857 records." in found["Privacy parameters"]
    assert "is above 21 records;" in found["Privacy parameters"]
    assert "Columns of the table: label, count." in found["Dataset characteristics"]
    assert (
        "Columns of the table: label." in said(release_of("TopLabels"))["Dataset characteristics"]
    )
    assert "threshold" not in said(release_of("LeafCounts"))["Privacy parameters"].lower()


def test_a_release_that_a_ledger_paid_for_names_its_entry(tmp_path) -> None:
    ledger = dh.Ledger.create(tmp_path / "x.ledger", epsilon=1, unit="one record")
    release = ledger.release(dh.LeafCounts(epsilon="0.1", bins=3), [1, 2, 3], by="ana", key="k")
    found = said(release)
    assert found["Data creation pipeline"].startswith("1. The cost is charged to a ledger")
    assert "Entry 3 of the ledger x" in found["Privacy-loss accounting"]
    assert (
        "their costs add to this one" in said(release_of("LeafCounts"))["Privacy-loss accounting"]
    )


def test_a_plan_says_how_many_releases_its_numbers_are_for() -> None:
    name = "ThresholdHistogram, laplace"
    release = released(calibrated(name, releases=12), CASES[name][1])
    assert "(Approximate DP), for 12 releases together." in said(release)["Privacy parameters"]


@pytest.mark.long(every=6)
@pytest.mark.parametrize("name", CASES)
def test_the_page_has_every_section_as_text(name: str) -> None:
    release = release_of(name).present(dataset="Visits <b>")
    page = report_html(release)
    text = disclosed(page)
    for heading, lines in lines_of(release).items():
        for part in (heading, *lines):
            assert part in text
    assert "Visits <b>" not in page


@pytest.mark.verify
def test_sentences_of_the_page_use_the_words_of_people() -> None:
    rows = pd.DataFrame({"who": [1, 2, 3], "label": ["a", "b", "a"]})
    counts = dh.LabelCounts.from_table(rows, label="label", user="who", max_labels=2)
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2).release(counts)
    words = {"label_name": "gene", "record_name": "mutation", "unit": "patient"}
    text = disclosed(report_html(release.present(**words)))
    assert "dphist bounded each patient to at most 2 genes" in text
    assert "is above 15 mutations;" in text
    assert "Columns of the table: label, count." in text  # as in the file
    public = dh.SortedCounts(epsilon=1, labels=60).release(dh.Profile.from_counts([3, 1]))
    text = disclosed(report_html(public.present(label_name="gene")))
    assert "The parameter labels = 60, which" in text


NOISE: dict[str, tuple[str, str]] = {
    "AdaptiveScan": ("geometric", "integer arithmetic"),
    "PartitionSampler": ("exponential mechanism", "IEEE 754"),
    "AdaptiveTree": ("geometric", "integer arithmetic"),
    "AdaptiveTree, rho": ("Gaussian", "2^-53"),
    "ThresholdHistogram, laplace": ("geometric", "integer arithmetic"),
    "ThresholdHistogram, gaussian": ("Gaussian", "2^-53"),
    "TopThreshold": ("Gaussian", "2^-37"),
    "TopLabels": ("Gumbel", "2^-37"),
    "ContinualMechanism": ("Gaussian", "2^-100"),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_and_its_exactness_are_those_of_the_mechanism(name: str) -> None:
    law, assumed = NOISE[name]
    noise = describe_noise(made(name))
    assert law in noise.law
    assert assumed in noise.exactness
    assert law in made(name).description or name in ("PartitionSampler", "TopThreshold")


def test_of_another_package_nothing_is_claimed() -> None:
    noise = describe_noise(hostile_release().mechanism)
    assert "dphist has not checked" in noise.exactness
    assert noise.scale == ""


def test_errata_stand_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of("LeafCounts")
    version = dh.__version__
    assert said(release)["Errata"] == (
        f"The errata of dphist {version} name no fault of version {version}."
    )
    fault = Erratum(">=0.1", "It was wrong.", "Release again.", ())
    monkeypatch.setattr(errata, "ERRATA", (fault,))
    assert "It was wrong. Release again." in said(release)["Errata"]


@pytest.mark.parametrize("release", [secret_release])
def test_no_true_count_is_disclosed(release: Callable[[], dh.Release]) -> None:
    text = "\n".join(said(release()).values())
    for sentinel in SENTINELS:
        assert str(sentinel) not in text
        assert f"{sentinel:,}" not in text
