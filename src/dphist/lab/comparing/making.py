"""The parameters of a mechanism that follow from the data it is compared on."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from dphist.errors import ParameterError


class MissingParameterError(ParameterError):
    """A class of mechanisms needs a parameter that does not follow from the data."""

    def __init__(self, mechanism: str, parameter: str) -> None:
        super().__init__(
            "mechanisms",
            f"must do without parameters that do not follow from the data: {mechanism} needs "
            f"{parameter}",
            f"give functools.partial({mechanism}, {parameter}=...)",
        )
        self.mechanism = mechanism
        self.needed = parameter


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter that follows from the data.

    Attributes
    ----------
    value : of the parameter.
    told : what this tells a mechanism of secret data, such as "number of labels"; empty for what
        is public.
    always : whether mechanisms get it that have a default too, as a bound that they must protect.
    """

    value: Any
    told: str = ""
    always: bool = False


def given_to(
    mechanism: Callable[..., Any], known: Mapping[str, Given], name: str
) -> dict[str, Given]:
    """Return what a class of mechanisms is given beside epsilon.

    Raises
    ------
    ParameterError
        If it has no epsilon.
    MissingParameterError
        If it needs something that is not known.
    """
    try:
        accepted: Mapping[str, Parameter] = signature(mechanism).parameters
    except (TypeError, ValueError):
        accepted = {}
    if "epsilon" not in accepted:
        raise ParameterError(
            "mechanisms",
            "must have a parameter epsilon, or be functions of it: " + f"{name} has none",
        )
    fixed = _fixed(mechanism)
    found = {}
    for parameter, about in accepted.items():
        if parameter in ("epsilon", *fixed) or about.kind in _VARIABLE:
            continue
        required = about.default is Parameter.empty
        if parameter in known:
            if required or known[parameter].always:
                found[parameter] = known[parameter]
        elif required:
            raise MissingParameterError(name, parameter)
    return found


def shown_parameters(mechanism: Callable[..., Any], values: Mapping[str, Any]) -> str:
    """Return the parameters as text, in the order of their names."""
    every = {**_fixed(mechanism), **values}
    return ", ".join(f"{name}={every[name]!r}" for name in sorted(every))


_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _fixed(mechanism: Callable[..., Any]) -> dict[str, Any]:
    return dict(mechanism.keywords) if isinstance(mechanism, functools.partial) else {}
