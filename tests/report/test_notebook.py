"""What notebooks show: released values with their guarantee, of secret data the bounds alone."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.document.blocks import CARD, Column, Document, Fact, Section, Table
from dphist.errors import LedgerError, ParameterError, UnsupportedError
from dphist.render.html import HEAD
from dphist.report import make_release_document
from dphist.report.notebook import html_of, register_view
from dphist.sentence import fill
from dphist.shown import show_by
from tests.support.refusal import NUMBER, SENTINEL
from tests.support.release.tables import BINNED, LABELS, RELEASES, STREAM
from tests.support.report.mean_kind import Mean

PROFILE = dh.Profile.from_counts([50] * 20 + [7])
AWKWARD = ["<b>tea</b>", "\u202ekaet", "كتاب", "x" * 300, "&amp;", "\x1b[31m"]
LABELED = dh.ThresholdHistogram(epsilon=20, delta="1e-6", max_labels=1).release(
    dh.LabelCounts.from_counts(AWKWARD, [900 - n for n in range(6)], max_labels=1, max_count=1)
)
MANY = dh.LeafCounts(epsilon=1, bins=(3, 3, 3)).release(np.ones((3, 3, 3), np.int64))
SHOWN: dict[str, Any] = {
    **{name: release for name, (release, _) in RELEASES.items()},
    "histogram": RELEASES["ranges"][0].value,
    "map": RELEASES["grid"][0].value,
    "anonymized alone": RELEASES["anonymized"][0].value,
    "labels alone": RELEASES["labels"][0].value,
    "awkward labels": LABELED,
    "stream": STREAM,
    "three axes": MANY,
    "three axes, value": MANY.value,
    "mechanism": dh.AdaptiveTree(rho="0.1", bins=8),
    "calibrated": dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=3),
    "pure": dh.PureDP("0.5", "one patient"),
    "zcdp": dh.ZCDP("0.1"),
    "approximate": dh.ApproxDP(1, "1e-6", "one patient"),
    "approximate zcdp": dh.ApproxZCDP("0.1", "1e-9"),
    "plan": dh.plan("labels", epsilon=["0.5", "1"], max_labels=[1, 10], delta="1e-6", users=9000),
    "plan of ranges": dh.plan("ranges", bins=16, total=10**6, epsilon=["0.5", "1"]),
    "profile": PROFILE,
    "counts of labels": LABELS,
    "counts of bins": BINNED,
}
each = pytest.mark.parametrize("name", SHOWN)
_VOID = {"meta", "br", "hr", "img", "input", "link"}


class Checked(HTMLParser):
    """Elements must be closed in order; the text of the page is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(value: Any) -> tuple[str, list[str]]:
    """Return the text that a card shows, in one line, and its tags."""
    parser = Checked()
    parser.feed(value._repr_html_())
    assert not parser.open
    return " ".join(" ".join(parser.text).split()), parser.tags


@each
@pytest.mark.quick(every=7)
def test_a_card_is_html_that_loads_nothing(name) -> None:
    html = SHOWN[name]._repr_html_()
    _, tags = read(SHOWN[name])
    assert not {"script", "img", "link", "iframe", "object"} & set(tags)
    assert not re.search(r"https?://|@import|url\((?!#)|javascript:", html)
    assert len(html) < 200_000


@pytest.mark.parametrize("name", ["anonymized", "labels", "ranges", "grid"])
def test_a_release_shows_what_it_is_its_guarantee_its_table_and_a_figure(name) -> None:
    release, _ = RELEASES[name]
    text, tags = read(release)
    assert text.startswith("Release: ")
    assert "differential privacy" in text
    assert "Whether one " in text
    assert type(release.mechanism).__name__ in text
    assert "table" in tags
    assert ("svg" in tags) == (name != "labels")
    shown = make_release_document(release)
    assert isinstance(shown, Document)
    tables = [block for block in shown.blocks(CARD) if isinstance(block, Table)]
    rows = [table.rows for table in tables]
    names = [fill(each, shown.slots) for table in tables for each in table.columns[-1].names]
    assert tags.count("table") == len(rows)
    assert tags.count("tr") == sum(1 + min(each, HEAD) for each in rows)
    assert all(each in text for each in names)


def test_figures_of_one_notebook_have_ids_of_their_own() -> None:
    ids = [set(re.findall(r'id="([^"]+)"', RELEASES["ranges"][0]._repr_html_())) for _ in "ab"]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_a_plan_shows_its_table_and_that_no_data_were_read() -> None:
    plan = SHOWN["plan"]
    text, tags = read(plan)
    for shown in ("No data were read", "one user", "9,000", str(plan.column("appears_from")[0])):
        assert shown in text
    assert tags.count("svg") == tags.count("table") == 1


def test_labels_are_text_whatever_they_are() -> None:
    text, tags = read(LABELED)
    assert "b" not in tags
    assert "<b>tea</b>" in text
    assert "&amp;" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "x" * 59 + "…" in text
    assert "x" * 60 not in text


def test_a_release_for_tests_says_so() -> None:
    release = dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3], source=lambda n: b"\x01" * n)
    assert "Protects nobody" in read(release)[0]
    assert "Protects nobody" not in read(RELEASES["ranges"][0])[0]


