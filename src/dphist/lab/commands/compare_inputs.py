"""What dphist compare is given: mechanisms by name, with parameters, and data of any kind."""

import argparse
import inspect
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from dphist.commands.options import UsageError, named_value
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.lab.auditing.named import MECHANISMS, imported
from dphist.lab.comparing.reading import read_bins, read_events
from dphist.release.mechanisms import ENTRY_POINTS


def mechanisms_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is named, with the parameters that are set."""
    chosen = dict(map(named_value, options.set))
    found: dict[str, Any] = {}
    used: set[str] = set()
    for name in options.mechanism:
        mechanism: Any = imported(name) if ":" in name else _registered(name)
        own = {}
        if inspect.isclass(mechanism):
            accepted = inspect.signature(mechanism).parameters
            own = {key: value for key, value in chosen.items() if key in accepted}
            used |= set(own)
        short = name.rpartition(":")[2]
        found[short if short not in found else name] = (
            partial(mechanism, **own) if own else mechanism
        )
    unused = [key for key in chosen if key not in used]
    if unused:
        raise UsageError(f"--set {unused[0]}: no --mechanism has that parameter")
    return found


def _registered(name: str) -> Any:
    """Return a mechanism of dphist, or of an installed package that has an entry point for it."""
    if name in MECHANISMS:
        return MECHANISMS[name]
    points = list(entry_points(group=ENTRY_POINTS, name=name))
    if len(points) != 1:
        raise ParameterError(
            "mechanism",
            f"must be one of {', '.join(MECHANISMS)}, one that an installed package registers, "
            "or package.module:name",
        )
    return points[0].load()


def data_of(options: argparse.Namespace) -> Any:
    """Read the data, of whatever kind."""
    if options.bins is not None:
        return read_bins(options.bins)
    if options.events is not None:
        return read_events(options.events, options.label)
    if options.labels is not None:
        return LabelCounts.from_table(
            options.labels,
            label=options.label,
            count=options.count,
            user=options.user,
            max_labels=options.max_labels,
            max_count=options.max_count,
        )
    if options.label is None:
        return Profile.read(options.profile)
    return Profile.from_table(
        options.profile,
        label=options.label,
        count=options.count,
        user=options.user,
        max_records=options.max_records,
    )
