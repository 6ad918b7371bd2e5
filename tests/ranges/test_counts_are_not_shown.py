"""What a mechanism for ranges holds of the data on its way is shown nowhere."""

from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.ranges.measuring import RangesMeasuring
from tests.support.refusal import NUMBER


@pytest.mark.parametrize("data", [[NUMBER, 2], np.array([[NUMBER, 2]])], ids=["list", "array"])
def test_the_repr_of_counts_on_their_way_has_none(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of local variables, or a debugger's, would publish them."""
    held: list[object] = []
    accept = RangesMeasuring._accept

    def kept(self: RangesMeasuring, counts: Any) -> None:
        held.append(counts)
        accept(self, counts)

    monkeypatch.setattr(RangesMeasuring, "_accept", kept)
    dh.LeafCounts(epsilon=1, bins=np.shape(data)).release(data)
    (found,) = held
    assert str(NUMBER) not in f"{found!r} {found}".replace(",", "").replace("_", "")
