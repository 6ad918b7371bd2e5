"""What tables cost whose keys have values that are found first: proofs/tables.md, Lemmas 12, 13."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import dphist as dh
from dphist.errors import ParameterError
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy import ApproxZCDP
from dphist.tables import KeyedCounts, Tables
from dphist.tables.discovery import LabelSearch, make_search
from dphist.tables.label_cells import LabelCells
from dphist.tables.law import bound_scales
from tests.support.privacy.tables import pay

MOST = 5
KEYS: dict[str, Any] = {
    "sex": ["f", "m"],
    "drug": dh.DiscoverKeys(share="0.3", max_found=MOST),
    "ward": dh.DiscoverKeys(share="0.25", max_found=MOST),
}
TABLES = ["sex+drug", "drug+ward", "ward"]


def make(**asked: Any) -> Tables:
    given: dict[str, Any] = {"rho": "0.5", "delta": "1e-6", "keys": KEYS, "tables": TABLES}
    return Tables(**given | asked)


def counts_of(rows: list[tuple[str, str | None, str | None]], max_rows: int = 1) -> KeyedCounts:
    """Count rows of sex, drug and ward, one cell a row."""
    labels, places = [], []
    for column in (1, 2):
        own = sorted({text for row in rows if (text := row[column]) is not None})
        labels.append(tuple(own))
        at = {None: -1, **{text: place for place, text in enumerate(own)}}
        places.append([at[row[column]] for row in rows])
    cells = np.array(["fm".index(row[0]) for row in rows], np.int64)
    held = LabelCells(tuple(labels), np.array(places, np.int64).T.copy())
    keys, ones = make().keys, np.ones(len(rows), np.int64)
    return KeyedCounts(keys, cells, ones, max_rows, labels=held)


def find_always(monkeypatch: pytest.MonkeyPatch, found: dict[str, tuple[str, ...]]) -> None:
    """Have each key's values found, whatever the counts are."""
    names = iter(itertools.cycle(found.values()))
    monkeypatch.setattr(LabelSearch, "find", lambda *_: next(names))


