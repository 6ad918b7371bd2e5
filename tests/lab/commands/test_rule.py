"""dphist rule: what is printed and written, and what is refused."""

import json
from pathlib import Path

import pytest

from dphist import cli

TABLE = "town,sex,n\nA,f,25\nA,m,3\nB,f,30\nB,m,14\nC,f,7\nC,m,52\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    return tmp_path


def run_rule(*arguments: str) -> int:
    return cli.main(["rule", "t.csv", "--count", "n", *arguments])


def test_it_says_what_follows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_rule("--suppress-below", "10") == 0
    said = capsys.readouterr().out
    assert "Of 2 suppressed counts, 2 follow exactly from what is published" in said
    assert "Not private." in said
    assert run_rule("--suppress-below", "10", "--no-margins") == 0
    assert "Of 2 suppressed counts, 0 follow exactly" in capsys.readouterr().out


def test_a_rule_by_name_is_that_of_its_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_rule("--rule", "ten-five", "--json") == 0
    named = json.loads(capsys.readouterr().out)
    parts = ("--suppress-below", "10", "--round-to", "5", "--below-is", "0")
    assert run_rule(*parts, "--json") == 0
    assert json.loads(capsys.readouterr().out) == named
    assert named["private"] is False
    assert named["suppressed"]["counts"] == 2
    assert named["largest_error"] == 7
    assert len(named["rows"]) == 6


def test_a_page_and_other_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("last.csv").write_text(TABLE.replace("14", "13"))
    Path("other.csv").write_text("town,n\nA,28\nB,44\nC,59\n")
    given = ("--suppress-below", "10", "--before", "last.csv", "--also", "other.csv")
    assert run_rule(*given, "--epsilon", "1", "--delta", "1e-6", "--output", "p.html") == 0
    assert capsys.readouterr().out.endswith("wrote p.html\n")
    assert "Test of a disclosure rule" in Path("p.html").read_text()
    assert run_rule(*given, "--output", "p.html") == 2
    assert "p.html exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "--suppress-below and --round-to must change something"),
        (("--rule", "ten-five", "--round-to", "5"), "--rule does not go with --round-to"),
        (("--round-to", "5", "--complementary"), "--complementary needs --suppress-below"),
        (("--round-to", "5", "--before", "none.csv"), "none.csv does not exist"),
        (("--round-to", "5", "--output", "p.json"), "--output must end in .html"),
        (("--round-to", "5", "--delta", "1e-6"), "--delta needs --epsilon"),
        (("--round-to", "5", "--keys", "city"), "names no 'city'"),
    ],
)
def test_what_is_refused(
    given: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_rule(*given) == 2
    assert said in capsys.readouterr().err
