"""Numbers about privacy are rounded to the side that claims less, in every sentence."""

import decimal
import json
import math
import re
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dphist as dh
from dphist import ApproxDP, Profile, PureDP
from dphist.document import guarantee_words as words
from dphist.document import mechanism_facts
from dphist.document.totals import guarantee_json
from dphist.document.unit_words import Contribution, threshold_text
from dphist.labels import words as labels_words
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.privacy.as_text import down, float_up, plain, short_exact, up
from dphist.report import make_json, summary_text
from dphist.streams import words as streams_words

EPSILONS = [
    *("1e-30", "1e-12", "0.000123456789", "0.1", "1/3", "1", "2.302585092994046", "6.9"),
    "2359988200001/118000000000",  # 20 once it is rounded, which Decimal writes as 2e+1
    *("13.8155105", "13.815511", "14", "14.000004", "14.0000040001", "22.5", "1000000.0001"),
]


def read(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def exact(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def check_sentence(epsilon: Fraction, text: str) -> None:
    """What is said of e**epsilon and of certainty holds, and is no more than a tenth too weak."""
    with mpmath.workdps(60):
        found = re.search(r"at most (e\^)?([0-9.,e/-]+) times", text)
        assert found is not None
        shown = exact(read(found[2]))
        if found[1]:
            assert exact(epsilon) <= shown <= exact(epsilon) * (1 + mpmath.mpf(10) ** -5)
            assert mpmath.exp(exact(epsilon)) > 10**6  # "(more than a million)"
        else:
            true = mpmath.exp(exact(epsilon))
            assert true <= shown
            assert shown - 1 <= (true - 1) * 1.1 + mpmath.mpf(10) ** -9
        percent = re.search(r"at most ([0-9.]+) % sure", text)
        true = 100 / (1 + mpmath.exp(-exact(epsilon)))
        if percent is None:
            assert "almost certain" in text
            assert true > 99.89
        else:
            assert true <= exact(read(percent[1])) <= true + mpmath.mpf("0.1000001")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_odds_and_certainty_hold(epsilon: str) -> None:
    check_sentence(Fraction(epsilon), words.guarantee_in_words(PureDP(epsilon), Contribution(1)))


@pytest.mark.verify
@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=40, max_denominator=10**12))
def test_odds_and_certainty_hold_of_any_epsilon(epsilon: Fraction) -> None:
    check_sentence(epsilon, words.guarantee_in_words(PureDP(epsilon), Contribution(1)))


def test_fourteen_and_a_little_is_more_than_fourteen() -> None:
    text = words.guarantee_in_words(PureDP("14.000004"), Contribution(1))
    assert "e^14.000004 times" in text
    assert "e^14 " not in text


def test_a_little_more_than_one_is_not_strong() -> None:
    little = Fraction(10**30 + 1, 10**30)
    assert "is a strong promise." in words.guarantee_in_words(PureDP(1), Contribution(1))
    assert "is a moderate promise" in words.guarantee_in_words(PureDP(little), Contribution(1))
    assert "is a weak promise" in words.guarantee_in_words(PureDP(3 * little), Contribution(1))


@pytest.mark.parametrize("number", [Fraction(123456789012345678, 10**18), Fraction(2, 3) / 10**12])
def test_symbols_headline_and_repr_round_up(number: Fraction) -> None:
    guarantee = ApproxDP(number, number)
    short = words.guarantee_in_short(guarantee)
    for shown in re.findall(r"= ([0-9./e-]+)", short):
        assert number <= read(shown) < number * Fraction(100002, 100000)
    symbols = words.guarantee_in_symbols(guarantee)
    for pattern in (r"exp\(([^)]*)\)", r"\+ (.*)$"):
        shown = re.search(pattern, symbols)
        assert shown is not None
        assert number <= read(shown[1]) < number * Fraction(100002, 100000)
    with decimal.localcontext(prec=3):  # whatever the caller's decimals do
        assert repr(guarantee) == repr(ApproxDP(number, number))
        for shown in re.findall(r"=([0-9./e+-]+)", repr(guarantee)):
            assert number <= read(shown) < number * Fraction(100002, 100000)


