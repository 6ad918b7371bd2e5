"""The mechanisms with releases that can be saved: ours by name, others by package and name."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points, packages_distributions
from typing import Any, TypeVar

from dphist.errors import ReleaseFileError
from dphist.release.kind_names import KINDS

M = TypeVar("M")

_OURS: dict[str, type[Any]] = {}
_OTHERS: dict[tuple[str, str], type[Any]] = {}
ENTRY_POINTS = "dphist.mechanisms"
_SCRIPT = "__main__"


def savable(mechanism: type[M]) -> type[M]:
    """Class decorator: releases of this mechanism can be saved and loaded."""
    package = find_package(mechanism)
    if package is None:
        _OURS[mechanism.__name__] = mechanism
    else:
        _OTHERS[_normal(package), mechanism.__name__] = mechanism
    return mechanism


def find_package(mechanism: type[Any]) -> str | None:
    """Return the name of the package, as pip knows it, that defines a class; None of dphist's."""
    top = mechanism.__module__.partition(".")[0]
    return None if top == "dphist" else _distribution(top)


@lru_cache
def _distribution(module: str) -> str:
    for point in entry_points(group=ENTRY_POINTS):  # also of an editable installation
        if point.dist is not None and point.module.partition(".")[0] == module:
            return point.dist.name
    found = packages_distributions().get(module)
    return found[0] if found else module


def _normal(package: str) -> str:
    """Return the name of a package as package indexes compare them (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def find_mechanism(content: dict[str, Any], name: str) -> None:
    """Import the mechanism of another package, or say which package to install."""
    package, made_by = content.get("package"), content.get("mechanism")
    wanted = made_by.get("name") if isinstance(made_by, dict) else None
    if not isinstance(package, str) or not isinstance(wanted, str):
        return
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]{0,99}", package) or not wanted.isidentifier():
        return  # such a file is not valid, and its words are not shown
    key = _normal(package), wanted
    if key not in _OTHERS:
        _import_from(package, wanted, name)
    if key in _OTHERS:
        return
    if package == _SCRIPT:
        raise ReleaseFileError(
            f"{name} was made by {wanted}, which a script defined; call dphist.register({wanted}) "
            "before loading it"
        )
    raise ReleaseFileError(
        f"{name} was made by {wanted} of the package {package}; install that package and import "
        "it before loading the release; the maker of the release knows where to get it"
    )


def _import_from(package: str, wanted: str, name: str) -> None:
    """Import a mechanism by its entry point, which registers it."""
    for point in entry_points(group=ENTRY_POINTS, name=wanted):
        if point.dist is None or _normal(point.dist.name) != _normal(package):
            continue
        try:
            point.load()
        except Exception as error:
            raise ReleaseFileError(
                f"{name} was made by {wanted} of the package {package}, which cannot be imported "
                f"({type(error).__name__}); install it again"
            ) from None


def mechanisms_in(package: object) -> Mapping[str, type[Any]]:
    """Return the mechanisms of a package by name; those of dphist for None."""
    if package is None:
        # A release may be of any mechanism of ours. They are imported by name, as those of others
        # are by their entry points: the mechanisms know releases, releases know none of them.
        for kind in KINDS:
            import_module(f"dphist.{kind}")
        return _OURS
    wanted = _normal(package) if isinstance(package, str) else None
    return {name: held for (owner, name), held in _OTHERS.items() if owner == wanted}
