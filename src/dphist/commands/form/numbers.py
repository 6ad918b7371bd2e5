"""The numbers that the form shows: computed once, as plans, and part of the package.

They are rounded as the documents of each kind show them, so the dry run of the command that the
form writes states the same numbers. `python -m benchmarks.form` computes them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from itertools import combinations_with_replacement, product
from typing import Any, TypeAlias

from dphist.commands.form.asked import Asked
from dphist.commands.form.questions import MAX_VALUES_OF_ONE, MAX_VALUES_OF_TWO
from dphist.planning.make import plan

Numbers: TypeAlias = dict[str, Sequence[float]]
"""By the answers, joined by spaces: error, people of 100 who guess right, where counts appear."""

_MANY = ("bound", "epsilon", "delta")  # what one plan takes several values of


def read_numbers() -> dict[str, Numbers]:
    """Return the numbers of all kinds, by kind."""
    text = files("dphist.commands.form").joinpath("numbers.json").read_text(encoding="utf-8")
    found: dict[str, Numbers] = json.loads(text)
    return found


def compute_numbers(
    asked: Asked, sizes: Sequence[tuple[int, ...]] | None = None, **only: Sequence[str]
) -> Numbers:
    """Return the numbers of one kind.

    Parameters
    ----------
    sizes : numbers of values of the keys, for a kind with tables (default: all of them).
    only : by parameter, the answers to compute (default: all of them).
    """
    found: Numbers = {}
    values = {each.parameter: only.get(each.parameter, each.values) for each in asked.choices}
    choices = {each.parameter: each for each in asked.choices}
    several: dict[str, Any] = {
        name: [each.given(value) for value in values[name]]
        for name, each in choices.items()
        if each.asks in _MANY
    }
    shapes = list(sizes or list_sizes()) if asked.keys and asked.keys.tables else [()]
    for shape, fixed in product(shapes, _list_fixed(asked, values)):
        given = {name: choices[name].given(value) for name, value in fixed.items()}
        for row in plan(asked.kind, **_describe_keys(shape), **several, **given):
            written = {**row, **fixed}
            answers = [_answer(each.values, written, each.parameter) for each in asked.choices]
            place = " ".join([*(["x".join(map(str, shape))] if shape else []), *answers])
            found[place] = _worst(_list_numbers(asked, row), found.get(place))
    return found


def list_sizes() -> Iterator[tuple[int, ...]]:
    """Yield the numbers of values of one key, and of two, the smaller one first."""
    yield from ((size,) for size in range(2, MAX_VALUES_OF_ONE + 1))
    yield from combinations_with_replacement(range(2, MAX_VALUES_OF_TWO + 1), 2)


def _list_fixed(asked: Asked, values: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return each combination of the answers of which a plan takes one value each."""
    names = [each.parameter for each in asked.choices if each.asks not in _MANY]
    found = product(*(values[name] for name in names))
    return [dict(zip(names, each, strict=True)) for each in found]


def _answer(values: Sequence[str], row: Mapping[str, Any], parameter: str) -> str:
    """Return the answer that a row of a plan is of, as it is typed."""
    held = row[parameter]
    if isinstance(held, Fraction):
        return next(value for value in values if Fraction(value) == held)
    return str(held)


def _describe_keys(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return the keys and tables of a plan: each key by itself, and two together."""
    if not sizes:
        return {}
    names = [f"key {number}" for number in range(1, len(sizes) + 1)]
    tables = [[name] for name in names] + ([names] if len(names) > 1 else [])
    return {"keys": dict(zip(names, sizes, strict=True)), "tables": tables}


def _list_numbers(asked: Asked, row: Mapping[str, Any]) -> list[float]:
    error = row[asked.error]
    # Half of an interval is rounded up, an expected error to two digits.
    shown = math.ceil(error) if asked.law == "95 %" else float(f"{error:.2g}")
    found = [int(shown) if shown == int(shown) else shown, row["guessed_right"]]
    return [*found, row[asked.appears]] if asked.appears else found


def _worst(here: list[float], other: Sequence[float] | None) -> list[float]:
    """Return the larger numbers: of several tables, the form shows those of the worst."""
    return here if other is None else [max(pair) for pair in zip(here, other, strict=True)]
