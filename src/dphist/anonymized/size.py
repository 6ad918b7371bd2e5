"""How many noisy counts a mechanism makes at most, where noisy numbers say how many there are."""

from dphist.errors import SizeError

MOST_COUNTS = 2**25
"""Of rows, and of columns: with arrays of so many the mechanisms take some gigabytes."""


def check_size(noisy: int) -> None:
    """Refuse a number of counts that is a function of public and noisy numbers alone.

    That a release is refused is then part of what the guarantee covers, like the private estimate
    itself. What it has cost is spent.

    Raises
    ------
    SizeError
        If it is larger than `MOST_COUNTS`.
    """
    if noisy > MOST_COUNTS:
        raise SizeError(
            "by a private estimate there are too many records for this mechanism: use "
            "AdaptiveScan, which takes any number; this release has cost its epsilon all the same"
        )
