"""Profiles to compare on: the sorted L1 error of what is released."""

import time
from collections.abc import Mapping
from typing import Any

from dphist.anonymized import PartitionSampler
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.data.open_data import open_profile
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.lab.comparing.anonymized.contenders import USUAL_DELTA, contenders
from dphist.lab.comparing.case import Case, Measure, digest_of
from dphist.lab.comparing.contender import LABELS, LARGEST, Contender
from dphist.lab.comparing.making import Given
from dphist.lab.comparing.measuring import Run
from dphist.release.anonymized_histogram import AnonymizedHistogram

_SECONDS_A_DRAW = 1e-7  # of `SortedCounts` on 34 million labels, which sorts them as well


class AnonymizedCase(Case):
    """A profile, and the mechanisms for anonymized histograms."""

    kind = "anonymized"
    measures = (
        Measure(
            "sorted L1 error",
            "records",
            "The sum over i of |i-th largest count released - i-th largest count|.",
        ),
    )

    def __init__(self, profile: Profile, delta: Any = None) -> None:
        self.data = profile
        self._delta = USUAL_DELTA if delta is None else delta

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, labels, and the unit."""
        profile = open_profile(self.data)
        return {
            "records": f"{profile.total:,}",
            "labels": f"{profile.labels:,}",
            "largest count": f"{int(profile.counts.max(initial=0)):,}",
            "sensitivity": str(profile.sensitivity),
        }

    @property
    def digest(self) -> str:
        """Names the counts, and the unit."""
        profile = open_profile(self.data)
        arrays = [profile.counts.astype("<i8"), profile.prevalences.astype("<i8")]
        return digest_of([*(each.tobytes() for each in arrays), str(profile.sensitivity).encode()])

    def known(self) -> Mapping[str, Given]:
        """Number of labels, the maximum, delta, and the public bound."""
        profile = open_profile(self.data)
        return {
            "labels": Given(max(profile.labels, 1), LABELS),
            "largest": Given(max(int(profile.counts.max(initial=0)), 1), LARGEST),
            "delta": Given(self._delta),
            "sensitivity": Given(profile.sensitivity, always=True),
        }

    def published(self) -> list[Contender]:
        """Return all, some of them with and without what they may be given."""
        return list(contenders(self._delta))

    def run(self, mechanism: Any) -> Run:
        """Return what releases the profile once."""
        return lambda: one_run(mechanism, self.data)

    def foreseen(self, mechanism: Any) -> float | None:
        """Return what the noise of a mechanism of dphist takes."""
        return foreseen_seconds(mechanism, self.data)


def foreseen_seconds(mechanism: Any, profile: Profile) -> float | None:
    """Return about how long a release takes at least; None if nothing tells.

    Some draw noise for each label, in calls into NumPy that nothing can interrupt.
    """
    if not isinstance(mechanism, AnonymizedMechanism) or isinstance(mechanism, PartitionSampler):
        return None
    return _SECONDS_A_DRAW * mechanism.draws_on(open_profile(profile))


def one_run(mechanism: Any, profile: Profile) -> tuple[tuple[float], float]:
    """Release once: sorted L1 error, and seconds of the release alone."""
    begun = time.perf_counter()
    released = mechanism.release(profile)
    seconds = time.perf_counter() - begun
    value = getattr(released, "value", released)
    if not isinstance(value, AnonymizedHistogram):
        raise ParameterError(
            "mechanisms", "for anonymized histograms must release an AnonymizedHistogram"
        )
    return (float(open_profile(profile).distance(value)),), seconds
