"""NoisyMean: the mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import dphist as dh
from dphist import noise
from dphist.arrays import IntArray
from dphist.mechanism import Intervals, parameter, provenance_of_unit
from dphist.noise import Source
from dphist.noise.for_tests import is_for_tests
from dphist.noise.magnitude import geometric_half_width
from dphist.parameters import Exact, check_level, privacy_parameter, whole_number
from tests.support.means.amounts import Amounts
from tests.support.means.mean import Mean


@dataclass(frozen=True, kw_only=True)
class NoisyMean:
    """Sum and number of amounts, each with geometric noise that half of epsilon pays for."""

    epsilon: Fraction = parameter("Privacy parameter of the whole release.", symbol="E")
    most: int = parameter("Maximum of an amount; public.", symbol="M")
    sensitivity: int = field(default=1, init=False)

    reference = "C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in "
    reference += "Private Data Analysis. Theory of Cryptography Conference (TCC), 2006."
    description = "Noisy mean. The sum and the number of amounts, each with geometric noise."

    def __init__(self, *, epsilon: Exact, most: int) -> None:
        object.__setattr__(self, "epsilon", privacy_parameter(epsilon, "epsilon"))
        object.__setattr__(self, "most", whole_number(most, "most", 1, 10**6))
        object.__setattr__(self, "sensitivity", 1)

    @property
    def guarantee(self) -> dh.PureDP:
        """One record changes the sum by at most `most`, and the number by 1."""
        return dh.PureDP(self.epsilon, dh.PrivacyUnit("record"))

    @property
    def noise_scale(self) -> Fraction:
        """Of the number of records."""
        return 2 / self.epsilon

    @property
    def _rates(self) -> tuple[Fraction, Fraction]:
        return self.epsilon / 2 / self.most, self.epsilon / 2

    def accept(self, data: Amounts) -> None:
        """Refuse amounts whose bounds the guarantee does not cover."""
        if data.most > self.most or data.sensitivity > self.sensitivity:
            raise dh.BoundsError("the amounts have a larger maximum than the mechanism protects")

    def release(self, data: Amounts, /, source: Source | None = None) -> dh.Release:
        """Release the mean: the only place that sees data and draws noise."""
        check_amounts(data)
        self.accept(data)
        exact = zip((data.total, data.records), self._rates, strict=True)
        drawn = [noise.two_sided_geometric(rate, 1, source) + number for number, rate in exact]
        noisy = {"sums": np.concatenate(drawn)}
        return dh.Release(
            self.decode(noisy),
            self.guarantee,
            self,
            total=max(int(noisy["sums"][1]), 0),
            noisy=noisy,
            provenance=provenance_of_unit(data),
            for_tests=is_for_tests(source, data),
        )

    def decode(self, noisy: Mapping[str, IntArray], /) -> Mean:
        """Return the mean of noisy sums."""
        return Mean(*noisy["sums"].tolist())

    def expected_error(self) -> float:
        """Return the standard deviation of the noise of the sum, about."""
        return float(2**0.5 / self._rates[0])

    def intervals(self, release: Any, /, level: float = 0.95) -> Intervals:
        """Return bounds on the sum and the number."""
        widths = [geometric_half_width(rate, check_level(level)) for rate in self._rates]
        sums, width = release.noisy["sums"], np.array(widths)
        return Intervals(sums - width, sums + width, level)


def check_amounts(data: object) -> None:
    """Refuse anything but amounts."""
    if not isinstance(data, Amounts):
        raise dh.ParameterError("data", "must be Amounts")
