"""How tables are audited: on which neighbors."""

from typing import Any

from dphist.document.audited import (
    SMALL_DELTA,
    AuditedClass,
    Auditing,
    CellNeighbors,
    Numbers,
    Statement,
)
from dphist.errors import UnsupportedError
from dphist.release.release import Release
from dphist.tables.drawing import sort_by_length
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.lattice import subsets
from dphist.tables.mechanism import Tables


def _neighbors(mechanism: Tables) -> CellNeighbors:
    """Return neighbors: one unit adds `max_rows` records to cells of all keys.

    Raises
    ------
    UnsupportedError
        If values of keys are found: which cells there are depends on the data. Or if rows of a unit
        differ on a key, which the neighbors here do not. Or if counts are sums of weights, or
        values are summed.
    """
    if mechanism.one_row_per is not None and mechanism.max_rows > 1:
        raise UnsupportedError(
            "tables with one row of a unit for each value of a key are not audited on neighbors of "
            "the kind, whose rows may be alike: give pairs of neighbors, or audit them without "
            "one_row_per"
        )
    if mechanism.sums:
        raise UnsupportedError(
            "tables with sums are not audited on neighbors of the kind, which have no values: give "
            "pairs of neighbors, or audit them without sums"
        )
    if mechanism.keys.discovering:
        raise UnsupportedError(
            "tables whose values are found have no cells to be audited on: audit them with all "
            "values listed"
        )
    if mechanism.step is not None:
        raise UnsupportedError(
            "tables of weights are not audited as such: their noise is that of tables without a "
            "step, of as many records as a unit has steps; audit these"
        )
    return CellNeighbors(mechanism.keys.shape, mechanism.max_rows, "cell", "keys")


def _list_contrasts(value: KeyedTables) -> dict[str, list[int]]:
    """Return the noisy contrasts: all numbers of the tables follow from them."""
    sums = [(f"{name} ", held.tables) for name, held in value.summed.items()]
    return {
        f"{prefix}{table}": found.ravel().tolist()
        for prefix, tables in [("", value), *sums]
        for table, found in tables.contrasts.items()
    }


def _read_contrasts(mechanism: Tables, release: Release, _: Any) -> Numbers:
    """Return the noisy contrasts in the order of drawing.

    Not those of noise on cells, where values of keys are found, or beside sums.
    """
    if mechanism.keys.discovering or mechanism.noise_on == "cells" or mechanism.sums:
        return None
    lattice, found = mechanism.lattice, []
    order = dict.fromkeys(part for table in lattice.maximal for part in subsets(table))
    for table in order:
        noisy = release.value.contrasts[table].ravel()
        for _, drawn_together in sort_by_length(lattice, table):
            found += noisy[drawn_together].tolist()
    return found


AUDITING = Auditing(
    neighbors=_neighbors,
    compared=_list_contrasts,
    mechanisms={
        Tables: AuditedClass(
            small={"delta": SMALL_DELTA, "keys": {"a": [1, 2], "b": [1, 2]}, "tables": ["a+b"]},
            others={
                "that overlap": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2, 3], "b": [1, 2], "c": [1, 2, 3, 4, 5]},
                    "tables": ["a+b", "b+c"],
                },
                "with ranges": {
                    "delta": SMALL_DELTA,
                    "keys": {"a": [1, 2, 3], "b": [1, 2]},
                    "tables": ["a+b"],
                    "ranges": ["a"],
                },
                "of pure epsilon": {
                    "delta": 0,
                    "keys": {"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [1, 2, 3, 4]},
                    "tables": ["a+b", "b+c", "a+c"],
                },
                "of pure epsilon, on cells": {
                    "delta": 0,
                    "keys": {"a": [1, 2], "b": [1, 2]},
                    "tables": ["a+b"],
                },
            },
            statement=Statement(_read_contrasts, fixed=True),
            tiny={"of two cells": {"delta": 0, "keys": {"a": [1, 2]}, "tables": ["a"]}},
        )
    },
)
