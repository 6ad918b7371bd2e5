"""What the noisy numbers of users say beside a `ThresholdHistogram`: what bounds cost."""

from collections.abc import Mapping

from dphist.arrays import IntArray
from dphist.data.cells import make_cells
from dphist.errors import Argument, ParameterError
from dphist.labels.threshold.measuring import BY_TOTALS, NAME, ThresholdMeasuring
from dphist.release.fitted_users import Share
from dphist.release.release import Release
from dphist.release.users_by_size import UsersBySize
from dphist.release.users_by_total import UsersByTotal


class ThresholdUsers(ThresholdMeasuring):
    """Users by how many labels they have, and by their totals of what is summed.

    All of it is post-processing, which costs nothing.
    """

    __slots__ = ()

    def users(self, noisy: Mapping[str, IntArray]) -> UsersBySize | None:
        """Return how many users have how many labels, from `noisy` of a release.

        None without `users_by_labels`.

        Raises
        ------
        ParameterError
            If `noisy` is not what a release of this mechanism holds.
        """
        if self.users_by_labels is None:
            return None
        cells = make_cells(self.users_by_labels, self.max_labels)
        found = _read_numbers(noisy, NAME, len(cells))
        return UsersBySize(cells, found, self._noise_of_users().law, self.max_labels)

    def users_of_totals(self, noisy: Mapping[str, IntArray]) -> dict[str, UsersByTotal]:
        """Return how many users have which farthest total, for each column that is summed.

        Empty without `users_by_totals`. Parameters and errors are those of `users`.
        """
        if not self.users_by_totals:
            return {}
        sizes = [len(clamp.starts) + 1 for _, clamp in self.sums or ()]
        numbers = _read_numbers(noisy, BY_TOTALS, sum(sizes))
        law, found = self._noise_of_users().law, {}
        for (name, clamp), size in zip(self.sums or (), sizes, strict=True):
            found[name] = UsersByTotal(clamp, numbers[:size], law)
            numbers = numbers[size:]
        return found

    def share_cut(self, release: Release) -> Share:
        """Return the share of pairs of a user and a label that bounding dropped; see `users`."""
        found = self.users(release.noisy)
        if found is None:
            raise ParameterError(
                "release",
                "does not say how many users have how many labels",
                "release with " + Argument("users_by_labels", self.max_labels * 10),
            )
        return found.share_cut()

    def share_clamped(self, release: Release) -> dict[str, Share]:
        """Return the share of users who have a clamped total, for each column that is summed.

        Raises
        ------
        ParameterError
            If the release does not say it.
        """
        if not self.users_by_totals:
            raise ParameterError(
                "release",
                "does not say how many users have a clamped total",
                "release sums with " + Argument("users_by_totals", True),
            )
        found = self.users_of_totals(release.noisy)
        return {name: each.share_clamped() for name, each in found.items()}


def _read_numbers(noisy: Mapping[str, IntArray], name: str, size: int) -> tuple[int, ...]:
    found = noisy.get(name)
    if found is None or found.shape != (size,):
        raise ParameterError(
            "noisy", f"must hold {size} numbers of {name}, as the release has them"
        )
    return tuple(found.tolist())
