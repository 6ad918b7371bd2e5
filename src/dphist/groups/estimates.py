"""GroupEstimates: one number of each group with its interval, as a frame of a row a group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dphist.errors import ParameterError
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.tabular import Released
from dphist.tables.keys import Value

TOO_SMALL = "too few records beside the noise: nothing can be said"


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """An estimate of one group. Not secret.

    Attributes
    ----------
    group : its value.
    q : which quantile it is; None for other numbers.
    estimate : value and interval; unknown if the group is too small.
    """

    group: Value
    q: float | None
    estimate: IntervalEstimate

    @property
    def is_known(self) -> bool:
        """Whether anything can be said of this group."""
        return self.estimate.is_known

    @property
    def value(self) -> Any:
        """The estimate; None if the group is too small."""
        return self.estimate.value if self.is_known else None

    @property
    def low(self) -> Any:
        """The lower end of the 95 % interval; None if the group is too small."""
        return self.estimate.low if self.is_known else None

    @property
    def high(self) -> Any:
        """The upper end of the 95 % interval; None if the group is too small."""
        return self.estimate.high if self.is_known else None


@dataclass(frozen=True, slots=True, repr=False)
class GroupEstimates(Released):
    """A number of each group with its interval. Not secret.

    Intervals hold the true number with a probability of about 95 %, for each row by itself unless
    its note says that all hold at once. Of groups that are too small beside the noise there is no
    number, and they say so.

    Attributes
    ----------
    name : column of the groups.
    rows : one a group, or one for each quantile of a group, in the order of the groups.
    """

    name: str
    rows: tuple[GroupEstimate, ...]

    @property
    def too_small(self) -> tuple[Value, ...]:
        """The groups that have an unknown number, in order."""
        return tuple(dict.fromkeys(row.group for row in self.rows if not row.is_known))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[GroupEstimate]:
        return iter(self.rows)

    def __getitem__(self, group: Value) -> Any:
        """Return the row of a group, or a list of its rows if there are several quantiles."""
        found = [row for row in self.rows if row.group == group and type(row.group) is type(group)]
        if not found:
            raise ParameterError("group", f"must be one of the groups of {self.name!r}")
        return found[0] if len(found) == 1 else found

    def to_arrow(self) -> pa.Table:
        """Return columns of the group, q (of quantiles), value, low, high and note.

        `value`, `low` and `high` are null where the group is too small, and `note` says so; also
        where all intervals hold at once.
        """
        columns: dict[str, Any] = {self.name: _make_column([row.group for row in self.rows])}
        if any(row.q is not None for row in self.rows):
            columns["q"] = pa.array([row.q for row in self.rows], pa.float64())
        for end in ("value", "low", "high"):
            columns[end] = pa.array([getattr(row, end) for row in self.rows])
        notes = [row.estimate.note if row.is_known else TOO_SMALL for row in self.rows]
        columns["note"] = pa.array(notes, pa.string())
        return pa.table(columns)

    def __repr__(self) -> str:
        lines = [f"{row.group}: {_write(row)}" for row in self.rows]
        return "\n".join(lines)


def _write(row: GroupEstimate) -> str:
    which = "" if row.q is None else f"{100 * row.q:g} % below "
    return which + (repr(row.estimate) if row.is_known else TOO_SMALL)


def _make_column(labels: Sequence[Value]) -> pa.Array:
    """Return labels as a column: text, if "other" stands beside other values."""
    if len({type(label) for label in labels}) > 1:
        return pa.array([str(label) for label in labels], pa.string())
    return pa.array(labels)
