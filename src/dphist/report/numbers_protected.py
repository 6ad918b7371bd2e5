"""How many there are of what a release protects, as far as released numbers show it."""

from typing import Any

from dphist.data.profile import Profile
from dphist.privacy import PrivacyUnit
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.report.delta_words import Number
from dphist.report.what_is_counted import cut_users_of


def number_protected(release: Release) -> Number:
    """Return how many units there are at least, by released numbers; it costs nothing.

    A release may say how many users there are. Else, who counts with up to m records is one for
    every m of them: so many there are at least, noise apart. Nothing is told of rankings without
    counts.
    """
    unit = release.guarantee.unit
    noun = "units" if unit.at_most > 1 else PrivacyUnit(unit.who).plural
    users = cut_users_of(release)
    if users is not None:
        return Number(max(users.within, 0) + max(users.cut, 0) or None, noun)
    records, most = _counted(release)
    units = -(-records // most)
    if isinstance(release.value, RunningCounts) and unit.who == "event":
        return Number(units or None, noun)
    exact = unit.compared == ("record", 1) and not isinstance(release.value, LabelTable)
    return Number(units or None, noun, at_least=not exact)


def _counted(release: Release) -> tuple[int, int]:
    """Return a number of records, and how many of them one unit has at most."""
    value, mechanism = release.value, release.mechanism
    if isinstance(value, Profile | RangeHistogram):
        records = getattr(value, "total", 0) if release.total is None else release.total
        return max(records, 0), int(getattr(mechanism, "sensitivity", 1))
    if isinstance(value, RunningCounts):
        return _running(value, mechanism)
    found = value.counts
    if found is None:
        return 0, 1
    return _largest(found.tolist(), mechanism.max_labels, mechanism.max_count)


def _running(value: RunningCounts, mechanism: Any) -> tuple[int, int]:
    if mechanism.max_events_per_user is None:
        return int(value.times[-1]), 1
    found = value.latest.counts
    counts = [] if found is None else found.tolist()
    return _largest(counts, mechanism.changed_labels, mechanism.max_events_per_user)


def _largest(counts: list[int], labels: int | None, most: int) -> tuple[int, int]:
    """Return a number of records and a bound that show the most units: of one label, or of all."""
    one = max([*counts, 0]), most
    if labels is None:
        return one
    every = sum(count for count in counts if count > 0), most * labels
    return max(one, every, key=lambda found: -(-found[0] // found[1]))
