"""Privacy losses: what is known of the noise of a release, for all accounts of it.

A pair of laws *dominates* a mechanism if for all neighbors and every epsilon, also below 0, the
delta of the pair is at least that of the two output laws, both ways. Each loss here is such a pair;
several are independent (`docs/understand/proofs/fixed_plans.md`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias, runtime_checkable

from dphist.privacy.guarantees import ZCDP, ApproxZCDP, Guarantee, find_delta


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    """Gaussian noise, rounded or not.

    Attributes
    ----------
    squared : the squared distance by which a unit moves the numbers, in variances: mu**2.
    """

    squared: Fraction


@dataclass(frozen=True, slots=True)
class GeometricLoss:
    """Two-sided geometric noise.

    Attributes
    ----------
    rate : Pr[Z = z] is proportional to exp(-rate abs(z)).
    moved : by how much a unit changes all numbers of a group together, at most.
    times : how many groups there are.
    """

    rate: Fraction
    moved: int = 1
    times: int = 1


@dataclass(frozen=True, slots=True)
class ConcentratedLoss:
    """Losses of which the rho of zero-concentrated differential privacy alone is known."""

    rho: Fraction


Loss: TypeAlias = GaussianLoss | GeometricLoss | ConcentratedLoss


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of a release, which together fail with a probability.

    Attributes
    ----------
    parts : independent of each other.
    delta : probability with which everything may be revealed.
    """

    parts: tuple[Loss, ...]
    delta: Fraction = Fraction(0)


@runtime_checkable
class Losing(Protocol):
    """A mechanism that says what its losses are."""

    def privacy_losses(self) -> Losses: ...


def covering(guarantees: Sequence[Guarantee]) -> Losses:
    """Return losses that cost as much as one of the guarantees allows, or more.

    Of pure epsilon-DP they are those of geometric noise of rate epsilon on a number that changes by
    1: epsilon and -epsilon, as of randomized response, which every pure mechanism is a
    post-processing of (Kairouz, Oh and Viswanath 2015). (epsilon, delta)-DP also fails with
    probability delta.

    Parameters
    ----------
    guarantees : of one mechanism, at least one of them; those in epsilon are preferred.
    """
    for guarantee in guarantees:
        if not isinstance(guarantee, ZCDP | ApproxZCDP):
            return Losses((GeometricLoss(guarantee.epsilon),), find_delta(guarantee))
    least = min(guarantees, key=find_delta)
    assert isinstance(least, ZCDP | ApproxZCDP)  # noqa: S101 - as no other is there
    return Losses((ConcentratedLoss(least.rho),), find_delta(least))


def add_losses(several: Iterable[Losses]) -> Losses:
    """Return the losses of several releases together; deltas add up."""
    held = [*several]
    parts = tuple(part for each in held for part in each.parts)
    return Losses(parts, sum((each.delta for each in held), Fraction(0)))
