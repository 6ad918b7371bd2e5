"""All small changes of a module: one number, comparison, bound, rounding or part of a condition.

Each is the replacement of a few bytes of the module's text. Left alone are docstrings, texts of
errors, annotations, decorators and what only a person reads.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

# The words of a quantity that a guarantee depends on, as parts of a variable's name.
_QUANTITIES = {"epsilon", "delta", "rho", "sigma", "scale", "rate", "sensitivity", "threshold"}
_OPERATORS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_OPPOSITES = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("floor", "ceil"),
    ("ROUND_FLOOR", "ROUND_CEILING"),
    ("DOWN", "UP"),
    ("exp_down", "exp_up"),
    ("round_down", "round_up"),
]
_OPPOSITE = {**dict(_OPPOSITES), **{second: first for first, second in _OPPOSITES}}
_BUILT_IN = {"min", "max"}
_SIDES = {"left": "right", "right": "left"}
_IN_SQL = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " - 1": "", " + 1": ""}
_IN_SQL |= {"min(": "max(", "max(": "min(", "least(": "greatest(", "greatest(": "least("}
_SQL = re.compile(
    "|".join(rf"\b{re.escape(old)}" if old[0].isalpha() else re.escape(old) for old in _IN_SQL)
)
_DECIMAL = re.compile(r"\d+(\.\d+)?|\.\d+")
_SHOWN = re.compile(r"__repr__|__str__|_repr_\w+_")
_KEYWORDS = {"dtype", "maxsize", "metadata", "stacklevel"}


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One small change of a module.

    Attributes
    ----------
    path : the module's file, relative to the repository.
    line : the line it stands in, from 1; `start` and `end` are offsets of the file, in bytes.
    kind : what is changed: "number", "comparison", "opposite", "rounding", "part", "guard", "not",
        "quantity" or "text".
    old, new : the bytes that are replaced, and what is put in their place.
    """

    path: str
    line: int
    start: int
    end: int
    kind: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Return the text of the module with the change."""
        held = text.encode()
        if held[self.start : self.end] != self.old.encode():
            raise ValueError(f"{self.path}: the text is not the one that the change was made for")
        return (held[: self.start] + self.new.encode() + held[self.end :]).decode()

    def __str__(self) -> str:
        """The change in one line."""
        return f"{self.path}:{self.line} {self.kind}: {self.old!r} -> {self.new!r}"


def changes_of(path: str, text: str) -> list[Change]:
    """Return all small changes of a module, in the order of its text."""
    reader = _Reader(path, text)
    return sorted(set(reader.changes(reader.tree)))


class _Reader:
    """The text of a module, with the places of its syntax tree."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self.tree = ast.parse(text)
        self._text = text.encode()
        lines = self._text.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
        nodes = list(ast.walk(self.tree))
        self._imported = {
            each.asname or each.name
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for each in node.names
        }
        # Functions and what is compared with None are no quantities, whatever they are called.
        self._no_quantity = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        self._no_quantity |= {
            id(node.left)
            for node in nodes
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
        }

    def changes(self, node: ast.AST) -> Iterator[Change]:
        """All changes of a node and those below it."""
        yield from self._own_changes(node)
        for child in _parts(node):
            yield from self.changes(child)

    def _own_changes(self, node: ast.AST) -> Iterator[Change]:
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                yield from self._text_changes(node)
            case ast.Constant(value=value):
                yield from self._replace(node, "number", _near(value))
            case ast.Call(func=ast.Name("Fraction" | "Decimal"), args=[ast.Constant(str(each))]):
                if _DECIMAL.fullmatch(each):
                    yield from self._replace(node.args[0], "number", [_more_digits(each)])
            case ast.Compare():
                yield from self._comparisons(node)
            case ast.BoolOp():
                neutral = str(isinstance(node.op, ast.And))
                for part in node.values:
                    yield from self._replace(part, "part", [neutral])
            case ast.UnaryOp(op=ast.Not()):
                yield self._change(node.lineno, self._start(node), "not", "not ", "")
            case ast.If(body=body, orelse=[]) if all(isinstance(each, ast.Raise) for each in body):
                yield from self._replace(node.test, "guard", ["False"])
            case ast.UnaryOp(
                ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), top), ast.FloorDiv(), low)
            ):
                yield from self._replace(
                    node, "rounding", [f"(({self._of(top)}) // ({self._of(low)}))"]
                )
            case ast.BinOp(top, ast.FloorDiv(), low):
                yield from self._replace(
                    node, "rounding", [f"(-(-({self._of(top)}) // ({self._of(low)})))"]
                )
            case ast.Name(name) | ast.Attribute(attr=name):
                yield from self._names_changed(node, name)

    def _names_changed(self, node: ast.expr, name: str) -> Iterator[Change]:
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            return
        known = (
            isinstance(node, ast.Attribute)
            or name in _BUILT_IN
            or _OPPOSITE.get(name) in self._imported
        )
        if name in _OPPOSITE and known:
            start = self._end(node) - len(name.encode())
            yield self._change(node.lineno, start, "opposite", name, _OPPOSITE[name])
        elif _QUANTITIES & set(name.split("_")) and id(node) not in self._no_quantity:
            whole = self._of(node)
            yield from self._replace(
                node, "quantity", [f"({whole} * {n} / 100)" for n in (101, 99)]
            )

    def _comparisons(self, node: ast.Compare) -> Iterator[Change]:
        sides = [node.left, *node.comparators]
        for op, before, after in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) in _OPERATORS:
                old, new = _OPERATORS[type(op)]
                start = self._text.index(old.encode(), self._end(before), self._start(after))
                yield self._change(
                    before.end_lineno or before.lineno, start, "comparison", old, new
                )

    def _text_changes(self, node: ast.expr) -> Iterator[Change]:
        """Changes of SQL, and of a side that is named by a text."""
        if isinstance(node, ast.Constant) and node.value in _SIDES:
            quote = self._of(node)[0]
            yield from self._replace(node, "opposite", [f"{quote}{_SIDES[node.value]}{quote}"])
            return
        written = self._of(node)
        for found in _SQL.finditer(written):
            before = written[: found.start()]
            start = self._start(node) + len(before.encode())
            yield self._change(
                node.lineno + before.count("\n"), start, "text", found[0], _IN_SQL[found[0]]
            )

    def _replace(self, node: ast.expr, kind: str, new: Iterable[str]) -> Iterator[Change]:
        for each in new:
            yield self._change(node.lineno, self._start(node), kind, self._of(node), each)

    def _change(self, line: int, start: int, kind: str, old: str, new: str) -> Change:
        return Change(self._path, line, start, start + len(old.encode()), kind, old, new)

    def _start(self, node: ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def _of(self, node: ast.expr) -> str:
        """Return the text of a node."""
        return self._text[self._start(node) : self._end(node)].decode()


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node in which changes are looked for."""
    match node:
        # Positions inside formatted text are right only since Python 3.12.
        case ast.Raise() | ast.JoinedStr():
            return
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if _is_message(name):
            return
        case ast.FunctionDef(name=name) if _SHOWN.fullmatch(name):
            return
    left_out: list[Any] = getattr(node, "decorator_list", [])
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or child in left_out:
                continue
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if not docstring and not (isinstance(child, ast.keyword) and child.arg in _KEYWORDS):
                yield child


def _is_message(name: str) -> bool:
    return name.endswith("Error") or name in ("warn", "parameter")


def _near(value: object) -> list[str]:
    """Numbers next to one: by one for whole numbers, by 1 % for large ones and for floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    if isinstance(value, float):
        return [repr(value * 1.01), repr(value * 0.99)] if value and abs(value) < 1e300 else []
    by_one = [str(value + 1)] + [str(value - 1)] * (value > 0)
    return by_one + [str(round(value * Fraction(101, 100)))] * (value >= 100)


def _more_digits(number: str) -> str:
    """A number 1 % larger, as the text of a decimal number."""
    digits = len(number.partition(".")[2])
    return f'"{float(number) * 1.01:.{digits + 2}f}"'
