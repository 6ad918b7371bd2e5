"""Workbooks in a real spreadsheet: LibreOffice reads the numbers and texts that were released."""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dphist.document.csv_rows import list_lines
from dphist.document.kind import find_kind
from dphist.render.spreadsheet import GUIDE, split_tables
from tests.support.report.table_files import MADE

pytestmark = pytest.mark.verify

# Commas, quotes, UTF-8; cells as they are and not as they are shown; formulas as such; all sheets.
_AS_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,true,false,-1"


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each workbook in CSV, a file for each sheet."""
    folder = tmp_path_factory.mktemp("sheets")
    assert shutil.which("soffice"), "LibreOffice is missing: install it as `make office` does"
    for name, make in MADE.items():
        make().to_xlsx(folder / f"{name}.xlsx")
    command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless"]
    command += ["--convert-to", _AS_CSV, *(f"{name}.xlsx" for name in MADE)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


def cells_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines(keepends=True)))


@pytest.mark.parametrize("name", MADE)
def test_libreoffice_reads_what_was_released(converted: Path, name: str) -> None:
    release = MADE[name]()
    for sheet, table in split_tables(find_kind(release).table(release)):
        _, *rows = cells_of(converted / f"{name}-{sheet}.csv")
        exact = csv.reader("".join(list_lines(table, _quote)).splitlines(keepends=True))
        _, *wanted = exact
        assert len(rows) == len(wanted) > 0
        for row, cells in zip(rows, wanted, strict=True):
            for shown, written in zip(row, cells, strict=True):
                if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", written) and len(written) < 17:
                    assert float(shown) == pytest.approx(float(written), rel=1e-4, abs=5.1e-4)
                else:
                    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", written)


def _quote(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("name", MADE)
def test_libreoffice_shows_how_to_read_it(converted: Path, name: str) -> None:
    rows = cells_of(converted / f"{name}-{GUIDE}.csv")
    assert ["What is guaranteed", ""] in rows
    assert any("what anyone can learn" in row[1] for row in rows)
