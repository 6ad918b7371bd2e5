"""The page of `dphist form` in Chromium: its commands run, and its numbers are the dry run's."""

import csv
import io
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xlsxwriter

import dphist as dh
from dphist.cli import main
from dphist.commands.form.questions import ASKED
from tests.support.report.chromium import Shown, chromium, printed_pages, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.verify

WHO, WHAT = "who's `id` $HOME", 'what "x" \\ é !!'
COLUMNS = (WHO, WHAT, "age", "-day", "sex")


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("form") / "form.html"
    assert main(["form", "--output", str(place), "--quiet"]) == 0
    return place


@contextmanager
def opened(browser: "Browser", path: Path, width: int = 1200) -> Iterator[Shown]:
    """Show the page; an error of its script fails the test."""
    errors: list[Any] = []
    with shown(browser, path, width) as found:
        found.page.on("pageerror", lambda error: errors.append(error))
        found.page.reload()
        found.requests.clear()
        yield found
        assert errors == []
        assert found.requests == []


def answer(found: Shown, **answers: str) -> None:
    """Give answers by the ids of their fields; _ stands for a hyphen there."""
    page = found.page
    for name, value in answers.items():
        if name in ("kind", "who", "epsilon"):
            page.check(f"[id='{name}-{value}']")
        else:
            place = page.locator(f"[id='{name.replace('_', '-')}']")
            picked = place.evaluate("e => e.tagName") == "SELECT"
            place.select_option(value) if picked else place.fill(value)


def run_in_shell(command: str, place: Path) -> None:
    """Run a command as it is written, with the input that it names."""
    script = f'dphist() {{ {shlex.quote(sys.executable)} -m dphist "$@"; }}\n{command} --quiet'
    made = subprocess.run(["sh", "-c", script], cwd=place, capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "")


def words_of(command: str, place: Path) -> list[str]:
    """Return the arguments that a shell makes of a command."""
    script = f"dphist() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    made = subprocess.run(["sh", "-c", script], cwd=place, capture_output=True, check=True)
    return made.stdout.decode().split("\0")[:-1]


