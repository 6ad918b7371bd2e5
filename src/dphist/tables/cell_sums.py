"""Sums of clamped values in cells of keys: what is counted of them, and their noise.

A row adds its value, clamped and taken about the middle of the clamp, to the sum of its cell: at
most `reach` steps either way, where it adds 1 to a count. So sums are measured as counts are, with
noise that many times as large (`docs/understand/proofs/sums.md`, Lemmas 5 and 6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.counting import LARGEST
from dphist.counting.binning.cell_sums import count_and_sum, have_room
from dphist.counting.binning.key_grid import KeyGrid
from dphist.counting.bounding.steps import Summed
from dphist.data.clamp import Clamp, read_sums
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.release.interval_estimate import name_columns
from dphist.tables.keys import Keys
from dphist.tables.lattice import Lattice, Table

Columns = tuple[tuple[str, Clamp], ...]
"""Names of the columns that are summed, with their clamps."""


def read_columns(given: Any, keys: Keys, grid: KeyGrid, **excluded: Any) -> Columns:
    """Return the columns that are summed of a table, checked with what else is asked.

    Parameters
    ----------
    excluded : by name, parameters that sums do not go with; None if they were not given.

    Raises
    ------
    ParameterError
    """
    columns = read_sums(given)
    if not columns:
        return ()
    check_columns(columns, keys)
    for name in [name for name, each in excluded.items() if each is not None]:
        raise ParameterError(
            ("sums", name), "must not both be given: values of single rows are summed"
        )
    if not have_room(grid, list_summed(columns)):
        raise ParameterError(
            "sums",
            "have 2**62 values or more together with the cells of the keys",
            "take larger steps, narrower bounds or fewer columns",
        )
    return columns


def check_columns(columns: Columns, keys: Keys) -> None:
    """Refuse sums where values of keys are found, or under the name of another column.

    Raises
    ------
    ParameterError
    """
    if keys.discovering:
        raise ParameterError(
            "sums",
            f"must be left out where values are found, as those of {keys.discovering[0].name!r}",
            "list the values in " + Argument("keys"),
        )
    taken = {head for key in keys for head in (key.name, f"{key.name}_start", f"{key.name}_stop")}
    for head in list_heads(name for name, _ in columns):
        if head in taken:
            raise ParameterError(
                "sums", f"must not make a column {head!r} twice in released tables", "rename one"
            )
        taken.add(head)


def list_heads(names: Iterable[str]) -> list[str]:
    """Return the columns of sums and means, with both ends of intervals, in released tables."""
    return [
        head
        for name in names
        for what in ("sum", "mean")
        for head in name_columns(f"{name}_{what}")
    ]


def list_summed(columns: Columns) -> list[Summed]:
    """Return the columns as counting takes them."""
    return [
        Summed(name, clamp.step, clamp.least, clamp.most, clamp.center(counts_users=True))
        for name, clamp in columns
    ]


def sum_cells(
    frame: object, grid: KeyGrid, columns: Columns, **counting: Any
) -> tuple[IntArray, IntArray, tuple[IntArray, ...]]:
    """Count the cells of a table, and sum columns in each; see `count_and_sum`; secret."""
    return count_and_sum(frame, grid, list_summed(columns), **counting)


def check_totals(columns: Columns, totals: Sequence[Any], cells: int) -> tuple[IntArray, ...]:
    """Return read-only sums, one for each column and cell.

    Raises
    ------
    ParameterError
    """
    problem = ParameterError("totals", "must have a sum in int64 for each column and cell")
    if len(totals) != len(columns):
        raise problem
    found = []
    for total in totals:
        if not isinstance(total, np.ndarray) or total.dtype != np.int64 or total.shape != (cells,):
            raise problem
        if (total < -LARGEST).any() or (total > LARGEST).any():
            raise problem
        held = total.copy()
        held.setflags(write=False)
        found.append(held)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SumsLaw:
    """The noise of sums beside the counts of tables.

    Attributes
    ----------
    columns : what is summed.
    lattice : of the tables.
    rho : what one row pays for the sums of one column.
    scales : sigma_A of each table for which a row that adds 1 would pay that.
    """

    columns: Columns
    lattice: Lattice
    rho: Fraction
    scales: Mapping[Table, Fraction]

    def compute_scales(self, clamp: Clamp) -> dict[Table, Fraction]:
        """Return sigma_A of the sums of a column, in steps."""
        reach = clamp.reach(counts_users=True)
        return {table: scale * reach for table, scale in self.scales.items()}

    def costs_at_most(self) -> bool:
        """Whether one row pays at most `rho` for the sums of each column; exact."""
        for _, clamp in self.columns:
            reach = clamp.reach(counts_users=True)
            of_one = {table: scale / reach for table, scale in self.compute_scales(clamp).items()}
            if not self.lattice.costs_at_most(of_one, self.rho):
                return False
        return True


def make_prefix(place: int) -> str:
    """Return how the names of the noisy contrasts of a column begin; no name of a key has +."""
    return f"++{place}:"


def check_same_sums(of_data: Columns, own: Columns) -> None:
    """Refuse data that were not summed as the mechanism sums them; both are public.

    Raises
    ------
    BoundsError
    """
    if own and of_data != own:
        raise BoundsError(
            "the table was counted with other "
            + Argument("sums")
            + " than those of the mechanism; give it sums=counts.sums"
        )
