"""Noise that, added to two-sided geometric noise, gives that of a smaller epsilon, exactly.

Noise of rate s is that of a larger rate r plus W, where W is 0 with a probability q, and noise of
rate s by itself otherwise: `docs/understand/proofs/added_noise.md`, Lemma 1.
"""

import functools
from fractions import Fraction

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.errors import ParameterError
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative
from dphist.noise.geometric import geometric_law
from dphist.noise.inversion import Source, count_thresholds_above, sample_shape
from dphist.parameters import Exact, positive_number

_WORD_BITS = 62  # of the uniform number, at first: fits into int64
_GUARD = 16


def draw_added_geometric(
    before: Exact, after: Exact, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent W: two-sided geometric noise of rate `before`, plus W, has the rate `after`.

    Parameters
    ----------
    before, after : numbers, 1/10**9 or more; `after` is the smaller one.
    size, source
        As for `two_sided_geometric`.

    Returns
    -------
    (size,) int64

    Raises
    ------
    ParameterError
        If `after` is not below `before`.
    """
    first, second = positive_number(before, "before"), positive_number(after, "after")
    law = geometric_law(second)
    if second >= first:
        raise ParameterError("after", "must be below before: noise cannot be taken away")

    def sample(length: int, drawn_from: Source) -> IntArray:
        drawn = law.sample(length, drawn_from)
        drawn[~_choose(first, second, length, drawn_from)] = 0
        return drawn

    return sample_shape(size, sample, source)


def chance_of_noise(before: Fraction, after: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits * (1 - q): how often W is drawn from noise of rate `after`.

    q = exp(after - before) ((1 - exp(-after)) / (1 - exp(-before)))**2.
    """
    work = bits + 2 * (1 / after).__ceil__().bit_length() + _GUARD
    one = 1 << work
    ratio, small, large = (exp_negative(rate, work) for rate in (before - after, before, after))
    low = ratio[0] * (one - large[1]) ** 2 // (one - small[0]) ** 2
    high = -(-ratio[1] * (one - large[0]) ** 2 // (one - small[1]) ** 2)
    return max(one - high, 0) >> work - bits, ceil_shift(one - low, work - bits)


def _choose(before: Fraction, after: Fraction, size: int, source: Source) -> BoolArray:
    """Return (size,) bool, each True with the probability 1 - q by itself."""
    words = np.frombuffer(source(8 * size), "<u8") >> np.uint64(64 - _WORD_BITS)
    places = words.astype(np.int64)
    low, high = _first_bits(before, after)
    chosen: BoolArray = places < low
    for i in np.flatnonzero((places >= low) & (places < high)).tolist():
        chosen[i] = _is_chosen(before, after, int(places[i]), source)
    return chosen


def _is_chosen(before: Fraction, after: Fraction, word: int, source: Source) -> bool:
    """Whether a uniform number that starts with the bits of `word` is below 1 - q."""

    def tail(index: int, bits: int) -> Enclosure:
        return chance_of_noise(before, after, bits) if index == 0 else (0, 0)

    return count_thresholds_above(tail, word, _WORD_BITS, source) > 0


@functools.lru_cache(maxsize=64)
def _first_bits(before: Fraction, after: Fraction) -> Enclosure:
    return chance_of_noise(before, after, _WORD_BITS)
