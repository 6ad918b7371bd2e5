"""A data set described once, in a file that is public: where it is, its users, their bounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dphist.counting.engine.progress import Progress
from dphist.data.binned_counts import BinnedCounts, bin_counts
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.data.regional_profile import RegionalProfile
from dphist.description import Description
from dphist.errors import ParameterError
from dphist.groups.grouped_counts import GroupedCounts
from dphist.ledger.ledger import Ledger
from dphist.tables import KeyedCounts


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as its owner describes it: who is protected, and the largest bounds.

    Make one with `open`. It reads no data; its methods do. What is given to a method may be
    stricter than the file, never weaker: a smaller bound, or ``null_users="drop"`` where the file
    says "separate". Users and unit cannot be changed. With a ledger in the file, only that ledger
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

        Without ``max_count`` in the file, it is 1.
        """
        return LabelCounts.from_table(
            label=label,
            max_labels=self.description.choose_bound("max_labels", max_labels),
            max_count=self.description.choose_bound("max_count", max_count),
            null_labels=null_labels,
            **self._give(null_users, progress),
        )

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
            max_records=self.description.choose_bound("max_records", max_records),
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
        """Count labels in each region; parameters as for `RegionalProfile.from_table`."""
        return RegionalProfile.from_table(
            label=label,
            region=region,
            regions=regions,
            max_records=self.description.choose_bound("max_records", max_records),
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
        """Count rows in bins between public edges; parameters as for `bin_counts`."""
        return bin_counts(
            column=column,
            edges=edges,
            width=width,
            bins=bins,
            start=start,
            stop=stop,
            tz=tz,
            max_records=self.description.choose_bound("max_records", max_records),
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
        """Count rows by several keys; parameters as for `KeyedCounts.from_table`."""
        return KeyedCounts.from_table(
            keys=keys,
            max_rows=self.description.choose_bound("max_rows", max_rows),
            unlisted=unlisted,
            **self._give(null_users, progress),
        )

    def groups(
        self,
        groups: Any,
        *,
        column: str,
        bins: Any,
        max_rows: int | None = None,
        other: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Count rows by group and bin; parameters as for `GroupedCounts.from_table`.

        Rows without a user are refused, so `null_users` of the file must be "refuse".
        """
        given = self._give(None, progress)
        stated = given.pop("null_users")
        if stated != "refuse":
            said = f'must be "refuse" where groups are counted, and {self.description.path} says '
            raise ParameterError("null_users", f'{said}"{stated}"')
        return GroupedCounts.from_table(
            groups=groups,
            column=column,
            bins=bins,
            other=other,
            max_rows=self.description.choose_bound("max_rows", max_rows),
            **given,
        )

    def ledger(self) -> Ledger:
        """Open the ledger that the file names."""
        place = self.description.ledger
        if place is None:
            raise ParameterError("ledger", f"is not in {self.description.path}: add it there")
        return Ledger.open(place)

    def _give(self, null_users: str | None, progress: Progress | None) -> dict[str, Any]:
        """Return the parameters that all kinds of counts share."""
        files = self.description.files
        return {
            "frame": files[0] if isinstance(self.description.facts["files"], str) else files,
            "user": self.description.facts["user"],
            "unit": self.description.facts.get("unit"),
            "null_users": self.description.choose_null_users(null_users),
            "progress": progress,
            "ledger": self.ledger() if "ledger" in self.description.facts else None,
        }
