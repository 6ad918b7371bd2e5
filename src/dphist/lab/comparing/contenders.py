"""Contenders from what callers give, with a digest of the code of those that are not ours."""

import functools
import hashlib
import inspect
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import CodeType
from typing import Any

from dphist.document.compared import NOTHING, Case, Contender
from dphist.errors import ParameterError
from dphist.release.maker import read_parameters

_COSTS = ("epsilon", "rho", "delta")


def make_contenders(mechanisms: Any, case: Case) -> list[Contender]:
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
        found.append(replace(one, code=digest_code(given)))
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
        fixed = ", ".join(f"{key}={value!r}" for key, value in given.keywords.items())
        return case.contender(name or f"{given.func.__name__}({fixed})", given)
    if inspect.isclass(given):
        return case.contender(name or given.__name__, given)
    if is_dataclass(given) and not isinstance(given, type) and hasattr(given, "guarantee"):
        kind: Callable[..., Any] = type(given)
        kept = {key: value for key, value in read_parameters(given).items() if key not in _COSTS}
        if case.keeps_delta and hasattr(given, "delta"):  # of others it is a total
            kept["delta"] = given.delta
        called = functools.partial(kind, **kept)
        return case.contender(name or type(given).__name__, called)
    if callable(given):
        called_by = name or _function_name(given)
        return Contender(called_by, NOTHING, lambda epsilon, _: given(epsilon))
    raise ParameterError(
        "mechanisms",
        "must be classes of mechanisms, mechanisms, or functions that take epsilon and return one",
    )


def _function_name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(
            "mechanisms", "must have names: give a mapping such as {'mine': lambda epsilon: ...}"
        )
    return name


_PLAIN = (bool, int, float, complex, str, bytes, Fraction, Decimal, type(None))


def digest_code(mechanism: Any) -> str:
    """Name the code of a mechanism; empty for that of dphist, which goes by its version."""
    held = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
    known = held if inspect.isclass(held) or inspect.isroutine(held) else type(held)
    if (known.__module__ or "").partition(".")[0] == "dphist":
        return ""
    return hashlib.sha256("\n".join(_parts(mechanism)).encode()).hexdigest()[:12]


def _parts(mechanism: Any) -> Iterator[str]:
    """Yield what decides about a mechanism's runs; something random where that cannot be told."""
    if isinstance(mechanism, functools.partial):
        yield _write_value((mechanism.args, tuple(sorted(mechanism.keywords.items()))))
        yield from _parts(mechanism.func)
    elif inspect.isclass(mechanism):
        yield f"{mechanism.__qualname__} {_file(mechanism) or _make_unique()}"
    elif inspect.isfunction(mechanism):
        yield f"{mechanism.__qualname__} {_file(mechanism)} {_code(mechanism.__code__)}"
        cells = tuple(cell.cell_contents for cell in mechanism.__closure__ or ())
        defaults = tuple((mechanism.__kwdefaults__ or {}).items())
        yield _write_value((cells, mechanism.__defaults__ or (), defaults))
    else:
        yield from _parts(type(mechanism))
        yield (
            _write_value(tuple(vars(mechanism).items()))
            if hasattr(mechanism, "__dict__")
            else _make_unique()
        )


def _file(known: Any) -> str:
    """Return the content of the whole file: a mechanism may call what stands beside it."""
    try:
        return hashlib.sha256(Path(inspect.getfile(known)).read_bytes()).hexdigest()
    except (OSError, TypeError):  # typed in
        return ""


def _code(code: CodeType) -> str:
    """Return code without the names of files, which may move."""
    constants = list(map(_constant, code.co_consts))
    return repr((code.co_name, code.co_code, code.co_names, constants))


def _constant(value: Any) -> str:
    if isinstance(value, frozenset):  # of `x in {"a", "b"}`: its order differs from run to run
        return repr(sorted(map(repr, value)))
    return _code(value) if isinstance(value, CodeType) else repr(value)


def _write_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_write_value, value))})"
    return repr(value) if isinstance(value, _PLAIN) else _make_unique()


def _make_unique() -> str:
    return secrets.token_hex(8)
