"""The only place that decides whether a release uses random bits from a caller."""

from dphist.noise.inversion import Source


def is_for_tests(source: Source | None, data: object = None) -> bool:
    """Whether random bits come from a caller instead of the operating system.

    Anyone who knows the bits can remove the noise, so such a release protects nobody.

    Parameters
    ----------
    source : the caller's random bits, or None for those of the operating system.
    data : the data to release; `for_tests` marks data bounded with a caller's randomness.
    """
    return source is not None or bool(getattr(data, "for_tests", False))
