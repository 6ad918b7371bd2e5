"""Isotonic projection: the paper's min-max form, and what keeps a band a band.

Lemma 3 of docs/understand/proofs/sorted_counts.md.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dphist.anonymized.band import from_rows_and_columns
from dphist.anonymized.inference import infer_decreasing, isotonic_decreasing

noisy = st.integers(0, 12).flatmap(lambda k: arrays(np.int64, k, elements=st.integers(-30, 30)))


def min_max(values: np.ndarray, weights: np.ndarray) -> list[float]:
    """Hay et al. 2010, Theorem 1, for non-increasing sequences: max over j of min over i."""
    k = len(values)

    def mean(i: int, j: int) -> float:
        return float(np.average(values[i : j + 1], weights=weights[i : j + 1]))

    return [min(max(mean(i, j) for j in range(p, k)) for i in range(p + 1)) for p in range(k)]


@pytest.mark.verify
@given(noisy)
def test_equals_the_min_max_form(values: np.ndarray) -> None:
    expected = min_max(values, np.ones(len(values)))
    np.testing.assert_allclose(isotonic_decreasing(values), expected, atol=1e-9)


@pytest.mark.verify
@given(noisy, st.randoms(use_true_random=False))
def test_weighted_projection_equals_the_min_max_form(values: np.ndarray, rng) -> None:
    weights = np.array([rng.choice([0.25, 1.0, 4.0, 9.0]) for _ in values])
    found = isotonic_decreasing(values, weights)
    np.testing.assert_allclose(found, min_max(values, weights), atol=1e-9)
    np.testing.assert_allclose(np.dot(found, weights), np.dot(values, weights), atol=1e-6)


@given(noisy)
def test_inferred_counts_are_whole_non_negative_and_sorted(values: np.ndarray) -> None:
    counts = infer_decreasing(values)
    assert counts.dtype == np.int64
    assert np.all(counts >= 0)
    assert np.all(np.diff(counts) <= 0)


@given(noisy, st.integers(0, 9), st.randoms(use_true_random=False))
def test_bounded_noise_stays_bounded(values: np.ndarray, t: int, rng) -> None:
    truth = np.sort(np.abs(values))[::-1]
    perturbed = truth + np.array([rng.randint(-t, t) for _ in truth], np.int64)
    assert np.all(np.abs(infer_decreasing(perturbed) - truth) <= t)
    clipped = np.sort(np.maximum(perturbed, 0))[::-1]
    assert np.all(np.abs(clipped - truth) <= t)


@given(noisy)
def test_sorted_sequences_are_left_alone(values: np.ndarray) -> None:
    truth = np.sort(np.abs(values))[::-1]
    assert np.array_equal(infer_decreasing(truth), truth)


def test_rows_and_columns_are_joined() -> None:
    joined = from_rows_and_columns(np.array([9, 4, 0]), np.array([3, 1, 1]))
    assert joined.sorted_counts().tolist() == [9, 4, 3, 1, 1]
    assert from_rows_and_columns(np.zeros(0, np.int64), np.zeros(0, np.int64)).total == 0
