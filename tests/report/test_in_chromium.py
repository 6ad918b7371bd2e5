"""Every kind of page in Chromium: wide, narrow, dark and printed, with labels of all sorts.

Nothing scrolls sideways, overlaps, is cut off or is requested from elsewhere, and axe-core finds
nothing wrong. Each check is shown to fail on a page that is wrong.
"""

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.lab.auditing.document import document_of_all
from dphist.ledger.document import make_document as ledger_document
from dphist.planning.document import make_document as plan_document
from dphist.render.html import page
from tests.support.ledger import told as ledgers
from tests.support.report import ranges_releases, releases
from tests.support.report.chromium import Shown, chromium, printed_pages, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.verify

LABELS = [
    "International classification of diseases, tenth revision, chapter of diseases of the eye",
    "International classification of diseases, tenth revision, chapter of diseases of the ear",
    "فيروس كورونا المستجد ومتلازمة الشرق الأوسط التنفسية",
    "新型冠状病毒感染肺炎诊疗方案与临床表现以及流行病学特征",
    "👩\u200d🔬 🏳️\u200d🌈 emoji",
    "<script>alert('x')</script><b>bold</b>",
    "</text></svg><img src=x onerror=alert(1)>",
    "x" * 150,
    "עברית עם English באמצע",
    "tab\tnewline\nnul\x00\u202e",
    "",
    "  ",
    "$\\frac{a}{b}$",
    *(f"label {i}" for i in range(40)),
]
WORDS = {
    "title": "Diagnoses 诊断 تشخيص <b>in 2024</b> 👩\u200d🔬",
    "label_name": "diagnosis/diagnoses",
    "record_name": "hospital stay",
    "dataset": "Register of stays",
    "period": "2019 to 2024",
    "owner": "<script>alert(1)</script>",
    "note": "w" * 300,
}


def labels(mechanism: dh.ThresholdHistogram | dh.TopLabels, number: int = 0) -> dh.Release:
    names = [*LABELS, *(f"further {i}" for i in range(number))]
    counts = [9000 // (i + 1) + 900 for i in range(len(names))]
    table = dh.LabelCounts.from_counts(pa.array(names), counts, max_labels=5, max_count=1)
    return mechanism.release(table)


def stream() -> dh.Release:
    running = dh.ContinualHistogram(epsilon=5, delta="1e-6", horizon=4096, max_labels=1)
    for at in range(4000):
        running.update([LABELS[(at * at) % 11]])
        if at % 400 == 399:
            running.counts()
    return running.release()


def bounded() -> dh.Release:
    """A long label of an axis: it says what each user was bounded to."""
    rows = pa.table({"who": np.arange(4000) % 900, "what": np.arange(4000) % 7})
    table = dh.LabelCounts.from_table(rows, label="what", user="who", max_labels=20)
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=20)
    words = {"record_name": "purchase", "label_name": "item", "unit": "customer"}
    return mechanism.release(table).present(**words)


def dates() -> dh.Release:
    seconds = np.arange(0, 50 * 86_400, 500)
    rows = pa.table({"departure": np.datetime64("2013-01-01T00:00:00") + seconds})
    counts = dh.bin_counts(
        rows, column="departure", start="2013-01-01", stop="2013-03-01", width="1h"
    )
    return dh.AdaptiveTree(epsilon="0.5", bins=counts.bins).release(counts)


def sparse_map() -> dh.Release:
    cells = np.zeros((128, 128), np.int64)
    cells[40:52, 60:75] = np.arange(180).reshape(12, 15) ** 2
    return dh.AdaptiveTree(epsilon=1, bins=cells.shape).release(cells)


def known() -> dh.Release:
    mechanism = dh.ThresholdHistogram(epsilon="0.1", max_labels=1, labels=["a", "b", "c"])
    counts = dh.LabelCounts.from_counts(["a", "b"], [50, 3], max_labels=1, max_count=1)
    return mechanism.release(counts)


def large_tables() -> dh.Release:
    keys = {
        "place of residence": [f"{label[:20]} {i}" for i, label in enumerate(LABELS * 2)][:60],
        "day": dh.Axis.regular("2024-01-01", "2024-02-15", "1d"),
    }
    made = dh.Tables(epsilon=1, delta="1e-6", keys=keys, tables=[[*keys], ["day"]])
    counts = np.random.default_rng(1).poisson(300, made.keys.shape)
    return made.release(counts).present(**WORDS)


