"""A name of the code of a mechanism that is not ours: once it is edited, its runs are old."""

import functools
import hashlib
import inspect
import marshal
from pathlib import Path
from types import CodeType
from typing import Any

_MARK = "code "


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
    if isinstance(mechanism, functools.partial):
        mechanism = mechanism.func
    if not (inspect.isclass(mechanism) or inspect.isroutine(mechanism)):
        mechanism = type(mechanism)
    if (mechanism.__module__ or "").partition(".")[0] == "dphist":
        return ""
    try:  # the whole file: a mechanism may call what stands beside it
        held = Path(inspect.getfile(mechanism)).read_bytes()
    except (OSError, TypeError):  # typed in
        held = b""
    code = getattr(mechanism, "__code__", None)
    if isinstance(code, CodeType):  # which of several in a file
        held += marshal.dumps(code)
    return hashlib.sha256(held).hexdigest()[:12]
