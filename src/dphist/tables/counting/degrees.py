"""From edges to (degree, number of nodes), inside the engine that holds the edges.

Each edge is two records, one at either end, whose labels are the nodes. A lazy frame is
evaluated once for both ends: another evaluation may give other rows, and an edge whose ends
come from two different tables is counted at nodes that it does not join.
"""

from typing import Any

import narwhals.stable.v2 as nw

from dphist.errors import DataError, ParameterError
from dphist.tables.checks import IntArray
from dphist.tables.counting.aggregate import as_arrays, by_records, opened
from dphist.tables.engine.progress import Progress
from dphist.tables.reading.frames import AnyFrame

# What may be wrong with an edge; the largest number found is reported.
_SOUND, _NO_SOURCE, _NO_TARGET = range(3)


def count_degrees(
    frame: object,
    *,
    source: str,
    target: str,
    directed: bool = False,
    progress: Progress | None = None,
) -> tuple[IntArray, IntArray]:
    """Count how many nodes have which degree, in a table of one row an edge.

    Parameters
    ----------
    frame, progress
        As for `count_records`.
    source, target : str
        The columns of the nodes an edge joins, both of the same type. Nodes are compared
        as `count_records` compares labels.
    directed : bool
        Whether to count only the edges that leave a node. Nodes are then taken from
        `source`, while `target` is checked all the same: it has to be there, of the type
        of `source`, and without missing values.

    Returns
    -------
    degrees : (d,) int64, ascending, distinct, at least 1
        In rows: a row that is there twice is two edges. Undirected, a row from a node to
        itself adds 2 to its degree.
    prevalences : (d,) int64, at least 1
        How many nodes have each degree. Nodes without edges are not counted.

    Raises
    ------
    ParameterError
        If `frame` is no table, or `source` and `target` are one column.
    ColumnError
        If a column is missing, its type has no exact equality (floats, lists), or the two
        have different types.
    DataError
        If a node is missing.
    InputFileError
        If the file is missing or not what its name says.
    """
    if not isinstance(directed, bool):
        raise ParameterError("directed must be True or False")
    names = {"source": source, "target": target}
    with opened(frame, names, progress) as edges:
        degrees = _out_degrees if directed else _degrees
        rows = edges.collect(degrees, ["records", "prevalence", "problem"])
    worst = max((row[2] for row in rows), default=_SOUND)
    if worst != _SOUND:
        name = source if worst == _NO_SOURCE else target
        raise DataError(f"column {name!r} has rows without a node: drop them or give them one")
    return as_arrays([(row[0], row[1]) for row in rows])


def _out_degrees(frame: AnyFrame) -> AnyFrame:
    """From rows (source, target) to (records, prevalence, problem), of sources alone."""
    return by_records(_counted(_one_end(_with_problem(frame), "source")))


def _degrees(frame: AnyFrame) -> AnyFrame:
    """From rows (source, target) to (records, prevalence, problem), of both ends."""
    edges = _with_problem(frame)
    if isinstance(edges, nw.LazyFrame):
        return by_records(_counted(_both_ends(edges)))
    # The rows of this one are fixed, and two short tables are joined rather than two long.
    ends: list[Any] = [_counted(_one_end(edges, role)) for role in ("source", "target")]
    nodes = nw.concat(ends).group_by("label")
    return by_records(nodes.agg(records=nw.col("records").sum(), problem=nw.col("problem").max()))


def _with_problem(frame: AnyFrame) -> AnyFrame:
    """Add what is wrong with each edge, as one of the numbers."""
    no_source, no_target = nw.col("source").is_null(), nw.col("target").is_null()
    found = nw.when(no_source).then(_NO_SOURCE).otherwise(_SOUND)
    return frame.with_columns(problem=nw.when(no_target).then(_NO_TARGET).otherwise(found))


def _one_end(edges: AnyFrame, role: str) -> AnyFrame:
    """From one row an edge to one row for this end of it: (label, problem)."""
    return edges.select("problem", label=nw.col(role))


def _both_ends(edges: nw.LazyFrame[Any]) -> AnyFrame:
    """From one row an edge to two rows (label, problem), with `edges` evaluated once.

    To concatenate two selections would be to evaluate it twice, unless an engine notices.
    """
    if edges.implementation.is_duckdb():  # where an unpivot drops missing values
        ends = edges.to_native().project('unnest(["source", "target"]) AS "label", "problem"')
        return nw.from_native(ends)  # type: ignore[no-any-return]
    return edges.unpivot(on=["source", "target"], index="problem", value_name="label")


def _counted(ends: AnyFrame) -> AnyFrame:
    """From rows (label, problem) to (label, records, problem), one a node."""
    nodes = ends.group_by("label").agg(records=nw.len(), problem=nw.col("problem").max())
    # Polars counts in 32 bits, and would add up the two ends in as many.
    return nodes.with_columns(records=nw.col("records").cast(nw.Int64))
