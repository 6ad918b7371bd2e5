"""A name of the code of a mechanism that is not ours: once it is edited, its runs are old."""

import functools
import hashlib
import inspect
import secrets
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import CodeType
from typing import Any

_MARK = "code "
_PLAIN = (bool, int, float, complex, str, bytes, Fraction, Decimal, type(None))


def with_code(parameters: str, mechanism: Any) -> str:
    """Add the code of a mechanism to its parameters; that of dphist goes by its version."""
    code = _code_of(mechanism)
    if not code:
        return parameters
    return f"{parameters}; {_MARK}{code}" if parameters else _MARK + code


def without_code(parameters: str) -> str:
    """Return the parameters alone."""
    before, mark, _ = parameters.rpartition(_MARK)
    return before.removesuffix("; ") if mark else parameters


def _code_of(mechanism: Any) -> str:
    held = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
    known = held if inspect.isclass(held) or inspect.isroutine(held) else type(held)
    if (known.__module__ or "").partition(".")[0] == "dphist":
        return ""
    return hashlib.sha256("\n".join(_parts(mechanism)).encode()).hexdigest()[:12]


def _parts(mechanism: Any) -> Iterator[str]:
    """Yield what decides about a mechanism's runs; something random where that cannot be told."""
    if isinstance(mechanism, functools.partial):
        yield _value((mechanism.args, tuple(sorted(mechanism.keywords.items()))))
        yield from _parts(mechanism.func)
    elif inspect.isclass(mechanism):
        yield f"{mechanism.__qualname__} {_file(mechanism) or _anew()}"
    elif inspect.isfunction(mechanism):
        yield f"{mechanism.__qualname__} {_file(mechanism)} {_code(mechanism.__code__)}"
        cells = tuple(cell.cell_contents for cell in mechanism.__closure__ or ())
        defaults = tuple((mechanism.__kwdefaults__ or {}).items())
        yield _value((cells, mechanism.__defaults__ or (), defaults))
    else:
        yield from _parts(type(mechanism))
        yield _value(tuple(vars(mechanism).items())) if hasattr(mechanism, "__dict__") else _anew()


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


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return repr(value) if isinstance(value, _PLAIN) else _anew()


def _anew() -> str:
    return secrets.token_hex(8)
