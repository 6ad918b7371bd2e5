"""Words of people stand in every sentence, and never in the place of released values."""

import re

import pyarrow as pa

import dphist as dh
from dphist.report import plot, report_html, summary_text
from tests.support.report.html import Page

WORDS = {"label_name": "gene", "record_name": "mutation", "unit": "patient/patientes"}
NAMES = ["label", "records", "a user", "TP53"]


def release_with_words(**words: str) -> dh.Release:
    counts = dh.LabelCounts.from_counts(
        pa.array(NAMES), [900, 800, 700, 600], max_labels=2, max_count=1
    )
    mechanism = dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=2)
    return mechanism.release(counts).present(**words)


def test_a_page_speaks_of_genes_mutations_and_patients() -> None:
    text = Page(report_html(release_with_words(**WORDS))).text
    for name in NAMES:
        assert f" {name} " in text  # released values stay
        text = text.replace(f" {name} ", " ")
    for own in ("user", "record"):  # what the words stand for is said once
        assert text.count(f"is the owner's word for one {own} of the data") == 1
        text = text.replace(f"word for one {own} of the data", "")
    # Python code and names of parameters stay too.
    code = r"[a-z]+_[a-z_]+|labels=None|\blabels not given|table: .*"
    plain = re.sub(code, "", text)
    assert not re.search(r"\b(labels?|records?|users?)\b", plain), re.findall(
        r".{30}\b(?:labels?|records?|users?)\b.{30}", plain
    )
    assert "4 genes are common enough to be named" in text
    assert "One patient adds at most 1 to each of at most 2 genes." in text
    assert "patientes" in text


def test_plot_and_summary_speak_so_too() -> None:
    axes = plot(release_with_words(**WORDS))
    assert [axes[0].get_xlabel(), axes[1].get_xlabel()] == ["Count (mutations)", "Rank (genes)"]
    text = summary_text(release_with_words(**WORDS))
    assert "Genes           4, in the release" in text
    assert "labels=None" in text
    assert "  Gene                                       Count" in text


def test_a_record_by_another_name_is_no_more_than_a_record() -> None:
    release = dh.LeafCounts(epsilon=1, bins=2).release([3, 5]).present(record_name="patient")
    said = '"patient" is the owner\'s word for one record of the data; each is protected by itself'
    assert said in Page(report_html(release)).text
    assert said in " ".join(summary_text(release).split())


def test_words_cannot_be_markup() -> None:
    release = release_with_words(label_name="<b>x</b>".replace("/", "|"), record_name="&amp;")
    source = report_html(release)
    assert "<b>" not in source
    assert "&lt;b&gt;" in source
    assert "&amp;amp;" in source
