"""What a name stands for: a mechanism of dphist with parameters, or anything importable."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dphist.errors import ParameterError
from dphist.lab.auditing.declared import audited_classes
from dphist.mechanism import Mechanism
from dphist.parameters import Exact
from dphist.privacy.calibration import calibrate


def mechanisms() -> dict[str, type[Any]]:
    """Return the classes of mechanisms that have a name of their own, in the order of kinds."""
    found: dict[str, type[Any]] = {}
    for known in audited_classes():
        # A class of others does not take the place of ours.
        found.setdefault(known.__name__, known)
    return found


def named(
    name: str, *, epsilon: Exact | None, delta: Exact | None, parameters: Mapping[str, Any]
) -> Any:
    """Return what is to be audited.

    Parameters
    ----------
    name : a mechanism of dphist such as "AdaptiveScan", or "package.module:name" of a mechanism, a
        class of mechanisms, or a callable of data.
    epsilon, delta : the total to calibrate a class of mechanisms to (default: epsilon 1).
    parameters : of a class of mechanisms.

    Raises
    ------
    ParameterError
        If there is nothing of that name, or parameters do not serve.
    """
    found = _found(name)
    if not inspect.isclass(found):
        if parameters:
            raise ParameterError("parameters", "are for a class of mechanisms")
        return found
    unknown = set(parameters) - set(inspect.signature(found).parameters)
    if unknown:
        raise ParameterError(min(unknown), f"must be left out: {name} has no such parameter")
    audited = audited_classes().get(found)
    asked = {**(audited.small if audited is not None else {}), **parameters}
    off = asked.pop("delta", None) if delta is None else delta
    asked.pop("delta", None)
    return calibrate(
        _made(found),
        epsilon=1 if epsilon is None else epsilon,
        delta=0 if off is None else off,
        **asked,
    )


def names_class(name: str) -> bool:
    """Whether a name stands for a class of mechanisms, which `named` calibrates."""
    return inspect.isclass(_found(name))


def _found(name: str) -> Any:
    return imported(name) if ":" in name else _of_dphist(name)


def _made(kind: type[Any]) -> Callable[..., Any]:
    if not all(hasattr(kind, each) for each in ("guarantee", "description")):
        raise ParameterError("mechanism", "must be a mechanism, or a callable that takes data")
    return kind


def _of_dphist(name: str) -> Any:
    known = mechanisms()
    if name not in known:
        raise ParameterError(
            "mechanism", f"must be one of {', '.join(known)}, or package.module:name"
        )
    return known[name]


def imported(name: str) -> Any:
    """Return what "package.module:name" is; modules of the current folder are found too.

    Raises
    ------
    ParameterError
        If there is nothing of that name, or it is neither a mechanism nor callable.
    """
    module, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # as with python -m
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        raise ParameterError("mechanism", f"must exist: nothing is named {name}") from None
    if not (inspect.isclass(found) or callable(found) or isinstance(found, Mechanism)):
        raise ParameterError("mechanism", f"must be a mechanism or a callable; {name} is neither")
    return found
