"""Numbers of a comparison as text."""

from fractions import Fraction

from dphist.privacy import Guarantee, PureDP, delta_of


def number_text(value: str | float) -> str:
    """Round to three digits or to whole numbers, whichever is finer.

    >>> number_text(1234.5), number_text(0.012345), number_text(7)
    ('1,234', '0.0123', '7')
    """
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def capital(text: str) -> str:
    """Return a text that begins with a capital.

    >>> capital("sorted L1 error")
    'Sorted L1 error'
    """
    return text[:1].upper() + text[1:]


def epsilon_text(epsilon: Fraction) -> str:
    """Write an epsilon as a decimal."""
    return f"{float(epsilon):g}"


def seconds_text(seconds: float) -> str:
    """Write a time.

    >>> seconds_text(0.0012), seconds_text(32.1), seconds_text(1234)
    ('1.2 ms', '32 s', '1,234 s')
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds * 1000:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def guarantee_text(guarantee: Guarantee) -> str:
    """Say in a word or two whether a guarantee is pure."""
    if isinstance(guarantee, PureDP):
        return "pure"
    delta = float(delta_of(guarantee))
    return f"approximate, δ = {delta:g}" if delta else "zCDP"
