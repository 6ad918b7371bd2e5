"""Mechanisms and guarantees as JSON: their names, all parameters exactly, and what they cost."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dphist.errors import ParameterError, ReleaseFileError
from dphist.parameters import decimal_text
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP, Target
from dphist.privacy.guarantees import find_rho
from dphist.release.document import check_format
from dphist.release.maker import Maker, find_target, read_parameters
from dphist.release.mechanisms import find_mechanism, find_package, mechanisms_in

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
            "mechanism": describe(mechanism),
            "guarantee": describe_guarantee(mechanism.guarantee),
            **describe_origin(mechanism),
        }
        return json.dumps(content) + "\n"
    except (TypeError, AttributeError, ValueError):
        pass
    raise ParameterError("mechanism", "must be one of dphist, or registered with dphist.register")


def mechanism_from_json(text: str) -> Any:
    """Return the mechanism of a text of `mechanism_to_json`.

    Raises
    ------
    ReleaseFileError
        If the text is no mechanism, is of a later version, states another guarantee than the
        parameters have, or is of a package that is not installed.
    """
    content = check_format(text, "the text", "mechanism", FORMAT_VERSION)
    find_mechanism(content, "the text")
    try:
        made = read_mechanism(content)
    except Exception:  # of any library that makes sense of a part of it
        made = None
    if made is None:
        raise ReleaseFileError("the text is not a valid mechanism; ask its maker for it again")
    return made


def describe(value: "DataclassInstance") -> dict[str, Any]:
    """Return a mechanism's name and parameters, exact numbers as text."""
    parameters = {name: _as_exact(each) for name, each in read_parameters(value).items()}
    return {"name": type(value).__name__, "parameters": parameters}


def describe_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee's name and numbers.

    Its unit, and the rho of a pure guarantee, are stored separately, for older readers.
    """
    content = describe(guarantee)
    del content["parameters"]["unit"]
    if isinstance(guarantee, PureDP):
        del content["parameters"]["rho"]
        if guarantee.rho is not None:
            content["rho"] = decimal_text(guarantee.rho)
    return content


def read_guarantee(content: dict[str, Any], own: Guarantee) -> Guarantee:
    """Return the guarantee that `describe_guarantee` described, of a mechanism that has `own`.

    A larger rho is that of an earlier version, which knew no smaller one: it was charged, so it
    stays.

    Raises
    ------
    ValueError
        If it promises more than `own`, or anything else.
    """
    stated: Any = replace(_construct(_GUARANTEES, content), unit=own.unit)
    if isinstance(stated, PureDP):
        stated = replace(stated, rho=content.get("rho"))
    allowed: dict[str, Any] = {"rho": own.rho} if isinstance(own, ZCDP | ApproxZCDP) else {}
    if type(stated) is type(own) and find_rho(stated) >= find_rho(own):
        found: Guarantee = stated
        if replace(stated, **allowed) == own:
            return found
    raise ValueError("the guarantee is not that of the mechanism")


def describe_origin(mechanism: Maker) -> dict[str, Any]:
    """Return what a mechanism was calibrated to, and its package, where it has them."""
    content: dict[str, Any] = {}
    target, package = find_target(mechanism), find_package(type(mechanism))
    if target is not None:
        asked = describe_guarantee(target.guarantee)
        content["target"] = {"guarantee": asked, "releases": target.releases}
    if package is not None:
        content["package"] = package
    return content


def read_mechanism(content: dict[str, Any]) -> Any:
    """Return the mechanism of a release, or of a document of its own.

    Raises
    ------
    Exception
        If the content is not one of a mechanism, or states another guarantee than it has.
    """
    mechanism = _construct(mechanisms_in(content.get("package")), content["mechanism"])
    read_guarantee(content["guarantee"], mechanism.guarantee)
    target, budget = content.get("target"), content.get("budget")
    if target is None and budget is not None:  # earlier versions wrote this
        target = {"guarantee": budget, "releases": 1}
    if target is None:
        return mechanism
    asked = _construct(_GUARANTEES, target["guarantee"])
    return mechanism.calibrated_to(Target(asked, target["releases"]))


def _construct(known: Mapping[str, Callable[..., Any]], description: dict[str, Any]) -> Any:
    """Return what `describe` described, of the classes known by their names."""
    name, parameters = description["name"], dict(description["parameters"])
    for gone, value in _GONE.get(name, {}).items():
        if gone in parameters and parameters.pop(gone) != value:
            raise ValueError("a parameter of an earlier version had a value that is gone")
    return known[name](**parameters)


_GONE = {"ThresholdHistogram": {"count_cut_users": False}}
"""Parameters that earlier versions had, with the only value that means what is left."""


def _as_exact(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_exact(part) for part in value]
    if hasattr(value, "to_content"):  # its constructor takes that, too
        return value.to_content()
    return decimal_text(value) if isinstance(value, Fraction) else value
