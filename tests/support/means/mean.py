"""Mean: what comes out."""

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from dphist.release.tabular import Released


@dataclass(frozen=True)
class Mean(Released):
    """A released mean. Not secret.

    Attributes
    ----------
    total, records : noisy sum of the amounts, and their noisy number.
    """

    total: int
    records: int

    @property
    def mean(self) -> float:
        """The mean; 0 where there are no records."""
        return self.total / self.records if self.records > 0 else 0.0

    def to_arrow(self) -> pa.Table:
        """Return one row: total, records and mean."""
        return pa.table({**{key: [n] for key, n in asdict(self).items()}, "mean": [self.mean]})

    def to_content(self) -> dict[str, int]:
        """Return what a file holds."""
        return asdict(self)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "Mean":
        """Make a mean from the result of `to_content`."""
        if {*content} != {"total", "records"} or {*map(type, content.values())} != {int}:
            raise ValueError("a mean has two whole numbers")
        return cls(**content)
