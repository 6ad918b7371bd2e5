"""Public values and bins that a description gives, in place of options."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dphist.commands.options import UsageError
from dphist.data.region_tree import RegionTree
from dphist.description import Description
from dphist.document.options import Option
from dphist.errors import Argument, ParameterError
from dphist.parameters import read_number

if TYPE_CHECKING:
    from dphist.tables.keys import Key

_EDGES = ("edges", "start", "stop", "width", "bins")
_LABELS = "known_labels"


def set_keys(options: argparse.Namespace, said: Description, known: Mapping[str, Option]) -> None:
    """Set the values and bins that the description lists, where options leave them out.

    Raises
    ------
    ParameterError, UsageError
        If an option differs from the description, or if neither has them.
    """
    if "axis" in known:  # of tables, and of a plan of them
        options.axis = [_choose_key(said, each) for each in options.axis or []]
    if "group" in known and options.group is not None:
        options.group = _choose_key(said, options.group, "groups")
    if _LABELS in known and getattr(options, _LABELS) is not None:
        _set_labels(options, said)
    if "regions" in known and options.region in said.keys and options.regions is not None:
        options.regions = RegionTree.read(options.regions, options.region)  # the file is read once
        said.check_leaves(options.region, options.regions.leaf_names)
    if "column" in known and "edges" in known:
        _set_bins(options, said)
    elif "column" in known and options.column is not None:
        _set_bins_of_groups(options, said)
    elif "bins" in known and "column" not in known:  # of a plan, which asks for their number alone
        options.bins = _count_bins(said, options.bins)
    if "tz" in known:
        _set_zone(options, said)


def _choose_key(said: Description, typed: Any, called: str = "keys") -> Any:
    """Return a key that is typed as NAME=VALUES, or of a plan as a pair, or NAME alone."""
    from dphist.tables.written_keys import read_keys  # imports mechanisms, which are slow to start

    name, values = typed if isinstance(typed, tuple) else (typed.partition("=")[0], typed)
    if name not in said.keys:
        if values in (None, name):
            raise ParameterError(
                called, f"must list values of {name!r}: {said.path} does not", "give NAME=VALUES"
            )
        return typed
    asked: Key | None = None
    if isinstance(values, int):  # of a plan, which asks for their number alone
        fault = f"must be what {said.path} lists of {name!r}"
        raise ParameterError(called, fault, f"give {name} alone")
    if values not in (None, name):
        asked = read_keys([typed], None)[name] if isinstance(values, str) else values
    key = said.choose_key(name, asked, called)
    return (name, key) if isinstance(typed, tuple) else key


def _set_labels(options: argparse.Namespace, said: Description) -> None:
    """Set known labels that are named by a column; a file of others than its own is refused."""
    typed, label = getattr(options, _LABELS), getattr(options, "label", None) or "label"
    if "wide" in said.facts:
        label = "label"  # of the file; what `--label` calls it changes no values
    if label in said.keys and typed != label:
        fault = f"must be {label}: {said.path} lists the values of that column"
        raise ParameterError(_LABELS, fault)
    if typed in said.keys:
        key = said.keys[typed]
        if key.axis is not None:
            raise ParameterError(_LABELS, f"must be values: {said.path} has bins of {typed}")
        labels = said.list_labels(typed, as_text=said.is_text) or ()
        setattr(options, _LABELS, replace(key, values=labels))


def _set_bins(options: argparse.Namespace, said: Description) -> None:
    """Set the edges of the columns of ranges."""
    given = [name for name in _EDGES if getattr(options, name) is not None]
    listed = [name for name in options.column if name in said.keys]
    if given and listed:
        text = f" must be left out: {said.path} says what {listed[0]!r} is counted by"
        raise UsageError(Argument(given[0]) + text)
    if listed:
        options.edges = [said.choose_axis(name, None) for name in options.column]
        if options.tz is not None:
            raise UsageError(Argument("tz") + f" must be left out: {said.path} has the bins")


def _set_bins_of_groups(options: argparse.Namespace, said: Description) -> None:
    """Set the bins of the column of groups."""
    from dphist.groups.command import read_bins

    if options.bins is None:
        options.bins = said.choose_axis(options.column, None)
    elif options.column in said.keys:
        options.bins = said.choose_axis(options.column, read_bins(options.bins))


def _count_bins(said: Description, typed: Any) -> Any:
    """Return the number of bins of each column that is named; a number as it is."""
    if isinstance(typed, tuple):
        return tuple(_count_bins(said, each) for each in typed)
    return said.choose_axis(typed, None).bins if isinstance(typed, str) else typed


def _set_zone(options: argparse.Namespace, said: Description) -> None:
    """Set the time zone of edges that are dates or times, unless one is typed."""
    zone = said.facts.get("tz")
    ends = options.start if options.edges is None else options.edges
    if zone is None or options.tz is not None or not ends:
        return
    texts = [each.split(",")[0].strip() if isinstance(each, str) else "" for each in ends]
    dates = [
        text not in ("", "inf", "-inf", "+inf") and read_number(text) is None for text in texts
    ]
    if any(dates):
        options.tz = [zone if is_date else "none" for is_date in dates]
