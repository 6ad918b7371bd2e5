"""What a name stands for: a mechanism of dphist with parameters, or anything importable."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dphist.anonymized import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    RankSplit,
    SortedCounts,
)
from dphist.errors import ParameterError
from dphist.labels import DiscoverLabels, ThresholdHistogram, TopLabels, TopThreshold
from dphist.mechanism import Mechanism
from dphist.parameters import Exact
from dphist.privacy.calibration import calibrate
from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.streams import ContinualMechanism

_SMALL_DELTA = "0.05"
"""Deltas of tables are far smaller, and no number of runs sees them: a fault shows at this one."""

_SMALL: dict[type[Any], dict[str, Any]] = {
    AdaptiveScan: {},
    RankSplit: {},
    SortedCounts: {"labels": 6},
    CumulativeCounts: {"largest": 8},
    PrivHist: {},
    PartitionSampler: {"delta": _SMALL_DELTA},
    AdaptiveTree: {"bins": 16},
    HierarchicalTree: {"bins": 16},
    LeafCounts: {"bins": 4},
    ThresholdHistogram: {"delta": _SMALL_DELTA, "max_labels": 2},
    TopThreshold: {"delta": _SMALL_DELTA, "max_labels": 2, "k": 3},
    TopLabels: {"delta": _SMALL_DELTA, "k": 2, "candidates": 4},
    DiscoverLabels: {"delta": _SMALL_DELTA, "max_labels": 2},
    ContinualMechanism: {"delta": _SMALL_DELTA, "horizon": 16, "max_labels": 2},
}
"""Parameters that are taken where none are given: small ones, so that there are many runs."""

MECHANISMS = {kind.__name__: kind for kind in _SMALL}


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
    asked = {**_SMALL.get(found, {}), **parameters}
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
    if name not in MECHANISMS:
        raise ParameterError(
            "mechanism", f"must be one of {', '.join(MECHANISMS)}, or package.module:name"
        )
    return MECHANISMS[name]


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
