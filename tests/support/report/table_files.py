"""A release of each kind whose table is written to files."""

import io
import random
import re
import zipfile
from xml.etree import ElementTree

import numpy as np

import dphist as dh
from tests.support.report.spreadsheets import OTHERS, PARTS, WORDS

SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LABELS = [*WORDS, *OTHERS, *PARTS, "http://x.y", "_x0041_", "{=1}", "\x1b[2J", "日本"]


def _seeded(seed: int) -> dh.noise.Source:
    return random.Random(seed).randbytes


def labels() -> dh.Release:
    data = dh.LabelCounts.from_counts(
        LABELS, [*range(9000, 9000 + len(LABELS))], max_labels=1, max_count=1
    )
    made = dh.ThresholdHistogram(epsilon=9, delta="1e-3", max_labels=1).release(data, _seeded(1))
    return made.present(unit="patient", title="Drugs of patients", owner="Health office")


def tables() -> dh.Release:
    days = dh.Axis.regular("2024-01-01", "2024-01-03", "1d")
    keys = {"sex": ["f", "m"], "âge": dh.Axis.regular(0, 60, 20), "day": days, "n": [7, 2**60]}
    held = dh.KeyedCounts.from_counts(np.full((2, 3, 2, 2), 50), keys=keys)
    asked = dh.Tables(rho=1, keys=held.keys, tables=["sex", "sex+âge", "âge+day", "n", []])
    return asked.release(held, _seeded(2)).present(record_name="patient")


def ranges() -> dh.Release:
    return dh.HierarchicalTree(epsilon=1, bins=8).release(np.arange(8) * 100, _seeded(3))


def anonymized() -> dh.Release:
    return dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts([9, 9, 4, 1]), _seeded(4))


def stream() -> dh.Release:
    made = dh.ContinualHistogram(epsilon=9, delta="0.1", horizon=99)
    made.update_many([["=1"]] * 60, source=_seeded(5))
    made.counts()
    return made.release()


def groups() -> dh.Release:
    asked = dh.GroupedHistogram(epsilon=1, groups={"place": ["a,b", "=1"]}, bins=2)
    return asked.release([[1, 2], [3, 4]], _seeded(6))


MADE = {each.__name__: each for each in (labels, tables, ranges, anonymized, stream, groups)}


def _parse(book: zipfile.ZipFile, part: str) -> ElementTree.Element:
    return ElementTree.fromstring(book.read(f"xl/{part}.xml"))  # noqa: S314 - we wrote it


def sheets_of(content: bytes) -> dict[str, list[dict[str, str | float]]]:
    """Return the cells of each sheet by their place, rows in order: numbers, or texts."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        strings = [
            "".join(part.text or "" for part in each.iter(f"{SHEET}t"))
            for each in _parse(book, "sharedStrings")
        ]
        found = {}
        listed = _parse(book, "workbook").iter(f"{SHEET}sheet")
        for number, name in enumerate([each.get("name") for each in listed], 1):
            rows = _parse(book, f"worksheets/sheet{number}")
            found[str(name)] = [
                {
                    re.sub(r"\d", "", cell.get("r", "")): strings[int(cell[0].text or 0)]
                    if cell.get("t") == "s"
                    else float(cell[0].text or 0)
                    for cell in row
                    if len(cell)
                }
                for row in rows.iter(f"{SHEET}row")
            ]
    return found
