"""The mechanisms with releases that can be saved: ours by name, others by package and name."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import entry_points, packages_distributions
from typing import Any, TypeVar

from dphist.errors import ReleaseFileError

M = TypeVar("M")

_OURS: dict[str, type[Any]] = {}
_OTHERS: dict[tuple[str, str], type[Any]] = {}
_ENTRY_POINTS = "dphist.mechanisms"
_SCRIPT = "__main__"


def savable(mechanism: type[M]) -> type[M]:
    """Class decorator: releases of this mechanism can be saved and loaded."""
    package = package_of(mechanism)
    if package is None:
        _OURS[mechanism.__name__] = mechanism
    else:
        _OTHERS[package, mechanism.__name__] = mechanism
    return mechanism


def package_of(mechanism: type[Any]) -> str | None:
    """Return the name of the package, as pip knows it, that defines a class; None of dphist's."""
    top = mechanism.__module__.partition(".")[0]
    return None if top == "dphist" else _distribution(top)


@lru_cache
def _distribution(module: str) -> str:
    found = packages_distributions().get(module)
    return found[0] if found else module


def find_mechanism(content: dict[str, Any], name: str) -> None:
    """Import the mechanism of another package, or say which package to install."""
    package, made_by = content.get("package"), content.get("mechanism")
    wanted = made_by.get("name") if isinstance(made_by, dict) else None
    if not isinstance(package, str) or not isinstance(wanted, str):
        return
    if not re.fullmatch(r"[\w.-]{1,100}", package) or not wanted.isidentifier():
        return  # such a file is not valid, and its words are not shown
    if (package, wanted) in _OTHERS:
        return
    for point in entry_points(group=_ENTRY_POINTS, name=wanted):
        if point.dist is not None and point.dist.name == package:
            point.load()  # registers it
    if (package, wanted) in _OTHERS:
        return
    if package == _SCRIPT:
        raise ReleaseFileError(
            f"{name} was made by {wanted}, which a script defined; call dphist.register({wanted}) "
            "before loading it"
        )
    raise ReleaseFileError(
        f"{name} was made by {wanted} of the package {package}; install it with "
        f"'pip install {package}' and import it before loading the release"
    )


def known_in(package: object) -> Mapping[str, type[Any]]:
    """Return the mechanisms of a package by name; those of dphist for None."""
    if package is None:
        return _OURS
    return {name: held for (owner, name), held in _OTHERS.items() if owner == package}
