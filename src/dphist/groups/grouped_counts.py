"""GroupedCounts: how many rows of a table lie in each bin of a column, in each group.

The counts are secret, for mechanisms only: no repr and no error shows them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dphist.arrays import IntArray
from dphist.counting.checks import check_grid, refuse_other_than_counts
from dphist.counting.engine.progress import Progress
from dphist.data.axis.axis import Axis
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.partial import Partial
from dphist.data.weight import check_column
from dphist.errors import ParameterError
from dphist.groups.grouping import count_cells, find_group, read_groups
from dphist.parameters import whole_number
from dphist.privacy.unit import PrivacyUnit
from dphist.signals import stoppable
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import Keys


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedCounts(Secret):
    """Exact counts of the bins of one column, by group.

    Attributes
    ----------
    cells : KeyedCounts
        The counts by two keys: the groups, then the bins. Secret; its keys, `max_rows` and `unit`
        are public. `max_rows` bounds the rows of one unit over all groups together.

    >>> import pandas as pd
    >>> rides = pd.DataFrame({"district": ["Bern", "Uri", "Bern"], "fare": [3, 12, 40]})
    >>> GroupedCounts.from_table(rides, groups={"district": ["Bern", "Uri", "Zug"]},
    ...     column="fare", bins=Axis.regular(0, 50, 10))
    GroupedCounts(groups={'district': ['Bern', 'Uri', 'Zug']}, bins=5, max_rows=1; counts not shown)
    """

    cells: KeyedCounts
    _IN_PLACE_OF_AN_ARRAY = (
        "GroupedCounts must be passed to GroupedHistogram themselves: an array would lose their "
        "groups, bounds and unit"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.cells, KeyedCounts) or len(self.cells.keys) != 2:
            raise ParameterError("cells", "must be KeyedCounts by two keys: groups, and bins")
        groups, bins = self.cells.keys
        if groups.axis is not None or bins.discover is not None:
            raise ParameterError("cells", "must have groups with values, and bins that are listed")
        if self.cells.weight is not None:
            raise ParameterError("cells", "must count whole records, and not sums of weights")

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        groups: Any,
        column: str,
        bins: Any,
        other: bool = False,
        count: str | None = None,
        user: str | None = None,
        max_rows: int | None = None,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
        ledger: Guarding | None = None,
    ) -> "GroupedCounts":
        """Count the rows of a table by group and bin, in the table's own engine.

        Rows in no bin, and without `other` those of no group, are left out as if they were not
        there, before users are bounded.

        Parameters
        ----------
        frame : a dataframe or files, as for `bin_counts`.
        groups : mapping of one column to its public values, such as ``{"district": ["Bern",
            "Uri"]}``: text, whole numbers or truth values, compared exactly. They must not be taken
            from the data: that they were cannot be seen. Or ``{"district": DiscoverKeys(...)}`` for
            a column of text whose values the mechanism finds: not in Spark.
        column : the column to bin: integers, floats, decimals, dates or timestamps.
        bins : `Axis`, or edges as `Axis.from_edges` takes them: public.
        other : whether rows of no listed group, or without a value, make a group "other". Where
            groups are found, they always do.
        count : column of counts, whole numbers from 0 to 2**62 - 1, if a row stands for that many
            records. Without `user` and `max_rows`, one of these records is protected.
        user : column of users, without missing values. Each user keeps at most `max_rows` rows over
            all groups together, each with the same chance and independently of other users. The
            privacy unit is then a user, with all of the user's rows.
        max_rows : required with `user`. With `count` and without `user`, a row counts at most that
            often, and the privacy unit is a row. Refused without both.
        progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

        Raises
        ------
        ParameterError
            If groups, bins or bounds are not usable: found before any data are read.
        ColumnError, DataError, InputFileError
            As for `KeyedCounts.from_table`.
        """
        keys = _read_keys(groups, column, bins, other=other, count=count)
        counted = KeyedCounts.from_table(
            frame,
            keys=keys,
            unlisted="drop",
            count=count,
            user=user,
            max_rows=max_rows,
            progress=progress,
            delimiter=delimiter,
            unit=unit,
        )
        return guard(cls(counted), ledger)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        groups: Any,
        column: str,
        bins: Any,
        user: str,
        max_rows: int,
        part: int,
        parts: int,
        others: str = "drop",
        other: bool = False,
        count: str | None = None,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Parameters
        ----------
        part, parts, others : as for `LabelCounts.partial`.
        frame, groups, column, bins, user, max_rows, other, count, progress, delimiter, unit
            As for `from_table`; the same in all parts. Where groups are to be found, a part tells
            more of its rows: see `Partial`.

        Raises
        ------
        ParameterError, ColumnError, DataError, InputFileError
            As for `KeyedCounts.partial`.

        >>> import pandas as pd
        >>> rides = pd.DataFrame({"who": [1, 1, 2], "city": ["Bern", "Uri", "Bern"], "fare": 5})
        >>> given = {"groups": {"city": ["Bern", "Uri"]}, "column": "fare", "bins": [0, 10]}
        >>> cut = [
        ...     GroupedCounts.partial(rides, user="who", max_rows=2, part=k, parts=2, **given)
        ...     for k in range(2)
        ... ]
        >>> GroupedCounts.merge(cut).counts_by_group().tolist()
        [[2], [1]]
        """
        return KeyedCounts.partial(
            frame,
            keys=_read_keys(groups, column, bins, other=other, count=count),
            unlisted="drop",
            user=user,
            max_rows=max_rows,
            part=part,
            parts=parts,
            others=others,
            count=count,
            progress=progress,
            delimiter=delimiter,
            unit=unit,
        )

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "GroupedCounts":
        """Add the counts of all parts of the users; see `LabelCounts.merge`.

        Raises
        ------
        DataError, InputFileError, ParameterError
            Also if the parts are not of groups and bins.
        """
        return guard(cls(KeyedCounts.merge(parts)), ledger)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        groups: Any,
        max_rows: int = 1,
        unit: str | PrivacyUnit | None = None,
    ) -> "GroupedCounts":
        """Make one from counts of all bins of all groups; you assert the bound.

        Parameters
        ----------
        counts : (groups, bins) array, or nested lists, of whole numbers from 0.
        groups : as for `from_table`, all listed.
        max_rows : records that one privacy unit adds at most. dphist cannot check it.
        unit : what such a unit is, such as "one patient" (default: a record).

        Raises
        ------
        ParameterError, DataError

        >>> GroupedCounts.from_counts([[3, 4], [5, 0]], groups={"a": ["x", "y"]}).bins
        2
        """
        held = read_groups(groups)
        _check_listed(held)
        whole_number(max_rows, "max_rows", 1)
        _, shape = check_grid(counts, "counts")
        if len(shape) != 2 or shape[0] != find_group(held).size or shape[1] < 1:
            raise ParameterError(
                "counts", "must have a row for each group, in their order, and a column for a bin"
            )
        count_cells(held, shape[1])
        keys = {find_group(held).name: find_group(held), _name_bins(held): range(shape[1])}
        return cls(KeyedCounts.from_counts(counts, keys=keys, max_rows=max_rows, unit=unit))

    @property
    def groups(self) -> Keys:
        """The column of the groups with its values, or how these are found; public."""
        return Keys(self.cells.keys.keys[:1])

    @property
    def axis(self) -> Axis | None:
        """The public edges of the bins; None for counts without edges."""
        return self.cells.keys.keys[1].axis

    @property
    def bins(self) -> int:
        """The number of bins of each group; public."""
        return self.cells.keys.keys[1].size

    @property
    def max_rows(self) -> int:
        """Rows of one privacy unit over all groups, at most; public."""
        return self.cells.max_rows

    @property
    def sensitivity(self) -> int:
        """The same as `max_rows`."""
        return self.cells.max_rows

    @property
    def unit(self) -> PrivacyUnit | None:
        """The privacy unit, as of `KeyedCounts`; public."""
        return self.cells.unit

    def with_found(self, found: Mapping[str, tuple[str, ...]]) -> "GroupedCounts":
        """Return the counts by the groups that were found, and "other"; secret."""
        return GroupedCounts(self.cells.with_found(self.cells.keys.with_found(found)))

    def rows_by_label(self) -> tuple[tuple[str, ...], IntArray]:
        """Return the labels of groups that are to be found, and the rows of each; secret."""
        return self.cells.rows_by_label(find_group(self.groups).name)

    def counts_by_group(self) -> IntArray:
        """Return the exact counts, (groups, bins): a row for each group, in order; secret."""
        return self.cells.sum_over((0, 1))

    def open_counts(self) -> IntArray:
        """Return the exact counts to be looked at: see `dphist.data.open_data.open_data`.

        Raises
        ------
        ParameterError
            If groups are to be found.
        """
        if self.groups.discovering:
            raise ParameterError(
                "groups",
                "must be listed where counts are looked at: nothing finds them",
                "count the data again by listed groups",
            )
        return self.counts_by_group()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return self.cells == other.cells

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["GroupedCounts"], tuple[Any, ...]]:
        return GroupedCounts, (self.cells,)

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f", unit={str(self.unit)!r}"
        shown = f"groups={self.groups}, bins={self.bins}, max_rows={self.max_rows}{unit}"
        return f"GroupedCounts({shown}; counts not shown)"


