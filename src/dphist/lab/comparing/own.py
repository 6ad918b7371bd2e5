"""Contenders from what callers give: classes, partial calls, mechanisms, functions of epsilon."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from dphist.document.compared import NOTHING, Case, Contender
from dphist.errors import ParameterError
from dphist.lab.comparing.code import with_code
from dphist.release.maker import parameters_of

_COSTS = ("epsilon", "rho", "delta")


def contenders_of(mechanisms: Any, case: Case) -> list[Contender]:
    """Return a contender of each mechanism; the names differ.

    Raises
    ------
    ParameterError
        If something is no mechanism, has no name, or has the name of another one.
    """
    named: list[tuple[str | None, Any]]
    if isinstance(mechanisms, Mapping):
        named = list(mechanisms.items())
    elif isinstance(mechanisms, Sequence) and not isinstance(mechanisms, str):
        named = [(None, one) for one in mechanisms]
    else:
        named = [(None, mechanisms)]
    found = []
    for name, given in named:
        one = _contender(name, given, case)
        found.append(replace(one, parameters=with_code(one.parameters, given)))
    for place, one in enumerate(found):
        if one.name in [other.name for other in found[:place]]:
            raise ParameterError(
                "mechanisms",
                f"must have different names, and two are {one.name}",
                "give a mapping of names to mechanisms",
            )
    return found


def _contender(name: str | None, given: Any, case: Case) -> Contender:
    if name is not None and not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError("mechanisms", "must have names that are text in one line")
    if isinstance(given, functools.partial) and inspect.isclass(given.func):
        return case.contender(name or _partial_name(given), given)
    if inspect.isclass(given):
        return case.contender(name or given.__name__, given)
    if is_dataclass(given) and not isinstance(given, type) and hasattr(given, "guarantee"):
        kind: Callable[..., Any] = type(given)
        kept = {key: value for key, value in parameters_of(given).items() if key not in _COSTS}
        called = functools.partial(kind, **kept, **_own_delta(given, case))
        return case.contender(name or type(given).__name__, called)
    if callable(given):
        return _of_function(name or _function_name(given), given)
    raise ParameterError(
        "mechanisms",
        "must be classes of mechanisms, mechanisms, or functions that take epsilon and return one",
    )


def _own_delta(given: Any, case: Case) -> dict[str, Any]:
    """Return the delta of a mechanism whose parameters are its costs; of others it is a total."""
    return {"delta": given.delta} if case.keeps_delta and hasattr(given, "delta") else {}


def _of_function(name: str, function: Callable[[Any], Any]) -> Contender:
    return Contender(name, NOTHING, lambda epsilon, _: function(epsilon))


def _function_name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(
            "mechanisms", "must have names: give a mapping such as {'mine': lambda epsilon: ...}"
        )
    return name


def _partial_name(given: "functools.partial[Any]") -> str:
    fixed = ", ".join(f"{key}={value!r}" for key, value in given.keywords.items())
    return f"{given.func.__name__}({fixed})"
