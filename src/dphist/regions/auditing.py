"""How histograms by region are audited: on which neighbors, and what a release states."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from dphist.data.regional_profile import RegionalProfile
from dphist.document.audited import AuditedClass, Auditing, Numbers, Pair, Setup, Statement
from dphist.errors import DphistError
from dphist.regions.histograms import RegionalHistograms
from dphist.regions.measuring import PARTS
from dphist.regions.mechanism import RegionalProfiles
from dphist.regions.scans import split_scans
from dphist.release.release import Release

_RANDOM_PAIRS = 6
_MOST_UNITS = 8
_HUGE = 2**60
_BLOCK = 1023  # draws that the scans may leave unused

Counts = Sequence[Sequence[int]]
"""The counts of labels in each leaf."""


class RegionalNeighbors:
    """One unit adds `sensitivity` records: all to one leaf, or some to each."""

    def __init__(self, mechanism: RegionalProfiles) -> None:
        self.regions, self.sensitivity = mechanism.regions, mechanism.sensitivity
        self.leaves = len(mechanism.regions.leaves)

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then random pairs."""
        last = self.leaves - 1
        few = [[3, 1], [1], [], [40, 2, 2]]
        bases: dict[str, Counts] = {
            "no records": [[] for _ in range(self.leaves)],
            "a few in each leaf": [[5, 5, 1] for _ in range(self.leaves)],
            "leaves of all sizes": [few[leaf % len(few)] for leaf in range(self.leaves)],
            "many in the first leaf": [[10**5] if not leaf else [] for leaf in range(self.leaves)],
            "counts next to 2**62 in all": [
                [_HUGE] if leaf in (0, last) else [1] for leaf in range(self.leaves)
            ],
        }
        for name, base in bases.items():
            for where, leaf in {"the first": 0, "the last": last}.items():
                grown = self._add(base, [leaf] * self._by)
                yield from self._make(f"{name}; one unit in {where} leaf", base, grown)
            if self._by > 1:
                grown = self._add(base, [k % self.leaves for k in range(self._by)])
                yield from self._make(f"{name}; one unit in several leaves", base, grown)
        draw = random.Random(4)  # noqa: S311 - public data
        for number in range(_RANDOM_PAIRS):
            base = [
                [draw.choice((1, 1, 2, 3, 8, 40)) for _ in range(draw.randrange(12))]
                for _ in range(self.leaves)
            ]
            grown = self._add(base, [draw.randrange(self.leaves) for _ in range(self._by)])
            yield from self._make(f"random counts, {number + 1}", base, grown)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Give a leaf of both more labels alike."""
        one, other = ([list(leaf) for leaf in counts] for counts in raw)
        leaf = draw.randrange(self.leaves)
        more = [draw.choice((1, 1, 2, 3, 10, 100)) for _ in range(draw.randrange(1, 6))]
        one[leaf] += more
        other[leaf] += more
        yield from self._make(f"{name}, more labels", one, other)

    @property
    def _by(self) -> int:
        return min(self.sensitivity, _MOST_UNITS)

    def _add(self, base: Counts, leaves: Sequence[int]) -> Counts:
        """Return counts with one more record in each of some leaves: its first label grows."""
        grown = [list(leaf) for leaf in base]
        for leaf in leaves:
            if grown[leaf]:
                grown[leaf][0] += 1
            else:
                grown[leaf] = [1]
        return grown

    def _make(self, name: str, one: Counts, other: Counts) -> Iterator[Pair]:
        huge = max((max(leaf, default=0) for leaf in one), default=0) >= _HUGE
        names = self.regions.leaf_names
        try:
            first, second = (
                RegionalProfile.from_counts(
                    dict(zip(names, counts, strict=True)),
                    regions=self.regions,
                    sensitivity=self.sensitivity,
                )
                for counts in (one, other)
            )
        except DphistError:
            return
        raw = [[list(leaf) for leaf in counts] for counts in (one, other)]
        yield Pair(name, first, second, raw, huge)


def _list_value(value: RegionalHistograms) -> list[dict[str, Any]]:
    return [{"counts": leaf.counts, "prevalences": leaf.prevalences} for leaf in value.leaves]


def _read_scans(mechanism: RegionalProfiles, release: Release, data: Any) -> Numbers:
    """Return all noisy numbers in the order of drawing: the top, then leaf by leaf."""
    noisy = release.noisy
    top = [{name: noisy[f"top_{name}"] for name in PARTS}] if mechanism.top_share else []
    scans = [*top, *split_scans(noisy, len(mechanism.regions.leaves))]
    return [n for scan in scans for n in (*scan["columns"].tolist(), *scan["rows"].tolist())]


_REGIONS = {"north": ["x", "y"], "south": ["z"]}

AUDITING = Auditing(
    neighbors=RegionalNeighbors,
    compared=_list_value,
    mechanisms={
        RegionalProfiles: AuditedClass(
            small={"regions": _REGIONS},
            others={
                "of users": {"regions": _REGIONS, "sensitivity": 3},
                "with a share for the top": {"regions": _REGIONS, "top_share": "1/5"},
            },
            setup=lambda _: Setup(spare=_BLOCK),
            statement=Statement(_read_scans),
        ),
    },
)
