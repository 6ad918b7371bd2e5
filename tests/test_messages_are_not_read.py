"""Errors carry what is wrong as values: no code of the library reads the text of a message."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dphist

SOURCE = Path(dphist.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
READING = {
    *("partition", "rpartition", "split", "rsplit", "splitlines", "replace", "removeprefix"),
    *("removesuffix", "startswith", "endswith", "find", "index", "strip", "lower", "upper"),
    *("match", "fullmatch", "search", "sub", "findall", "finditer", "capitalize", "count"),
}
# The messages of other libraries, which carry no values.
OTHERS = {"counting/engine/redaction.py", "foreign.py"}


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text())


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            if (called.id if isinstance(called, ast.Name) else called) in names:
                yield node


def without_parameter(tree: ast.AST) -> list[int]:
    """Return the lines that raise a ParameterError whose parameter is no name, or names."""

    def is_name(node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return bool(node.elts) and all(map(is_name, node.elts))
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str) and node.value.isidentifier()
        return not isinstance(node, ast.JoinedStr)

    return [
        call.lineno
        for call in calls(tree, "ParameterError")
        if len(call.args) < 2 or not is_name(call.args[0])
    ]


def lost_in_text(tree: ast.AST) -> list[int]:
    """Return the lines that write an Argument into an f-string, where it is text at once."""
    return [
        call.lineno
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr)
        for call in calls(text, "Argument", "join_arguments")
    ]


def reads(tree: ast.AST) -> list[int]:
    """Return the lines that search, cut or change the text of an error that was caught."""
    nodes = list(ast.walk(tree))
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler)}
    texts: set[str] = set()

    def is_text(node: ast.expr) -> bool:
        """Whether this is ``str(error)``, a part of it, or a variable that holds it."""
        if isinstance(node, ast.Subscript):
            return is_text(node.value)
        if isinstance(node, ast.Name):
            return node.id in texts
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if not is_call or node.func.id not in ("str", "repr") or len(node.args) != 1:
            return False
        return isinstance(node.args[0], ast.Name) and node.args[0].id in caught

    for node in nodes:
        if isinstance(node, ast.Assign) and is_text(node.value):
            texts |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    found = []
    for node in nodes:
        read: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            read = [node.value]
        elif isinstance(node, ast.Compare):
            read = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            read = [node.func.value, *node.args] if node.func.attr in READING else []
        found += [node.lineno for each in read if is_text(each)]
    return found


@pytest.mark.parametrize(
    ("find", "word"),
    [(without_parameter, "ParameterError"), (lost_in_text, "rgument"), (reads, "except ")],
)
def test_no_message_is_read_and_none_lacks_its_parameter(find, word: str) -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in FILES
        if word in path.read_text()
        and not (find is reads and str(path.relative_to(SOURCE)) in OTHERS)
        for line in find(parsed(path))
    }
    assert not found


@pytest.mark.parametrize(
    ("find", "planted"),
    [
        (without_parameter, 'ParameterError("epsilon must be above 0")'),
        (without_parameter, 'ParameterError("epsilon must be", "above 0")'),
        (without_parameter, 'errors.ParameterError(f"{name}s", "must be above 0")'),
        (without_parameter, 'ParameterError(("a", "b and c"), "must be above 0")'),
        (lost_in_text, 'f"give {Argument(name)}"'),
        (reads, 'try: f()\nexcept E as error: str(error).partition(" ")'),
        (reads, 'try: f()\nexcept E as error: text = str(error)\ntext.split("\\n")'),
        (reads, 'try: f()\nexcept E as error: re.match("epsilon", str(error))'),
        (reads, 'try: f()\nexcept E as error: "epsilon" in str(error)'),
        (reads, "try: f()\nexcept E as error: str(error)[0]"),
    ],
)
def test_what_is_refused(find, planted: str) -> None:
    assert find(ast.parse(planted))


@pytest.mark.parametrize(
    "allowed",
    [
        'ParameterError(name, f"must be at least {least}")',
        'ParameterError(("start", "stop"), "must be within int64")',
        'DataError("lower " + Argument("max_labels"))',
        "try: f()\nexcept E as error: UsageError(*error.args)",
        "try: f()\nexcept E as error: print(str(error))",
    ],
)
def test_what_is_not(allowed: str) -> None:
    tree = ast.parse(allowed)
    assert [*without_parameter(tree), *lost_in_text(tree), *reads(tree)] == []
