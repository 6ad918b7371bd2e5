"""A data set described once, in a file that is public: where it is, its users, their bounds."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.counting.engine.progress import Progress
from dphist.counting.reading.given_files import Files
from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import BinnedCounts, bin_counts
from dphist.data.guard import guard
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionTree
from dphist.data.regional_profile import RegionalProfile
from dphist.description import Description
from dphist.errors import ParameterError
from dphist.groups.grouped_counts import GroupedCounts
from dphist.ledger.ledger import Ledger
from dphist.tables import KeyedCounts
from dphist.tables.keys import Keys


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as its owner describes it: who is protected, and the largest bounds.

    Make one with `open`. It reads no data; its methods do. What is given to a method may be
    stricter than the file, never weaker: a smaller bound, or ``null_users="drop"`` where the file
    says "separate". Users, unit, how files are read, and the public values of columns cannot be
    changed. With a ledger in the file, only that ledger
    releases what is counted (see `Ledger.guard`).

    Attributes
    ----------
    description : what the file says; its `path`, and its keys and values, `facts`.
    """

    description: Description

    @classmethod
    def open(cls, path: str | Path) -> "Dataset":
        """Read a description: a TOML file, see docs/guides/dataset.md. No data are read.

        Raises
        ------
        InputFileError
            If the file cannot be read, or is no TOML.
        ParameterError
            If a key is unknown, missing, or has a wrong value.
        """
        return cls(Description.read(path))

    @property
    def digest(self) -> str:
        """SHA-256 of the facts, whatever their order and layout in the file; not of any data."""
        return self.description.digest

    @property
    def keys(self) -> dict[str, Any]:
        """The public values of columns, as tuples, or their bins, as `Axis`."""
        return {name: key.axis or key.values for name, key in self.description.keys.items()}

    def labels(
        self,
        label: str,
        *,
        max_labels: int | None = None,
        max_count: int | None = None,
        null_users: str | None = None,
        null_labels: str = "refuse",
        progress: Progress | None = None,
    ) -> LabelCounts:
        """Count labels; parameters as for `LabelCounts.from_table` (default: as the file says).

        Without ``max_count`` in the file, it is 1. With ``wide``, `label` is what the column of
        labels is called. If the file lists values of `label`, a mechanism for listed labels must
        have these, as ``keys[label]``; it refuses the counts otherwise.
        """
        given = self._give(null_users, progress, label)
        ledger = given.pop("ledger")
        counts = LabelCounts.from_table(
            label=label,
            max_labels=self._bound("max_labels", max_labels),
            max_count=self._bound("max_count", max_count),
            null_labels=null_labels,
            **given,
        )
        name = "label" if "wide" in self.description.facts else label
        as_text = pa.types.is_string(counts.label_type)
        listed = self.description.list_labels(name, as_text=as_text)
        return guard(replace(counts, described=listed), ledger)

    def profile(
        self,
        label: str,
        *,
        max_records: int | None = None,
        null_users: str | None = None,
        progress: Progress | None = None,
    ) -> Profile:
        """Count how many labels have each count; parameters as for `Profile.from_table`."""
        return Profile.from_table(
            label=label,
            max_records=self._bound("max_records", max_records),
            **self._give(null_users, progress),
        )

    def regions(
        self,
        label: str,
        *,
        region: str,
        regions: Any,
        max_records: int | None = None,
        other: str | None = None,
        unlisted: str = "error",
        null_users: str | None = None,
        progress: Progress | None = None,
    ) -> RegionalProfile:
        """Count labels in each region; parameters as for `RegionalProfile.from_table`.

        The leaves are the values that the file lists of `region`, if it does.
        """
        tree = RegionTree(regions)
        self.description.check_leaves(region, tree.leaf_names)
        return RegionalProfile.from_table(
            label=label,
            region=region,
            regions=tree,
            max_records=self._bound("max_records", max_records),
            other=other,
            unlisted=unlisted,
            **self._give(null_users, progress),
        )

    def bins(
        self,
        column: Any,
        *,
        edges: Any = None,
        width: Any = None,
        bins: Any = None,
        start: Any = None,
        stop: Any = None,
        tz: Any = None,
        max_records: int | None = None,
        null_users: str | None = None,
        progress: Progress | None = None,
    ) -> BinnedCounts:
        """Count rows in bins between public edges; parameters as for `bin_counts`.

        Without edges, they are those that the file lists of each column; without `tz`, it is that
        of the file, of edges that are dates or times.
        """
        given = {"edges": edges, "width": width, "bins": bins, "start": start, "stop": stop}
        return bin_counts(
            column=column,
            **self._choose_bins(column, given, tz),
            max_records=self._bound("max_records", max_records),
            **self._give(null_users, progress),
        )

    def tables(
        self,
        keys: Any,
        *,
        max_rows: int | None = None,
        null_users: str | None = None,
        unlisted: str = "error",
        progress: Progress | None = None,
    ) -> KeyedCounts:
        """Count rows by several keys; parameters as for `KeyedCounts.from_table`.

        Parameters
        ----------
        keys : also a list of columns whose values the file lists; in a mapping, None stands for
            these. With ``wide``, the column of labels is called "label".
        """
        wide = "label" if "wide" in self.description.facts else None
        return KeyedCounts.from_table(
            keys=self._choose_keys(keys),
            max_rows=self._bound("max_rows", max_rows),
            unlisted=unlisted,
            **self._give(null_users, progress, wide),
        )

    def groups(
        self,
        groups: Any,
        *,
        column: str,
        bins: Any = None,
        max_rows: int | None = None,
        other: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Count rows by group and bin; parameters as for `GroupedCounts.from_table`.

        Rows without a user are refused, so `null_users` of the file must be "refuse".

        Parameters
        ----------
        groups : also a column whose values the file lists; in a mapping, None stands for these.
        bins : may be left out if the file has bins of `column`.
        """
        given = self._give(None, progress)
        stated = given.pop("null_users")
        if stated != "refuse":
            said = f'must be "refuse" where groups are counted, and {self.description.path} says '
            raise ParameterError("null_users", f'{said}"{stated}"')
        return GroupedCounts.from_table(
            groups=self._choose_keys([groups] if isinstance(groups, str) else groups, "groups"),
            column=column,
            bins=self._choose_axis(column, bins),
            other=other,
            max_rows=self._bound("max_rows", max_rows),
            **given,
        )

    def ledger(self) -> Ledger:
        """Open the ledger that the file names."""
        place = self.description.ledger
        if place is None:
            raise ParameterError("ledger", f"is not in {self.description.path}: add it there")
        return Ledger.open(place)

    def _bound(self, name: str, asked: int | None) -> int | None:
        """Return a bound; of rows that are one person each, there is none to choose."""
        most = self.description.choose_bound(name, asked)
        if not self.description.has_no_users:
            return most
        if asked not in (None, 1):
            said = f"must be left out: each row of {self.description.path} is one person"
            raise ParameterError(name, said)
        return None

    def _choose_keys(self, keys: Any, called: str = "keys") -> Any:
        """Return keys with the values that the file lists."""
        if isinstance(keys, list | tuple) and all(isinstance(each, str) for each in keys):
            keys = dict.fromkeys(keys)
        if isinstance(keys, Keys):
            keys = {key.name: key for key in keys}
        if not isinstance(keys, Mapping):
            return keys  # is refused where it is used
        found = {}
        for name, values in keys.items():
            asked = None if values is None else Keys.read({name: values})[name]
            found[name] = self.description.choose_key(name, asked, called)
        return found

    def _choose_axis(self, column: Any, bins: Any) -> Any:
        """Return the bins of a column; what is none is refused where it is used."""
        if bins is not None and column not in self.description.keys:
            return bins
        edges = bins if bins is None or isinstance(bins, Axis) else Axis.from_edges(bins)
        return self.description.choose_axis(column, edges)

    def _choose_bins(self, column: Any, given: Mapping[str, Any], tz: Any) -> dict[str, Any]:
        """Return the edges of one column or several, and their time zone."""
        columns = [column] if isinstance(column, str) else column
        listed = isinstance(columns, list | tuple) and all(isinstance(c, str) for c in columns)
        if not listed:
            return {**given, "tz": tz}  # is refused where it is used
        if any(value is not None for value in given.values()):
            for name in self.description.keys.keys() & {*columns}:
                said = f"must be left out: {self.description.path} says what {name!r} is counted by"
                raise ParameterError("edges", said)
            return {**given, "tz": self._find_zones(column, given) if tz is None else tz}
        if tz is not None:
            raise ParameterError("tz", f"must be left out: bins are in {self.description.path}")
        found = [self._choose_axis(name, None) for name in columns]
        return {"edges": found[0] if isinstance(column, str) else found}

    def _find_zones(self, column: Any, given: Mapping[str, Any]) -> Any:
        """Return the time zone of the file for edges that are dates or times, of each column."""
        ends = given["start"] if given["edges"] is None else given["edges"]
        several = not isinstance(column, str) and isinstance(ends, list | tuple)
        each = [self._find_zone(end) for end in (ends if several else [ends])]
        return each if several else each[0]

    def _find_zone(self, ends: Any) -> str | None:
        first = ends[0] if isinstance(ends, list | tuple) and ends else ends
        is_date = isinstance(first, str | datetime.date | np.datetime64)
        return self.description.facts.get("tz") if is_date else None

    def _give(
        self, null_users: str | None, progress: Progress | None, wide_label: str | None = None
    ) -> dict[str, Any]:
        """Return the parameters that all kinds of counts share.

        Parameters
        ----------
        wide_label : what the column of labels of a wide table is called; None if none is taken.
        """
        facts = self.description.facts
        wide = "wide" in facts
        if wide and wide_label is None:
            fault = f"is in {self.description.path}: labels and tables count such rows, no others"
            raise ParameterError("wide", fault)
        frame: Any = self.description.files
        if isinstance(facts["files"], str):
            (frame,) = frame
        said = self.description.reading
        if wide:
            said |= {"wide": facts["wide"], "wide_label": wide_label}
        return {
            "frame": Files(frame, **said) if said else frame,
            "delimiter": facts.get("delimiter"),
            "user": facts.get("user"),
            "unit": facts.get("unit"),
            "null_users": self.description.choose_null_users(null_users),
            "progress": progress,
            "ledger": self.ledger() if "ledger" in facts else None,
            **({"count": "count"} if wide else {}),
        }
