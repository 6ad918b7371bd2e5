"""Error of one release for all properties, and of noise on each estimate by itself."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.properties import property_noise as noise
from benchmarks.properties.populations import (
    LABELS,
    LAWS,
    NAMES,
    SEED,
    Sample,
    bits,
    distance,
    draw,
)
from benchmarks.properties.property_noise import Property
from dphist import AnonymizedHistogram, Profile, anonymize, properties

RECORDS = 1000
RUNS = 400
EPSILONS = ("1", "0.1")
SHARES = (0.1, 0.25, 0.5)  # of epsilon, for the number of records

EXACT, PROFILE, WHOLE, SPLIT, REPLACED = "exact", "profile", "whole", "split", "replaced"
HEADS = {
    EXACT: "exact profile",
    PROFILE: "one release of the profile, for all",
    WHOLE: "noise on this estimate, all of ε",
    SPLIT: "the same, ε split over the five",
    REPLACED: "n public, one record replaced, all of ε",
}
# Data without any small count.
EVEN = Profile.from_counts([RECORDS // 10] * 10)

Estimator = Callable[[Profile | AnonymizedHistogram], properties.Estimate]


class Question(NamedTuple):
    """A property of one sample: how it is estimated, and what it is."""

    asked: Property
    estimate: Estimator
    truth: float


class Cell(NamedTuple):
    """What an error is one of."""

    name: str
    epsilon: str
    how: str


Errors = dict[Cell, tuple[float, ...]]


def measure(runs: int) -> Errors:
    """Return root mean square errors, one a law, in the unit of each property."""
    found: dict[Cell, list[float]] = {}
    random = np.random.default_rng(SEED)
    for law in LAWS:
        drawn = draw(law, RECORDS, runs)
        asked = [_questions(each, random) for each in drawn]
        for epsilon in EPSILONS:
            squares: dict[tuple[str, str, float], list[float]] = {}
            for sample, questions in zip(drawn, asked, strict=True):
                for key, square in _squares(sample, questions, epsilon, random):
                    squares.setdefault(key, []).append(square)
            best: dict[Cell, float] = {}
            for (name, how, _), values in squares.items():
                cell, error = Cell(name, epsilon, how), math.sqrt(float(np.mean(values)))
                best[cell] = min(best.get(cell, math.inf), error)
            for cell, error in best.items():
                found.setdefault(cell, []).append(error)
    return {cell: tuple(errors) for cell, errors in found.items()}


def names(errors: Errors) -> list[str]:
    """Return the properties, in the order of the table."""
    return list(dict.fromkeys(cell.name for cell in errors))


def print_errors(errors: Errors, runs: int) -> None:
    """Print the table."""
    shares = ", ".join(f"{share:g}" for share in SHARES)
    print(
        f"Root mean square error, {' / '.join(NAMES)}; {RECORDS:,} records, {LABELS:,} labels,"
        f" {runs} samples. Of the shares {shares} of ε for the number of records, each cell of"
        " noise on an estimate has the one that turned out best.\n"
    )
    rows = [
        [name, epsilon, *(_three(errors[Cell(name, epsilon, how)]) for how in HEADS)]
        for name in names(errors)
        for epsilon in EPSILONS
    ]
    print_table(["property", "ε", *HEADS.values()], rows)


def print_sensitivities(runs: int) -> None:
    """Print what one record can change, and how far counts that occur fall short of it."""
    samples = [each.profile for law in LAWS for each in draw(law, RECORDS, runs)]
    sizes = [_support_size(draw(law, RECORDS, 1)[0].p_min) for law in LAWS]
    rows = []
    for asked in (_ENTROPY, *sizes, *_COVERAGE.values(), _DISTANCE):
        true = noise.one_record_more_or_less(asked, RECORDS)
        observed = min(noise.over_observed_counts(asked, profile) for profile in samples)
        even = noise.over_observed_counts(asked, EVEN)
        name = asked.name
        if asked in sizes:
            name += f", p_min=1/{asked.most(RECORDS):.0f}"
        replaced = noise.one_record_replaced(asked, RECORDS)
        rows.append([name, f"{true:.4g}", f"{replaced:.4g}", _times(true, observed)])
        rows[-1].append(_times(true, even))
    print(
        "\nWhat one record can move, and, not private, how many times the largest step from the"
        " counts that occur that is: the worst of the samples, and of ten labels of 100 records.\n"
    )
    head = ["property", "one more or less", "one replaced", "times, samples", "times, ten labels"]
    print_table(head, rows)


@cache
def _support_size(p_min: Fraction) -> Property:
    return noise.support_size(p_min)


_ENTROPY = noise.entropy_bits(LABELS)
# Noise can be added to a sum only, so these are compared.
_SUMS = {1: "good-toulmin", 2: "smoothed"}
_COVERAGE = {extra: noise.support_coverage(extra) for extra in (1, 2)}
_DISTANCE = noise.distance_to_uniformity(LABELS)


def _questions(sample: Sample, random: np.random.Generator) -> list[Question]:
    """The five properties of a sample; how many labels are new is drawn."""
    p, p_min = sample.probabilities, sample.p_min
    coverage = [
        Question(
            asked,
            partial(properties.support_coverage, extra=extra, method=_SUMS[extra]),
            sample.new_labels(extra, random),
        )
        for extra, asked in _COVERAGE.items()
    ]
    return [
        Question(_ENTROPY, partial(properties.entropy, labels=LABELS), bits(p)),
        Question(_support_size(p_min), partial(properties.support_size, p_min=p_min), LABELS),
        *coverage,
        Question(_DISTANCE, partial(properties.distance_to_uniformity, labels=LABELS), distance(p)),
    ]


def _squares(
    sample: Sample, questions: Sequence[Question], epsilon: str, random: np.random.Generator
) -> list[tuple[tuple[str, str, float], float]]:
    """Squared errors by property, way, and share of epsilon for the number of records."""
    profile, whole, found = sample.profile, float(epsilon), []
    released = anonymize(profile, epsilon=epsilon, source=random.bytes).value

    def add(question: Question, how: str, share: float, value: float) -> None:
        found.append(((question.asked.name, how, share), (value - question.truth) ** 2))

    for question in questions:
        add(question, EXACT, 0, question.estimate(profile).value)
        add(question, PROFILE, 0, question.estimate(released).value)
        value = noise.private_estimate_of_public_size(question.asked, profile, whole, random)
        add(question, REPLACED, 0, value)
    for share in SHARES:
        rest = (1 - share) * whole
        # The number of records is bought once for all five, which is to their advantage.
        total = noise.noisy_total(profile.total, share * whole, random)
        for question in questions:
            alone = noise.noisy_total(profile.total, share * whole, random)
            value = noise.private_estimate(question.asked, profile, alone, rest, random)
            add(question, WHOLE, share, value)
            part = rest / len(questions)
            value = noise.private_estimate(question.asked, profile, total, part, random)
            add(question, SPLIT, share, value)
    return found


def _three(values: Sequence[float]) -> str:
    return " / ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{float(f'{value:.3g}'):,.0f}"


def _times(true: float, observed: float) -> str:
    return f"{true / observed:.2f}" if observed > 0 else "∞"
