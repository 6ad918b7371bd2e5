"""What a release of numbers of cells costs, where a unit changes a bounded number of cells."""

from fractions import Fraction

from dphist.mechanism import MechanismBase
from dphist.privacy import Guarantee, PrivacyUnit, PureDP
from dphist.privacy.conversion import geometric_to_rho
from dphist.privacy.exchanged import exchange_by_steps, exchange_of_growing
from dphist.privacy.losses import GeometricLoss, Losses


class CellMeasuring(MechanismBase):
    """What every measuring half shares that adds noise to numbers of cells: the guarantee."""

    __slots__ = ()

    epsilon: Fraction
    sensitivity: int

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: at most `sensitivity` cells, that is, records."""
        return PrivacyUnit("record", self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs units that change at most `sensitivity` cells: pure epsilon-DP."""
        cells = self.sensitivity
        each = [geometric_to_rho(rate * cells, cells) for rate in self._rates]
        return PureDP(self.epsilon, self._unit, sum(each) if each else None)

    @property
    def exchanged(self) -> Guarantee | None:
        """What a release costs an exchange: numbers of cells only grow with a unit."""
        return (exchange_of_growing if self._rates else exchange_by_steps)(self.guarantee)

    @property
    def _rates(self) -> tuple[Fraction, ...]:
        """The rates of geometric noise of all parts; none if they are not known.

        In each part every cell is in one number (`docs/understand/proofs/geometric_rho.md`).
        """
        return ()

    def privacy_losses(self) -> Losses:
        """Return the losses of a release, or larger ones: those of the epsilon of each part."""
        if not self._rates:
            return MechanismBase.privacy_losses(self)
        return Losses(tuple(GeometricLoss(rate * self.sensitivity) for rate in self._rates))

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of geometric noise on counts of which a cell changes one, by 1."""
        return self.epsilon / self.sensitivity
