"""Users by how many records they have, before any is bounded: how much bounding would drop."""

from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.counting import count_user_sizes
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import BinnedCounts
from dphist.data.cells import check_most, make_cells
from dphist.data.counting import state_treatment
from dphist.data.guard import Guarding, guard
from dphist.errors import ParameterError
from dphist.parameters import optional_whole
from dphist.privacy.unit import PrivacyUnit, unit_of_users
from dphist.signals import stoppable

MOST = 1000
"""Where the last cell starts by default."""

SIZES = "number of records"
"""Name of the axis."""


@stoppable
def count_user_records(
    frame: Any,
    *,
    user: str,
    count: str | None = None,
    most: int = MOST,
    max_records: int | None = None,
    null_users: str = "refuse",
    progress: Progress | None = None,
    delimiter: str | None = None,
    unit: str | PrivacyUnit | None = None,
    ledger: Guarding | None = None,
) -> BinnedCounts:
    """Count the users by how many records each of them has.

    Release the result beside an anonymized histogram or bins of users, and it is known how much too
    low these are because each user counts for at most `max_records`: see `share_cut`,
    `choose_max_records` and `Release.with_users`. The proof that each user is in one cell is
    Lemma 12 of docs/understand/proofs/bounding.md.

    Parameters
    ----------
    frame : a table or files, as for `bin_counts`.
    user : column of users.
    count : column of counts, if a row stands for several records. Users without records are left
        out.
    most : the last cell has all users with this many records or more; from 2 to 2**20, public.
    max_records : a bound that is fixed already; a cell then starts above it.
    null_users : "refuse" rows without a user, or "drop" them.
    progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

    Returns
    -------
    BinnedCounts
        Of users, in cells of numbers of records: 1, 2, 3, 4 to 5, 6 to 7, 8 to 10, ...; each start
        is about 1.4 times the one before. Nobody is bounded first. Each user is in one cell,
        whatever it has, so the sensitivity is 1, and the privacy unit is a user with all rows.

    Raises
    ------
    ColumnError, DataError, InputFileError, ParameterError

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"who": ["a", "b", "b", "c", "c", "c", "c", "c"]})
    >>> users = count_user_records(rows, user="who", most=4)
    >>> users.axes[0].edges, users.counts
    (array([ 1.,  2.,  3.,  4., inf]), array([1, 1, 0, 1]))
    """
    cells = list_cells(most, max_records)
    if not isinstance(user, str):
        raise ParameterError("user", "must name the column of users, who are counted")
    if null_users not in ("refuse", "drop"):
        raise ParameterError("null_users", 'must be "refuse" or "drop", because users are counted')
    one = unit_of_users(user, unit)
    reading = Reading(progress=progress, delimiter=delimiter)
    found = count_user_sizes(frame, user=user, count=count, null_users=null_users, **reading)
    axis = Axis.from_edges([*cells, float("inf")], SIZES)
    counts = _count_cells(cells, *found)
    counted = BinnedCounts(counts, (axis,), {}, 1, one, True, state_treatment(null_users))
    return guard(counted, ledger)


def list_cells(most: int, max_records: int | None = None) -> tuple[int, ...]:
    """Return where the cells start, checked: a function of public parameters."""
    bound = optional_whole(max_records, "max_records", 1)
    return make_cells(check_most(most, bound, "most", "max_records"), bound)


def _count_cells(cells: tuple[int, ...], records: IntArray, users: IntArray) -> IntArray:
    """Return the users in each cell; each number of records is in one."""
    found = np.zeros(len(cells), np.int64)
    np.add.at(found, np.searchsorted(cells, records, side="right") - 1, users)
    return found
