"""The inverse of the hash that gives users their numbers."""

from dphist.counting.bounding import user_parts


def unstirred(number: int) -> int:
    """Return the user whose number `stir` is."""
    first, second = (pow(int(odd), -1, 2**64) for odd in user_parts._ODD)
    number = number * second % 2**64
    return (number ^ number >> 32) * first % 2**64
