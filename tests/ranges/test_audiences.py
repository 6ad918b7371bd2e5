"""A release with more noise, for another audience: `docs/understand/proofs/added_noise.md`."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

import dphist as dh
from dphist.errors import ParameterError
from dphist.ranges import audiences
from dphist.report import summary_text

MECHANISMS = [
    dh.LeafCounts(epsilon=2, bins=5),
    dh.LeafCounts(epsilon=3, bins=(3, 4), sensitivity=3),
    dh.HierarchicalTree(epsilon=2, bins=9, branching=3),
    dh.HierarchicalTree(epsilon=2, bins=9, branching=2, root=False, consistent=False),
    dh.HierarchicalTree(epsilon=4, bins=(4, 4), nonnegative="subtrees", sensitivity=2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_all_noise_is_of_the_smaller_rate(mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each noisy count gets noise of its own, from its rate to that of the mechanism at 0.5."""
    asked = []

    def recorded(before, after, size, source):
        asked.append((before, after, size))
        return np.full(size, 1000 * len(asked))

    monkeypatch.setattr(audiences, "draw_added_geometric", recorded)
    release = mechanism.release(np.arange(np.prod(mechanism.bins)).reshape(mechanism.bins))
    public = dh.add_noise(release, epsilon="0.5")
    fresh = public.mechanism.release(np.zeros(mechanism.bins, np.int64))
    levels = getattr(mechanism, "levels", 1)
    rates = (
        mechanism.epsilon / mechanism.sensitivity / levels,
        Fraction(1, 2) / mechanism.sensitivity / levels,
    )
    noisy = release.noisy or {"bins": release.value.counts}
    assert asked == [(*rates, counts.shape) for counts in noisy.values()]
    assert public.guarantee == fresh.guarantee
    assert public.guarantee.epsilon == Fraction(1, 2)
    assert list(public.noisy) == list(fresh.noisy)
    for place, (name, counts) in enumerate(release.noisy.items(), start=1):
        assert (public.noisy[name] == counts + 1000 * place).all()
    if public.noisy:
        assert (public.value.counts == public.mechanism.decode(public.noisy).counts).all()
    else:
        assert (public.value.counts == release.value.counts + 1000).all()


def test_counts_fit_a_release_from_the_data() -> None:
    """The law of one bin, and independence of two."""
    release = dh.LeafCounts(epsilon=2, bins=100_000).release(np.full(100_000, 7))
    noise = dh.add_noise(release, epsilon="0.5").value.counts - 7
    a, values = np.exp(-0.5), np.arange(-8, 9)
    seen = np.array([(noise == z).sum() for z in values])
    expected = len(noise) * (1 - a) / (1 + a) * a ** np.abs(values)
    seen, expected = (np.append(x, len(noise) - x.sum()) for x in (seen, expected))
    assert chisquare(seen, expected).pvalue > 1e-9
    assert abs(np.corrcoef(noise[::2], noise[1::2])[0, 1]) < 0.03


def test_together_they_cost_what_the_first_costs() -> None:
    """A chain of audiences needs the first release alone, also after it was saved and loaded."""
    release = dh.HierarchicalTree(epsilon=2, bins=8).release(np.full(8, 90))
    chain = [dh.Release.from_json(release.to_json())]
    for epsilon in ("1", "0.5", "0.1"):
        chain.append(dh.Release.from_json(dh.add_noise(chain[-1], epsilon=epsilon).to_json()))
    for before, after in pairwise(chain):
        assert after.provenance["added_to"] == str(float(before.guarantee.epsilon)).removesuffix(
            ".0"
        )
        assert after.value.axes == release.value.axes
    text = " ".join(summary_text(chain[1]).split())
    assert "together they cost epsilon 2" in text


def test_what_is_left_out_and_kept() -> None:
    people = {"age": [3, 5, 200], "who": ["a", "b", "b"]}
    counts = dh.bin_counts(people, column="age", edges=[0, 4, 8], user="who", max_records=2)
    made = dh.LeafCounts(epsilon=20, bins=2, sensitivity=2)
    release = made.release(counts).present(title="Ages")
    public = dh.add_noise(release, epsilon=1)
    assert release.value.outside
    assert not public.value.outside
    assert public.presentation.title == "Ages"
    assert public.provenance["unit"] == release.provenance["unit"]
    assert not public.for_tests
    assert dh.add_noise(release, epsilon=1, source=lambda size: bytes(size)).for_tests


@pytest.mark.parametrize(
    ("release", "epsilon", "said"),
    [
        (dh.LeafCounts(epsilon=1, bins=2).release([1, 2]), 1, "epsilon must be below"),
        (dh.LeafCounts(epsilon=1, bins=2).release([1, 2]), 2, "epsilon must be below"),
        (dh.LeafCounts(epsilon=1, bins=2).release([1, 2]), 0, "epsilon must be greater than 0"),
        (dh.LeafCounts(rho=1, bins=2).release([1, 2]), "0.1", "Gaussian noise"),
        (
            dh.AdaptiveTree(epsilon=1, bins=2).release([1, 2]),
            "0.1",
            "LeafCounts or HierarchicalTree",
        ),
        (dh.anonymize(dh.Profile.from_counts([3, 4]), epsilon=1), "0.1", "LeafCounts or Hier"),
    ],
)
def test_other_releases_are_refused(release, epsilon, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.add_noise(release, epsilon=epsilon)
