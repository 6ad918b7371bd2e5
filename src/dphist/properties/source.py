"""The inputs of an estimator: data, a released histogram, or a release of one."""

from typing import TypeAlias

from dphist.data.guard import refuse_guarded
from dphist.data.open_data import OpenProfile, open_profile
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.properties.estimate import Given
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

Histogram: TypeAlias = Profile | AnonymizedHistogram
Opened: TypeAlias = OpenProfile | AnonymizedHistogram
Source: TypeAlias = Histogram | Release

# Data have fewer records; noise may raise the total of a release so far that sums would wrap.
MOST_RECORDS = 2**62


def get_histogram(source: Source) -> Opened:
    """Return the histogram that `source` is or holds.

    For a release it is the released histogram with its own total. A separately estimated total is
    not used, because histogram and number of records must agree.

    Raises
    ------
    ParameterError
        If `source` is none of these, or a release of another kind, or noise raised the total of a
        release to 2**62 or more.

    >>> get_histogram(Profile.from_counts([8, 3])).total
    11
    """
    refuse_guarded(source)
    value = open_profile(source) if isinstance(source, Profile) else source
    value = value.value if isinstance(value, Release) else value
    if not isinstance(value, OpenProfile | AnonymizedHistogram):
        raise ParameterError(
            "source",
            "must be a dphist.Release of an anonymized histogram (what dphist.anonymize returns), "
            "its value, or a dphist.Profile",
        )
    if value.total >= MOST_RECORDS:
        raise ParameterError("source", "must have fewer than 2**62 records")
    return value


def name_source(source: Source) -> Given:
    """Return what an estimate says that it was given."""
    if isinstance(source, Release):
        return "release"
    return "released value" if isinstance(source, AnonymizedHistogram) else "data"
