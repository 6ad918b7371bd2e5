"""Mechanisms as JSON: all parameters, exactly, and what they guarantee."""

import json
from dataclasses import replace
from typing import Any

from dphist.errors import ParameterError, ReleaseFileError
from dphist.privacy import Target
from dphist.release.described import construct, described, described_guarantee, guarantee_of
from dphist.release.document import checked_format
from dphist.release.maker import Maker, target_of
from dphist.release.mechanisms import find_mechanism, known_in, package_of

FORMAT = "dphist mechanism"
FORMAT_VERSION = 1


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
            "guarantee": described_guarantee(mechanism.guarantee),
        }
        target = target_of(mechanism)
        if target is not None:
            asked = described_guarantee(target.guarantee)
            content["target"] = {"guarantee": asked, "releases": target.releases}
        package = package_of(type(mechanism))
        if package is not None:
            content["package"] = package
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
    content = checked_format(text, "the text", "mechanism", FORMAT_VERSION)
    find_mechanism(content, "the text")
    try:
        made = _made(content)
    except Exception:  # of any library that makes sense of a part of it
        made = None
    if made is None:
        raise ReleaseFileError("the text is not a valid mechanism; ask its maker for it again")
    return made


def _made(content: dict[str, Any]) -> Any:
    known = known_in(content.get("package"))
    mechanism = construct(known, content["mechanism"])
    stated = guarantee_of(content["guarantee"])
    if replace(stated, unit=mechanism.guarantee.unit) != mechanism.guarantee:
        raise ValueError("the guarantee is not that of the mechanism")
    target = content.get("target")
    if target is None:
        return mechanism
    return mechanism.calibrated_to(Target(guarantee_of(target["guarantee"]), target["releases"]))
