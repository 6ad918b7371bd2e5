"""How sure an order is: the chance against draws of the mechanisms' own noise."""

import numpy as np
import pytest

import dphist as dh
from dphist.labels.words import chance_in_order, order_in_words, sure_difference

MECHANISMS = {
    "laplace": dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=1),
    "gaussian": dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=1, noise="gaussian"),
    "gumbel": dh.TopLabels(k=2, candidates=2, epsilon="0.5", delta="1e-6"),
}
DRAWS = 3000


def in_order(name: str, difference: int, seeded) -> float:
    """Return how often the larger of two counts came out as the larger one."""
    mechanism, right = MECHANISMS[name], 0
    for seed in range(DRAWS):
        source = seeded(seed)
        if name == "gumbel":
            right += mechanism.choose([10**6 + difference, 10**6], source)[0] == 0
        else:
            noisy, _ = mechanism.noise_law().add(
                np.array([10**6 + difference, 10**6]), None, source
            )
            right += int(noisy[0]) > int(noisy[1])
    return right / DRAWS


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("difference", [1, 5])
@pytest.mark.quick(every=6)
def test_the_chance_is_that_of_the_noise(name: str, difference: int, seeded) -> None:
    stated = chance_in_order(MECHANISMS[name], difference)
    found = in_order(name, difference, seeded)
    margin = 4.5 * np.sqrt(0.25 / DRAWS)
    assert found >= stated - margin
    # Rounding makes the statement for Gaussian noise a lower bound, by less than one record.
    most = chance_in_order(MECHANISMS[name], difference + (name == "gaussian"))
    assert found <= most + margin


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_the_sure_difference_is_the_smallest(mechanism) -> None:
    sure = sure_difference(mechanism)
    assert chance_in_order(mechanism, sure) >= 0.95 > chance_in_order(mechanism, sure - 1)
    assert f"differ by {sure} records" in order_in_words(mechanism)


@pytest.mark.verify
def test_a_released_ranking_tells() -> None:
    counts = dh.LabelCounts.from_counts(["a", "b"], [90, 30], max_labels=None, max_count=1)
    release = MECHANISMS["gumbel"].release(counts)
    from dphist.report import report_html

    assert "are in the right order with a probability of 95" in report_html(release)
