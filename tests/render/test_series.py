"""Lines in colors of their own: names stand apart, and colors can be read."""

import re
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist.render.series import DASHES, LIGHT, move_apart

MOST_LINES = len(LIGHT)


@given(st.lists(st.floats(0, 100), max_size=8))
def test_names_stand_apart_in_their_order(wanted: list[float]) -> None:
    found = move_apart(np.array(wanted, np.float64), 7.0, 3.0, 97.0)
    order = np.argsort(np.array(wanted), kind="stable")
    assert np.all(np.diff(found[order]) >= 7 - 1e-9)
    assert np.all((found >= 3 - 1e-9) & (found <= 97 + 1e-9))


def test_names_with_room_stay_where_they_want_to_be() -> None:
    np.testing.assert_allclose(move_apart(np.array([50.0, 20.0]), 7, 0, 100), [50, 20])


def brightness(color: str) -> float:
    """Relative luminance, as the Web Content Accessibility Guidelines define it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def colors_on_pages() -> list[list[str]]:
    """Return the colors of lines: light, dark and on paper."""
    css = resources.files("dphist.render").joinpath("page.css").read_text()
    found = re.findall(r"--line-\d: (#[0-9a-f]{6});", css)
    return [found[start : start + MOST_LINES] for start in range(0, len(found), MOST_LINES)]


def test_pages_draw_in_the_colors_of_plots() -> None:
    light, _, paper = colors_on_pages()
    assert light == paper == list(LIGHT)


@pytest.mark.parametrize(("place", "ground"), [(0, "#ffffff"), (1, "#12171d")])
def test_colours_are_legible_as_text(place: int, ground: str) -> None:
    colors = colors_on_pages()[place]
    assert len(set(colors)) == len(DASHES) == MOST_LINES
    for color in colors:
        light, dark = sorted((brightness(color), brightness(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
