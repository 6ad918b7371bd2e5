"""The law of the partition sampler twice over: from its own tables, exactly, and without them."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import mpmath
import numpy as np

from dphist import PartitionSampler
from dphist.anonymized.partition_sampler.proposals import Proposal, Proposals
from dphist.anonymized.partition_sampler.tables import Half, exactly
from dphist.anonymized.partition_sampler.windows import (
    Choices,
    Entries,
    RowWindows,
    Windows,
    find_windows,
)
from tests.support.privacy.diagrams import Partition, partitions, profile


def every_partition(most: int) -> Iterator[Partition]:
    for n in range(most + 1):
        yield from partitions(n)


def distance(one: Partition, other: Partition) -> int:
    return profile(one).distance(profile(other))


def choices_around(data: Partition, distance: int) -> Choices:
    return find_windows(profile(data), distance).choices(profile(data))


def as_proposal(partition: Partition) -> Proposal:
    """The halves of a partition: entries not below its Durfee side, in and beyond the square."""
    side = sum(count >= i for i, count in enumerate(partition, start=1))
    columns = [sum(count >= r for count in partition) for r in range(1, side + 1)]
    return Proposal(list(partition[:side]), columns)


def is_within(choices: Choices, proposal: Proposal) -> bool:
    """Whether a partition lies in the windows."""
    place = len(proposal.rows) - choices.smallest
    return 0 <= place < len(choices.costs) and all(
        low <= q <= high
        for half, drawn in ((choices.rows, proposal.rows), (choices.columns, proposal.columns))
        for q, low, high in zip(drawn, half.least, half.most, strict=False)
    )


# --- from the tables -------------------------------------------------------------------------


def chance_of_half(half: Half, drawn: Sequence[int]) -> Fraction:
    """The probability with which the tables propose these entries."""
    chance, least = Fraction(1), len(drawn)
    for q, table in reversed(list(zip(drawn, half.tables, strict=False))):
        share = exactly(table.sum_from(q)) - exactly(table.sum_from(q + 1))
        chance *= share / exactly(table.sum_from(least))
        least = q
    return chance


def chance_of(proposals: Proposals, proposal: Proposal) -> Fraction:
    """The probability Q with which a partition in the windows is proposed."""
    place = len(proposal.rows) - proposals.choices.smallest
    weight = proposals.sides[place] - (proposals.sides[place - 1] if place else 0)
    chance = Fraction(weight, proposals.sides[-1])
    chance *= chance_of_half(proposals.rows, proposal.rows)
    return chance * chance_of_half(proposals.columns, proposal.columns)


def chance_to_keep(proposals: Proposals, proposal: Proposal) -> tuple[int, Fraction]:
    """k and x such that a proposal is kept with probability R = exp(-rate k) x."""
    ratio = proposals.ratio(proposal)
    return ratio.cells, Fraction(ratio.numerator, ratio.denominator)


def log_of(number: Fraction) -> float:
    return float(mpmath.log(mpmath.mpf(number.numerator) / number.denominator))


def log_probability(paths: Proposals, partition: Partition) -> float:
    """Logarithm of Q R, the probability that a partition is proposed and kept; -inf outside."""
    proposal = as_proposal(partition)
    if not is_within(paths.choices, proposal):
        return -math.inf
    cells, share = chance_to_keep(paths, proposal)
    whole = chance_of(paths, proposal) * share
    return log_of(whole) - float(paths.powers.rate) * cells


# --- without them ----------------------------------------------------------------------------


def half_sums(entries: Entries, rate: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Logarithms of the sums over each entry's values from the largest down, and their scales."""
    sums: list[np.ndarray] = []
    scales, scale, above = [], 0.0, 0
    for true, least, most in zip(entries.true, entries.least, entries.most, strict=True):
        weights = -rate * np.abs(np.arange(most, least - 1, -1) - true)
        if sums:
            earlier = sums[-1][above - most :]
            shared = min(len(earlier), len(weights))
            weights[:shared] += earlier[:shared]
        running = np.logaddexp.accumulate(weights)
        scale += float(running[-1])
        sums.append(running - running[-1])
        scales.append(scale)
        above = most
    return sums, np.array(scales)


