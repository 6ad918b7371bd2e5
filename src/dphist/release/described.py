"""Mechanisms and guarantees as content of JSON: their names and their numbers, exactly."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dphist.parameters import decimal_text
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP
from dphist.release.maker import parameters_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_GUARANTEES: dict[str, type[Any]] = {g.__name__: g for g in (PureDP, ZCDP, ApproxDP, ApproxZCDP)}


def described(value: "DataclassInstance") -> dict[str, Any]:
    """Return a mechanism's name and parameters, exact numbers as text."""
    parameters = {name: _exact(each) for name, each in parameters_of(value).items()}
    return {"name": type(value).__name__, "parameters": parameters}


def described_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee's name and numbers; its unit is stored separately, for older readers."""
    content = described(guarantee)
    del content["parameters"]["unit"]
    return content


def _exact(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_exact(part) for part in value]
    return decimal_text(value) if isinstance(value, Fraction) else value


def construct(known: Mapping[str, Callable[..., Any]], description: dict[str, Any]) -> Any:
    """Return what `described` described, of the classes known by their names."""
    return known[description["name"]](**description["parameters"])


def guarantee_of(description: dict[str, Any]) -> Any:
    """Return the guarantee of `described_guarantee`, with the usual unit."""
    return construct(_GUARANTEES, description)
