"""Profiles that no private mechanism can release well: those of the lower-bound proofs.

Each encodes bits so that profiles of different bits lie apart: a mechanism with less error
than the bound would tell the bits, which differential privacy forbids.

Low privacy, epsilon >= 1: error of order sqrt(n) e^-epsilon is needed (Suresh 2019, Theorem 2;
Manurangsi 2022, Appendix C). High privacy, epsilon < 1: sqrt(n ln(1/epsilon) / epsilon)
(Manurangsi 2022, Theorem 7 and Lemma 8; the encoding here has a representative count a bit in
place of the paper's blocks of them).
"""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dphist import Profile

IntArray = npt.NDArray[np.int64]

# From here on neighboring representative counts may be equal: they are sqrt(ln(1/epsilon))
# apart where they start, and a bit must move something.
LARGEST_EPSILON = 1 / math.e


def low_privacy_bits(n: int) -> int:
    """Return how many bits an instance of at most `n` records encodes: floor(sqrt(n))."""
    return math.isqrt(n)


def low_privacy(n: int, bits: Iterable[int]) -> Profile:
    """Return the instance with counts 2 (k - i) + bit i, for i = 1..k.

    Neighboring counts stay in order whatever the bits, so the sorted L1 distance of two
    instances is the Hamming distance of their bits, exactly.

    Parameters
    ----------
    n : bound on the number of records.
    bits : (low_privacy_bits(n),) of 0 and 1.
    """
    k = low_privacy_bits(n)
    return Profile.from_counts(2 * np.arange(k - 1, -1, -1) + _checked(bits, k))


def representatives(n: int, epsilon: float) -> tuple[IntArray, IntArray]:
    """Return the counts that labels of the high-privacy instance have, and how many have each.

    Returns
    -------
    counts : (k + 1,) int64, ascending; floor(sqrt(n epsilon) (1 + q)^j) up to A, and one more.
    labels : (k,) int64; floor(A / counts[j]), so that each bit's labels have about A records.
        Here A = sqrt(n / (epsilon ln(1/epsilon))) / 2 and q = sqrt(ln(1/epsilon) / (n epsilon)),
        so a bit moves q A = 1 / (2 epsilon) records, up to rounding.

    Raises
    ------
    ValueError
        If epsilon is above 1/e, or an instance might have more than `n` records.
    """
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ValueError("epsilon must be above 0 and at most 1/e")
    log = math.log(1 / epsilon)
    largest = math.sqrt(n / (epsilon * log)) / 2
    ratio = 1 + math.sqrt(log / (n * epsilon))
    smallest = math.sqrt(n * epsilon)
    if smallest < 1:
        raise ValueError("n * epsilon must be at least 1")
    steps = np.arange(math.ceil(math.log(largest / smallest, ratio)) + 2)
    counts = np.floor(smallest * ratio**steps).astype(np.int64)
    k = int(np.count_nonzero(counts <= largest))
    labels = np.floor(largest / counts[:k]).astype(np.int64)
    if int(counts[1 : k + 1] @ labels) > n:
        raise ValueError("n * epsilon is too small: with all bits set there are more records")
    return counts[: k + 1], labels


def high_privacy_bits(n: int, epsilon: float) -> int:
    """Return how many bits an instance for `epsilon` of at most `n` records encodes."""
    return len(representatives(n, epsilon)[1])


def high_privacy(n: int, epsilon: float, bits: Iterable[int]) -> Profile:
    """Return the instance in which a bit set to 1 lifts its labels to the next representative.

    A label never gets beyond the next bit's, so the sorted L1 distance of two instances is the
    sum of what the differing bits move.

    Parameters
    ----------
    n : bound on the number of records.
    epsilon : the mechanism's epsilon, which the instance is made against.
    bits : (high_privacy_bits(n, epsilon),) of 0 and 1.
    """
    counts, labels = representatives(n, epsilon)
    lifted = _checked(bits, len(labels))
    return Profile.from_prevalences(counts[np.arange(len(labels)) + lifted], labels)


def moved_by_each_bit(n: int, epsilon: float) -> IntArray:
    """Return by how many cells each bit moves the high-privacy instance, (k,) int64."""
    counts, labels = representatives(n, epsilon)
    return np.diff(counts) * labels


def low_privacy_order(n: float, epsilon: float) -> float:
    """Return the order of the error that is needed for epsilon >= 1."""
    return math.sqrt(n) * math.exp(-epsilon)


def high_privacy_order(n: float, epsilon: float) -> float:
    """Return the order of the error that is needed for epsilon < 1."""
    return math.sqrt(n * math.log(1 / epsilon) / epsilon)


def random_bits(k: int, generator: np.random.Generator) -> IntArray:
    """Return `k` fair bits; they make test data and never noise."""
    return generator.integers(0, 2, k)


def _checked(bits: Iterable[int], k: int) -> IntArray:
    array = np.asarray(bits, np.int64)
    if array.shape != (k,) or not np.isin(array, (0, 1)).all():
        raise ValueError(f"bits must be {k} zeros and ones")
    return array