def three_keys() -> dh.Release:
    """Tables with a key of 34 values, groups of rows, and small multiples of both forms."""
    keys = {
        "country of birth": [f"{label[:20]} {i}" for i, label in enumerate(LABELS * 2)][:34],
        "employment": ["employed", "self-employed", "without work"],
        "age": dh.Axis.regular(0, 90, 10),
        "region of the hospital": [f"region {i}" for i in range(1, 10)],
        "sex": ["female", "male"],
    }
    asked = ["country of birth+sex", "age+region of the hospital+sex", "sex+employment+age"]
    made = dh.Tables(epsilon=1, delta="1e-6", keys=keys, tables=asked)
    counts = np.random.default_rng(1).poisson(3, made.keys.shape)
    return made.release(counts).present(**WORDS)


THRESHOLD = dh.ThresholdHistogram(epsilon="0.2", delta="1e-6", max_labels=5)
PAGES: dict[str, Callable[[], dh.Release]] = {
    "labels": lambda: labels(THRESHOLD).present(**WORDS, unit="patient"),
    "users cut": bounded,
    "many labels": lambda: labels(THRESHOLD, 300),
    "ranking": lambda: labels(
        dh.TopLabels(k=10, candidates=30, epsilon="0.5", delta="1e-6", max_labels=5)
    ).present(**WORDS),
    "listed labels": known,
    "stream": lambda: stream().present(**WORDS),
    "hours": lambda: dates().present(record_name="flight", title="Departures"),
    "map": lambda: sparse_map().present(record_name="check-in"),
    "hostile map": ranges_releases.ALL["hostile map"],
    "tables": large_tables,
    "tables of three keys": three_keys,
    "three axes": ranges_releases.ALL["three axes"],
    "endless": ranges_releases.ALL["endless"],
    "anonymized": lambda: releases.usual_release().present(**WORDS),
    "nothing": releases.ALL["empty"],
}


PLANS: dict[str, Callable[[], dh.Plan]] = {
    "plan of labels": lambda: dh.plan(
        "labels",
        labels=150,
        correlated=True,
        sums_of=3,
        max_labels=[5, 50],
        users=4000,
        delta=["1e-4", "1e-6"],
        unit="one <b>customer</b> 诊断 تشخيص",
        criteria=["count error < 30", "data: " + "w" * 250],
    ),
    "plan of ranges": lambda: dh.plan(
        "ranges", bins=64, total=9000, workload="prefix", sensitivity=[1, 5]
    ),
    "plan of a stream": lambda: dh.plan(
        "stream", horizon=10**6, max_events=[1, 5], max_labels=[1, 2]
    ),
}


LEDGERS = ("accounts", "odd words")


def told(count: int) -> str:
    """Tell all, at length, in what pages must not run."""
    return f"<b>{count}</b> " + "w" * 300


def one_bin() -> dh.AuditResult:
    return dh.audit(dh.LeafCounts(epsilon=2, bins=1), seconds=3)


AUDITS: dict[str, Callable[[], list[dh.AuditResult]]] = {
    "audit": lambda: [one_bin()],
    "audit of several": lambda: [
        one_bin(),
        dh.audit(told, [("<i>none</i>, and one " * 9, 0, 1)], epsilon=1, seconds=20),
        dh.audit(dh.AdaptiveScan(epsilon=1), seconds=0.5, layers=["replay"]),
    ],
}


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@pytest.fixture(scope="module", params=[*PAGES, *PLANS, *LEDGERS, *AUDITS])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "page.html"
    if request.param in PLANS:
        place.write_text(page(plan_document(PLANS[request.param]())))
    elif request.param in LEDGERS:
        ledger = ledgers.MADE[request.param](place.with_name("clinic.ledger"))
        place.write_text(page(ledger_document(ledger)))
    elif request.param in AUDITS:
        place.write_text(page(document_of_all(AUDITS[request.param]())))
    else:
        dh.write_report(PAGES[request.param](), place)
    return place


def faults(found: Shown) -> dict[str, object]:
    """Return what is wrong with the layout of a page."""
    checks = {
        "sideways": max(found.scrolls_sideways(), 0),
        "cut": found.cut(),
        "overlaps": found.overlaps(),
    }
    return {name: fault for name, fault in checks.items() if fault}


@pytest.mark.long(every=4)
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (800, "dark"), (400, "light")])
def test_every_width_and_scheme(browser: "Browser", path: Path, width: int, scheme: str) -> None:
    with shown(browser, path, width, scheme) as found:
        assert faults(found) == {}
        assert found.requests == [path.as_uri()]
        assert found.axe() == []
        assert found.landmarks() == []


