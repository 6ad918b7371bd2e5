"""Measuring of `PartitionSampler`: a draw of the exponential mechanism over partitions."""

from fractions import Fraction

import numpy as np

from dphist.anonymized.measuring import AnonymizedMeasuring
from dphist.anonymized.partition_sampler.proposals import Proposals
from dphist.anonymized.partition_sampler.radius import log_mass_of_cut, radius
from dphist.anonymized.partition_sampler.windows import find_windows
from dphist.arrays import IntArray
from dphist.counting import redact_errors
from dphist.data.profile import Profile
from dphist.errors import Argument, DphistError
from dphist.noise.inversion import Source, check_source
from dphist.privacy import ApproxDP


class PartitionSamplerMeasuring(AnonymizedMeasuring):
    """What sees the data: `docs/understand/proofs/partition_sampler.md`."""

    __slots__ = ()

    delta: Fraction

    @property
    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for units that change at most `sensitivity` cells."""
        return ApproxDP(self.epsilon, self.delta, self._unit)

    @property
    def rate(self) -> Fraction:
        """The rate; a diagram at distance d has probability proportional to exp(-rate d)."""
        return self.epsilon / self.sensitivity / 2

    def distance(self, profile: Profile) -> int:
        """Return the maximum distance of a draw. It depends on the data, so it is secret.

        An unbounded draw would exceed it with probability at most delta / (1 + exp(epsilon)).
        """
        cut = log_mass_of_cut(self.delta, self.epsilon)
        return radius(profile.total, self.rate, cut)

    def _measure(self, profile: Profile, source: Source | None) -> tuple[IntArray, IntArray]:
        """Draw a diagram: its first rows, and its first columns below them."""
        too_far = DphistError(
            "not enough memory to sample a partition; raise "
            + Argument("epsilon")
            + ", or use PrivHist"
        )
        # NumPy's own message would reveal the size of the windows.
        proposals = redact_errors(lambda: self._proposals(profile), too_far)
        try:
            return proposals.draw(check_source(source))
        except MemoryError:  # other errors come from the source of bits
            pass
        raise too_far

    def _proposals(self, profile: Profile) -> Proposals:
        # Many values underflow and are raised to a floor; a warning would depend on the data.
        with np.errstate(all="ignore"):
            windows = find_windows(profile, self.distance(profile))
            return Proposals.within(windows.choices(profile), self.rate)