def write_rows(path: Path, delimiter: str) -> str:
    """Write a small file, and return its first line."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    for at in range(600):
        day = f"2024-01-{1 + at % 30:02}"
        writer.writerow([f"p{at}", f"l{at % 3}", at % 90, day, "fm"[at % 2]])
    path.write_text(text.getvalue(), encoding="utf-8")
    return text.getvalue().split("\n", 1)[0]


LABELS = {"kind": "labels", "user": WHO, "labels_label": WHAT}
RANGES = {"kind": "ranges", "user": WHO, "ranges_column": "age"}
TABLES = {"kind": "tables", "tables_key_1": WHAT, "tables_values_1": "l0, l1,l2"}
ANONYMIZED = {"kind": "anonymized", "anonymized_label": WHAT}
REGIONS = {"kind": "regions", "regions_label": WHAT, "regions_region": "sex"}
GROUPS = {"kind": "groups", "groups_column": "age", "groups_key_1": "sex"}
GROUPS |= {"groups_values_1": "f, m", "groups_start": "0", "groups_stop": "100"}
STREAMS = {"kind": "streams", "streams_label": WHAT}
ONE = {"who": "one"}
CASES: dict[str, tuple[str, Mapping[str, str]]] = {
    "labels": (",", LABELS | {"unit": "person/people", "epsilon": "2"}),
    "labels, laplace": (
        ";",
        LABELS | {"labels_noise": "laplace", "labels_bound": "10", "labels_delta": "1e-8"},
    ),
    "labels, one row": ("\t", {"kind": "labels", **ONE, "labels_label": WHAT, "epsilon": "0.5"}),
    "ranges": (",", RANGES | {"ranges_start": "0", "ranges_stop": "100", "ranges_bound": "30"}),
    "ranges, negative": (
        ";",
        RANGES
        | {"ranges_start": "-0.5", "ranges_stop": "99.5", "ranges_bins": "24", "size": "1000000"},
    ),
    "ranges, days": (
        ",",
        {"kind": "ranges", **ONE, "ranges_column": "-day", "ranges_start": "2024-01-01"}
        | {"ranges_stop": "2024-01-31", "ranges_bins": "10", "epsilon": "0.1"},
    ),
    "tables": (",", {"user": WHO, **TABLES}),
    "tables, two keys": (
        ";",
        {"user": WHO, **TABLES, "tables_key_2": "sex", "tables_values_2": "f,m"}
        | {"epsilon": "4", "tables_bound": "2"},
    ),
    "tables, one row": (
        ",",
        {**TABLES, **ONE, "tables_key_1": "sex", "tables_values_1": "f,m", "tables_delta": "1e-8"},
    ),
    "anonymized": (",", ANONYMIZED | {"user": WHO, "epsilon": "0.2", "words_title": "It's $1"}),
    "anonymized, one row": ("\t", {**ANONYMIZED, **ONE, "size": "1000"}),
    "regions": (",", REGIONS | {"user": WHO, "regions_regions_file": "-the regions'.csv"}),
    "regions, of fifty": (
        ";",
        REGIONS | {"user": WHO, "regions_regions": "50", "epsilon": "0.2", "regions_bound": "1"},
    ),
    "groups": (",", GROUPS | {"user": WHO, "epsilon": "0.1", "groups_bound": "30"}),
    "groups, decimals": (
        ";",
        GROUPS
        | {"user": WHO, "groups_start": "-0.5", "groups_stop": "89.5", "groups_bins": "24"}
        | {"size": "1000", "groups_key_1": WHAT, "groups_values_1": "l1,l2,none"},
    ),
    "groups, days": (
        "\t",
        {**GROUPS, **ONE, "groups_column": "-day", "groups_start": "2024-01-01"}
        | {"groups_stop": "2024-01-31", "groups_bins": "100", "epsilon": "4", "size": "1000000"},
    ),
    "streams": (",", STREAMS | {"user": WHO, "epsilon": "4", "unit": "person/people"}),
    "streams, longer": (
        ",",
        STREAMS
        | {"user": WHO, "streams_horizon": "1000000", "streams_readings": "365", "epsilon": "2"}
        | {"streams_bound": "10", "streams_delta": "1e-8", "streams_state_file": "-it's state"},
    ),
    "streams, one row": (",", {**STREAMS, **ONE, "streams_label": "-day", "streams_readings": "1"}),
    "regions, one row": ("\t", {**REGIONS, **ONE, "regions_regions": "2", "size": "1000"}),
}


def stated_error(kind: str, text: str, made: dict[str, Any], size: str) -> float:
    """Return the error of a dry run, as it is written there."""
    if kind in ("labels", "streams"):
        return int(re.search(r"Error of counts\s+± ([\d,]+)", text)[1].replace(",", ""))
    if kind == "tables":
        found = re.findall(r"each\s+cell\s+±\s+([\d,]+)\s+\(95", text)
        assert len(found) == len(made["tables"])
        return max(int(each.replace(",", "")) for each in found)
    if kind == "regions":
        (total, (error,)), *more = made["expected_errors"].items()
    else:
        (total, error), *more = made["expected_error"].items()
        if kind == "groups":
            assert f"is about {error:,.2g} records off" in text or error >= 100
    assert (total, more) == (size, [])
    return float(f"{error:.2g}")


@pytest.mark.parametrize("case", CASES)
def test_commands_run_and_their_dry_run_says_the_same(
    browser: "Browser",
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    delimiter, answers = CASES[case]
    header = write_rows(tmp_path / "it's data.csv", delimiter)
    leaves = ["f", "m", *map(str, range(48))][: int(answers.get("regions_regions", 5))]
    for name in ("regions.csv", "-the regions'.csv"):
        (tmp_path / name).write_text("\n".join(leaves), encoding="utf-8")
    with opened(browser, path) as found:
        found.page.evaluate("document.querySelector('details').open = true")
        answer(found, file="it's data.csv", header=header, **answers)
        page = found.page
        assert page.is_hidden("#fault"), page.text_content("#fault")
        dry, command, toml = (page.text_content(f"#{name}") for name in ("dry", "command", "toml"))
        shown_numbers = [
            float(text.removesuffix(" records").replace(",", ""))
            for text in page.locator("[data-shown]:visible").all_text_contents()
        ]
        run, size = page.text_content("#toml-run"), page.input_value("#size")
        written = page.locator("[data-written]:visible").all_text_contents()
        guesses = page.text_content(f"[data-guess='{page.input_value('[name=epsilon]:checked')}']")
    # What stands below the answers is in the command and in the file.
    pairs = [each.split("\n") for each in written if each]
    assert {option for option, _ in pairs} <= set((command or "").split(" \\\n  "))
    assert {line for _, line in pairs} <= set((toml or "").split("\n"))
    assert f"--epsilon {answers.get('epsilon', 1)}" in [option for option, _ in pairs]
    monkeypatch.chdir(tmp_path)
    words = words_of(dry or "", tmp_path)
    assert main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main([*words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    kind = answers["kind"]
    assert shown_numbers[-1] == stated_error(kind, text, made, size)
    if kind in ("labels", "streams"):
        assert shown_numbers[0] == made["released_with_chance"]["0.95"]
    epsilon = float(answers.get("epsilon", 1))
    assert math.ceil(100 / (1 + math.exp(-epsilon))) == int(guesses or 0)

    if kind == "streams":
        run_in_shell(command or "", tmp_path)
    else:
        assert main([*words_of(command or "", tmp_path), "--quiet"]) == 0
    first_release = dh.Release.load(tmp_path / "release.json")
    assert (tmp_path / "release.html").exists()
    (tmp_path / "release.toml").write_text(toml or "", encoding="utf-8")
    if kind == "streams":
        run_in_shell(run or "", tmp_path)  # it goes on: no event counts twice
    else:
        assert main(["run", "release.toml", "--overwrite", "--quiet"]) == 0
    second = dh.Release.load(tmp_path / "release.json")
    assert second.mechanism == first_release.mechanism
    assert second.guarantee == first_release.guarantee
    assert (second.value == first_release.value) is (kind == "streams")


@pytest.mark.parametrize("name", ["v.xlsx", "v.JSONL", "v.ndjson.zst", "v.sqlite3", "v.parquet"])
def test_a_line_that_was_copied_from_a_spreadsheet(
    browser: "Browser", path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It has tabs, and such files have no separators: an option for them would be refused."""
    with opened(browser, path) as found:
        answer(found, file=name, header="who\twhat", user="who", labels_label="what")
        command = found.page.text_content("#command") or ""
        assert "--delimiter" not in command
        answer(found, file="v.csv")
        assert "--delimiter tab" in (found.page.text_content("#command") or "")
        answer(found, kind="streams", streams_label="what", file=name)
        assert "a stream is read from a CSV file" in (found.page.text_content("#fault") or "")
    if name == "v.xlsx":
        rows = [["who", "what"], *([f"p{at}", "l"] for at in range(100))]
        with xlsxwriter.Workbook(tmp_path / name) as book:
            sheet = book.add_worksheet()
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
        monkeypatch.chdir(tmp_path)
        assert main([*words_of(command, tmp_path), "--quiet"]) == 0


