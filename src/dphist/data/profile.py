"""The data of an anonymized histogram, with whom they protect: of counts, tables, files, graphs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import (
    check_counts,
    check_total,
    count_degrees,
    read_profile,
    redact_errors,
    sum_counts,
)
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.counting.reading.given_files import Files
from dphist.data.counting import (
    Counting,
    check_treatment,
    make_cut,
    state_treatment,
    unit_of_records,
)
from dphist.data.diagram import Diagram, merge_pairs
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.partial import Partial, all_parts, as_it_is
from dphist.errors import DataError, ParameterError, phrase
from dphist.parameters import whole_number
from dphist.privacy.unit import ONE_EDGE, PrivacyUnit, asserted_unit, unit_of_data
from dphist.signals import stoppable


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Profile(Diagram, Secret):
    """The number of labels with each count, without the labels themselves: secret data.

    Attributes
    ----------
    counts : (d,) int64, ascending, distinct, positive; records per label.
    prevalences : (d,) int64, positive; number of labels with each of `counts`.
    sensitivity : int
        Cells of the diagram that one privacy unit can change (default: 1, for a unit of one
        record). A mechanism refuses a profile with a larger sensitivity than its own.
    unit : PrivacyUnit or None
        The privacy unit: ``one user`` if contributions of users were bounded, ``one edge`` of a
        graph; None for one record.
    null_users : str or None
        What was done with rows without a user, "drop" or "separate"; None if they were refused, or
        no column names users. Public.

    Notes
    -----
    Neither its repr nor a notebook shows counts, so that logs do not publish them. A release of it
    holds an `AnonymizedHistogram`.
    """

    sensitivity: int
    unit: PrivacyUnit | None
    null_users: str | None
    _IN_PLACE_OF_AN_ARRAY = (
        "a Profile must be passed to an anonymized mechanism itself: an array would lose its "
        "sensitivity (the data owner may use .sorted_counts(), .counts, .prevalences)"
    )

    def __init__(
        self,
        counts: IntArray,
        prevalences: IntArray,
        sensitivity: int = 1,
        unit: str | PrivacyUnit | None = None,
        null_users: str | None = None,
    ) -> None:
        """Take checked, ascending, distinct pairs; callers use the constructors below."""
        self._hold_pairs(counts, prevalences)
        bound = whole_number(sensitivity, "sensitivity", 1)
        object.__setattr__(self, "sensitivity", bound)
        object.__setattr__(self, "unit", None if unit is None else unit_of_data(unit))
        check_treatment(null_users)
        object.__setattr__(self, "null_users", null_users)

    @classmethod
    def from_counts(
        cls, counts: Any, sensitivity: int = 1, *, unit: str | PrivacyUnit | None = None
    ) -> "Profile":
        """Make a profile from one count for each label; zeros are dropped.

        Parameters
        ----------
        counts : sequence or array of int, (K,), records per label, in any order.
        sensitivity : cells that one privacy unit changes. You assert it; dphist cannot check it.
        unit : that unit, such as "one patient", for guarantees and ledgers (default: records).

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
        checked = check_counts(counts, "counts")
        too_long = DataError("counts do not fit in memory; make the profile from a table or file")
        # NumPy's own error would reveal the number of counts.
        distinct, prevalences = redact_errors(
            lambda: np.unique(checked[checked > 0], return_counts=True), too_long
        )
        check_total(distinct, prevalences)
        said = None if unit is None else asserted_unit(unit)
        return cls(distinct, prevalences.astype(np.int64), sensitivity, said)

    @classmethod
    def from_prevalences(
        cls,
        counts: Any,
        prevalences: Any,
        sensitivity: int = 1,
        *,
        unit: str | PrivacyUnit | None = None,
    ) -> "Profile":
        """Make a profile with `prevalences[j]` labels of count `counts[j]`, in any order.

        Prevalences of a repeated count are added, and prevalences of 0 are dropped. A count of 0
        is refused: labels that do not occur are not part of a profile. `sensitivity` and `unit` are
        as for `from_counts`.

        >>> Profile.from_prevalences([8, 3], [2, 1]).total
        19
        """
        each = check_counts(counts, "counts")
        how_many = check_counts(prevalences, "prevalences")
        if len(each) != len(how_many):
            raise ParameterError(("counts", "prevalences"), "must have the same length")
        if np.any(each == 0):
            raise DataError(phrase("{counts} must be positive; leave out labels that never occur"))
        check_total(each, how_many)  # before anything is added up
        said = None if unit is None else asserted_unit(unit)
        return cls(*merge_pairs(each, how_many), sensitivity, said)

    @classmethod
    @stoppable
    def read(
        cls,
        path: str | Path | Files,
        sensitivity: int = 1,
        *,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> "Profile":
        """Read columns `count` and `prevalence` of a file; see `from_table` for its format.

        Parameters
        ----------
        sensitivity : cells that one privacy unit changes. You assert it; dphist cannot check it.
        delimiter : field separator of a text file (default: by its extension).
        unit : that unit, such as "one patient", for guarantees and ledgers (default: records).

        Raises
        ------
        InputFileError
            If the file is missing or its content does not match its extension.
        ColumnError, DataError
            If a column is missing or a value in it is not a count.
        """
        said = None if unit is None else asserted_unit(unit)
        return cls(*read_profile(path, delimiter=delimiter), sensitivity, said)

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
        null_users: str = "refuse",
        sensitivity: int = 1,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
        ledger: Guarding | None = None,
    ) -> "Profile":
        """Count the labels of a table in the table's own engine.

        Parameters
        ----------
        frame : a table or files, as for `LabelCounts.from_table`.
        label : column of labels; each row is one record unless `count` is given.
        count : column of counts, if each row is a label with a count; counts of one label are
            added.
        user : column of users. Each user keeps at most `max_records`
            rows, chosen uniformly at random and independently of other users. The profile has
            ``sensitivity=max_records``: the privacy unit is a user, with all of the user's rows.
        max_records : required with `user`, refused without it.
        null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as a
            user of its own; the privacy unit is then a user, or a row without one. Refused without
            `user`.
        sensitivity : records that one privacy unit adds to or removes from the table. You assert
            it; dphist cannot check it. Refused with `user`.
        progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

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
            raise ParameterError(("user", "max_records"), "must be given together, or neither")
        one = unit_of_records(user, unit, null_users)
        columns = {"label": label, "user": user, "count": count}
        counting = Counting(frame, columns, one, Reading(progress=progress, delimiter=delimiter))
        if user is None:
            return guard(cls(*counting.count_profile(None, null_users), sensitivity), ledger)
        if count is not None or sensitivity != 1:
            raise ParameterError(
                "user",
                phrase("needs one row per record, without {count}, and sets {sensitivity} itself"),
            )
        most = whole_number(max_records, "max_records", 1)
        pairs, said = counting.count_profile(most, null_users), state_treatment(null_users)
        return guard(cls(*pairs, most, one, said), ledger)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        label: str,
        user: str,
        max_records: int,
        part: int,
        parts: int,
        others: str = "drop",
        null_users: str = "refuse",
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Parameters
        ----------
        part, parts, others : as for `LabelCounts.partial`.
        frame, label, user, max_records, null_users, progress, delimiter, unit
            As for `from_table`. Rows without a user belong to part 0.

        Raises
        ------
        ColumnError, DataError, InputFileError, ParameterError

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 2, 3], "word": ["a", "b", "b", "b"]})
        >>> cut = [
        ...     Profile.partial(rows, label="word", user="who", max_records=2, part=k, parts=2)
        ...     for k in range(2)
        ... ]
        >>> Profile.merge(cut).sorted_counts()
        array([3, 1])
        """
        cut = make_cut(user, part, parts, others)
        most = whole_number(max_records, "max_records", 1)
        one, columns = unit_of_records(user, unit, null_users), {"label": label, "user": user}
        reading = Reading(progress=progress, delimiter=delimiter)
        counting = Counting(frame, columns, one, reading, cut)
        counts = counting.count_records(most, null_users).filter_batches(as_it_is)
        return counting.to_partial("records", counts, max_records=most, null_users=null_users)

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "Profile":
        """Add the counts of all parts of the users; see `LabelCounts.merge`.

        Raises
        ------
        DataError, InputFileError, ParameterError
        """
        found = all_parts("records", cls.__name__, parts)
        head, table = found[0].head, pa.concat_tables([each.table for each in found])
        pairs = sum_counts(table, label="label", count="count")
        bound = whole_number(head["max_records"], "max_records", 1)
        unit = PrivacyUnit.from_content(head["unit"])
        return guard(cls(*pairs, bound, unit, state_treatment(head["null_users"])), ledger)

    @classmethod
    @stoppable
    def from_edges(
        cls,
        frame: Any,
        *,
        source: str,
        target: str,
        directed: bool = False,
        progress: Progress | None = None,
        delimiter: str | None = None,
    ) -> "Profile":
        """Count the degrees of a graph given as a table of edges, in the table's own engine.

        The labels are the nodes, and the counts are their degrees. Nodes without edges are not
        part of a profile.

        Parameters
        ----------
        frame : table or path of a file, as for `from_table`; each row is an edge.
        source, target : columns of the nodes that an edge joins, both of the same type and
            without missing values.
        directed : count out-degrees, by `source`. For in-degrees, swap `source` and `target`.
            Both columns are checked either way.
        progress, delimiter : as for `from_table`.

        Raises
        ------
        ColumnError, DataError, InputFileError, ParameterError

        Notes
        -----
        The privacy unit is one edge, that is, one row. The guarantee of a release names this unit,
        so it does not compose with guarantees for records. An undirected edge is counted at both
        ends: adding or removing it changes two cells of the diagram, and the profile has
        ``sensitivity=2``. An edge from a node to itself adds 2 to the degree of that node, which
        is two cells as well. A directed edge is counted once: ``sensitivity=1``. Repeated rows are
        separate edges.

        *Not* covered: a node, which may have any number of edges, and an edge stored as several
        rows. In a file that lists each undirected edge as both (u, v) and (v, u), every degree is
        doubled and one edge changes four cells. Keep one direction before counting: the rows with
        u < v, or u <= v to keep edges from a node to itself.

        >>> import pandas as pd
        >>> path = pd.DataFrame({"u": ["a", "b"], "v": ["b", "c"]})
        >>> Profile.from_edges(path, source="u", target="v").sorted_counts()
        array([2, 1, 1])
        >>> Profile.from_edges(path, source="u", target="v", directed=True).sorted_counts()
        array([1, 1])
        """
        pairs = count_degrees(
            frame,
            source=source,
            target=target,
            directed=directed,
            progress=progress,
            delimiter=delimiter,
        )
        # An edge changes one cell for each end counted.
        return cls(*pairs, 1 if directed else 2, ONE_EDGE)

    def _with_pairs(self, counts: IntArray, prevalences: IntArray) -> "Profile":
        return Profile(counts, prevalences, *self._bounds)

    @property
    def _bounds(self) -> tuple[int, PrivacyUnit | None, str | None]:
        return self.sensitivity, self.unit, self.null_users

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return self._bounds == other._bounds and self._has_same_pairs(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["Profile"], tuple[Any, ...]]:
        """Copy and unpickle through the constructor, which makes the arrays read-only."""
        return Profile, (self.counts, self.prevalences, *self._bounds)

    def __repr__(self) -> str:
        return f"Profile(sensitivity={self.sensitivity}; counts not shown)"
