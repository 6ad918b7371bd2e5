"""An anonymized histogram, with whom it protects: made of counts, tables, files and graphs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dphist import tables
from dphist.arrays import AnyArray, IntArray
from dphist.data.diagram import Diagram, merged
from dphist.errors import DataError, ParameterError
from dphist.parameters import whole_number
from dphist.stopping import stoppable
from dphist.tables.counting.contributions import count_bounded_records

ONE_EDGE = "one edge"
"""The unit of the degrees of a graph. It adds up to `sensitivity` to them, and is never cut."""


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Profile(Diagram):
    """How many labels have each count, and nothing about which labels they are.

    Attributes
    ----------
    counts : (d,) int64, ascending, distinct, positive; records per label.
    prevalences : (d,) int64, positive; how many labels have each of `counts`.
    sensitivity : int
        Cells of the diagram that one privacy unit can change: 1 where the unit is one
        record, as in every profile made here unless a larger bound is stated. A mechanism
        refuses a profile whose bound is above its own.
    unit : str or None
        Who that unit is where it is not a record: ``one user`` where users were bounded,
        ``one edge`` of a graph; None otherwise.

    Notes
    -----
    A profile of real data is secret. Its repr shows none of it, so that a log or a
    notebook does not publish what was meant for a mechanism.
    """

    sensitivity: int
    unit: str | None

    def __init__(
        self,
        counts: IntArray,
        prevalences: IntArray,
        sensitivity: int = 1,
        unit: str | None = None,
    ) -> None:
        """Take checked, ascending, distinct pairs; callers use the constructors below."""
        self._hold_pairs(counts, prevalences)
        bound = whole_number(sensitivity, "sensitivity", 1)
        object.__setattr__(self, "sensitivity", bound)
        object.__setattr__(self, "unit", unit)

    @classmethod
    def from_counts(cls, counts: Any, sensitivity: int = 1) -> "Profile":
        """Make a profile of one count a label; zeros are dropped.

        Parameters
        ----------
        counts : sequence or array of int, (K,), records per label, in any order.

        Raises
        ------
        DataError
            If a count is negative, missing or too large.
        ParameterError
            If the counts are not whole numbers: fractional, boolean, text.

        >>> profile = Profile.from_counts([8, 8, 0, 3])
        >>> profile.counts, profile.prevalences
        (array([3, 8]), array([1, 2]))
        """
        checked = tables.check_counts(counts, "counts")
        too_long = DataError("counts do not fit in memory; make the profile from a table or file")
        # NumPy's own error would say how many counts there are.
        distinct, prevalences = tables.redact_errors(
            lambda: np.unique(checked[checked > 0], return_counts=True), too_long
        )
        tables.check_total(distinct, prevalences)
        return cls(distinct, prevalences.astype(np.int64), sensitivity)

    @classmethod
    def from_prevalences(cls, counts: Any, prevalences: Any, sensitivity: int = 1) -> "Profile":
        """Make a profile of `prevalences[j]` labels with count `counts[j]`, in any order.

        Prevalences of a count named twice are added; prevalences of 0 are dropped; a count
        of 0 is refused, for labels that never occur are not part of a profile.

        >>> Profile.from_prevalences([8, 3], [2, 1]).total
        19
        """
        each = tables.check_counts(counts, "counts")
        how_many = tables.check_counts(prevalences, "prevalences")
        if len(each) != len(how_many):
            raise ParameterError("counts and prevalences must have the same length")
        if np.any(each == 0):
            raise DataError("counts must be positive; leave out labels that never occur")
        tables.check_total(each, how_many)  # before anything is added up
        return cls(*merged(each, how_many), sensitivity)

    @classmethod
    def of_released(cls, counts: IntArray, prevalences: IntArray) -> "Profile":
        """Make a profile of whatever a mechanism inferred; zeros are dropped.

        Noise may lift a total above what data may have, and that is no error: the total of
        data is below 2**62. That of an error band may reach any size; 2**63 - 1 stands for more.
        """
        return cls(*merged(counts, prevalences))

    @classmethod
    def of_saved(cls, counts: Any, prevalences: Any) -> "Profile":
        """Make a profile again of a released one's lists; its counts may exceed those of data.

        Raises
        ------
        DataError
            If the lists are no pairs of positive int64.
        """
        if len(counts) != len(prevalences) or not all(
            type(number) is int and 0 < number < 2**63 for number in (*counts, *prevalences)
        ):
            raise DataError("counts and prevalences must be pairs of positive whole numbers")
        return cls.of_released(np.array(counts, np.int64), np.array(prevalences, np.int64))

    @classmethod
    @stoppable
    def read(
        cls, path: str | Path, sensitivity: int = 1, *, delimiter: str | None = None
    ) -> "Profile":
        """Read columns `count` and `prevalence` of a CSV (also gzip) or Parquet file.

        Parameters
        ----------
        sensitivity : cells that one privacy unit changes, as its owner promises.
        delimiter : what separates the fields of a text file, in place of what its name says.

        Raises
        ------
        InputFileError
            If the file is missing or is not what its name says.
        ColumnError, DataError
            If a column is missing or a value in it is not a count.
        """
        return cls(*tables.read_profile(path, delimiter=delimiter), sensitivity)

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        label: str,
        count: str | None = None,
        user: str | None = None,
        max_records: int | None = None,
        sensitivity: int = 1,
        progress: Callable[[float], None] | None = None,
        delimiter: str | None = None,
    ) -> "Profile":
        """Count the labels of a table in the engine it lives in.

        Parameters
        ----------
        frame : dataframe of pandas, Polars (also lazy), DuckDB, Arrow or Spark, or the path of
            a CSV (also gzip) or Parquet file.
        label : column of labels, one row a record.
        count : column of counts, if rows are labels with their counts instead; rows of one
            label are added.
        user : column of users, without missing values. Each user keeps at most `max_records`
            rows, chosen evenly at random and independently of other users, and the profile has
            ``sensitivity=max_records``: the privacy unit is a user, with all of the user's rows.
        max_records : needed with `user`, and only with it.
        sensitivity : records that one privacy unit adds to or removes from the table. It is
            a promise of the caller: nothing here can check it. Not to be given with `user`.
        progress : called with the fraction done while a file is read, from any thread.
        delimiter : what separates the fields of a text file, one character, in place of what its
            name says: a comma, or a tab for .tsv.

        Raises
        ------
        ColumnError, DataError, InputFileError, ParameterError

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 1, 2], "word": ["a", "a", "a", "b"]})
        >>> profile = Profile.from_table(rows, label="word", user="who", max_records=2)
        >>> profile.sorted_counts(), profile.sensitivity
        (array([2, 1]), 2)
        """
        if (user is None) != (max_records is None):
            raise ParameterError("user and max_records must be given together, or neither")
        if user is not None:
            if count is not None or sensitivity != 1:
                raise ParameterError(
                    "user needs one row a record, without count, and sets sensitivity itself"
                )
            most = whole_number(max_records, "max_records", 1)
            bounded = count_bounded_records(
                frame,
                label=label,
                user=user,
                max_records=most,
                progress=progress,
                delimiter=delimiter,
            )
            return cls(*bounded, most, "one user")
        if count is None:
            pairs = tables.count_records(frame, label=label, progress=progress, delimiter=delimiter)
        else:
            pairs = tables.sum_counts(
                frame, label=label, count=count, progress=progress, delimiter=delimiter
            )
        return cls(*pairs, sensitivity)

    @classmethod
    @stoppable
    def from_edges(
        cls,
        frame: Any,
        *,
        source: str,
        target: str,
        directed: bool = False,
        progress: Callable[[float], None] | None = None,
        delimiter: str | None = None,
    ) -> "Profile":
        """Count the degrees of a graph, given as a table of its edges, where the table lies.

        The labels are the nodes, and the counts their degrees. Nodes without an edge are
        not part of a profile.

        Parameters
        ----------
        frame : table or path of a file, as for `from_table`, one row an edge.
        source, target : columns of the nodes that an edge joins, both of the same type and
            without missing values.
        directed : count only the edges that leave a node, by `source`. For those that
            arrive, swap `source` and `target`. Both columns are checked either way.
        progress, delimiter : as for `from_table`.

        Raises
        ------
        ColumnError, DataError, InputFileError, ParameterError

        Notes
        -----
        The unit that a release from this profile protects is one row, one edge, and its
        guarantee says so (`unit`): it does not compose with guarantees for records. Undirected,
        an edge is counted at both its ends, so that adding or removing one changes two
        cells of the diagram, and the profile has ``sensitivity=2``; an edge from a node to
        itself adds 2 to the degree of this node, which is two cells again. Directed, an
        edge is counted once, and ``sensitivity=1``. Rows that are there twice are two edges.

        What is *not* covered: a node, which may have any number of edges; and an edge of
        several rows. A file that lists each undirected edge in both directions, as (u, v)
        and as (v, u), doubles every degree, and one edge changes four cells: keep one
        direction first, the rows with u < v (u <= v, to keep edges from a node to itself).

        >>> import pandas as pd
        >>> path = pd.DataFrame({"u": ["a", "b"], "v": ["b", "c"]})
        >>> Profile.from_edges(path, source="u", target="v").sorted_counts()
        array([2, 1, 1])
        >>> Profile.from_edges(path, source="u", target="v", directed=True).sorted_counts()
        array([1, 1])
        """
        pairs = tables.count_degrees(
            frame,
            source=source,
            target=target,
            directed=directed,
            progress=progress,
            delimiter=delimiter,
        )
        # An edge changes one cell for each end that is counted.
        return cls(*pairs, 1 if directed else 2, ONE_EDGE)

    def conjugate(self) -> "Profile":
        """Return the profile whose rows are this one's columns, with the same sensitivity.

        >>> Profile.from_counts([3, 1]).conjugate().sorted_counts()
        array([2, 1, 1])
        """
        widths = np.diff(self.counts, prepend=0)
        return Profile(self._heights[:-1][::-1], widths[::-1], self.sensitivity, self.unit)

    def distance(self, other: "Profile") -> int:
        """Return the sorted L1 distance, exactly.

        It is the sum of |i-th largest count here - i-th largest there|, and equals the
        number of cells in one diagram and not in the other.

        >>> Profile.from_counts([8, 8, 3]).distance(Profile.from_counts([8, 7]))
        4
        """
        if not isinstance(other, Profile):
            raise ParameterError("other must be a dphist.Profile")
        ends = np.union1d(self.counts, other.counts)
        widths = np.diff(ends, prepend=0)
        mine, theirs = self.cumulative_prevalences(ends), other.cumulative_prevalences(ends)
        # Each term is below 2**62, but all of them together only below 2**63.
        return int(np.sum(np.abs(mine - theirs) * widths, dtype=np.uint64))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """Refuse: an array has no `sensitivity`."""
        raise ParameterError(
            "a Profile must be given to an anonymized mechanism as it is: an array of it would "
            "lose its sensitivity (for its owner: .sorted_counts(), .counts, .prevalences)"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return (
            (self.sensitivity, self.unit) == (other.sensitivity, other.unit)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.prevalences, other.prevalences)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["Profile"], tuple[IntArray, IntArray, int, str | None]]:
        """Copy and unpickle by way of the constructor, which makes the arrays read-only."""
        return Profile, (self.counts, self.prevalences, self.sensitivity, self.unit)

    def __repr__(self) -> str:
        return f"Profile(sensitivity={self.sensitivity}; counts not shown)"
