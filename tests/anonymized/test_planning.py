"""Plans of anonymized histograms state what the mechanism states, and releases what they show."""

import pytest

import dphist as dh
from dphist.planning.declared import count_guessers
from tests.support.planning.verdicts import verdicts


@pytest.mark.verify
def test_every_number_is_the_library_s_own() -> None:
    for row in dh.plan("anonymized", epsilon=[1, 4], total=3000):
        made = dh.AdaptiveScan(epsilon=row["epsilon"], sensitivity=row["sensitivity"])
        assert made.epsilon_at(0) <= row["epsilon"], "it costs no more than is stated"
        assert row["guessed_right"] == count_guessers(row["epsilon"])
        assert row["profile_error"] == made.expected_error(3000)
        assert row["relative_error"] == row["profile_error"] / 3000


@pytest.mark.verify
def test_anonymized(shakespeare: dh.Profile) -> None:
    release = dh.AdaptiveScan(epsilon=1).release(shakespeare)
    error = release.mechanism.expected_error(shape=release)
    found = verdicts(
        release,
        "anonymized",
        [
            f"profile error < {error + 1:.1f}",
            f"profile error < {error - 1:.1f}",
            "profile error < 0.1 %",
            "at least 1000 labels",
            "at least 1000000 labels",
        ],
        total=9,
    )
    assert list(found.values()) == [True, False, True, True, False]
