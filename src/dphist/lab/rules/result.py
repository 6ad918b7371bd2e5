"""RuleResult: what a disclosure rule shows and hides of a table, and what a reader learns."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import BoolArray, FloatArray
from dphist.lab.rules.attack import Attacked, Learned
from dphist.lab.rules.counts import UNBOUNDED
from dphist.lab.rules.disclosure_rule import Published, write_span
from dphist.privacy import Guarantee
from dphist.release.release import VERSION
from dphist.release.tabular import Tabular
from dphist.shown import show_by


@dataclass(frozen=True, slots=True)
class Instead:
    """What a release with differential privacy would show of the same table.

    Attributes
    ----------
    guarantee : what it would promise.
    counts : (n,) float64, one draw of it, for each cell of the table.
    half_width : half of a 95 % interval of a cell, records.
    size : the number of cells that it shows, those without a record among them.
    max_rows : records of one person, at most.
    epsilon, delta : the total that was asked.
    """

    guarantee: Guarantee
    counts: FloatArray
    half_width: float
    size: int
    max_rows: int
    epsilon: Fraction
    delta: Fraction | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many counts of one sort a reader learns.

    Attributes
    ----------
    counts : of this sort.
    follow : of these, that follow exactly.
    few : that are one of two or three numbers.
    narrower : that lie in fewer numbers than the rule itself says, but in more than three.
    """

    counts: int
    follow: int
    few: int
    narrower: int

    @property
    def unaffected(self) -> int:
        """The number of counts of which a reader learns no more than the rule says."""
        return self.counts - self.follow - self.few - self.narrower


@dataclass(frozen=True, repr=False)
class RuleResult(Tabular):
    """What a disclosure rule shows of a table, and what follows from that. Not private.

    Attributes
    ----------
    published : the table as the rule publishes it.
    attacked : what a reader can compute.
    instead : what a release would show; None without an epsilon.
    before, also : the other tables as the rule publishes them; None without.
    """

    published: Published
    attacked: Attacked
    instead: Instead | None = None
    before: Published | None = None
    also: Published | None = None
    version: str = field(default=VERSION, repr=False)

    def __len__(self) -> int:
        return self.published.counts.size

    @property
    def suppressed(self) -> Outcome:
        """What is learned of suppressed counts."""
        return self._count(self.published.suppressed)

    @property
    def rounded(self) -> Outcome:
        """What is learned of counts that are shown rounded; empty if nothing is rounded."""
        if self.published.rule.round_to == 1:
            return Outcome(0, 0, 0, 0)
        return self._count(~self.published.suppressed)

    @property
    def changes(self) -> Outcome | None:
        """What is learned of changes that are small counts; None without a table before."""
        learned = self.attacked.changes
        if learned is None:
            return None
        small = (learned.high >= 1) & (learned.low < self.smallest_shown)
        follow = small & learned.follows & (learned.low >= 1)
        few = small & learned.is_within_few
        return Outcome(int(small.sum()), int(follow.sum()), int(few.sum()), 0)

    @property
    def smallest_shown(self) -> int:
        """The count from which on the rule shows counts; without one, the unit of rounding."""
        return self.published.rule.suppress_below or self.published.rule.round_to

    @property
    def hidden(self) -> BoolArray:
        """(n,) bool, which counts are not written as they are."""
        return self.published.suppressed | (self.published.rule.round_to > 1)

    @property
    def largest_error(self) -> int | None:
        """The largest difference of a number that is written from its count; None if none is."""
        held = self.published
        numbers = (held.shown >= 0) & ~held.given
        errors = np.abs(held.shown - held.counts.low)[numbers]
        return int(errors.max()) if errors.size else None

    @property
    def lines_off(self) -> int:
        """The number of margins to which the numbers that are written do not add up."""
        shown = np.maximum(self.published.shown, 0)
        return sum(
            int(shown[line.places].sum()) != line.low
            for line in self.published.lines
            if line.is_exact
        )

    def _count(self, chosen: BoolArray) -> Outcome:
        learned, held = self.attacked.cells, self.published
        width, said = learned.high - learned.low, held.high - held.low
        narrower = (width < said) & ~learned.follows & ~learned.is_within_few
        few = learned.is_within_few & (width < said)
        parts = (chosen, chosen & learned.follows, chosen & few, chosen & narrower)
        return Outcome(*(int(each.sum()) for each in parts))

    def to_arrow(self) -> pa.Table:
        """Return a row for each cell.

        Columns of the keys; then `count`, null where it is not known; `written`, as the rule writes
        it; `low` and `high`, what a reader learns, null where there is no bound; `hidden`, whether
        the rule writes another number or none; and with an epsilon `released`, one draw.
        """
        held, learned = self.published, self.attacked.cells
        counts, known = held.counts, held.counts.is_known
        keys = zip(*counts.cells, strict=True) if counts.cells else [()] * len(counts.keys)
        columns: dict[str, Any] = dict(zip(counts.keys, keys, strict=True))
        for name in ("count", "written", "low", "high", "hidden", "released"):
            columns.pop(name, None)
        columns["count"] = pa.array(counts.low, mask=~known)
        columns["written"] = held.texts
        columns["low"] = learned.low
        columns["high"] = pa.array(learned.high, mask=learned.high >= UNBOUNDED)
        columns["hidden"] = self.hidden
        if self.instead is not None:
            columns["released"] = self.instead.counts
        return pa.table(columns)

    def write_learned_texts(self) -> list[str]:
        """Return what a reader learns of each cell, in words."""
        return write_learned(self.attacked.cells)

    def write_report(self, path: str | Path) -> None:
        """Write a page for a browser or for paper; it is not private."""
        show_by("write_page", self, path=path)

    def __str__(self) -> str:
        return str(show_by("format_text", self))

    def __repr__(self) -> str:
        said = self.suppressed
        return f"RuleResult({said.counts} suppressed, {said.follow} of these follow exactly)"

    def _repr_html_(self) -> str:
        return str(show_by("html_of", self))


def write_learned(learned: Learned) -> list[str]:
    """Write what a reader learns of each count."""
    pairs = zip(learned.low.tolist(), learned.high.tolist(), strict=True)
    return [
        "nothing" if high >= UNBOUNDED and not low else write_span(low, high) for low, high in pairs
    ]
