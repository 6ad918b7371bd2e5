"""Size of pages, time to write them, and time until Chromium has laid them out.

    python -m benchmarks.pages

The labels are made: 20,000 of them, all released. The other pages are of real data.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser
from tests.support.report.chromium import chromium

import dphist as dh
from benchmarks.data import ROOT
from benchmarks.markdown import print_table

TURNS = 5
LABELS = 20_000


def many_labels() -> dh.Release:
    """20,000 labels, all of which are released."""
    names = pa.array([f"label number {i}" for i in range(LABELS)])
    counts = dh.LabelCounts.from_counts(
        names, range(1000, 1000 + LABELS), max_labels=1, max_count=1
    )
    return dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(counts)


def departures() -> dh.Release:
    """Departures from New York by hour."""
    counts = dh.bin_counts(
        ROOT / "data" / "departures_nyc.parquet",
        column="departure",
        start="2013-01-01",
        stop="2014-01-01",
        width="1h",
    )
    return dh.AdaptiveTree(epsilon="0.1", bins=counts.bins).release(counts)


def cells() -> dh.Release:
    """A map of 256 by 256 bins, all of them with records."""
    found = np.add.outer(np.arange(256) ** 2, np.arange(256) ** 2) // 64
    return dh.AdaptiveTree(epsilon=1, bins=found.shape).release(found)


def passwords() -> dh.Release:
    """The Yahoo! passwords by how often each was used."""
    profile = dh.Profile.read(ROOT / "data" / "passwords_yahoo.csv")
    return dh.anonymize(profile, epsilon=1)


PAGES: dict[str, Callable[[], dh.Release]] = {
    "20,000 labels": many_labels,
    "8,760 hours": departures,
    "map, 256 by 256": cells,
    "69 million passwords": passwords,
}


def milliseconds_to_open(browser: Browser, page: Path) -> float:
    """Return the time from asking for a page to the end of its first layout, the median."""
    times = []
    for _ in range(TURNS):
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="load")
        tab.evaluate("document.documentElement.getBoundingClientRect().height")
        times.append(1e3 * (time.perf_counter() - start))
        tab.close()
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name, make in PAGES.items():
            release, page = make(), Path(folder) / "page.html"
            start = time.perf_counter()
            dh.write_report(release, page)
            written = time.perf_counter() - start
            opened = milliseconds_to_open(browser, page)
            rows.append(
                [name, f"{page.stat().st_size / 1e6:.2f}", f"{written:.1f}", f"{opened:.0f}"]
            )
    print_table(["page", "size (MB)", "written in (s)", "opened in (ms)"], rows)


if __name__ == "__main__":
    main()