def test_faults_are_named_and_leave_no_command(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:

        def fault() -> str:
            assert found.page.is_hidden("#command") == found.page.is_visible("#fault")
            return found.page.text_content("#fault") or ""

        assert fault() == "Column of the people: choose one."
        answer(found, user="who", labels_label="who")
        assert "must not be one that is counted" in fault()
        answer(found, labels_label="what")
        assert fault() == ""
        answer(found, labels_label="a\x07b")
        assert "control characters" in fault()
        answer(found, header='who,"two\nlines",a,a', user="who", labels_label="two\nlines")
        assert "line breaks" in fault()
        answer(found, labels_label="a")
        assert "twice" in fault()
        answer(found, header="who\twhat", user="who", labels_label="what", output="", report="")
        assert "Name an output" in fault()
        answer(found, output="data.csv")
        assert "different names" in fault()
        answer(found, output="release.json", unit="a/b/c")
        assert "two forms" in fault()
        answer(found, unit="", kind="ranges", ranges_column="what", ranges_start="5")
        assert "Upper end: write a number" in fault()
        answer(found, ranges_stop="5")
        assert "must be above" in fault()
        for wrong in ("05", "1_0", "inf", "2024-02-30", "1e3"):
            answer(found, ranges_stop=wrong)
            assert "write a number" in fault()
        answer(found, ranges_stop="2024-03-01")
        assert "both" in fault()
        answer(found, ranges_start="2024-02-29T23:59:59", ranges_bins="12")
        assert "whole microseconds" in fault()
        answer(found, kind="tables", tables_key_1="what", tables_values_1="a")
        assert "at least two" in fault()
        for wrong, said in (("a,a", "each once"), ("0:9:3,x", "colon"), ("@f,x", "colon")):
            answer(found, tables_values_1=wrong)
            assert said in fault()
        answer(found, tables_values_1=",".join(map(str, range(25))))
        assert fault() == ""
        assert "no numbers for these choices" in (found.page.text_content("#absent") or "")
        answer(found, kind="regions", header="who,what,where", user="who")
        answer(found, regions_label="what", regions_region="what")
        assert "must be different ones" in fault()
        answer(found, regions_region="who")
        assert "must not be one that is counted" in fault()
        answer(found, regions_region="where", regions_regions_file="")
        assert fault() == "File of the regions: write one."
        answer(found, regions_regions_file="release.json")
        assert "different names" in fault()
        answer(found, regions_regions_file="regions.csv")
        assert fault() == ""


def test_faults_of_groups_and_streams(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:

        def fault() -> str:
            return found.page.text_content("#fault") or ""

        answer(found, header="who,what,where,age", kind="groups", user="who")
        answer(found, groups_column="age", groups_start="0", groups_stop="1")
        assert fault() == "Column of the groups: choose one."
        answer(found, groups_key_1="where", groups_values_1="North")
        assert "at least two" in fault()
        answer(found, groups_values_1="discover:0.2,x")
        assert "colon" in fault()
        answer(found, groups_values_1="North, South", groups_bins="12")
        assert "width of at most 9 decimals" in fault()
        answer(found, groups_bins="8")
        assert fault() == ""
        assert "--bins 0:1:0.125 " in (found.page.text_content("#command") or "")
        answer(found, groups_start="2024-01-01T12:00", groups_stop="2024-01-02T12:00")
        assert "without a time of day" in fault()
        answer(found, groups_start="2024-01-01", groups_stop="2024-01-02")
        assert "--bins 2024-01-01:2024-01-02:3h " in (found.page.text_content("#command") or "")
        answer(found, groups_key_1="age")
        assert "must be different ones" in fault()
        answer(found, groups_key_1="who")
        assert "must not be one that is counted" in fault()
        answer(found, kind="streams", streams_label="what", streams_state_file="")
        assert fault() == "File of the state: write one."
        answer(found, streams_state_file="release.json")
        assert "different names" in fault()
        answer(found, streams_state_file="stream.state")
        assert fault() == ""
        for wrong in ("data.parquet", "data.TSV", "data.csv.gz", "data.xlsx"):
            answer(found, file=wrong)
            assert "read from a CSV file" in fault()
        answer(found, file="data.csv", header="who;what")
        answer(found, user="who", streams_label="what")
        assert "separated by commas" in fault()


def test_a_further_release_is_a_new_spend(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:
        page = found.page
        answer(found, user="who", labels_label="what")
        assert page.is_hidden("#spend")
        page.click("#ran")
        assert page.is_hidden("#spend")
        answer(found, size="1000")
        assert page.is_hidden("#spend")  # it changes the picture alone
        answer(found, epsilon="0.2", labels_delta="1e-8")
        assert "ε = 0.2 more: ε = 1.2 and δ = 0.00000101 in all" in page.inner_text("#spend")
        answer(found, kind="anonymized", anonymized_label="what")
        assert "ε = 1.2 and δ = 0.000001 in all" in page.inner_text("#spend")
        answer(found, user="other")
        assert "if these are the same people" in page.inner_text("#spend")
        page.click("#ran")
        page.click("#ran")
        assert page.locator("#runs li").count() == 3
        assert "Spent: ε = 1.4" in page.inner_text("#total")
        page.click("#forget")
        assert page.is_hidden("#spend")
        assert page.locator("#runs li").count() == 0


def test_a_stream_goes_on_at_no_further_cost(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:
        page = found.page
        answer(found, kind="streams", user="who", streams_label="what")
        page.click("#ran")
        page.click("#ran")
        assert page.locator("#runs li").count() == 1
        assert "Spent: ε = 1 and δ = 0.000001 in all." in page.inner_text("#total")
        answer(found, output="other.json")
        assert page.is_hidden("#spend")  # an output more of the same stream
        answer(found, streams_bound="10")
        assert "ε = 2 and δ = 0.000002 in all" in page.inner_text("#spend")
        assert "name a new one" in page.inner_text("#spend")
        answer(found, streams_state_file="new.state")
        assert "name a new one" not in page.inner_text("#spend")
        answer(found, kind="labels", labels_label="what")
        assert "ε = 2 and δ = 0.000002 in all" in page.inner_text("#spend")


def test_picture_and_numbers_change_with_each_choice(browser: "Browser", path: Path) -> None:
    changes: dict[str, list[dict[str, str]]] = {
        "labels": [{"labels_bound": "10"}, {"labels_noise": "laplace"}, {"labels_delta": "1e-8"}],
        "ranges": [{"ranges_bound": "10"}, {"ranges_bins": "100"}],
        "tables": [{"tables_values_1": "a,b,c,d"}, {"tables_bound": "10"}],
        "anonymized": [{"anonymized_bound": "10"}],
        "regions": [{"regions_bound": "10"}, {"regions_regions": "50"}],
        "groups": [{"groups_bound": "10"}, {"groups_bins": "100"}],
        "streams": [{"streams_bound": "10"}, {"streams_readings": "1"}, {"streams_delta": "1e-8"}],
    }
    with opened(browser, path) as found:
        for kind, each in changes.items():
            answer(found, kind=kind, who="several")
            if kind == "tables":
                answer(found, tables_key_1="k", tables_values_1="a,b")
            seen = [found.page.inner_html(".seen")]
            size = {"streams_horizon": "100000"} if kind == "streams" else {"size": "1000"}
            assert found.page.is_visible("#size") is ("size" in size)
            for change in [*each, {"epsilon": "0.1"}, size, {"who": "one"}]:
                answer(found, **change)
                seen.append(found.page.inner_html(".seen"))
            assert len(set(seen)) == len(seen)
            answer(found, kind="labels", epsilon="1", size="10000")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 700, 400])
def test_every_width_and_scheme(browser: "Browser", path: Path, width: int, scheme: str) -> None:
    with shown(browser, path, width, scheme) as found:
        for kind in (asked.kind for asked in ASKED):
            answer(found, header="who,what,age", kind=kind, user="who")
            assert found.scrolls_sideways() <= 0
            assert found.axe() == []
            assert found.landmarks() == []
        answer(found, kind="labels", labels_label="what")
        found.page.click("#ran")
        answer(found, epsilon="4")
        found.page.evaluate("document.querySelector('details').open = true")
        assert found.scrolls_sideways() <= 0
        warning = found.page.locator("#spend").bounding_box()
        assert warning is not None
        assert 0 <= warning["y"] <= 900 - warning["height"]  # in sight, wherever one has scrolled
        found.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        assert found.cut() == []
        if width < 900:  # beside a box that stays in sight, what scrolls passes below it
            assert found.overlaps() == []
        assert found.axe() == []
        assert found.requests == [path.as_uri()]


def test_the_keyboard_is_enough(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:
        page = found.page
        reached, shapes = [], []
        for _ in range(60):
            page.keyboard.press("Tab")
            held = page.evaluate(
                "(e => [e.id || e.dataset.copy || e.textContent, getComputedStyle(e).outlineStyle])"
                "(document.activeElement)"
            )
            if page.evaluate("document.activeElement === document.body"):
                break
            reached.append(held[0])
            shapes.append(held[1])
            if held[0] in ("user", "labels-label"):
                page.keyboard.type("who" if held[0] == "user" else "what")
            if held[0].startswith("epsilon"):
                page.keyboard.press("ArrowUp")
        wanted = {"kind-labels", "file", "header", "user", "unit", "labels-bound", "labels-label"}
        wanted |= {"labels-noise", "labels-delta", "output", "size", "dry", "command", "toml"}
        assert {*reached} >= wanted | {"ran"}
        assert "none" not in shapes
        assert "--epsilon 0.5" in (page.text_content("#command") or "")
        page.keyboard.press("Escape")


# By kind: what is typed, a list in which the next answer is chosen, and what the command then has.
KEYBOARD = {
    "regions": (
        {"user": "who", "regions-label": "what", "regions-region": "where"},
        ("regions-regions", "6"),
        "--region where \\\n",
    ),
    "groups": (
        {"user": "who", "groups-key-1": "where", "groups-values-1": "a,b", "groups-column": "age"}
        | {"groups-start": "0", "groups-stop": "100"},
        ("groups-bins", "100"),
        "--bins 0:100:1 \\\n",
    ),
    "streams": (
        {"user": "who", "streams-label": "what"},
        ("streams-readings", "365"),
        "--readings 365 \\\n",
    ),
}


@pytest.mark.parametrize("kind", KEYBOARD)
def test_the_keyboard_reaches_what_kinds_ask(browser: "Browser", path: Path, kind: str) -> None:
    typed, (chosen, value), wanted = KEYBOARD[kind]
    with opened(browser, path) as found:
        page = found.page
        page.focus(f"#kind-{kind}")
        page.keyboard.press("Space")
        assert page.is_checked(f"#kind-{kind}")
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            held = page.evaluate("document.activeElement.id")
            reached.add(held)
            if held in typed:
                page.keyboard.type(typed[held])
            if held == chosen:
                page.keyboard.press("ArrowDown")
        files = {"regions": {"regions-regions-file"}, "streams": {"streams-state-file"}}
        assert reached >= {*typed, chosen, f"{kind}-bound", *files.get(kind, ())}
        assert page.input_value(f"#{chosen}") == value
        assert wanted in (page.text_content("#command") or "")


def test_copying(browser: "Browser", path: Path) -> None:
    with opened(browser, path) as found:
        answer(found, user="who", labels_label="what")
        for name in ("dry", "command", "toml"):
            found.page.click(f"[data-copy='{name}']")
            found.page.wait_for_selector(f"#{name}-copied:not(:empty)")


@pytest.mark.parametrize(
    "answers",
    [
        {"kind": "labels", "labels_label": "what"},
        {"kind": "regions", "regions_label": "what", "regions_region": "where"},
        {"kind": "groups", "groups_column": "age", "groups_key_1": "where"}
        | {"groups_values_1": "North, South", "groups_start": "0", "groups_stop": "100"},
        {"kind": "streams", "streams_label": "what"},
    ],
    ids=lambda answers: answers["kind"],
)
def test_it_prints(browser: "Browser", path: Path, answers: Mapping[str, str]) -> None:
    with shown(browser, path, 1200) as found:
        answer(found, user="who", **answers)
        found.page.emulate_media(media="print")
        assert found.page.locator("button:visible").count() == 0
        assert found.page.is_visible("#command")
        assert found.page.is_visible("#preview")
        sheets, filled = printed_pages(found)
        assert filled - 1 <= sheets <= filled + 2
