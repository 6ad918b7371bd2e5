"""Decisions of the partition sampler, bit by bit: no float makes one.

Lemmas 6 to 8 of docs/understand/proofs/partition_sampler.md. The law that these decisions add up
to is tested in test_partition_law.py.
"""

import bisect
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dphist import PartitionSampler, Profile
from dphist.anonymized.partition_sampler import acceptance as partition_acceptance
from dphist.anonymized.partition_sampler import exact as partition_exact
from dphist.anonymized.partition_sampler import measuring as partition_measuring
from dphist.anonymized.partition_sampler import powers as partition_powers
from dphist.anonymized.partition_sampler import proposals as partition_proposals
from dphist.anonymized.partition_sampler import tables as partition_tables
from dphist.anonymized.partition_sampler.acceptance import Ratio, compute_ratio, is_surely_kept
from dphist.anonymized.partition_sampler.exact import Uniforms, draw_exactly
from dphist.anonymized.partition_sampler.powers import Powers
from dphist.anonymized.partition_sampler.proposals import Proposals
from dphist.anonymized.partition_sampler.tables import Half, Step, Table, exactly
from dphist.anonymized.partition_sampler.windows import Entries
from dphist.errors import DphistError
from tests.support.privacy.diagrams import neighbour_pairs, profile
from tests.support.privacy.partition_reference import (
    BitsOf,
    as_proposal,
    choices_around,
    every_partition,
    inverted,
    is_within,
    proposals_around,
)


def ones(size: int) -> bytes:
    return b"\xff" * size


def zeros(size: int) -> bytes:
    return bytes(size)


# --- the tables hold no less than their shares (Lemma 7) -------------------------------------


def too_small(half: Half, rate: Fraction) -> int:
    """How many differences of sums are less than exp(-rate |q - true|) S(q), in 60 digits."""
    found, before = 0, None
    with mpmath.workdps(60):
        power = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        for true, table in zip(half.true, half.tables, strict=True):
            for q in range(table.least, table.most + 1):
                share = exactly(table.sum_from(q)) - exactly(table.sum_from(q + 1))
                share /= Fraction(1) if before is None else exactly(before.sum_from(q))
                found += mpmath.mpf(share.numerator) / share.denominator < power ** abs(q - true)
            before = table
    return found


TABLES = [
    *[((3, 1), "1", "1e-9"), ((), "0.5", "1e-9"), ((40, 1, 1), "16", "1e-300")],
    *[((9, 9, 9, 9), "100", "1e-300"), ((1,) * 30, "1000", "1e-300"), ((200,), "4", "1e-20")],
]


@pytest.mark.parametrize("piece", [1, 7, 1 << 14])
@pytest.mark.parametrize(("data", "epsilon", "delta"), TABLES)
@pytest.mark.quick(every=4)
def test_no_share_in_the_tables_is_too_small(data, epsilon, delta, piece, monkeypatch) -> None:
    """Also in far tails, where floats are at their floor: theta D is up to 700 here."""
    monkeypatch.setattr(partition_proposals, "_PIECE", piece)
    proposals = proposals_around(data, epsilon, delta)
    assert too_small(proposals.rows, proposals.powers.rate) == 0
    assert too_small(proposals.columns, proposals.powers.rate) == 0


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (partition_tables, "_RISE", 0.0),
        (partition_tables, "_FLOOR", 0.0),
        (partition_powers, "_MARGIN", 1 - 2.0**-46),
        (partition_powers, "TINY", 2.0**-1020),
    ],
)
@pytest.mark.quick(every=4)
def test_tables_that_are_too_small_would_be_noticed(module, name, value, monkeypatch) -> None:
    monkeypatch.setattr(module, name, value)
    found = 0
    for data, epsilon, delta in TABLES:
        proposals = proposals_around(data, epsilon, delta)
        found += too_small(proposals.rows, proposals.powers.rate)
        found += too_small(proposals.columns, proposals.powers.rate)
    assert found > 0