SHARED: dict[str, dict[str, Any]] = {
    "equal": {},
    "weights": {"weights": {"ward": 50, "sex+drug": "0.1"}},
    "errors": {"errors": {"ward": "0.1"}},
    "ranges": {"ranges": ["sex"]},
    "ranges, weights": {"ranges": ["sex"], "weights": {"ward": 9}},
}


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 1), (1, 0), (2, 3), (MOST, MOST), (MOST, 0)])
def test_finding_and_counting_cost_what_is_stated_whatever_is_found(
    sizes: tuple[int, int], max_rows: int, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of a unit in one cell are the worst case: each moves all numbers by m."""
    mechanism = make(max_rows=max_rows, **SHARED[shared])
    stated = mechanism.guarantee
    assert isinstance(stated, ApproxZCDP)
    assert (stated.rho, stated.delta) == (Fraction(1, 2), Fraction(1, 10**6))
    names = [tuple(f"{name}{i}" for i in range(n)) for name, n in zip("dw", sizes, strict=True)]
    finding = sum(
        Fraction(max_rows) ** 2 / (2 * search.sigma**2) for search in mechanism.searches.values()
    )
    find_always(monkeypatch, dict(zip(("drug", "ward"), names, strict=True)))
    for drug, ward in itertools.product((*names[0], None, "unseen"), (*names[1], "unseen")):
        held = counts_of([("m", drug, ward)], max_rows)
        counting, _ = pay(mechanism, held, monkeypatch)
        whole = finding + counting * max_rows**2
        assert stated.rho * (1 - Fraction(1, 10**9)) < whole <= stated.rho


def units_of(max_rows: int) -> Iterator[tuple[int, ...]]:
    """Yield how many rows a unit may have of each of its labels."""
    for labels in range(1, max_rows + 1):
        for rows in itertools.combinations_with_replacement(range(1, max_rows + 1), labels):
            if sum(rows) <= max_rows:
                yield rows


@pytest.mark.parametrize("max_rows", [1, 2, 5])
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10)])
def test_no_unit_pays_more_for_finding(max_rows: int, delta: Fraction) -> None:
    """All that a unit may do: labels that others have, which move, and labels nobody else has."""
    rho = Fraction(1, 20)
    search = make_search(rho, delta, max_rows, 10)
    sigma, threshold = float(search.sigma), float(search.threshold)
    worst, most = 0.0, 0.0
    for rows in units_of(max_rows):
        worst = max(worst, sum(n * n for n in rows) / (2 * sigma**2))
        unseen = 1 - math.prod(float(ndtr((threshold - n) / sigma)) for n in rows)
        most = max(most, unseen)
    assert search.costs_at_most(rho, max_rows)
    assert float(rho) * (1 - 1e-9) < worst <= float(rho) * (1 + 1e-12)
    assert float(delta) / (4 * max_rows) < most <= float(delta) * (1 + 1e-9)


def test_a_search_that_costs_more_than_stated_finds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = make()
    cheap = {
        name: LabelSearch(search.sigma * (1 - Fraction(1, 2**20)), search.threshold, MOST)
        for name, search in mechanism.searches.items()
    }
    monkeypatch.setattr(Tables, "searches", property(lambda _: cheap))
    with pytest.raises(RuntimeError, match="finding values costs more"):
        mechanism.release(counts_of([("f", "a", "b")]))


def test_deltas_and_shares_of_all_keys_are_added_up() -> None:
    mechanism = make(max_rows=2)
    rhos = [4 / (2 * search.sigma**2) for search in mechanism.searches.values()]
    whole = mechanism.rho_of_all
    assert [round(float(rho / whole), 6) for rho in rhos] == [0.3, 0.25]
    assert mechanism.rho_of_tables == whole * Fraction(45, 100)
    for search, share in zip(mechanism.searches.values(), ("0.3", "0.25"), strict=True):
        expected = make_search(whole * Fraction(share), Fraction(1, 2 * 10**6), 2, MOST)
        assert search == expected


@pytest.mark.parametrize("max_rows", [1, 2])
def test_a_total_is_not_exceeded(max_rows: int) -> None:
    """Half of delta is that of finding values; the rest converts the Gaussian noise of all."""
    mechanism = make(rho=None, epsilon=1, delta="1e-6", max_rows=max_rows)
    rho, half = mechanism.guarantee.rho, Fraction(1, 2 * 10**6)
    assert mechanism.guarantee.delta == half
    assert gaussian_epsilon(2 * rho, half) <= 1
    assert gaussian_epsilon(2 * rho * (1 + Fraction(1, 10**7)), half) > 1
    assert mechanism.epsilon_at("1e-6") == gaussian_epsilon(2 * rho, half)
    assert mechanism.epsilon_at("3e-6", 3) == gaussian_epsilon(6 * rho, 3 * half)
    assert mechanism.epsilon_at(half) is None
    several = dh.calibrate(Tables, epsilon=1, delta="1e-6", releases=4, keys=KEYS, tables=TABLES)
    assert several.epsilon_at("1e-6", 4) <= 1


def test_one_of_several_mechanisms_of_a_total_finds_values() -> None:
    """It gets a delta of its own, and the total holds for all of them."""
    listed = {"keys": {"sex": ["f", "m"]}, "tables": ["sex"]}
    pair = [(Tables, {"keys": KEYS, "tables": TABLES}), (Tables, listed)]
    finding, other = dh.calibrate(pair, epsilon=1, delta="1e-6")
    plan = dh.FixedPlan([finding, other], delta="1e-6")
    assert 0 < finding.delta < Fraction(1, 10**6)
    assert other.delta is None
    assert 0.99 < plan.fixed.epsilon <= 1


FAR = {"alpha": 7_000, "zeta": 5_000, "mid": 9_000}


def far_rows(names: list[str]) -> list[tuple[str, str | None, str | None]]:
    return [("f", name, "w") for name in names for _ in range(FAR[name])]


def test_the_axis_is_sorted_and_does_not_tell_which_is_the_largest() -> None:
    """Neither the order of rows nor that of counts, true or noisy, orders the values found."""
    for names in itertools.permutations(FAR):
        value = make().release(counts_of(far_rows([*names]))).value
        assert value.keys["drug"].labels == ("alpha", "mid", "zeta", "other")
        assert value.keys["ward"].labels == ("w", "other")
        assert abs(value.count(drug="zeta") - FAR["zeta"]) < 100


def test_a_label_below_the_threshold_leaves_no_trace_but_a_row_of_others() -> None:
    """A neighbor with one unit more, whose label nobody else has: the tables differ in m rows."""
    mechanism = make(max_rows=2)
    base = far_rows([*FAR])
    more = [*base, ("m", "unseen", "w"), ("m", "unseen", "new ward")]
    found = {"drug": ("alpha", "mid", "zeta"), "ward": ("w",)}
    keys = mechanism.keys.with_found(found)
    one, two = (counts_of(rows, 2).with_found(keys) for rows in (base, more))
    moved = two.sum_over((0, 1, 2)) - one.sum_over((0, 1, 2))
    assert moved.sum() == 2
    assert moved[1, 3, 0] == moved[1, 3, 1] == 1  # m, other; of w, and of other
    for rows in (base, more):
        held = counts_of(rows, 2)
        release = mechanism.release(held)
        assert "unseen" not in release.to_json()
        assert release.value.keys == keys


@pytest.mark.parametrize(
    ("labels", "place"),
    [(("a", "other"), 1), (("a", "\ud800"), 1), (("b", "a"), 1), (("a", 1), 1), (("a", "b"), 0)],
    ids=["that stands for no label", "half a pair", "not ascending", "no text", "of no row"],
)
def test_labels_that_could_fail_after_the_draw_are_refused(
    labels: tuple[Any, ...], place: int
) -> None:
    """A label must not end in an error once it is found, nor get noise if no row has it."""
    with pytest.raises(ParameterError, match="labels"):
        LabelCells((labels,), np.array([[0], [place]], np.int64))


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_label_of_one_unit_is_found_as_often_as_delta_allows(max_rows: int, seeded: Any) -> None:
    """By many draws: not more often, and about that often where all its rows have that label."""
    delta, draws = Fraction(1, 10), 20_000
    search = make_search(Fraction(1, 2), delta, max_rows, draws)
    labels = [f"{i:05}" for i in range(draws)]
    found = search.find(labels, np.full(draws, max_rows, np.int64), seeded(3))
    each = float(1 - (1 - delta) ** Fraction(1, max_rows))
    deviation = math.sqrt(each / draws)
    assert each - 5 * deviation - 0.002 < len(found) / draws < each + 5 * deviation


def test_at_most_so_many_values_are_kept_those_with_the_largest_noisy_numbers(
    seeded: Any,
) -> None:
    search = make_search(Fraction(1, 2), Fraction(1, 100), 1, 3)
    labels = [*"abcdefgh"]
    counts = np.array([100, 900, 200, 800, 300, 700, 400, 600], np.int64)
    for order in (range(8), reversed(range(8))):
        places = [*order]
        held = search.find([labels[i] for i in places], counts[places], seeded(1))
        assert held == ("b", "d", "f")


def test_sizes_are_those_of_the_most_values_before_any_data_are_read() -> None:
    """No number of values found makes a release fail, or an error larger than stated."""
    mechanism = make(tables=["sex+drug+ward", "ward"])
    stated = mechanism.errors_of_cells()
    for drugs, wards in itertools.product(range(MOST + 1), repeat=2):
        found = {
            "drug": tuple(map(str, range(drugs))),
            "ward": tuple(map(str, range(wards))),
        }
        own = mechanism.with_found(found)
        assert all(own.errors_of_cells()[name] <= stated[name] + 1e-9 for name in stated)
        assert own.noise_scale >= mechanism.noise_scale
    with pytest.raises(dh.errors.ParameterError, match="too large"):
        make(
            keys={"sex": range(1000), "drug": dh.DiscoverKeys(share="0.3", max_found=10**6)},
            tables=["sex+drug"],
        )


DRAWN: dict[str, dict[str, Any]] = {
    "equal": {},
    "weights": {"weights": {"a+drug": "1e-6", "b+drug": 1000}},
    "errors": {"errors": {"a+drug": 1000, "b+drug": "0.001"}},
    "ranges": {"ranges": ["a"]},
    "ranges, weights": {"ranges": ["a"], "weights": {"a+drug": "0.001"}},
}


@pytest.mark.parametrize("shared", DRAWN)
@pytest.mark.parametrize("exponent", range(-26, -12))
def test_scales_of_fewer_values_can_be_drawn_at(exponent: int, shared: str) -> None:
    """Where a mechanism is made, it can be made with any number of values found."""
    rho, most = Fraction(10) ** exponent, 61
    keys = {"a": range(5), "b": range(3), "drug": dh.DiscoverKeys(share="0.5", max_found=most)}
    asked: dict[str, Any] = {"keys": keys, "tables": ["a+drug", "b+drug"], **DRAWN[shared]}
    try:
        mechanism = Tables(rho=rho, delta="1e-6", **asked)
    except dh.errors.ParameterError:
        assert exponent < -12, "of this much, noise can be drawn"
        return
    for n in [*range(8), 30, most] if "errors" in asked else range(most + 1):
        own = mechanism.with_found({"drug": tuple(map(str, range(n)))})
        for table, scale in own.scales.items():
            longest = math.prod(own.lattice.noise(i).longest for i in table)
            assert scale * longest <= LARGEST_SIGMA


@pytest.mark.parametrize("shared", DRAWN)
def test_scales_are_below_their_bounds_whatever_is_found(shared: str) -> None:
    """The bounds that are checked before any data are read."""
    names, most = ("a", "b", "drug", "ward"), 9
    keys = {"a": range(5), "b": range(3)} | {
        name: dh.DiscoverKeys(share="0.2", max_found=most) for name in names[2:]
    }
    asked: dict[str, Any] = {"keys": keys, **DRAWN[shared]}
    asked["tables"] = ["a+drug", "b+drug", "drug+ward", "ward"]
    mechanism = Tables(rho=1, delta="1e-6", **asked)
    bounds = bound_scales(
        mechanism.keys.shape, mechanism.places, mechanism.rho_of_row, mechanism.weights,
        mechanism.errors, mechanism.ordered, frozenset({2, 3}),
    )  # fmt: skip
    for drugs, wards in itertools.product((0, 1, 2, 5, most), repeat=2):
        found = {"drug": drugs, "ward": wards}
        own = mechanism.with_found({k: tuple(map(str, range(n))) for k, n in found.items()})
        for table, scale in own.scales.items():
            assert scale <= bounds[tuple(own.kept[i] for i in table)]


@pytest.mark.parametrize("shared", ["equal", "weights", "ranges"])
def test_no_cell_pays_more_with_an_ordered_key(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value of an ordered key pays at most what is stated, and one pays it all."""
    keys = {"age": range(7), "drug": dh.DiscoverKeys(share="0.3", max_found=MOST)}
    weights = {"age": 9} if shared == "weights" else None
    ranges = None if shared == "equal" else ["age"]
    mechanism = make(keys=keys, tables=["age", "age+drug"], ranges=ranges, weights=weights)
    stated = mechanism.guarantee
    finding = sum(1 / (2 * search.sigma**2) for search in mechanism.searches.values())
    find_always(monkeypatch, {"drug": ("d0", "d1", "d2")})
    paid = []
    for age, drug in itertools.product(range(7), (("d0",), ("unseen",), ())):
        places = np.array([[0] if drug else [-1]], np.int64)
        one: Any = np.ones(1, np.int64)
        held = KeyedCounts(mechanism.keys, np.array([age]), one, labels=LabelCells((drug,), places))
        counting, _ = pay(mechanism, held, monkeypatch)
        paid.append(finding + counting)
    assert stated.rho * (1 - Fraction(1, 10**9)) < max(paid) <= stated.rho
