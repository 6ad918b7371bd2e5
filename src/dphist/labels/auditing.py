"""How mechanisms for labels are audited: on which neighbors, and what a release states."""

import random
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp
from dphist.data.label_counts import LabelCounts
from dphist.document.audited import (
    SMALL_DELTA,
    AuditedClass,
    Auditing,
    Numbers,
    OpenLabels,
    Pair,
    Setup,
    Statement,
    Told,
    go_beyond,
    name_others,
)
from dphist.errors import ParameterError
from dphist.labels.auto.mechanism import AutoThreshold
from dphist.labels.discover.mechanism import DiscoverLabels
from dphist.labels.threshold.law import grid
from dphist.labels.threshold.measuring import BOUNDED, BY_TOTALS, NAME
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.threshold.sums import LARGEST_SUM
from dphist.labels.top_labels import TopLabels
from dphist.labels.top_threshold import TopThreshold
from dphist.release.label_table import LabelTable
from dphist.release.release import Release

_MOST_LABELS = 50
_HUGE = 2**61
_MOST_USERS = 20_000  # of a label, where each user is held

Counts = dict[Any, int]


class LabelNeighbors:
    """One user adds up to `max_count` to each of up to `max_labels` labels.

    Where columns are summed, all of the user's totals are beyond the bounds that are farthest from
    the centers, so that they move each sum as far as a user can.
    """

    def __init__(self, mechanism: Any) -> None:
        if mechanism.step is not None:
            raise ParameterError(
                "mechanism",
                "must count whole records to be audited: neighbors have no weights",
                "audit it without a step, with a max_count of as many records as it has steps",
            )
        self.mechanism = mechanism
        self.sums: dict[str, Clamp] = dict(getattr(mechanism, "sums", None) or ())
        self.users_by_labels: int | None = getattr(mechanism, "users_by_labels", None)
        counts_users = self.users_by_labels is not None
        self.holds_users = bool(self.sums) or counts_users or isinstance(mechanism, AutoThreshold)
        self.by = mechanism.max_count
        most = min(mechanism.max_labels or 4, _MOST_LABELS)
        listed = getattr(mechanism, "released_labels", None)
        self.names = list(listed or [f"label {k}" for k in range(most + 2)])
        self.most = min(most, len(self.names))
        self.line = int(mechanism.threshold or 0)

    def pairs(self) -> Iterator[Pair]:
        """Return new labels, such as the threshold lets through or not, frequent ones, ties."""
        levels = {
            "new labels": 0,
            "labels as frequent as the threshold": max(self.line - self.by // 2, 0),
            "frequent labels": self.line + 100 * self.by,
            "counts next to 2**62": _HUGE,
        }
        if self.holds_users:
            del levels["counts next to 2**62"]
        for said, level in levels.items():
            for many in sorted({1, self.most}):
                one = {name: level for name in self.names[: self.most] if level}
                other = {**one, **dict.fromkeys(self.names[:many], level + self.by)}
                yield self._make(f"{said}; one user has {many} of them", one, other)
        if len(self.names) > self.most or self.most > 1:
            tie = dict.fromkeys(self.names, self.line + 10)
            text = "all labels are equally frequent; one user has one"
            yield self._make(text, tie, {**tie, self.names[-1]: self.line + 10 + self.by})
        if getattr(self.mechanism, "released_labels", None) is None:
            yield from self._list_alike()
        if self.users_by_labels is not None and len(self.names) > self.mechanism.max_labels:
            frequent = dict.fromkeys(self.names, self.line + 100 * self.by)
            pair = self._hold_users(frequent, []), self._hold_users(frequent, self.names)
            yield Pair("frequent labels; one user has more of them than are counted", *pair)

    def _list_alike(self) -> Iterator[Pair]:
        """Labels that look the same, or nearly: each is a label of its own."""
        composed = unicodedata.normalize("NFC", "caf\u00e9")
        looks = [composed, unicodedata.normalize("NFD", composed), "caf\u00e9 ", "Caf\u00e9"]
        one = dict.fromkeys(looks[:1], self.line + 10)
        other = {**one, **dict.fromkeys(looks[1 : 1 + self.most], self.by)}
        yield self._make("normal forms of the same text; one user has the others", one, other)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Raise or lower a count in both, or add a label to both."""
        one, other = (dict(counts) for counts in raw)
        step = draw.choice((-2, -1, 1, 2)) * self.by
        shared = [label for label in one if one[label] + step > 0 and one[label] < 2**60]
        if shared:
            label = draw.choice(shared)
            changed = ({**counts, label: counts[label] + step} for counts in (one, other))
            yield self._make(f"{name}; {label!r} moved by {step}", *changed)
        free = [label for label in self.names if label not in other]
        if free:
            new = {free[0]: max(self.line, 1)}
            yield self._make(f"{name}; {free[0]!r} beside them", one | new, other | new)

    def _make(self, name: str, one: Counts, other: Counts) -> Pair:
        huge = max(one.values(), default=0) >= _HUGE
        if self.holds_users:
            own = [label for label in other if other[label] != one.get(label, 0)]
            pair = self._hold_users(one, []), self._hold_users(one, own)
        else:
            pair = self._count_labels(one), self._count_labels(other)
        return Pair(name, *pair, (one, other), huge)

    def _hold_users(self, counts: Counts, own: list[str]) -> LabelCounts:
        """Return users who have one label each, and one user with these labels.

        Of that user all rows are twice there, so that bounds have something to cut.
        """
        held = {label: min(-(-most // self.by), _MOST_USERS) for label, most in counts.items()}
        labels = [label for label, users in held.items() for _ in range(users)]
        more = len(labels)
        label, user, count = name_others(self.sums, "label", "user", "count")
        rows = {
            label: pa.array([*labels, *own, *own], pa.array(self.names).type),
            user: [*range(1, more + 1), *([0] * 2 * len(own))],
            count: [self.by] * (more + 2 * len(own)),
        }
        for name, clamp in self.sums.items():
            far = go_beyond(clamp, counts_users=self.by == 1)
            rows[name] = [float(clamp.low)] * more + [far] * (2 * len(own))
        return LabelCounts.from_table(
            pa.table(rows),
            label=label,
            user=user,
            count=count,
            max_labels=self.mechanism.max_labels,
            max_count=self.by,
            keep_sets=isinstance(self.mechanism, AutoThreshold),
            sums=self.sums or None,
            users_by_labels=self.users_by_labels,
            users_by_totals=getattr(self.mechanism, "users_by_totals", False),
            other_than=getattr(self.mechanism, "other_than", None),
        )

    def _count_labels(self, counts: Counts) -> LabelCounts:
        return LabelCounts.from_counts(
            list(counts),
            list(counts.values()),
            max_labels=self.mechanism.max_labels,
            max_count=self.mechanism.max_count,
            other_than=self.mechanism.other_than,
        )


def _list_value(value: LabelTable) -> Any:
    counts = value.counts
    if counts is None:
        return value.labels
    found = dict(zip(value.labels, counts, strict=True))
    if not value.sums:
        return found
    sums = {
        f"sum of {name}": dict(zip(value.labels, held, strict=True))
        for name, held in _list_totals(value).items()
    }
    return {"count": found, **sums}


def _list_totals(value: LabelTable) -> dict[str, list[int]]:
    """Return the noisy sums of each column in the order of labels, in steps about the center."""
    found: dict[str, list[int]] = value.to_content().get("sums", {})
    return found


def _have_same_labels(one: Any, other: Any) -> bool:
    if not (isinstance(one, OpenLabels) and isinstance(other, OpenLabels)):
        return True
    return one.labels == other.labels


def _refuse_top(mechanism: Any) -> Setup:
    return Setup(why_not="its noise is real, and only compared")


def _refuse_random_cut(mechanism: Any) -> Setup:
    return Setup(why_not="users are cut at random, by bits that are no noise")


def _set_up_threshold(mechanism: ThresholdHistogram) -> Setup:
    if mechanism.correlated is True:
        return Setup(why_not="its noise is shared by several numbers")
    if mechanism.noise in BOUNDED:
        return Setup(why_not="its noise ends, so what one table shows its neighbor may never show")
    listed = mechanism.released_labels
    setup = (
        Setup(is_meant=_have_same_labels) if listed is None else Setup()
    )  # listed ones get noise
    if mechanism.noise == "laplace":
        return setup
    return Setup(told=_tell_exact(mechanism), is_meant=setup.is_meant)


def _tell_exact(mechanism: ThresholdHistogram) -> dict[int, Told]:
    """Return what Gaussian noise is added to out of sight: counts, and numbers of users.

    The requests are those of counts, of the sums of each column, in sight, and of the users.
    """
    listed, fine = mechanism.released_labels, grid(mechanism.noise_scale)
    of_users = grid(1 / mechanism.epsilon)  # their noise is for a change of 1

    def tell_counts(data: OpenLabels) -> IntArray:
        counts = data.counts if listed is None else data.counts_of(listed)
        return fine * np.asarray(counts, np.int64)

    asked: list[Told] = []
    if mechanism.users_by_labels is not None:
        asked.append(lambda data: of_users * np.asarray(data.users, np.int64))
    if mechanism.users_by_totals:
        asked.append(lambda data: of_users * np.asarray(data.totals, np.int64))
    return {0: tell_counts, **dict(enumerate(asked, start=1 + len(mechanism.sums or ())))}


def _read_labels(mechanism: ThresholdHistogram, release: Release, data: OpenLabels) -> Numbers:
    """Return noisy counts, then sums of each column, if all labels of the data have them.

    Then the numbers of users. A number that is cut off at the largest sum says none.
    """
    if mechanism.noise != "laplace":
        return None
    order = data.labels if mechanism.labels is None else mechanism.released_labels or ()
    value, numbers = release.value, []
    sums = _list_totals(value).values()
    users = [n for name in (NAME, BY_TOTALS) for n in release.noisy.get(name, np.zeros(0)).tolist()]
    if any(abs(n) >= LARGEST_SUM for n in [*(n for held in sums for n in held), *users]):
        return None
    for held in (value.counts.tolist(), *sums):
        found = dict(zip(value.labels, held, strict=True))
        if found.keys() != set(order):
            return None
        numbers += [found[label] for label in order]
    return numbers + users


AUDITING = Auditing(
    neighbors=LabelNeighbors,
    compared=_list_value,
    setup=lambda _: Setup(is_meant=_have_same_labels),
    mechanisms={
        ThresholdHistogram: AuditedClass(
            small={"delta": SMALL_DELTA, "max_labels": 2},
            others={
                "with normal noise": {"noise": "gaussian"},
                "with truncated noise": {"noise": "truncated"},
                "with optimal noise": {"noise": "optimal"},
                "with sums": {"sums": {"spent": Clamp(-1, 2, 1), "hours": Clamp(0, 8, "0.5")}},
            },
            tiny={
                "of 1 label": {"max_labels": 1},
                "of 1 label, with optimal noise": {"max_labels": 1, "noise": "optimal"},
            },
            setup=_set_up_threshold,
            statement=Statement(_read_labels),
        ),
        TopThreshold: AuditedClass(
            small={"delta": SMALL_DELTA, "max_labels": 2, "k": 3}, setup=_refuse_top
        ),
        TopLabels: AuditedClass(
            small={"delta": SMALL_DELTA, "k": 2, "candidates": 4}, setup=_refuse_top
        ),
        AutoThreshold: AuditedClass(
            small={"delta": SMALL_DELTA, "max_labels": 2}, setup=_refuse_random_cut
        ),
        DiscoverLabels: AuditedClass(small={"delta": SMALL_DELTA, "max_labels": 2}),
    },
)