@pytest.mark.parametrize("epsilon", ["0.01", "1", "30", "1000"])
def test_powers_are_enclosed(epsilon: str) -> None:
    rate = Fraction(epsilon) / 2
    powers = Powers.of(rate, 3000)
    with mpmath.workdps(60):
        for k in [*range(0, powers.reach + 1, 1 + powers.reach // 300), powers.reach]:
            true = mpmath.exp(-k * mpmath.mpf(rate.numerator) / rate.denominator)
            held = powers.table.item(powers.reach - k)
            assert held == powers.table.item(powers.reach + k)
            assert held >= true * (1 + mpmath.mpf(2) ** -47) or held == 2.0**-1000 >= true
            if (near := powers.near(k)) is not None:
                assert near <= true * (1 + mpmath.mpf(2) ** -44)
        for k in (1, 2, 1000, 10**6, 2**40 + 1):
            mantissa, exponent = powers.above(k)
            true = mpmath.exp(-k * mpmath.mpf(rate.numerator) / rate.denominator)
            assert 1 <= mpmath.ldexp(mantissa, exponent) / true <= 1 + mpmath.mpf(2) ** -100
    assert math.exp(-float(rate) * (powers.reach + 1)) <= 2.0**-1000 or powers.reach == 3000


@pytest.mark.parametrize("piece", [1, 7, 1 << 14])
def test_sums_are_far_from_where_floats_lose_digits(piece, monkeypatch) -> None:
    """So is a share of 2**-14 of them, which `Table._sure` compares with others."""
    monkeypatch.setattr(partition_proposals, "_PIECE", piece)
    for data, epsilon, delta in TABLES:
        proposals = proposals_around(data, epsilon, delta)
        for table in (*proposals.rows.tables, *proposals.columns.tables):
            assert table.sums.min() >= 2.0**-914
            ends = [table._find_end(place) for place in range(len(table.exponents) - 1)]
            assert min(ends, default=2.0**835) >= 2.0**835


# --- entries and sides are drawn as the tables say (Lemma 6) ---------------------------------


def around(threshold: Fraction) -> Iterator[Fraction]:
    """Numbers next to a threshold: in the same word of 64 bits, and a few words away."""
    for bits in (52, 63, 64, 65, 90, 128, 130, 300):
        for offset in (Fraction(1, 1 << bits), Fraction(-1, 1 << bits)):
            if 0 <= threshold + offset < 1:
                yield threshold + offset


def misplaced_values(table: Table, least: int) -> int:
    """How many uniform numbers next to thresholds a table takes for other values than they are."""
    sums = [exactly(table.sum_from(q)) for q in range(table.most, max(least, table.least) - 1, -1)]
    whole, found = sums[-1], 0
    for held in sums:
        for uniform in around(held / whole):
            place = bisect.bisect_right(sums, uniform * whole)
            word = math.floor(uniform * (1 << 64))
            found += table.draw(least, word, BitsOf(uniform)) != table.most - place
    return found


def misplaced_sides(proposals: Proposals) -> int:
    found = 0
    for threshold in proposals.sides[:-1]:
        for uniform in around(Fraction(threshold, proposals.sides[-1])):
            place = sum(uniform * proposals.sides[-1] >= held for held in proposals.sides)
            found += proposals._side(BitsOf(uniform, 0)) != proposals.choices.smallest + place
    return found


@pytest.mark.parametrize("piece", [1, 3, 1 << 14])
@pytest.mark.parametrize(("data", "epsilon"), [((3, 1), "4"), ((), "16"), ((12, 2, 2), "8")])
@pytest.mark.quick(every=9)
def test_values_and_sides_are_decided_as_exact_arithmetic_would(
    data, epsilon, piece, monkeypatch
) -> None:
    monkeypatch.setattr(partition_proposals, "_PIECE", piece)
    proposals = proposals_around(data, epsilon, "1e-9")
    assert misplaced_sides(proposals) == 0
    for table in (*proposals.rows.tables[:3], *proposals.columns.tables[:3]):
        for least in {table.least, table.least + 1, table.most}:
            assert misplaced_values(table, min(least, table.most)) == 0


@pytest.mark.parametrize("word", [0, 1, 2**50 - 1, 2**50, 2**64 - 1])
def test_extreme_words_are_followed_by_more_bits(word: int) -> None:
    """The first 64 bits of all ones or zeros decide nothing that lies beyond them."""
    table = proposals_around((3, 1), "1").rows.tables[0]
    whole = exactly(table.sum_from(table.least))
    for more in (0, 1, 2**63, 2**64 - 1):
        uniform = Fraction(word << 64 | more, 1 << 128) + Fraction(1, 1 << 300)
        place = sum(uniform * whole >= exactly(table.sum_from(q)) for q in everything(table))
        assert table.draw(0, word, BitsOf(uniform)) == table.most - place


def everything(table: Table) -> range:
    return range(table.least, table.most + 1)


def nearest_float(self: Table, least: int, word: int) -> int:
    """Planted: the float decides, whatever lies in between."""
    whole = exactly(self.sum_from(least))
    target = (word + 0.5) * 2.0**-64 * float(whole)
    values = range(self.most, self.least - 1, -1)
    return next((q for q in values if target < float(exactly(self.sum_from(q)))), self.least)


def same_bits_again(self: Table, least: int, word: int, source) -> int:
    """Planted: a refinement that uses the bits it has a second time."""
    uniform = Fraction(word << 64 | word, 1 << 128) * exactly(self.sum_from(least))
    return next(
        q for q in range(self.most, self.least - 1, -1) if uniform < exactly(self.sum_from(q))
    )


def other_bits_instead(self: Table, least: int, word: int, source) -> int:
    """Planted: a refinement that begins again."""
    uniform = Fraction(int.from_bytes(source(16), "big"), 1 << 128) * exactly(self.sum_from(least))
    return next(
        q for q in range(self.most, self.least - 1, -1) if uniform < exactly(self.sum_from(q))
    )


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("_sure", nearest_float),
        ("_exactly", same_bits_again),
        ("_exactly", other_bits_instead),
    ],
)
@pytest.mark.quick(every=3)
def test_values_decided_otherwise_would_be_noticed(name, planted, monkeypatch) -> None:
    table = proposals_around((3, 1), "4").rows.tables[0]
    assert misplaced_values(table, table.least) == 0
    monkeypatch.setattr(Table, name, planted)
    assert misplaced_values(table, table.least) > 0


