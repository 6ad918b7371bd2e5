"""What several tests use is in tests/support, and exists once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, in full."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = path.relative_to(TESTS.parent).parts[: -node.level] if node.level else ()
            yield ".".join([*folder, *([node.module] if node.module else [])])


def names(path: Path) -> Iterator[str]:
    """Yield the names that a file defines at its top level."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = (part for target in targets for part in ast.walk(target))
            yield from (part.id for part in parts if isinstance(part, ast.Name))


def test_tests_import_helpers_from_support_alone() -> None:
    """A helper of two test files belongs in `tests/support/`, in the folder of their room."""
    found = {
        f"{path.relative_to(TESTS)} imports {module}"
        for path in FILES
        for module in imported(path)
        if module.split(".")[0] == "tests" and module.split(".")[1:2] != ["support"]
    }
    assert found == set()


@pytest.mark.parametrize("name", ["run", "released", "table", "SENTINEL"])
def test_names_of_common_helpers_exist_once(name: str) -> None:
    """What does something else is called by that."""
    found = [str(path.relative_to(TESTS)) for path in FILES if name in names(path)]
    assert len(found) == 1, found
