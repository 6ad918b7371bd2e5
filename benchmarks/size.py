"""How large is the library, and which files and functions are too long? `make size`."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src/dphist"
LONGEST_FILE, LONGEST_FUNCTION = 430, 60  # lines; docstrings of functions are not counted
# What tells people what a release, a ledger or a plan says; templates count, as lines of text.
_TOLD = ("report", "document", "render")
_TOLD_ELSEWHERE = ("kind.py", "words.py", "charts.py", "bounding.py", "document.py")
_ELSEWHERE = (
    "anonymized",
    "ranges",
    "labels",
    "tables",
    "groups",
    "regions",
    "streams",
    "ledger",
    "planning",
    "lab",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def count_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text().splitlines())


def count_body_lines(function: Function) -> int:
    """Return the number of lines of a function, without those of its docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def functions_of(path: Path) -> Iterator[Function]:
    """Yield the functions and methods of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function):
            yield node


def tells_people(path: Path) -> bool:
    """Return whether a file is of those that tell people what a release says."""
    room = path.parts[0]
    return room in _TOLD or (room in _ELSEWHERE and path.name in _TOLD_ELSEWHERE)


def main() -> None:
    """Print the numbers, and every file and function that is too long."""
    files = {path.relative_to(SOURCE): path for path in sorted(SOURCE.rglob("*.py"))}
    templates = {path.relative_to(SOURCE): path for path in sorted(SOURCE.rglob("*.j2"))}
    lines = {name: count_lines(path) for name, path in (files | templates).items()}
    rooms: dict[str, int] = {}
    for name in files:
        room = name.parts[0] if len(name.parts) > 1 else "(top level)"
        rooms[room] = rooms.get(room, 0) + lines[name]
    for room, number in sorted(rooms.items(), key=lambda each: -each[1]):
        print(f"{number:7} {room}")
    print(f"{sum(lines[name] for name in files):7} src/, {len(files)} files")
    print(f"{sum(lines[name] for name in lines if tells_people(name)):7} what people are told")
    print(f"{statistics.median(lines[name] for name in files):7.0f} lines in the median file")
    for name in files:
        if lines[name] > LONGEST_FILE:
            print(f"{lines[name]:7} lines: {name}")
        for function in functions_of(files[name]):
            if count_body_lines(function) > LONGEST_FUNCTION:
                print(f"{count_body_lines(function):7} lines: {name}: {function.name}")


if __name__ == "__main__":
    main()