# --- proposals are kept as often as they are to be (Lemma 6) ---------------------------------


def kept_wrongly(proposals: Proposals, most: int) -> int:
    """How many uniform numbers next to the ratio of a proposal are taken to be beyond it."""
    found = 0
    for output in every_partition(most):
        proposal = as_proposal(output)
        if not is_within(proposals.choices, proposal):
            continue
        low, high = proposals.ratio(proposal).enclose(400)
        for uniform in (Fraction(low - 1, 1 << 400), Fraction(high + 1, 1 << 400)):
            if 0 <= uniform < 1:
                kept = proposals.is_kept(proposal, BitsOf(uniform, 0))
                found += kept != (uniform < Fraction(low, 1 << 400))
    return found


@pytest.mark.parametrize(("data", "epsilon"), [((3, 1), "1"), ((), "16"), ((9, 2, 2), "100")])
def test_proposals_are_kept_as_exact_arithmetic_would(data, epsilon) -> None:
    proposals = proposals_around(data, epsilon)
    assert kept_wrongly(proposals, 5) == 0
    # All ones lie above every ratio, all zeros below.
    likeliest = as_proposal(data)
    assert not proposals.is_kept(likeliest, ones)
    assert proposals.is_kept(likeliest, zeros)


@pytest.mark.parametrize(("data", "epsilon"), [((3, 1), "1"), ((), "16"), ((9, 2, 2), "100")])
def test_what_floats_are_sure_of_is_so(data, epsilon) -> None:
    """The largest word at which a bound in floats keeps a proposal, for every small one."""
    proposals, sure = proposals_around(data, epsilon), 0
    for output in (data, *every_partition(5)):
        proposal = as_proposal(output)
        if not is_within(proposals.choices, proposal):
            continue
        low, high = -1, 1 << 64
        while high - low > 1:
            middle = (low + high) // 2
            steps = proposals._steps(proposal)
            if is_surely_kept(middle, steps, proposals.powers):
                low = middle
            else:
                high = middle
        place = len(proposal.rows) - proposals.choices.smallest
        if proposals._weight(place).bit_length() > partition_proposals._SURE_BITS:
            assert low + 1 <= proposals.ratio(proposal).enclose(64)[0]
            sure += low + 1 > (1 << 64) - (1 << 44)
    assert sure > 0


