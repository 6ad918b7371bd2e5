"""The only place that decides whether a release uses random bits from a caller."""

from contextvars import ContextVar

from dphist.noise.inversion import Source

KNOWN_NOISE: ContextVar[bool] = ContextVar("known_noise", default=False)
"""Whether something known stands in for the samplers here, as in the replays of an audit."""


def is_for_tests(source: Source | None, data: object = None) -> bool:
    """Whether random bits come from a caller instead of the operating system.

    Anyone who knows the bits can remove the noise, so such a release protects nobody.

    Parameters
    ----------
    source : the caller's random bits, or None for those of the operating system. Noise that an
        audit chooses is the caller's as well.
    data : the data to release; `for_tests` marks data bounded with a caller's randomness.
    """
    known = source is not None or KNOWN_NOISE.get()
    return known or bool(getattr(data, "for_tests", False))
