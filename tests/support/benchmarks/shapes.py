"""Shapes of real data that the benchmarks of ranges use."""

import pytest
from benchmarks.data import folder
from benchmarks.ranges.data import Shape, read_shapes


def real_shapes() -> list[Shape]:
    found = [] if folder("ranges") is None else read_shapes(1)
    if len(found) < 9:
        pytest.skip("the histograms are not shipped; name a folder that has them in DPHIST_DATA")
    return found