def wrongly_sure(values: range) -> tuple[int, int, int]:
    """Steps of which floats are wrongly sure; all with a subnormal product; those rightly sure.

    The values lie more than half the table of powers above the true ones, at the upper end of a
    piece: powers and sums of the entry before are both small there.
    """
    rate, piece, entries = Fraction(1, 2), 1 << 14, 40
    true, most = piece - 800, piece + 1300
    bounds = Entries([true] * entries, [true - 100] * entries, [most] * entries)
    powers = Powers.of(rate, bounds.farthest())
    assert values[0] - true > powers.reach // 2
    half = Half.over(bounds, powers, piece)
    wrong = subnormal = right = 0
    for table, before in itertools.islice(
        zip(half.tables[1:], half.tables, strict=False), 4, 30, 3
    ):
        for q in values:
            step = Step(q - true, table.sum_from(q), table.sum_from(q + 1), before.sum_from(q))
            weight = powers.near(step.distance)
            if weight is None:
                continue
            subnormal += weight * step.before[0] < sys.float_info.min
            low, high = -1, 1 << 64
            while high - low > 1:
                middle = (low + high) // 2
                if is_surely_kept(middle, [step], powers):
                    low = middle
                else:
                    high = middle
            sound = low + 1 <= compute_ratio(rate, 0, Fraction(1), [step]).enclose(64)[0]
            wrong += not sound
            right += sound and low >= 0
    return wrong, subnormal, right


def test_floats_are_sure_of_nothing_where_products_are_subnormal(monkeypatch) -> None:
    values = range(1 << 14, (1 << 14) + 580, 4)
    wrong, subnormal, right = wrongly_sure(values)
    assert wrong == 0
    assert subnormal > 100
    assert right > 100
    monkeypatch.setattr(partition_acceptance, "_SMALLEST", 0.0)
    assert wrongly_sure(values)[0] > 0


@pytest.mark.parametrize("planted", [lambda *_: True, lambda *_: False])
def test_proposals_kept_otherwise_would_be_noticed(planted, monkeypatch) -> None:
    proposals = proposals_around((3, 1), "1")
    monkeypatch.setattr(partition_proposals, "is_surely_kept", lambda *_: False)
    monkeypatch.setattr(Ratio, "is_above", planted)
    assert kept_wrongly(proposals, 3) > 0


def test_a_rejected_proposal_is_followed_by_another(seeded, monkeypatch) -> None:
    """And its bits are gone: the next one is drawn as if it were the first."""
    paths, answers = Proposals.within(choices_around((3, 1), 9), Fraction(1, 2)), [False, True]
    monkeypatch.setattr(Proposals, "is_kept", lambda *_: answers.pop(0))
    rows, columns = paths.draw(seeded(4))
    source = seeded(4)
    first, second = paths.propose(source), paths.propose(source)
    assert first != second
    assert rows.tolist() == second.rows
    assert (columns + len(rows)).tolist() == second.columns