def _read_keys(groups: Any, column: Any, bins: Any, *, other: bool, count: object) -> Keys:
    """Return groups and bins as keys, checked before any data are read."""
    check_column(count, "where groups are counted")
    held, axis = read_groups(groups, other=other), _read_bins(bins)
    name = find_group(held).name
    if not isinstance(column, str) or not column or column == name:
        raise ParameterError("column", "must be text, and another column than the groups")
    count_cells(held, axis.bins)
    return Keys.read({name: find_group(held), column: axis})


def _read_bins(given: Any) -> Axis:
    """Return public bins."""
    if isinstance(given, Axis):
        return given
    if given is None or isinstance(given, str | int | float):
        raise ParameterError(
            "bins", "must be a dphist.Axis, or edges: their number alone does not say where"
        )
    return Axis.from_edges(given)


def _name_bins(groups: Keys) -> str:
    """Return a name for bins without a column."""
    return "bin" if find_group(groups).name != "bin" else "bins"


def accept_counts(given: Any, groups: Keys) -> GroupedCounts:
    """Return data of a mechanism for these groups: `GroupedCounts`, or counts of all bins."""
    if isinstance(given, GroupedCounts):
        return given
    _refuse_table(given)
    return GroupedCounts.from_counts(given, groups=groups)


def refuse_other_data(given: Any, groups: Keys, bins: int) -> None:
    """Refuse what is neither `GroupedCounts` nor can be counts, without a look at any number."""
    if isinstance(given, GroupedCounts):
        return
    _refuse_table(given)
    _check_listed(groups)
    refuse_other_than_counts(given, "counts", (find_group(groups).size, bins))


def _check_listed(groups: Keys) -> None:
    if groups.discovering:
        raise ParameterError("groups", "must list all groups: counts have no labels to find")


def _refuse_table(given: Any) -> None:
    if isinstance(given, Mapping | str | bytes | KeyedCounts) or hasattr(given, "columns"):
        raise ParameterError(
            "counts",
            "must be GroupedCounts, which GroupedCounts.from_table makes of a table, or an array "
            "of counts with a row for each group",
        )
