"""Mechanisms as JSON: all parameters, exactly, and what they guarantee."""

import json
from dataclasses import replace
from typing import Any

from dphist.errors import DphistError, ParameterError, ReleaseFileError
from dphist.parameters import decimal_text
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP, Target
from dphist.release.maker import Maker, target_of
from dphist.release.mechanisms import find_mechanism, known_in, package_of
from dphist.release.release import described

FORMAT = "dphist mechanism"
FORMAT_VERSION = 1

_GUARANTEES: dict[str, type[Any]] = {g.__name__: g for g in (PureDP, ZCDP, ApproxDP, ApproxZCDP)}


def mechanism_to_json(mechanism: Maker) -> str:
    """Return a mechanism as a JSON document: its parameters, exactly, and its guarantee.

    Parameters
    ----------
    mechanism : of dphist, or registered with `dphist.register`.

    Returns
    -------
    str
        `mechanism_from_json` reads it back. A mechanism holds nothing that depends on data.

    Examples
    --------
    >>> from dphist.ranges import LeafCounts
    >>> text = mechanism_to_json(LeafCounts(epsilon="1/3", bins=4))
    >>> mechanism_from_json(text) == LeafCounts(epsilon="1/3", bins=4)
    True
    """
    try:
        content: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "mechanism": described(mechanism),
            "guarantee": _described(mechanism.guarantee),
        }
        target = target_of(mechanism)
        if target is not None:
            asked = _described(target.guarantee)
            content["target"] = {"guarantee": asked, "releases": target.releases}
        package = package_of(type(mechanism))
        if package is not None:
            content["package"] = package
        return json.dumps(content) + "\n"
    except (TypeError, AttributeError, ValueError):
        problem = "mechanism must be one of dphist, or registered with dphist.register"
    raise ParameterError(problem)


def mechanism_from_json(text: str) -> Any:
    """Return the mechanism of a text of `mechanism_to_json`.

    Raises
    ------
    ReleaseFileError
        If the text is no mechanism, is of a later version, states another guarantee than the
        parameters have, or is of a package that is not installed.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError, TypeError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReleaseFileError("the text is not a dphist mechanism, or it is cut short")
    found = content.get("format_version")
    if isinstance(found, int) and found > FORMAT_VERSION:
        raise ReleaseFileError(
            "the text was written by a later version of dphist; install that version to read it"
        )
    find_mechanism(content, "the text")
    try:
        made = _made(content)
    except (DphistError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        made = None
    if made is None:
        raise ReleaseFileError("the text is not a valid mechanism; ask its maker for it again")
    return made


def _made(content: dict[str, Any]) -> Any:
    known = known_in(content.get("package"))
    mechanism = known[content["mechanism"]["name"]](**content["mechanism"]["parameters"])
    stated = _guarantee(content["guarantee"])
    if replace(stated, unit=mechanism.guarantee.unit) != mechanism.guarantee:
        raise ValueError("the guarantee is not that of the mechanism")
    target = content.get("target")
    if target is None:
        return mechanism
    return mechanism.calibrated_to(Target(_guarantee(target["guarantee"]), target["releases"]))


def _described(guarantee: Any) -> dict[str, Any]:
    numbers = ("epsilon", "rho", "delta")
    held = {n: decimal_text(getattr(guarantee, n), 150) for n in numbers if hasattr(guarantee, n)}
    return {"name": type(guarantee).__name__, "parameters": held}


def _guarantee(described: dict[str, Any]) -> Any:
    return _GUARANTEES[described["name"]](**described["parameters"])
