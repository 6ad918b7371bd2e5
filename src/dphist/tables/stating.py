"""The stating half of tables: what noise there is, and how large errors are; it sees no data."""

import math
from collections.abc import Mapping
from fractions import Fraction

from dphist.labels.threshold.cost import epsilon_of_noise
from dphist.mechanism import MechanismBase
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.law import ROUNDED, Drawing, NoiseLaw
from dphist.parameters import Exact, decimal_text, probability, whole_number
from dphist.privacy import MOST_RELEASES, ZCDP, Guarantee, PureDP, least_epsilon
from dphist.privacy.losses import GaussianLoss, GeometricLoss, Losses, covering
from dphist.tables.lattice import Lattice, Table
from dphist.tables.measuring import TablesMeasuring
from dphist.tables.widths import NORMAL, Reach


class TablesStating(TablesMeasuring):
    """What tables say of their noise, before there are data and after."""

    __slots__ = ()

    @property
    def noise_on(self) -> str:
        """What gets the noise: "contrasts", or "cells" of all keys of the tables together.

        Contrasts with Gaussian noise. Of geometric noise the choice depends on the keys, tables,
        weights and errors alone.
        """
        return "contrasts" if self.pure is None or self.pure.cover is None else "cells"

    @property
    def noise_scale(self) -> Fraction:
        """The smallest standard deviation of Gaussian noise, or 1 / rate; see `errors_of_cells`.

        Where values of keys are found, the smallest there may be, in any step; with `weights` or
        `errors`, that of no values, or of as many as may be found.
        """
        if self.keys.discovering:
            least = self.with_found(dict.fromkeys(self._discovering, ())).noise_scale
            return min(least, self._least_scale, *(s.sigma for s in self.searches.values()))
        scale = self._least_scale if self.pure is None else self.pure.smallest_scale
        return scale * (self.step or 1)

    @property
    def _least_scale(self) -> Fraction:
        return min(
            scale * math.prod(self.lattice.noise(i).shortest for i in table)
            for table, scale in self.scales.items()
        )

    def errors_of_cells(self) -> dict[str, float]:
        """Return the standard error of a cell of each table asked, in records; public.

        Where values of keys are found, the largest, that of `max_found` values; it is hardly less
        for fewer. With `weights` or `errors`, those of fewer values may be a little larger. With
        `ranges`, the largest of all cells of the table.

        >>> from dphist.tables import Tables
        >>> tables = Tables(rho="1/2", keys={"a": range(18), "b": [0, 1], "c": range(50)},
        ...     tables=["a+b+c", "a"])
        >>> tables.errors_of_cells()
        {'a+b+c': 2.22..., 'a': 2.23...}
        """
        variances, more = self._variances, Fraction(0)
        if self.keys.discovering:  # of fewer values, rounding may add more, up to 1/12
            variances, more = {t: s**2 for t, s in self.scales.items()}, Fraction(1, 12)
        return {
            "+".join(names): math.sqrt(self.lattice.variance(place, variances) + more)
            for names, place in zip(self.tables, self.places, strict=True)
        }

    def errors_of_sums(self) -> dict[str, dict[str, float]]:
        """Return the standard error of the sum of each column in a cell of each table; public.

        It is in the unit of the values; with `ranges`, the largest of all cells of the table.
        """
        law, found = self.sums_law, {}
        for name, clamp in law.columns if law is not None else ():
            assert law is not None  # noqa: S101 - there are columns
            about = bound_variances(self.lattice, law.compute_scales(clamp))
            center = Fraction(clamp.center(counts_users=True)) ** 2
            whole = {t: each + center * self._variances[t] for t, each in about.items()}
            found[name] = {
                "+".join(names): math.sqrt(self.lattice.variance(place, whole)) * float(clamp.step)
                for names, place in zip(self.tables, self.places, strict=True)
            }
        return found

    def errors_of_ranges(self) -> dict[str, float]:
        """Return the mean standard error of ranges in each table asked that has any; public.

        It is the root of the mean square error over all ranges of the keys in `ranges`, and all
        values of other keys.

        >>> from dphist.tables import Tables
        >>> ages = {"age": range(64), "sex": ["f", "m"]}
        >>> Tables(rho="1/2", keys=ages, tables=["age"], ranges=["age"]).errors_of_ranges()
        {'age': 2.66...}
        """
        variances, kept = self._variances, self.kept
        if self.keys.discovering:  # of fewer values of a key, rounding adds at most twice as much
            times = 2 ** len(self.keys.discovering)
            exact = {t: s**2 for t, s in self.scales.items()}
            variances = {t: each + times * (variances[t] - each) for t, each in exact.items()}
        return {
            "+".join(names): math.sqrt(self.lattice.variance_of_ranges(place, variances))
            for names, place in zip(self.tables, self.places, strict=True)
            if any(self.keys.names[kept[i]] in self.by_level for i in place)
        }

    @property
    def _variances(self) -> Mapping[Table, Fraction]:
        """The variances of contrasts over their squared lengths, by table; at most.

        In records squared, also where counts are in steps of weights.
        """
        if self.pure is not None:
            found: Mapping[Table, Fraction] = self.pure.variances()
        else:
            found = bound_variances(self.lattice, self.scales)
        if self.step is None:
            return found
        return {table: each * self.step**2 for table, each in found.items()}

    @property
    def reach(self) -> Reach:
        """How many standard errors intervals reach."""
        if self.pure is None:
            return NORMAL
        return Reach(1 / self.pure.smallest_scale, self.pure.cover is not None)

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        step, fine = self.step or Fraction(1), ""
        if self.step is not None:
            fine = f"multiples of {decimal_text(self.step)}"
        if self.pure is not None:
            form = f"on {self.noise_on}{fine and ', in '}{fine}"
            return NoiseLaw("two-sided geometric", self.noise_scale, Drawing.WHOLE, form, step)
        form = f"rounded to {fine}" if fine else ROUNDED
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.ROUNDED, form, step)

    def expected_error(self) -> float:
        """Return the largest standard error of a cell of the tables asked, in records.

        Where values of keys are found, no cell has a larger one, but for what `errors_of_cells`
        says of `weights` and `errors`.
        """
        return max(self.errors_of_cells().values())

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon of `releases` releases at a total delta: exact, rounded up.

        With Gaussian noise, all contrasts are one Gaussian vector, which a unit moves by sqrt(2
        rho) standard deviations (Balle and Wang 2018, Theorem 8); None if delta is 0.
        """
        total = probability(delta, "delta")
        times = whole_number(releases, "releases", 1, MOST_RELEASES)
        stated = self.guarantee
        if isinstance(stated, PureDP):
            return least_epsilon([stated], total, times)
        if total == 0:
            return None
        if not self.delta_of_finding:
            return gaussian_epsilon(times * 2 * stated.rho, total)
        exact = epsilon_of_noise(2 * self.rho_of_all, self.delta_of_finding, total, times)
        return MechanismBase.epsilon_at(self, total, times) if exact is None else exact

    def privacy_losses(self) -> Losses:
        """Return the losses of a release: all contrasts are one Gaussian vector."""
        stated = self.guarantee
        if not isinstance(stated, PureDP):
            return Losses((GaussianLoss(2 * stated.rho),), self.delta_of_finding)
        if self.pure is not None and self.pure.cover is not None:
            return Losses((GeometricLoss(self.epsilon_of_row, self._most),))
        # Noise on contrasts has many rates, and far less rho than its epsilon allows.
        return covering([stated.to_zcdp()])

    def _losses_of_exchange(self, stated: Guarantee) -> Losses:
        if isinstance(stated, ZCDP):
            return Losses((GaussianLoss(2 * stated.rho),))  # one Gaussian vector
        return covering([stated])

    @property
    def description(self) -> str:
        """How a release is made."""
        number, first = len(self.lattice.family), ""
        if self.pure is not None and self.pure.cover is not None:
            return (
                "Tables that add up. The cells of all keys of the tables asked together, with "
                "two-sided geometric noise; each table is a sum of them."
            )
        if self.keys.discovering:
            first = (
                "Values of some keys are found first: those whose number of records, with Gaussian "
                "noise, is above a threshold; all other records are counted as other. "
            )
        noise = "rounded Gaussian" if self.pure is None else "two-sided geometric"
        by_level = f", by level of {', '.join(self.by_level)}" if self.by_level else ""
        return first + (
            f"Tables that add up (residual mechanism). Contrasts of {number} sets of keys with "
            f"{noise} noise{by_level}; each table is their sum."
        )


def bound_variances(lattice: Lattice, scales: Mapping[Table, Fraction]) -> dict[Table, Fraction]:
    """Return sigma_A**2 with what rounding adds, at most.

    Rounding adds at most 1/12 to the variance of a contrast. A product of k rows has a squared
    length of at least 2**k, so in sums of cells that is at most 2**-k / 12 beside sigma_A**2; with
    ranges the squares of standard deviations stand in place of those of lengths.
    """
    return {
        table: s**2
        + 1 / math.prod((lattice.noise(i).least_square for i in table), start=Fraction(12))
        for table, s in scales.items()
    }