# --- drawing without floats (Lemma 8) --------------------------------------------------------


class Given:
    """Stands in for the uniform numbers of a draw."""

    def __init__(self, uniforms: list[Fraction]) -> None:
        self.uniforms = uniforms

    def word(self, k: int, bits: int) -> int:
        return math.floor(self.uniforms[k] * (1 << bits))


def drawn_by(uniforms: list[Fraction], choices, rate: Fraction) -> tuple[list[int], list[int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_exact, "Uniforms", lambda source: Given(uniforms))
        return draw_exactly(choices, rate, zeros)


EXACT = [((2, 1), Fraction(8), 5), ((), Fraction(1, 4), 6), ((5, 5), Fraction(1), 4)]


@pytest.mark.parametrize(("data", "rate", "distance"), EXACT)
def test_without_floats_uniform_numbers_are_inverted_exactly(data, rate, distance) -> None:
    choices, generator = choices_around(data, distance), random.Random(1)
    most = 1 + 2 * (choices.smallest + len(choices.costs))
    for _ in range(60):
        # Some of few bits, so that they are near 0 or 1.
        uniforms = [
            Fraction(generator.getrandbits(300) >> generator.choice([0, 0, 60, 250]), 1 << 300)
            for _ in range(most)
        ]
        if generator.random() < 0.3:
            uniforms = [1 - Fraction(1, 1 << 300) - uniform for uniform in uniforms]
        assert drawn_by(uniforms, choices, rate) == inverted(choices, rate, uniforms)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_floats_numbers_next_to_a_threshold_are_inverted_exactly(which: int) -> None:
    """A threshold is found by bisection to 2**-400; on both sides of it draws are as they are."""
    choices, rate = choices_around((2, 1), 4), Fraction(1, 2)
    uniforms = [Fraction(1, 3) + Fraction(1, 1 << 40)] * 9

    def at(uniform: Fraction) -> tuple[list[int], list[int]]:
        return inverted(choices, rate, [*uniforms[:which], uniform, *uniforms[which + 1 :]])

    low, high = Fraction(0), Fraction(1) - Fraction(1, 1 << 500)
    first = at(low)
    assert at(high) != first
    for _ in range(400):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) == first else (low, middle)
    for uniform in (low, high):
        given = [*uniforms[:which], uniform, *uniforms[which + 1 :]]
        assert drawn_by(given, choices, rate) == at(uniform)


def test_bits_are_drawn_once_each_and_kept(seeded) -> None:
    asked: list[bytes] = []

    def source(size: int) -> bytes:
        asked.append(seeded(len(asked)).__call__(size))
        return asked[-1]

    uniforms = Uniforms(source)
    first = uniforms.word(1, 128)
    other = uniforms.word(0, 128)
    longer = uniforms.word(1, 256)
    assert [len(more) for more in asked] == [16, 16, 16]
    assert first == int.from_bytes(asked[0], "big")
    assert other == int.from_bytes(asked[1], "big")
    assert longer == int.from_bytes(asked[0] + asked[2], "big")
    assert uniforms.word(1, 128) == first
    assert len(asked) == 3