@pytest.mark.long(every=4)
def test_rows_that_scroll_can_be_reached_and_fit(browser: "Browser", path: Path) -> None:
    with shown(browser, path, 800) as found:
        reached, wanted = found.tab_order()
        assert reached == wanted
        boxes = found.page.locator("[tabindex='0']").count()
        assert len(wanted) == boxes + found.page.locator("a[download]").count()
        for _ in range(boxes):
            found.page.keyboard.press("Enter")
        assert faults(found) == {}


def test_a_table_is_downloaded_from_its_page(browser: "Browser", tmp_path: Path) -> None:
    """Without a request: what is saved is the table, under the name that the page shows."""
    path, release = tmp_path / "page.html", three_keys()
    dh.write_report(release, path)
    with shown(browser, path, 400) as found:
        link = found.page.locator("a[download]").first
        with found.page.expect_download() as waiting:
            link.click()
        saved = waiting.value
        assert saved.suggested_filename == link.text_content()
        with Path(saved.path()).open(encoding="utf-8-sig", newline="") as file:
            head, *rows = csv.reader(file)
        assert head[1:] == ["sex", "count", "error", "low", "high"]
        counts = release.value.table(*release.value.tables[0]).counts
        assert [float(row[2]) for row in rows] == pytest.approx(counts.ravel(), abs=6e-4)
        assert found.requests[0] == path.as_uri()
        assert all(each.startswith("data:text/csv") for each in found.requests[1:])


def test_every_row_of_a_long_table_is_printed(browser: "Browser", tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    dh.write_report(labels(THRESHOLD, 107), path)  # 160 labels
    rows = "[...document.querySelectorAll('th bdi')].filter(e => e.checkVisibility())"
    with shown(browser, path, 800) as found:
        box = found.page.locator(".scrolled")
        hidden = "e => e.scrollHeight - e.clientHeight"
        assert box.evaluate(hidden) > 0
        found.page.emulate_media(media="print")
        assert box.evaluate(hidden) == 0
        assert found.page.evaluate(f"{rows}.length") == 160
        sheets, filled = printed_pages(found)
        assert sheets >= filled - 1


@pytest.mark.long(every=4)
def test_text_and_tables_reach_the_right_edge(browser: "Browser", path: Path) -> None:
    with shown(browser, path, 1200) as found:
        right = found.page.evaluate(
            "Math.max(...[...document.querySelectorAll('main p, main table, main dl')]"
            ".map(e => e.getBoundingClientRect().right))"
        )
        edge = found.page.evaluate("document.querySelector('main').getBoundingClientRect().right")
        assert edge >= 1150
        assert right >= edge - 32
        first = "#settings ~ dl, #guarantee ~ p, #found ~ dl, #found1 ~ dl, #account1 ~ dl"
        for at in (first, "#limits ~ ul, #limits ~ dl"):
            box = found.page.locator(at).first.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] >= edge - 32


@pytest.mark.long(every=4)
def test_printed_sheets_are_full(browser: "Browser", path: Path) -> None:
    with shown(browser, path, 1200) as found:
        sheets, needed = printed_pages(found)
        assert sheets <= math.ceil(needed) + 1


WRONG = {
    "sideways": '<p style="width: 3000px">wide</p>',
    "cut": '<svg viewBox="0 0 10 10" width="100"><text x="9" y="5" font-size="9">cut</text></svg>',
    "clipped": '<p style="width: 3rem; overflow: hidden; white-space: nowrap">cut off here</p>',
    "overlaps": '<p>one line</p><p style="position: absolute; top: 3px">and another</p>',
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_checks_see_what_is_wrong(browser: "Browser", tmp_path: Path, wrong: str) -> None:
    page = tmp_path / "wrong.html"
    page.write_text(f"<!doctype html><html lang=en><title>x</title><body>{WRONG[wrong]}</body>")
    with shown(browser, page, 800) as found:
        assert {"clipped": "cut"}.get(wrong, wrong) in faults(found)


def test_requests_contrast_and_landmarks_are_seen(browser: "Browser", tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><html><title>x</title><body><section><h2>No name</h2>"
        '<p style="color: #bbb; background: #fff">pale</p></section>'
        '<img src="other.png"><p tabindex=2>second</p><p tabindex=1>first</p></body>'
    )
    with shown(browser, page, 800) as found:
        assert len(found.requests) == 2
        rules = {line.partition(":")[0] for line in found.axe()}
        assert {"color-contrast", "image-alt", "html-has-lang", "landmark-one-main"} <= rules
        assert len(found.landmarks()) == 2
        reached, wanted = found.tab_order()
        assert reached != wanted
