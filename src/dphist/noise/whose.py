"""Whose random bits a release was drawn with: the one place that decides it."""

from dphist.noise.inversion import Source


def is_for_tests(source: Source | None, data: object = None) -> bool:
    """Whether random bits come from a caller, and not from the operating system.

    Whoever chose the bits can undo the noise, so what is made with them protects nobody.

    Parameters
    ----------
    source : the caller's randomness, or None for that of the operating system.
    data : what is released; data that were bounded with a caller's randomness say `for_tests`.
    """
    return source is not None or bool(getattr(data, "for_tests", False))
