"""The counts of keyed tables, by the places of their cells."""

import numpy as np

from dphist.tables import KeyedCounts


def cells(counts: KeyedCounts) -> dict[tuple[int, ...], int]:
    places = np.unravel_index(counts.cells, counts.keys.shape)
    return dict(
        zip(zip(*map(np.ndarray.tolist, places), strict=True), counts.counts.tolist(), strict=True)
    )
