"""The order of rows by whole numbers, sorted by counting.

NumPy sorts numbers of 16 bits by counting, ten times as fast as it sorts words.
"""

import numpy as np

from dphist.arrays import IntArray, WordArray

_DIGIT = 16


def order_by(words: WordArray, bits: int) -> IntArray:
    """Return the order of rows by whole numbers; equal ones keep their order.

    Parameters
    ----------
    words : (rows,) uint64, below ``2**bits``.
    bits : a multiple of 16.

    Returns
    -------
    (rows,) int64
    """
    order: IntArray = np.argsort(words.astype(np.uint16), kind="stable")
    for place in range(_DIGIT, bits, _DIGIT):
        digits = (words >> np.uint64(place)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order
