"""Colors of the lines: distinguishable for most eyes, with enough contrast to be read as text."""

from markupsafe import Markup

# On white and on the dark background of the page, each has a contrast of at least 4.5 to 1.
LIGHT = (
    *("#17599f", "#b3420a", "#00704a", "#8a2f86"),
    *("#7a5200", "#00707f", "#b8226a", "#56616e"),
)
DARK = (
    *("#8cbcf2", "#f2a07a", "#6fd0a6", "#d9a0e0"),
    *("#e3c070", "#6fd0dc", "#f492b8", "#b4bec9"),
)
# The last four are dashed as well: not everybody can distinguish eight lines by color alone.
DASHES: tuple[object, ...] = (*["-"] * 4, *[(0, (5, 1.4))] * 4)

STAND_INS = tuple(f"#0a000{i}" for i in range(1, len(LIGHT) + 1))
"""Colors that lines of a page are drawn with, until `with_variables` replaces them."""


def with_variables(figure: Markup) -> Markup:
    """Replace the stand-ins of a figure by colors that follow the reader's scheme."""
    drawn = str(figure)
    for i, stand_in in enumerate(STAND_INS, 1):
        drawn = drawn.replace(stand_in, f"var(--line-{i})")
    style = (
        f"<style>:root {{{_variables(LIGHT)}}} "
        f"@media (prefers-color-scheme: dark) {{:root {{{_variables(DARK)}}}}} "
        f"@media print {{:root {{{_variables(LIGHT)}}}}}</style>"
    )
    return Markup(drawn.replace("</svg>", f"{style}</svg>"))  # noqa: S704 - colors, none of data


def _variables(colors: tuple[str, ...]) -> str:
    return " ".join(f"--line-{i}: {color};" for i, color in enumerate(colors, 1))
