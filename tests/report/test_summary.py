"""The terminal's summary and the sentences it is made of."""

import math
from fractions import Fraction

import pytest

from dphist import AnonymizedHistogram, ApproxDP, ParameterError, PureDP, RankSplit, Release
from dphist.document import guarantee_words as words
from dphist.document import mechanism_facts
from dphist.document.unit_words import Contribution
from dphist.report import summary_text
from tests.support.report import releases


@pytest.mark.parametrize("make", [*releases.ALL.values(), releases.hostile_release])
@pytest.mark.quick(every=3)
def test_fits_a_terminal_and_is_plain(make: object) -> None:
    text = summary_text(make())  # type: ignore[operator]
    assert max(len(line) for line in text.splitlines()) <= 78
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in text.splitlines())


def test_fits_a_terminal_with_the_longest_numbers() -> None:
    class Huge(releases.Hostile):
        """A mechanism that is not tried on so large a total."""

        def expected_error(self, total: int | None = None) -> float:
            raise ParameterError("total", "is too large")

    mechanism = Huge(epsilon=Fraction(10**60 + 7, 3 * 10**60))
    value = AnonymizedHistogram([1, 10**18], [3 * 10**18, 1])
    release = Release(value, mechanism.guarantee, mechanism, 2**62)  # type: ignore[arg-type]
    lines = summary_text(release).splitlines()
    assert max(map(len, lines)) <= 78
    assert any("not predicted" in line for line in lines)


def test_says_what_matters() -> None:
    release = releases.usual_release()
    text = " ".join(summary_text(release).split())
    assert str(release.guarantee) in text
    assert words.guarantee_in_words(release.guarantee, Contribution(1)) in text
    assert f"{release.total:,} ± " in text
    assert f"{release.value.labels:,}" in text
    assert "records off in all" in text
    assert mechanism_facts.call(release.mechanism) in text
    assert f"{len(release.value.counts) - 10:,} more rows" in text


def test_nothing_of_the_true_data() -> None:
    text = summary_text(releases.secret_release())
    for sentinel in (*releases.SENTINELS, sum(releases.SENTINELS)):
        assert f"{sentinel}" not in text
        assert f"{sentinel:,}" not in text


def test_empty_release() -> None:
    assert "No label was released: the table is empty." in summary_text(releases.empty_release())


@pytest.mark.parametrize("epsilon", ["0.001", "0.01", "0.1", "1/3", "1", "2", "4", "6.9"])
def test_stated_factor_and_certainty_never_promise_too_much(epsilon: str) -> None:
    text = words.guarantee_in_words(PureDP(epsilon), Contribution(1))
    rate = float(Fraction(epsilon))
    factor = float(text.split("at most ")[1].split(" times")[0].replace(",", ""))
    percent = float(text.split("at most ")[2].split(" %")[0])
    true_factor, true_percent = math.exp(rate), 100 / (1 + math.exp(-rate))
    assert true_factor - 1e-9 <= factor <= 1 + (true_factor - 1) * 1.1
    assert true_percent - 1e-9 <= percent <= true_percent + 0.11


def test_delta_is_named_wherever_the_guarantee_is() -> None:
    guarantee = ApproxDP(1, "0.001")
    assert "plus 0.001" in words.guarantee_in_words(guarantee, Contribution(1))
    assert "sure of it" not in words.guarantee_in_words(guarantee, Contribution(1))
    assert words.guarantee_in_symbols(guarantee).endswith("+ 0.001")
    assert words.guarantee_in_short(guarantee) == "ε = 1, δ = 0.001"
    assert words.guarantee_kind(guarantee) == "approximate differential privacy"
    assert words.guarantee_kind(PureDP(1)) == "pure differential privacy"


@pytest.mark.parametrize("epsilon", [10, 1000, 10**9])
def test_a_worthless_guarantee_is_called_weak(epsilon: object) -> None:
    text = words.guarantee_in_words(PureDP(epsilon), Contribution(1))  # type: ignore[arg-type]
    assert "a weak promise" in text
    assert "almost certain" in text
    assert words.guarantee_in_symbols(PureDP(epsilon))  # type: ignore[arg-type]


def test_symbols_round_to_the_safe_side() -> None:
    exact = Fraction(123456789012345678, 10**18)
    shown = words.short_exact(exact)
    assert exact < Fraction(shown) < exact * Fraction(1000011, 1000000)


@pytest.mark.parametrize(
    "mechanism", [RankSplit(epsilon="1/3"), releases.sorted_release().mechanism]
)
def test_the_call_makes_the_mechanism_again(mechanism: object) -> None:
    import dphist

    call = mechanism_facts.call(mechanism)  # type: ignore[arg-type]
    name, _, arguments = call.partition("(")
    made = eval(f"make({arguments}", {"make": getattr(dphist, name)})  # noqa: S307
    assert made == mechanism
