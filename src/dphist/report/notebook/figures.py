"""Small figures of cards."""

from itertools import count
from typing import Any

from markupsafe import Markup

_NUMBERS = count(1)  # figures of one notebook need names of their own


def drawn(chart: Any, description: str) -> Markup:
    """Draw a chart as `<svg>`; matplotlib is imported here, where something is drawn."""
    from dphist.report.svg import inline_svg

    return inline_svg(chart, f"dphist-{next(_NUMBERS)}", description, 260)
