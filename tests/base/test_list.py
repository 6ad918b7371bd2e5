"""The list of the trusted base: its files, what the others import of it, and what it prints."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.base import modules_of_base, read_parts
from benchmarks.size import SOURCE, count_lines

from benchmarks import base

BASE = modules_of_base()
PAGE = Path(__file__).parents[2] / "docs" / "understand" / "trusted-base.md"
DOOR = "dphist.data.open_data"
OPEN_TO = ("lab", "properties")
"""Rooms that look at data which their owner may look at."""

# Of what counts rows, others import constants, types, public axes, what shows progress, and
# the columns of files by header or footer.
FOR_OTHERS = re.compile(
    r"LARGEST|redact_errors|UserType|is_key_type|draw_key|Progress|Report|Done|ERASED|open_display"
    r"|Resources|memory_limit|space_needed|Grid|check_name|value_roles|dates_of_range|find_files|Files|query"
    r"|read_schemas|Container|find_format"
)
# Fields of secret types, by names that nothing else has.
PRIVATE = {"_store", "_sets", "_users", "_cells", "_heights", "_state", "_live"}


def modules_outside() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["dphist", *path.relative_to(SOURCE).with_suffix("").parts]
        name = ".".join(parts).removesuffix(".__init__")
        if name not in BASE:
            yield name, ast.parse(path.read_text())


OUTSIDE = dict(modules_outside())


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import, also of those within functions.

    A name may be that of a module, too: `from dphist.data import open_data`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None, "a relative import"
            assert node.level == 0, "a relative import"
            yield from ((node.module, each.name) for each in node.names)
            yield from ((f"{node.module}.{each.name}", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)


def test_a_file_is_in_one_part() -> None:
    files = [file for part in read_parts() for file in part.files]
    assert len(files) == len(set(files))


def test_the_last_line_is_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    base.main()
    lines = capsys.readouterr().out.splitlines()
    total = sum(count_lines(SOURCE / file) for part in read_parts() for file in part.files)
    assert lines[-1] == f"total {total} lines"
    assert (
        sum(int(line.split()[0]) for line in lines if re.match(r"\s+\d+ \S+\.py$", line)) == total
    )


@pytest.mark.parametrize("module", ["noise/nothing", "noise"])
def test_a_wrong_list_is_refused(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "base.toml"
    path.write_text(f'[[part]]\nname = "noise"\nmodules = ["noise", "{module}"]\n')
    monkeypatch.setattr(base, "LIST", path)
    with pytest.raises(ValueError, match=r"there is no module|is listed twice"):
        read_parts()


def test_data_are_opened_for_rooms_that_look_at_data_alone() -> None:
    openers = {
        name for name, tree in OUTSIDE.items() for module, _ in imports_of(tree) if module == DOOR
    }
    assert openers
    assert {name.split(".")[1] for name in openers} <= set(OPEN_TO)


def test_opened_profiles_stay_with_properties_and_their_command() -> None:
    """What `get_histogram` returns of a profile are its counts."""
    users = {
        name
        for name, tree in OUTSIDE.items()
        if any(imported == "get_histogram" for _, imported in imports_of(tree))
    }
    assert users
    assert {each for each in users if not each.startswith("dphist.properties.")} == {
        "dphist.commands.properties"
    }


def test_others_import_nothing_that_reads_rows() -> None:
    found = {
        (name, imported)
        for name, tree in OUTSIDE.items()
        if not name.startswith("dphist.counting")
        for module, imported in imports_of(tree)
        if module.startswith("dphist.counting") and not FOR_OTHERS.fullmatch(imported)
    }
    assert found == set()


def test_others_name_no_private_field_of_secret_types() -> None:
    found = {
        (name, node.attr)
        for name, tree in OUTSIDE.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE
    }
    assert found == set()


def test_the_page_names_all_parts_and_about_their_lines() -> None:
    """Rounded, so that not every change of a file changes the page."""
    rows = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|", PAGE.read_text(), re.MULTILINE)
    stated = {name: int(lines.replace(",", "")) for name, lines in rows}
    assert list(stated) == [part.name for part in read_parts()]
    for part in read_parts():
        assert abs(stated[part.name] - part.lines) <= max(100, part.lines / 20), part.name