def test_a_value_of_another_kind_shows_the_guarantee() -> None:
    class Number(int):
        pass

    mechanism = dh.LeafCounts(epsilon=1, bins=3)
    text, _ = read(dh.Release(Number(3), mechanism.guarantee, mechanism))
    assert "1-differential privacy (pure)" in text


def test_mechanisms_and_guarantees_say_what_they_cost() -> None:
    text, _ = read(SHOWN["calibrated"])
    assert "(1, 1e-6)-differential privacy in all" in text
    assert "max_labels 3 Labels that one user changes at most." in text
    assert "zero-concentrated" in read(SHOWN["mechanism"])[0]
    text, _ = read(SHOWN["zcdp"])
    assert "Implies (2.14193892839, 1e-6)-differential privacy" in text
    assert "one patient" in read(SHOWN["approximate"])[0]
    assert "patients: δ times their number" in read(SHOWN["approximate"])[0]


# --- Secret data


def binned(values: list[int]) -> dh.BinnedCounts:
    rows = pd.DataFrame({"x": values, "who": 1})
    return dh.bin_counts(rows, column="x", edges=[0, 5, 10], user="who", max_records=2)


def labeled(values: list[str]) -> dh.LabelCounts:
    rows = pd.DataFrame({"word": pd.Series(values, dtype="str"), "who": 1})
    return dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=2)


def test_cards_of_secret_data_do_not_depend_on_them() -> None:
    """Tables without rows, with one more, with many: the same to the letter."""
    makers: list[tuple[Any, list[Any]]] = [
        (dh.Profile.from_counts, [[], [1], [NUMBER] * 3]),
        (binned, [[], [1], [NUMBER] * 9]),
        (labeled, [[], ["a"], [SENTINEL] * 9]),
    ]
    for make, data in makers:
        seen = {make(values)._repr_html_() for values in data}
        assert len(seen) == 1
        html = seen.pop()
        assert SENTINEL not in html
        assert str(NUMBER) not in html
        assert "no values are shown" in html
        assert "table" not in Checked().tags


def test_cards_of_secret_data_show_their_bounds() -> None:
    text, _ = read(binned([1]))
    assert "Axis x 2 bins from 0 to 10" in text
    assert "one user" in text
    assert "at most 2 records" in text
    assert "at most 2 labels" in read(labeled(["a"]))[0]
    assert "at most 3 records" in read(dh.Profile.from_counts([5], sensitivity=3))[0]


def test_a_released_histogram_shows_its_counts() -> None:
    text, _ = read(dh.AnonymizedHistogram([50, 7], [20, 1]))
    assert "Released anonymized histogram Labels 21 Records 1,007" in text
    assert "50 20 7 1" in text


@pytest.mark.verify
def test_a_ledger_shows_budgets_and_releases_and_its_data_do_not_show(tmp_path) -> None:
    ledger = dh.Ledger.create(tmp_path / "c.ledger", epsilon=2, delta="1e-5", unit="one user")
    assert "nothing" in read(ledger)[0]
    data = ledger.guard(labeled([SENTINEL] * 3))
    text, _ = read(data)
    assert "ledger.release(mechanism, data" in text
    with pytest.raises(LedgerError):
        data.counts_of(["a"])
    mechanism = dh.ThresholdHistogram(epsilon="0.01", delta="1e-8", max_labels=2)
    for number in range(HEAD + 2):
        ledger.release(mechanism, data, by="ana <b>", key=f"key-{number}")
    text, tags = read(ledger)
    assert "Privacy ledger: c" in text
    assert "ana <b>" in text
    assert "ε = 2, δ = 1e-5" in text
    assert text.index(f"key-{HEAD + 1} ") < text.index("key-0 ")  # the newest first
    assert SENTINEL not in text
    assert "b" not in tags


# --- Views of others


def test_a_class_of_somebody_else_s_has_a_view() -> None:
    class Plan:
        def _repr_html_(self) -> str:
            return str(show_by("html_of", self))

    with pytest.raises(UnsupportedError, match="register_view"):
        Plan()._repr_html_()
    head = Table([Column("a", ["b", "c"])], ("", "The first rows", ""), total=3)
    sections = [Section("plan", "", [Fact("For", "<you>"), head])]
    register_view(Plan, lambda _: Document("plan", "Plan", sections, about=""))
    text, _ = read(Plan())
    assert text == "Plan For <you> a b c The first rows: 2 of 3."
    for known in (Plan, dh.Release, dh.AnonymizedHistogram):
        with pytest.raises(ParameterError, match="already has one"):
            register_view(known, lambda _: Document("", "", []))
    with pytest.raises(UnsupportedError, match="no view"):
        html_of(Mean)


@pytest.mark.verify
def test_what_is_drawn_alone_imports_matplotlib() -> None:
    """Import of dphist loads no pages; cards without figures load no matplotlib."""
    code = """
import sys
import dphist as dh
held = [name for name in sys.modules if name.startswith("dphist.")]
assert held == [], held
dh.AdaptiveTree(epsilon=1, bins=8)._repr_html_()
dh.Profile.from_counts([3])._repr_html_()
release = dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3])
release.to_arrow(), release.value.to_uhi(), release.value.to_vega()
assert "matplotlib" not in sys.modules
assert "dp_accounting" not in sys.modules and "opendp" not in sys.modules
release._repr_html_()
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