def log_weight(choices: Choices, data: Partition, rate: float) -> float:
    """Logarithm of the sum of exp(-rate d) over all partitions in the windows, in float64."""
    halves = [(half, *half_sums(half, rate)) for half in (choices.rows, choices.columns)]
    weights = []
    for side, cost in enumerate(choices.costs, choices.smallest):
        log = -rate * cost
        for entries, sums, scales in halves:
            if side > 0:
                j = min(entries.most[side - 1] - side, len(sums[side - 1]) - 1)
                log += float(sums[side - 1][j] + scales[side - 1])
        weights.append(log)
    # Costs are given up to a constant.
    costless = choices.smallest + choices.costs.index(0)
    missing = sum(max(costless - count, 0) for count in padded(data, costless))
    beyond = sum(max(count - costless, 0) for count in data[costless:])
    return float(np.logaddexp.reduce(weights)) - rate * (beyond - missing)


def padded(data: Partition, length: int) -> list[int]:
    """The first rows of a diagram."""
    return [*data, *[0] * length][:length]


def in_windows(windows: Windows, data: Partition) -> Choices:
    """What a draw around `data` chooses among, if it has windows that are of other data."""
    columns = as_columns(data)

    def around(entries: RowWindows, true: Partition) -> RowWindows:
        rows = np.array(padded(true, windows.largest), np.int64)
        return dataclasses.replace(entries, true=rows)

    return dataclasses.replace(
        windows, rows=around(windows.rows, data), columns=around(windows.columns, columns)
    ).choices(profile(data))


def as_columns(data: Partition) -> Partition:
    return tuple(sum(count >= r for count in data) for r in range(1, max(data, default=0) + 1))


def inverted(
    choices: Choices, rate: Fraction, uniforms: Sequence[Fraction]
) -> tuple[list[int], list[int]]:
    """The rows and columns that uniform numbers stand for, in arithmetic of 400 digits.

    The first stands for the side, the next for its rows, and then for its columns.
    """
    with mpmath.workdps(400):
        power = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)

        def sums(entries: Entries) -> list[list[mpmath.mpf]]:
            tables: list[list[mpmath.mpf]] = []
            for i, true in enumerate(entries.true):
                running, table = mpmath.mpf(0), []
                for q in range(entries.most[i], entries.least[i] - 1, -1):
                    j = entries.most[i - 1] - q
                    before = tables[-1][min(j, len(tables[-1]) - 1)] if i else 1
                    running += power ** abs(q - true) * before
                    table.append(running)
                tables.append(table)
            return tables

        def place(table: list[mpmath.mpf], end: int, uniform: Fraction) -> int:
            whole = table[min(end, len(table) - 1)]
            target = whole * uniform.numerator / uniform.denominator
            return next(j for j, held in enumerate(table) if target < held)

        def entries_of(
            half: Entries, tables: list[list[mpmath.mpf]], side: int, first: int
        ) -> list[int]:
            drawn, least = [0] * side, side
            for i in reversed(range(side)):
                end = half.most[i] - max(least, half.least[i])
                drawn[i] = least = half.most[i] - place(tables[i], end, uniforms[first + i])
            return drawn

        halves = [(half, sums(half)) for half in (choices.rows, choices.columns)]
        running, sides = mpmath.mpf(0), []
        for side, cost in enumerate(choices.costs, choices.smallest):
            weight = power**cost
            for half, tables in halves:
                if side:
                    end = min(half.most[side - 1] - side, len(tables[side - 1]) - 1)
                    weight *= tables[side - 1][end]
            running += weight
            sides.append(running)
        side = choices.smallest + place(sides, len(sides) - 1, uniforms[0])
        rows, columns = (
            entries_of(half, tables, side, 1 + k * side) for k, (half, tables) in enumerate(halves)
        )
        return rows, columns


# --- sources of bits -------------------------------------------------------------------------


def words_of(uniforms: Sequence[Fraction], bits: int = 64) -> list[int]:
    """The first bits of each number, as whole numbers."""
    return [math.floor(uniform * (1 << bits)) for uniform in uniforms]


class BitsOf:
    """A source that continues one uniform number after its first `given` bits."""

    def __init__(self, uniform: Fraction, given: int = 64) -> None:
        self.uniform, self.given = uniform, given

    def __call__(self, size: int) -> bytes:
        self.given += 8 * size
        word = math.floor(self.uniform * (1 << self.given))
        return (word & (1 << 8 * size) - 1).to_bytes(size, "big")


def proposals_around(data: Partition, epsilon: str, delta: str = "1e-9") -> Proposals:
    return PartitionSampler(epsilon=epsilon, delta=delta)._proposals(profile(data))
