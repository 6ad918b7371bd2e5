"""dphist disclose: a template, a draft, and what is refused before anything is written."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import dphist as dh
from dphist import cli
from tests.support.abouts import ABOUT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two releases, a ledger that paid for one, and what people say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPHIST_LEDGER", raising=False)
    mechanism = dh.LeafCounts(epsilon="1/3", bins=3)
    mechanism.release([1, 2, 3]).save("a.json")
    mechanism.release([4, 5, 6]).save("b.json")
    ledger = dh.Ledger.create("x.ledger", epsilon=2, unit="one record")
    ledger.release(mechanism, [1, 2, 3], by="ana", key="k")
    lines = [f"{name} = {json.dumps(value)}" for name, value in ABOUT.items()]
    Path("about.toml").write_text("\n".join(lines))
    return tmp_path


def disclose(*arguments: str) -> int:
    return cli.main(["disclose", *arguments])


def parameters(path: str) -> dict[str, float]:
    content = yaml.safe_load(Path(path).read_text())
    found: dict[str, float] = content["deployment"]["privacy_loss"]["privacy_parameters"]
    return found


def test_a_draft_is_written_or_printed(folder, capsys) -> None:
    assert disclose("a.json", "--about", "about.toml", "--output", "drugs_2026.yaml") == 0
    said = capsys.readouterr().out
    assert said.startswith("wrote drugs_2026.yaml (a draft")
    assert "registry takes names" not in said
    assert parameters("drugs_2026.yaml") == {"epsilon": 0.333334}
    assert disclose("a.json", "--about", "about.toml") == 0
    assert capsys.readouterr().out == Path("drugs_2026.yaml").read_text()


def test_several_releases_and_ledgers(folder, capsys, monkeypatch) -> None:
    assert disclose("a.json", "b.json", "--about", "about.toml", "--output", "My entry.yml") == 0
    assert "The registry takes names of a-z, 0-9 and _ only" in capsys.readouterr().out
    assert parameters("My entry.yml") == {"epsilon": 0.666667}
    assert disclose("--ledger", "x.ledger", "--about", "about.toml", "--output", "l.yaml") == 0
    assert parameters("l.yaml") == {"epsilon": 2.0}
    monkeypatch.setenv("DPHIST_LEDGER", "x.ledger")
    assert disclose("--about", "about.toml", "--account", "main", "--output", "e.yaml") == 0
    assert Path("e.yaml").read_text() == Path("l.yaml").read_text()
    assert disclose("a.json", "--about", "about.toml", "--output", "r.yaml") == 0  # not the ledger
    assert parameters("r.yaml") == {"epsilon": 0.333334}


def test_a_template_is_written_once(folder, capsys) -> None:
    assert disclose("--template", "mine.toml") == 0
    assert "fill it in" in capsys.readouterr().out
    assert disclose("--template", "mine.toml") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert disclose("a.json", "--about", "mine.toml", "--output", "no.yaml") == 2
    said = capsys.readouterr().err
    assert "--about lacks what only you know: name, data_curators" in said
    assert 'data_curators = ["County Hospital"]' in said
    assert not Path("no.yaml").exists()
    assert disclose("--template", "mine.toml", "--overwrite") == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["a.json"], 2, "--about --template"),
        (["--about", "about.toml"], 2, "name what is disclosed"),
        (["a.json", "--ledger", "x.ledger", "--about", "about.toml"], 2, "not both"),
        (["a.json", "--account", "main", "--about", "about.toml"], 2, "not both"),
        (["--ledger", "none.ledger", "--about", "about.toml"], 2, "there is no ledger"),
        (["--ledger", "x.ledger", "--account", "z", "--about", "about.toml"], 1, "no account 'z'"),
        (["none.json", "--about", "about.toml"], 2, "none.json does not exist"),
        (["about.toml", "--about", "about.toml"], 1, "not a dphist release"),
        (["a.json", "--about", "none.toml"], 1, "writes one to fill in"),
        (["a.json", "a.json", "--about", "about.toml"], 2, "RELEASE must not repeat: number 2"),
        (["a.json", "--about", "about.toml", "--output", "a.json"], 2, "would destroy it"),
        (["a.json", "--about", "about.toml", "--output", "about.toml"], 2, "would destroy it"),
        (["--about", "about.toml", "--ledger", "x.ledger", "--output", "x.ledger"], 2, "destroy"),
        (["a.json", "--about", "about.toml", "--output", "no/e.yaml"], 2, "no"),
        (["--template", "t.toml", "--about", "about.toml"], 2, "not allowed with"),
        (["--template", "t.toml", "--output", "e.yaml"], 2, "does not go with --output"),
        (["a.json", "b.json", "--template", "t.toml"], 2, "one RELEASE at most"),
        (["none.json", "--template", "t.toml"], 2, "none.json does not exist"),
    ],
)
@pytest.mark.quick(every=5)
def test_bad_commands_are_told_and_write_nothing(arguments, code, told, folder, capsys) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*.*")}
    assert disclose(*arguments) == code
    said = capsys.readouterr()
    assert told in said.err
    assert said.out == ""
    after = {path: path.read_bytes() for path in folder.glob("*.*")}
    assert {path.name for path in after} == {path.name for path in before}
    assert after[folder / "a.json"] == before[folder / "a.json"]
    assert after[folder / "about.toml"] == before[folder / "about.toml"]


def test_a_template_takes_title_owner_and_day_of_a_release(folder) -> None:
    release = dh.Release.load("a.json").present(title='Our "best" \\ day', owner="County Hospital")
    release.save("named.json")
    assert disclose("named.json", "--template", "mine.toml") == 0
    found = tomllib.loads(Path("mine.toml").read_text())
    assert found["name"] == 'Our "best" \\ day'
    assert found["data_curators"] == ["County Hospital"]
    assert found["publication_date"] == release.presentation.date
    assert found["intended_use"] == ""


def test_a_release_for_tests_is_refused(folder, capsys, seeded) -> None:
    dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3], seeded(1)).save("t.json")
    assert disclose("t.json", "--about", "about.toml") == 2
    assert "protects nobody" in capsys.readouterr().err


def test_an_output_that_exists_is_kept(folder, capsys) -> None:
    Path("e.yaml").write_text("mine")
    assert disclose("a.json", "--about", "about.toml", "--output", "e.yaml") == 2
    assert Path("e.yaml").read_text() == "mine"
    assert disclose("a.json", "--about", "about.toml", "--output", "e.yaml", "--overwrite") == 0
    assert parameters("e.yaml") == {"epsilon": 0.333334}


@pytest.mark.verify
def test_without_the_extra_the_command_says_what_to_install(folder) -> None:
    code = (
        "import sys; sys.modules['yaml'] = None; from dphist.cli import main; "
        "sys.exit(main(['disclose', 'a.json', '--about', 'about.toml']))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'dphist[disclose]'" in done.stderr
    code = "import sys; sys.modules['yaml'] = None; from dphist.cli import main; "
    shown = f"{code}sys.exit(main(['show', 'a.json', '--report', 'r.html']))"
    assert subprocess.run([sys.executable, "-c", shown], check=False).returncode == 0
