"""NoiseLaw: the noise that a mechanism draws, stated once; pages and disclosures read it."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Literal, TypeAlias

from dphist.noise.magnitude import geometric_standard_deviation

Distribution: TypeAlias = Literal[
    "two-sided geometric", "truncated geometric", "optimal", "Gaussian", "Gumbel"
]

_FLOAT64 = "This assumes that float64 is added and multiplied with relative errors"


class Drawing(Enum):
    """How noise is drawn and combined, and what that assumes; each value is a text for readers."""

    WHOLE = (
        "The noise is drawn exactly: integer arithmetic on random bits decides every value, so "
        "attacks on the rounding of floating-point noise do not apply."
    )
    ROUNDED = (
        "The sum of count and noise is rounded exactly: floating point proposes an integer, and "
        f"integer arithmetic decides where it is uncertain. {_FLOAT64} of at most 2^-53 (IEEE 754)."
    )
    SHARED = (
        "Each label's own part and the part in common are whole numbers of small units, so sums "
        "are exact, and rounding costs nothing. Floating point proposes each part, and integer "
        f"arithmetic decides where it is uncertain. {_FLOAT64} of at most 2^-53 (IEEE 754)."
    )
    RUNNING = (
        "Noise is a whole number of small units, so sums and comparisons are exact, and what "
        f"rounding costs is in the guarantee. {_FLOAT64} of at most 2^-53 (IEEE 754). Delta leaves "
        "out two events of probability below 2^-100: that a random salt repeats, and that two "
        "users have one hash."
    )
    COMPARED = (
        "Comparisons of noisy counts are decided exactly: floating point proposes, and further "
        "random bits decide what is uncertain. This assumes that NumPy's log and log1p and SciPy's "
        "inverse normal distribution function err by less than 2^-37 (1 + |x|)."
    )
    PROPOSED = (
        "The draw is exact: floating point proposes values and integers decide them. "
        f"{_FLOAT64} below 2^-52 (IEEE 754)."
    )


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The law of the noise on the numbers that a mechanism measures.

    Attributes
    ----------
    distribution : str or None
        Name of the distribution; None for the exponential mechanism, which adds no noise to counts.
    scale : Fraction, float or None
        1 / rate of geometric and of optimal noise, the standard deviation of Gaussian noise, the
        scale of Gumbel noise, in records. Where several numbers get different noise, the smallest.
    drawing : how the noise is drawn.
    form : what the noise is rounded to, within what it stays, or which numbers share it; empty if
        nothing is to be said.
    step : the unit that the noise is a whole number of, as a share of a record.

    >>> print(NoiseLaw("two-sided geometric", Fraction(10), Drawing.WHOLE))
    two-sided geometric (integer Laplace)
    """

    distribution: Distribution | None
    scale: Fraction | float | None
    drawing: Drawing
    form: str = ""
    step: Fraction = Fraction(1)

    @property
    def name(self) -> str:
        """The distribution, with the other name that readers may know it by."""
        if self.distribution is None:
            return "none on counts: the exponential mechanism"
        integer = " (integer Laplace)" if self.distribution == "two-sided geometric" else ""
        return f"{self.distribution}{integer}"

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of two-sided geometric or Gaussian noise, in records."""
        scale = float(self.scale or 0)
        if self.distribution == "Gaussian" or not scale:
            return scale
        rate = self.step / Fraction(self.scale or 1)
        return float(self.step) * geometric_standard_deviation(rate)

    def __str__(self) -> str:
        return f"{self.name}, {self.form}" if self.form else self.name


ROUNDED = "rounded to integers"
"""The form of Gaussian noise on whole counts."""
