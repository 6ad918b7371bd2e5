"""The inputs of an estimator: a profile, or a release of one."""

from typing import TypeAlias

from dphist.data.guard import refuse_guarded
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.release.release import Release

Source: TypeAlias = Profile | Release

# Data have fewer records; noise may raise the total of a release so far that sums would wrap.
MOST_RECORDS = 2**62


def profile_of(source: Source) -> Profile:
    """Return the anonymized histogram that `source` is or holds.

    For a release it is the released profile with its own total. A separately estimated total is
    not used, because profile and number of records must agree.

    Raises
    ------
    ParameterError
        If `source` is neither, or a release of another kind, or noise raised the total of a
        release to 2**62 or more.

    >>> profile_of(Profile.from_counts([8, 3])).total
    11
    """
    refuse_guarded(source)
    value = source.value if isinstance(source, Release) else source
    if not isinstance(value, Profile):
        raise ParameterError(
            "source",
            "must be a dphist.Profile, or a dphist.Release whose value is one (what "
            "dphist.anonymize returns)",
        )
    if value.total >= MOST_RECORDS:
        raise ParameterError("source", "must have fewer than 2**62 records")
    return value
