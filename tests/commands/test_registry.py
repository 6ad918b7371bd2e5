"""Commands of packages, such as the lab's, stand beside those of the core."""

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint

import pytest

from dphist.cli import main
from dphist.commands import registry
from dphist.lab.commands import COMMANDS


@pytest.fixture
def name_commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have an entry point of another package name commands."""

    def name(value: str) -> None:
        point = EntryPoint("mine", value, registry.ENTRY_POINTS)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
        registry.find_commands.cache_clear()

    yield name
    monkeypatch.undo()
    registry.find_commands.cache_clear()


def test_the_lab_has_its_commands() -> None:
    known = registry.find_commands()
    assert {name: known[name] for name in COMMANDS} == COMMANDS
    assert list(known)[: len(registry._OWN)] == list(registry._OWN)


NAMED = {"show": ("mine", "nowhere", "add"), "shout": ("say it aloud", "nowhere", "add")}


def test_a_package_adds_commands_and_replaces_none(name_commands, capsys) -> None:
    name_commands(f"{__name__}:NAMED")
    assert registry.find_commands()["show"][1] == "dphist.commands.saved"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "say it aloud" in capsys.readouterr().out


def test_a_package_that_cannot_be_imported_is_named(name_commands, capsys) -> None:
    name_commands("nowhere.commands:COMMANDS")
    assert main(["show", "release.json"]) == 1
    assert "the commands of the package nowhere.commands cannot be" in capsys.readouterr().err