def test_strange_bits_end_in_drawing_without_floats(monkeypatch) -> None:
    """All ones keep no proposal, ever."""
    called = []

    def counted(*arguments: object) -> tuple[list[int], list[int]]:
        called.append(arguments)
        return draw_exactly(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(partition_proposals, "draw_exactly", counted)
    choices = choices_around((2, 1), 5)
    rows, columns = Proposals.within(choices, Fraction(8)).draw(ones)
    assert len(called) == 1
    largest = choices.smallest + len(choices.costs) - 1
    assert rows.tolist() == [max(low, largest) for low in choices.rows.least]
    assert (columns + largest).tolist() == [max(low, largest) for low in choices.columns.least]


# --- equal bits on neighbours, at the extremes -----------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(16, "1e-30"), (1, "1e-18"), (64, "1e-300")])
@pytest.mark.quick(every=3)
def test_bits_of_all_ones_do_not_tell_neighbours_apart(epsilon, delta) -> None:
    """[2, 1] and [2, 1, 1]: a float decided, and gave squares of different sides."""
    mechanism = PartitionSampler(epsilon=epsilon, delta=delta)
    first, second = (mechanism.release(Profile.from_counts(c), ones) for c in ([2, 1], [2, 1, 1]))
    assert first.value == second.value


EXTREMES: dict[str, Callable[[int], bytes]] = {
    "ones": ones,
    "zeros": zeros,
    "low bits": lambda size: b"\x00\x00\x00\x00\x00\x00\x00\x01" * (size // 8),
    "high bits": lambda size: b"\xff\xff\xff\xff\xff\xff\xff\xfe" * (size // 8),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("pair", list(neighbour_pairs(2)), ids=str)
@pytest.mark.quick(every=5)
def test_what_only_one_neighbour_can_give_takes_more_bits_than_delta_has(pair, name) -> None:
    """An output that a neighbour cannot give is decided by enough bits to be as unlikely."""
    mechanism = PartitionSampler(epsilon=16, delta="1e-30")
    paths = [mechanism._proposals(profile(data)) for data in pair]
    for own, other in itertools.permutations(paths):
        decisive = list[int]()

        def counted(size: int, decisive: list[int] = decisive) -> bytes:
            decisive.append(8 * size)
            return EXTREMES[name](size)

        rows, columns = own.draw(counted)
        output = partition_proposals.Proposal(rows.tolist(), (columns + len(rows)).tolist())
        if not is_within(other.choices, output):
            assert sum(decisive) > 100  # 1e-30 is 2**-99.7


# --- errors and warnings ---------------------------------------------------------------------


def fails_once(call: Callable, error: BaseException) -> tuple[Callable, list[int]]:
    calls: list[int] = []

    def failing(*arguments, **named):
        calls.append(1)
        if len(calls) == 1:
            raise error
        return call(*arguments, **named)

    return failing, calls


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (partition_measuring, "find_windows"),
        (Proposals, "within"),
        (Half, "over"),
        (Powers, "of"),
        (partition_tables.np, "empty"),
        (Proposals, "draw"),
        (Proposals, "propose"),
    ],
)
def test_memory_that_runs_out_once_releases_nothing(owner, name, monkeypatch) -> None:
    """No second try, in a smaller window say: its support would tell what the first one was."""
    failing, calls = fails_once(getattr(owner, name), MemoryError("Unable to allocate 918273645"))
    mechanism, data = PartitionSampler(epsilon=1, delta=1e-9), Profile.from_counts([7])
    monkeypatch.setattr(owner, name, failing)
    with pytest.raises(DphistError, match="not enough memory") as caught:
        mechanism.release(data)
    monkeypatch.undo()
    assert len(calls) == 1
    assert "918273645" not in f"{caught.value}{caught.value.__context__}{caught.value.__cause__}"


def test_memory_that_runs_out_without_floats_releases_nothing(monkeypatch) -> None:
    failing, calls = fails_once(partition_exact._tables, MemoryError("918273645"))
    monkeypatch.setattr(partition_exact, "_tables", failing)
    with pytest.raises(DphistError, match="not enough memory"):
        PartitionSampler(epsilon=16, delta=1e-9).release(Profile.from_counts([2]), ones)
    assert len(calls) == 1


def test_no_setting_of_numpy_makes_an_error_or_warning_of_small_numbers(seeded, recwarn) -> None:
    mechanism = PartitionSampler(epsilon=8, delta="1e-300")
    data = Profile.from_counts([300, 2])
    expected = mechanism.release(data, seeded(1)).value
    with np.errstate(all="raise"):
        assert mechanism.release(data, seeded(1)).value == expected
    with np.errstate(all="warn"):
        assert mechanism.release(data, seeded(1)).value == expected
    assert len(recwarn) == 0