@given(st.fractions(min_value=Fraction(1, 10**15), max_value=10**15), st.integers(1, 9))
def test_up_and_down_enclose(number: Fraction, digits: int) -> None:
    above, below = Fraction(up(number, digits)), Fraction(down(number, digits))
    assert below <= number <= above
    assert above - below <= number * Fraction(11, 10**digits)
    assert Fraction(plain(up(number, digits)).replace(",", "")) == above
    assert read(short_exact(number)) >= number
    assert float_up(number) >= number
    assert math.nextafter(float_up(number), 0) < number


def test_thresholds_are_stated_so_that_what_is_above_is_released() -> None:
    mechanism = dh.ThresholdHistogram(epsilon="0.37", delta="1e-6", max_labels=7, noise="gaussian")
    shown = threshold_text(mechanism.threshold)
    assert mechanism.threshold <= read(shown) <= mechanism.threshold + Fraction(1, 1000)
    assert f"above {shown} records" in labels_words.threshold_in_words(mechanism)
    assert Fraction(float_up(mechanism.threshold)) >= mechanism.threshold
    stream = dh.ContinualMechanism(epsilon="0.37", delta="1e-6", horizon=1000)
    text = streams_words.threshold_in_words(stream)
    found = re.search(r"is above ([0-9.,]+);", text)
    assert found is not None
    assert stream.threshold <= read(found[1]) <= stream.threshold + Fraction(1, 1000)


def test_noise_that_protects_is_rounded_down_and_error_up() -> None:
    mechanism = dh.ThresholdHistogram(epsilon="0.37", delta="1e-6", max_labels=7, noise="gaussian")
    text = mechanism_facts.noise_in_words(mechanism)
    assert text is not None
    shown = read(text.split()[-2])
    assert shown <= mechanism.noise_scale < shown * Fraction(100002, 100000)
    text = mechanism_facts.noise_in_words(dh.RankSplit(epsilon="1/3"))
    assert text is not None
    said = re.search(r"standard deviation ([0-9.,]+) records", text)
    assert said is not None
    true = geometric_standard_deviation(dh.RankSplit(epsilon="1/3").cell_epsilon)
    assert read(said[1]) <= Fraction(true) < read(said[1]) * Fraction(102, 100)
    stream = dh.ContinualMechanism(epsilon="0.37", delta="1e-6", horizon=1000)
    assert stream.standard_error <= float(streams_words.error_text(stream).replace(",", ""))


@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP("1/3"),
        dh.ZCDP("0.1", unit="one patient"),
        ApproxDP(1, "1e-9", unit="one user"),
        dh.ApproxZCDP("0.1", Fraction(1, 3 * 10**9), unit=dh.PrivacyUnit("record", 5)),
    ],
    ids=repr,
)
def test_json_of_a_guarantee_is_whole_and_exact(guarantee: object) -> None:
    """Nothing of a guarantee may be missing where programs read it: delta once was."""
    found = json.loads(json.dumps(guarantee_json(guarantee)))  # type: ignore[arg-type]
    kind = getattr(dh, found.pop("name"))
    unit = found.pop("unit")
    assert unit == str(guarantee.unit)
    assert kind(**found, unit=guarantee.unit) == guarantee


def test_as_json_of_an_anonymized_release_with_delta_has_it() -> None:
    profile = Profile.from_counts([3, 2, 1])
    release = dh.PartitionSampler(epsilon=1, delta="1e-9", sensitivity=2).release(profile)
    found = make_json(release)
    assert found["guarantee"] == {
        "name": "ApproxDP",
        "epsilon": "1",
        "delta": "0.000000001",
        "unit": "at most 2 records",
        "sensitivity": 2,
    }
    assert "(1, 1e-9)-differential privacy" in summary_text(release)
