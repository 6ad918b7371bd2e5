"""Guessing: the definitions, word by word, on every small profile; uniform laws; errors."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import data
from dphist import AnonymizedHistogram, Profile, anonymize
from dphist.errors import ParameterError
from dphist.properties.estimate import Estimate
from dphist.properties.guessing import compute_opened_share, guessing, guesswork

some_counts = st.lists(st.integers(1, 9), min_size=1, max_size=8)
shares = st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100)


def law(counts: list[int]) -> list[Fraction]:
    return [Fraction(c, sum(counts)) for c in sorted(counts, reverse=True)]


def by_definition(counts: list[int], alpha: Fraction) -> tuple[int, Fraction, Fraction]:
    """mu_alpha, lambda of it and G_alpha, summed label by label (Bonneau 2012)."""
    p = law(counts)
    mu = next(j for j in range(1, len(p) + 1) if sum(p[:j]) >= alpha)
    opened = sum(p[:mu], Fraction(0))
    return mu, opened, (1 - opened) * mu + sum(i * q for i, q in enumerate(p[:mu], 1))


@pytest.mark.verify
@given(some_counts, shares)
def test_share_is_what_the_definitions_say(counts: list[int], alpha: Fraction) -> None:
    profile = Profile.from_counts(counts)
    mu, opened, mean = by_definition(counts, alpha)
    found = guesswork(profile, alpha)
    assert found.dictionary == mu
    assert found.opened == pytest.approx(float(opened), rel=1e-14)
    assert found.guesswork == pytest.approx(float(mean), rel=1e-13)
    assert guessing(profile, share=alpha).value == found.guesswork
    assert guessing(profile, share=alpha, measure="dictionary").value == mu


@given(some_counts, st.integers(0, 12))
def test_guesses_open_the_most_frequent_labels(counts: list[int], tries: int) -> None:
    opened = guessing(Profile.from_counts(counts), guesses=tries).value
    assert isinstance(opened, float)
    assert opened == pytest.approx(float(sum(law(counts)[:tries])), rel=1e-15)


@given(some_counts)
def test_several_guesses_are_the_single_ones_and_do_not_fall(counts: list[int]) -> None:
    profile = Profile.from_counts(counts)
    tries = np.arange(12)
    several = compute_opened_share(profile, tries)
    assert several.tolist() == [guessing(profile, guesses=int(b)).value for b in tries]
    assert np.all(np.diff(several) >= 0)
    assert several[0] == 0
    assert several[-1] == 1
    assert compute_opened_share(profile, tries[:0]).shape == (0,)


@pytest.mark.verify
@given(some_counts)
def test_more_accounts_take_more_guesses(counts: list[int]) -> None:
    profile = Profile.from_counts(counts)
    rising = [Fraction(i, 20) for i in range(1, 21)]
    for measure in ("guesswork", "dictionary"):
        found = [guessing(profile, share=alpha, measure=measure).value for alpha in rising]
        assert all(a <= b for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("measure", ["guesswork", "dictionary"])
@pytest.mark.parametrize("labels", [1, 2, 10, 1000])
@pytest.mark.parametrize("share", ["1/10", "1/2", 1])
def test_bits_of_a_uniform_law_are_the_logarithm_of_its_labels(
    measure: str, labels: int, share: str
) -> None:
    profile = Profile.from_prevalences([7], [labels])
    bits = guessing(profile, share=share, measure=measure, bits=True).value
    # A share that ends within a label opens all of this label.
    assert bits == pytest.approx(math.log2(labels), abs=1e-12)


def test_shares_are_exact() -> None:
    """3/10 of ten accounts are three: float arithmetic would ask for a fourth."""
    profile = Profile.from_prevalences([1], [10])
    assert guessing(profile, share=0.3, measure="dictionary").value == 3
    assert guessing(profile, share="0.3000000000000001", measure="dictionary").value == 4


def test_nothing_is_opened_without_records() -> None:
    empty = Profile.from_counts([])
    assert guessing(empty, guesses=5).value == 0
    assert compute_opened_share(empty, np.array([0, 5])).tolist() == [0, 0]
    for bits, measure in itertools.product((False, True), ("guesswork", "dictionary")):
        assert guessing(empty, share=1, measure=measure, bits=bits).value == 0


def test_yahoo_is_as_hard_as_published() -> None:
    """Bonneau 2012, in bits: one guess 6.5, ten guesses 9.1, a quarter 17.6."""
    yahoo = Profile.read(data.ROOT / "data" / "passwords_yahoo.csv")
    one, ten = compute_opened_share(yahoo, np.array([1, 10]))
    assert -math.log2(one) == pytest.approx(6.5, abs=0.06)
    assert math.log2(10 / ten) == pytest.approx(9.1, abs=0.06)
    assert guessing(yahoo, share="1/4", bits=True).value == pytest.approx(17.6, abs=0.06)


def test_large_profiles_need_no_expansion() -> None:
    profile = Profile.from_prevalences([1, 10**6], [2**61, 2**40])
    assert guessing(profile, guesses=2**40).value == pytest.approx(2**40 * 10**6 / profile.total)
    assert guessing(profile, share=1, measure="dictionary").value == 2.0**61 + 2.0**40


def test_the_largest_data_do_not_wrap() -> None:
    """Just below 2**62 records, the most that data may have."""
    profile = Profile.from_prevalences([2**31 - 1, 2**31], [2**30, 2**30 - 1])
    assert 2**62 - 2**33 < profile.total < 2**62
    exact = Fraction(2**31 * 1000, profile.total)
    assert guessing(profile, guesses=1000).value == pytest.approx(float(exact), rel=1e-15)
    assert guessing(profile, guesses=2**62).value == 1
    assert guessing(profile, share=1, measure="dictionary").value == 2.0**31 - 1
    half = guessing(profile, share="1/2", measure="dictionary").value
    assert half == math.ceil(Fraction(profile.total, 2**32))
    assert 2**29 < guessing(profile, share=1).value < 2**31


@pytest.mark.parametrize("asked", [{"guesses": 3}, {"share": "1/2"}])
@pytest.mark.parametrize("counts", [[2**61], [2**62, 2**62 + 1]])
def test_totals_that_no_data_have_are_refused(asked: dict[str, Any], counts: list[int]) -> None:
    """Noise may lift a release so far that sums of its counts wrap."""
    endless = AnonymizedHistogram(counts, [4] * len(counts))
    with pytest.raises(ParameterError, match="source must have fewer than 2\\*\\*62 records"):
        guessing(endless, **asked)


def test_full_says_what_it_rests_on() -> None:
    profile = Profile.from_prevalences([1, 6, 30], [40, 5, 2])
    found = guessing(profile, guesses=7)
    assert isinstance(found, Estimate)
    assert found.value == 90 / 130
    assert found.standard_error == pytest.approx(math.sqrt(90 / 130 * 40 / 130 / 130))
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]
    assert not any("beyond" in note for note in found.notes)
    assert any("beyond 7 guesses" in n for n in guessing(profile, guesses=8).notes)
    many = Profile.from_prevalences([1, 6], [1, 12_345])
    notes = guessing(many, guesses=12_346).notes
    assert any("beyond 12,345 guesses" in note for note in notes)
    assert any("fewer labels" in n for n in guessing(profile, guesses=48).notes)
    bits = guessing(profile, share="1/2", bits=True)
    assert (bits.unit, bits.standard_error) == ("bits", None)
    assert guessing(profile, share="1/2").unit == "guesses"


def test_a_release_answers_with_its_own_total() -> None:
    rng = np.random.default_rng(8)
    release = anonymize(Profile.from_prevalences([1, 40], [50, 5]), epsilon=1, source=rng.bytes)
    assert guessing(release, guesses=3).value == guessing(release.value, guesses=3).value


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"guesses": 1, "share": 1},
        {"guesses": -1},
        {"guesses": 1.0},
        {"guesses": True},
        {"guesses": [1, -1]},
        {"guesses": [0.5]},
        {"guesses": [[1]]},
        {"guesses": 1, "bits": True},
        {"guesses": 1, "measure": "dictionary"},
        {"share": 0},
        {"share": "1.01"},
        {"share": float("nan")},
        {"share": 1, "measure": "entropy"},
    ],
)
def test_errors_name_the_parameter(asked: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"guesses|share|measure"):
        guessing(Profile.from_counts([2, 1]), **asked)


def test_an_estimate_is_of_one_number_of_guesses() -> None:
    with pytest.raises(ParameterError, match="guesses must be a whole number"):
        guessing(Profile.from_counts([2, 1]), guesses=[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("guesses", [10, 100])
@pytest.mark.parametrize(("n", "even"), [(1000, True), (3000, True), (1000, False)])
@pytest.mark.quick(every=6)
def test_intervals_hold_the_share_of_the_most_probable(guesses: int, n: int, even: bool) -> None:
    """Of an even law, which labels come first is chance; that of the profile is no estimate."""
    law = np.full(1000, 1e-3) if even else 1 / np.arange(1, 1001) / np.sum(1 / np.arange(1, 1001))
    true, random, held, flat = law[:guesses].sum(), np.random.default_rng(7), 0, 0
    for _ in range(60):
        found = guessing(Profile.from_counts(random.multinomial(n, law)), guesses=guesses)
        assert found.interval is not None
        assert found.standard_error is not None
        held += found.interval[0] <= true <= found.interval[1]
        flat += abs(found.value - true) <= 1.96 * found.standard_error
    assert held >= 54
    assert flat <= 10 or (not even and guesses == 10)
