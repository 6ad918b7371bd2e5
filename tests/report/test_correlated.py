"""What releases of correlated noise say: sums, differences, who promised what."""

import math
from typing import Any

import pytest

import dphist as dh
from dphist.document.kind import DataFacts
from dphist.document.mechanism_facts import describe_noise
from dphist.labels.kind import KIND
from dphist.labels.words import (
    chance_in_order,
    deviation_of_difference,
    sums_in_words,
    sure_difference,
)
from dphist.report import summary_text
from tests.support.mechanisms.cases import page

LABELS = [f"ward {i}" for i in range(12)]


def made(**more: Any) -> dh.ThresholdHistogram:
    given: dict[str, Any] = {"noise": "gaussian", "correlated": True, **more}
    return dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=12, labels=LABELS, **given
    )


def test_errors_are_compared_with_independent_describe_noise_the_same_cost() -> None:
    mechanism, alone = made(), made(correlated=False)
    said = sums_in_words(mechanism)
    single, total = (float(made.noise_scale) for made in (mechanism, alone))
    assert f"a count {math.ceil(single * 100) / 100:g} ({math.ceil(total * 10) / 10:g})" in said
    sums = (mechanism.error_of_sum(LABELS), alone.error_of_sum(LABELS))
    assert (
        "the sum of all 12 counts {:g} ({:g})".format(*(math.ceil(each * 10) / 10 for each in sums))
        in said
    )
    assert sums_in_words(alone) == ""
    with pytest.raises(KeyError):
        KIND.document(alone, DataFacts(), None).fact("noise_of_counts")
    found = KIND.document(mechanism, DataFacts(), None).fact("noise_of_counts").value
    assert deviation_of_difference(mechanism) ** 2 == pytest.approx(
        2 * (found["variance"] - found["covariance"])
    )


def test_the_order_of_labels_is_surer_than_the_counts() -> None:
    """The part that both have in common does not change which of two is larger."""
    mechanism = made()
    apart = deviation_of_difference(mechanism)
    assert apart < 1.3 * float(mechanism.noise_scale)  # 1.41 for independent noise
    chance = chance_in_order(mechanism, 1 + 2 * apart)
    assert chance == pytest.approx(0.97725, abs=1e-5)
    assert sure_difference(mechanism) == math.ceil(1 + 1.644854 * apart)
    alone = made(correlated=False)
    assert deviation_of_difference(alone) == pytest.approx(2**0.5 * float(alone.noise_scale))


def test_a_release_says_what_is_shared_and_what_was_promised() -> None:
    mechanism = made()
    data = dh.LabelCounts.from_counts(LABELS, [90] * 12, max_labels=12, max_count=1, only_adds=True)
    release = mechanism.release(data)
    summary, shown = " ".join(summary_text(release).split()), " ".join(page(release).split())
    for said in (summary, shown):
        assert "so it adds up in sums" in said
        assert "asserts that no user adds more or makes any count smaller" in said
    assert "Lebeda 2024" in shown
    assert describe_noise(mechanism).law == "Gaussian, in part the same for all labels"
    assert "rounding costs nothing" in describe_noise(mechanism).exactness
    alone = made(correlated=False).release(data)
    assert "makes any count smaller" not in page(alone)
    assert describe_noise(alone.mechanism).law == "Gaussian, rounded to integers"
