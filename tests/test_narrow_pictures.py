"""Pictures of results for narrow windows show what the pictures beside them show."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

IMAGES = Path(__file__).parents[1] / "docs" / "images"
sys.path.append(str(IMAGES))
narrow = importlib.import_module("narrow")

WIDEST = 600  # pixels: text has about 10 pixels or more in a window of 400


@pytest.mark.parametrize("name", narrow.RECIPES)
@pytest.mark.quick(every=10)
def test_a_narrow_variant_is_cut_from_the_picture_as_it_is_now(name) -> None:
    with Image.open(IMAGES / f"{name}-narrow.png") as kept:
        found, expected = kept.convert("RGB"), narrow.cut(name).convert("RGB")
    assert found.size == expected.size
    # Versions of Pillow may choose other palettes, never another picture.
    difference = np.abs(np.asarray(found, float) - np.asarray(expected, float))
    assert difference.mean() < 2


def test_every_picture_has_a_variant_that_fits_a_narrow_window() -> None:
    wide = [path for path in IMAGES.glob("*.png") if not path.stem.endswith("-narrow")]
    for path in wide:
        with Image.open(path.with_stem(f"{path.stem}-narrow")) as kept:
            assert kept.width <= WIDEST, path
