"""What an entry costs, and sums of costs: exact, never rounded down (ledger, Lemmas 1 and 7)."""

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

import dphist as dh
from dphist.labels.threshold.measuring import ThresholdMeasuring
from dphist.ledger.amounts import PLACES, Cost, Totals
from dphist.ledger.units import DataUnit, cost_for
from dphist.mechanism import MechanismBase
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP
from dphist.privacy.conversion import pure_to_rho
from tests.support.mechanisms.cases import CASES

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        (PureDP("1/2"), Cost(HALF, pure_to_rho(HALF), Fraction(0))),
        (ApproxDP("1/2", "0.01"), Cost(HALF, pure_to_rho(HALF), Fraction(1, 100))),
        (ZCDP("1/2"), Cost(None, HALF, Fraction(0))),
        (ApproxZCDP("1/2", "0.01"), Cost(None, HALF, Fraction(1, 100))),
    ],
    ids=str,
)
def test_what_a_guarantee_costs(guarantee: object, expected: Cost) -> None:
    assert Cost.of(guarantee) == expected  # type: ignore[arg-type]


def test_an_epsilon_beside_rho_counts_only_with_the_same_delta() -> None:
    guarantee = ApproxZCDP("1/2", "0.01")
    assert Cost.of(guarantee, ApproxDP(2, "0.01")).epsilon == 2
    for other in (ApproxDP(2, "0.02"), ApproxDP(2, "0.001"), PureDP(2)):
        assert Cost.of(guarantee, other).epsilon is None
    assert Cost.of(ZCDP("1/2"), PureDP(2)).epsilon == 2
    assert Cost.of(ZCDP("1/2"), ApproxDP(2, "0.01")).epsilon is None


def subclasses(of: type) -> set[type]:
    return {of, *(found for each in of.__subclasses__() for found in subclasses(each))}


def test_only_threshold_histograms_state_an_epsilon_beside_rho() -> None:
    """Lemma 1 is proved for them; another mechanism with one needs a proof for the same event."""
    own = {
        each.__name__
        for each in subclasses(MechanismBase) - {MechanismBase}
        if "epsilon_guarantee" in vars(each) and each.__module__.startswith("dphist.")
    }
    assert own == {"ThresholdMeasuring"}  # of which it is the only one
    heirs = subclasses(ThresholdMeasuring)
    ours = {each.__name__ for each in heirs if each.__module__.startswith("dphist.")}
    assert ours == {"ThresholdMeasuring", "ThresholdUsers", "ThresholdHistogram"}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
@pytest.mark.parametrize("cut", [False, True])
def test_a_threshold_histogram_costs_both_its_statements(
    noise: str, labels: list[str] | None, cut: bool
) -> None:
    mechanism = dh.ThresholdHistogram(
        epsilon="1/4",
        delta=None if labels else "1e-8",
        max_labels=2,
        noise=noise,  # type: ignore[arg-type]
        labels=labels,
        users_by_labels=99 if cut else None,
    )
    _, cost = cost_for(mechanism, DataUnit(), mechanism.guarantee.unit, Fraction(1, 10**6), "main")
    numbers = 3 if cut else 2
    delta = Fraction(0) if labels else Fraction(1, 10**8)
    assert cost.delta == delta
    if noise == "gaussian":
        assert (cost.epsilon, cost.rho) == (None, Fraction(numbers, 32))
    else:
        assert (cost.epsilon, cost.rho) == (Fraction(numbers, 4), numbers * pure_to_rho(HALF / 2))
    assert cost.alone is not None


@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_costs_what_it_states(name: str) -> None:
    make = CASES[name][0]
    for parameters in ({"epsilon": "1/3"}, {"epsilon": "1/3", "delta": "1e-9"}):
        try:
            mechanism = make(**parameters)
            break
        except (TypeError, dh.ParameterError):
            continue
    unit = mechanism.guarantee.unit
    guarantee, cost = cost_for(mechanism, DataUnit(), unit, Fraction(1, 10**6), "main")
    assert guarantee == mechanism.guarantee
    assert cost.delta == getattr(guarantee, "delta", 0)
    if isinstance(guarantee, PureDP):
        assert cost.epsilon == guarantee.epsilon >= cost.alone
        assert cost.rho == guarantee.to_zcdp().rho
    elif isinstance(guarantee, ZCDP | ApproxZCDP):
        assert cost.rho == guarantee.rho
    assert cost.alone == mechanism.to_approx_dp("1e-6").epsilon
    assert Cost.from_content(cost.to_content()) == cost


def test_costs_are_written_exactly() -> None:
    """As a decimal where it has at most 12 places, and else as a fraction; never rounded."""
    digits = Fraction(123456789012345678901, 10**25)
    for number in (Fraction(1, 3), digits, Fraction(1, 10**11), Fraction(7), Fraction(2, 7**40)):
        cost = Cost(number, number, number, number)
        assert Cost.from_content(cost.to_content()) == cost
    short = Fraction(1, 10**7)  # rounded down to six decimals it would be free
    assert Cost.of(PureDP(short)).epsilon == short
    assert Cost.of(ApproxDP(1, short)).delta == short


@pytest.fixture
def costs() -> Callable[[int, int], list[Cost]]:
    def make(count: int, seed: int) -> list[Cost]:
        draw = random.Random(seed)
        return [
            Cost(
                draw.choice([None, Fraction(1, draw.randrange(1, 10**9))]),
                Fraction(1, draw.randrange(1, 10**9)),
                Fraction(1, draw.randrange(1, 10**9)),
            )
            for _ in range(count)
        ]

    return make


def test_sums_are_exact_while_short_and_then_at_least_the_sum(
    costs: Callable[[int, int], list[Cost]],
) -> None:
    totals = Totals()
    exact = {"epsilon": Fraction(0), "rho": Fraction(0), "delta": Fraction(0)}
    rounded = False
    for number, cost in enumerate(costs(100, 1), 1):
        totals = totals.plus(cost)
        for name in exact:
            exact[name] += getattr(cost, name) or 0
            kept = getattr(totals, name)
            assert exact[name] <= kept <= exact[name] + Fraction(number, 10**PLACES)
            assert kept.denominator <= 10**200
            rounded |= kept != exact[name]
        assert totals.entries == number
        if number <= 20:
            assert {name: getattr(totals, name) for name in exact} == exact
    assert rounded


def test_what_is_taken_back_leaves_at_least_the_sum_of_the_rest(
    costs: Callable[[int, int], list[Cost]],
) -> None:
    kept, canceled = costs(60, 2), costs(60, 3)
    totals = Totals()
    for one, other in zip(kept, canceled, strict=True):
        totals = totals.plus(one).plus(other)
    for cost in canceled:
        totals = totals.minus(cost)
    assert totals.entries == len(kept)
    assert totals.mixed == sum(cost.epsilon is None for cost in kept)
    for name in ("epsilon", "rho", "delta"):
        exact = sum((getattr(cost, name) or 0 for cost in kept), Fraction(0))
        assert exact <= getattr(totals, name) <= exact + Fraction(200, 10**PLACES)


def test_a_short_sum_taken_back_is_what_it_was() -> None:
    before = Totals().plus(Cost.of(PureDP("1/3")))
    assert (
        before.plus(Cost.of(ApproxZCDP("1/7", "0.01"))).minus(Cost.of(ApproxZCDP("1/7", "0.01")))
        == before
    )
