"""One set of further releases for all properties: running a mechanism is what takes time."""

from dataclasses import replace

from dphist.noise import Source as Randomness
from dphist.profile import Profile
from dphist.release import Release


class RunAhead:
    """A mechanism that ran already, and gives its releases out again and again, in turn.

    `dphist.properties.resampling` runs the mechanism of a release on the released profile as
    often as it is told, for each estimate anew. Estimates that are listed together may share
    these runs: each has its own error, which is no less true for being the same noise.
    """

    def __init__(self, release: Release, runs: int) -> None:
        self._release, run = release, release.mechanism.release
        self._further: list[Profile] = [run(release.value).value for _ in range(runs)]
        self._given = 0

    def release(self, _profile: Profile, _source: Randomness | None = None) -> Release:
        """Return the next of the further releases, with its value alone."""
        value = self._further[self._given % len(self._further)]
        self._given += 1
        return replace(self._release, value=value, total=None, noisy={})


def run_ahead(release: Release, runs: int) -> Release:
    """Return the release with its mechanism run so often that estimators need not do it.

    What is returned is for estimators alone; it can be neither saved nor reported.
    """
    return replace(release, mechanism=RunAhead(release, runs))
