"""The columns that a caller bins, with their edges: the arguments of `bin_counts`, checked."""

import math
from typing import Any

from dphist.data.axis.edges import MOST_BINS, edges_of, public_only, regular_edges
from dphist.errors import ParameterError, join_arguments
from dphist.tables.binning.slots import Grid, value_roles
from dphist.tables.reading.columns import check_name


def grid_of(column: Any, edges: Any, width: Any, start: Any, stop: Any) -> Grid:
    """Return the columns and their edges.

    Parameters
    ----------
    column, edges, width, start, stop
        As for `bin_counts`.

    Raises
    ------
    ParameterError
    """
    single = not isinstance(column, list | tuple)
    names = (column,) if single else tuple(column)
    if not names:
        raise ParameterError("column", "must be the name of a column, or a list of names")
    for name, role in zip(names, value_roles(len(names)), strict=True):
        check_name(name, role)
    if single:
        parts = [_edges_of_axis(edges, width, start, stop)]
    else:
        given = {"edges": edges, "width": width, "start": start, "stop": stop}
        each = [_for_each(name, value, len(names)) for name, value in given.items()]
        parts = [_edges_of_axis(*values) for values in zip(*each, strict=True)]
    grid = Grid(names, tuple(part[0] for part in parts), tuple(part[1] for part in parts))
    if math.prod(grid.shape) > MOST_BINS:
        axes = "width" if edges is None else "edges"
        raise ParameterError(axes, f"must make at most {MOST_BINS} bins on all axes together")
    return grid


def _for_each(name: str, value: Any, axes: int) -> list[Any]:
    """Return a parameter as a list with one value for each axis."""
    if name == "edges" and value is not None and not isinstance(value, list | tuple):
        raise public_only("edges")
    if not isinstance(value, list | tuple):
        return [value] * axes
    if len(value) != axes:
        raise ParameterError(name, "must be a list with one item for each column")
    return list(value)


def _edges_of_axis(edges: Any, width: Any, start: Any, stop: Any) -> tuple[Any, bool]:
    """Return the edges of one axis, and whether they have a time zone."""
    if edges is None:
        if width is None and start is None and stop is None:
            raise public_only("edges")
        return regular_edges(start, stop, width)
    if width is not None or start is not None or stop is not None:
        raise ParameterError(
            "edges", "must be given alone, without " + join_arguments(("width", "start", "stop"))
        )
    return edges_of(edges)
