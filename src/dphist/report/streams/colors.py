"""Colors of the lines: told apart by most eyes, and dark or light enough to be read as text."""

from markupsafe import Markup

# On white, and on the page's dark ground: each with a contrast of at least 4.5 to 1.
LIGHT = (
    *("#17599f", "#b3420a", "#00704a", "#8a2f86"),
    *("#7a5200", "#00707f", "#b8226a", "#56616e"),
)
DARK = (
    *("#8cbcf2", "#f2a07a", "#6fd0a6", "#d9a0e0"),
    *("#e3c070", "#6fd0dc", "#f492b8", "#b4bec9"),
)
# The later four are also dashed: colors alone do not tell eight lines apart for everybody.
DASHES: tuple[object, ...] = (*["-"] * 4, *[(0, (5, 1.4))] * 4)

STAND_INS = tuple(f"#0a000{i}" for i in range(1, len(LIGHT) + 1))
"""What the lines are drawn with for a page, where `with_variables` puts its own colors."""


def with_variables(figure: Markup) -> Markup:
    """Return a figure drawn with the stand-ins, whose colors follow the reader's scheme."""
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
