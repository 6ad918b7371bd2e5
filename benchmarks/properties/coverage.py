"""How many of the 95 % intervals hold the truth, from exact profiles and from anonymized ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.properties.populations import (
    LABELS,
    LAWS,
    NAMES,
    SEED,
    Law,
    Sample,
    bits,
    collision_bits,
    distance,
    draw,
    uniform,
)
from dphist import Profile, Release, anonymize, properties
from dphist.properties import Estimate

RECORDS = (300, 1000, 3000)
RUNS = 80
EPSILONS = (None, "1", "0.1")
RESAMPLES = 50
# A linear program takes as long as a hundred of the other estimates.
SLOW_RUNS_SHARE, SLOW_RESAMPLES = 4, 10
LOW, HIGH = 90, 99  # per cent of the intervals that are to hold

Asked = Callable[[Profile | Release, Sample, int], Estimate]
Truth = Callable[[Sample, np.random.Generator], float]


@dataclass(frozen=True)
class Question:
    """An estimator and what it estimates.

    Attributes
    ----------
    name : of the estimator, as the table has it.
    ask : source, sample, resamples -> estimate.
    truth : of a sample; what further records bring is drawn.
    laws : those it is for.
    slow : whether it is asked of fewer samples, with fewer further releases.
    """

    name: str
    ask: Asked
    truth: Truth
    laws: tuple[Law, ...] = LAWS
    slow: bool = False


class Cell(NamedTuple):
    """Where a share belongs."""

    name: str
    epsilon: str | None
    records: int
    law: str


Held = dict[Cell, list[bool | None]]


def _by(function: Callable[..., Estimate], **given: Any) -> Asked:
    def ask(source: Profile | Release, sample: Sample, resamples: int) -> Estimate:
        return function(source, resamples=resamples, **given)

    return ask


def _support(method: str) -> Asked:
    def ask(source: Profile | Release, sample: Sample, resamples: int) -> Estimate:
        return properties.support_size(
            source, p_min=sample.p_min, method=method, resamples=resamples
        )

    return ask


def _new_labels(extra: int) -> Truth:
    return lambda sample, random: sample.new_labels(extra, random)


def _top(many: int) -> Truth:
    return lambda sample, _: float(np.sum(np.sort(sample.probabilities)[-many:]))


def _questions() -> Iterable[Question]:
    for method in ("wu-yang", "jvhw"):
        for labels, said in ((LABELS, f"labels={LABELS}"), (None, "labels not known")):
            ask = _by(properties.entropy, method=method, labels=labels)
            yield Question(f"entropy, {method}, {said}", ask, lambda s, _: bits(s.probabilities))
    for method in ("wu-yang", "valiant-valiant", "chao1"):
        laws = (uniform,) if method == "chao1" else LAWS
        slow = method == "valiant-valiant"
        name = f"support_size, {method}"
        yield Question(name, _support(method), lambda *_: LABELS, laws, slow)
    for extra in (1, 2):
        ask = _by(properties.support_coverage, extra=extra)
        yield Question(f"support_coverage, extra={extra}", ask, _new_labels(extra))
    for guesses in (10, 100):
        ask = _by(properties.guessing, guesses=guesses)
        yield Question(f"guessing, guesses={guesses}", ask, _top(guesses))
    ask = _by(properties.distance_to_uniformity, labels=LABELS)
    yield Question("distance_to_uniformity", ask, lambda s, _: distance(s.probabilities))
    ask = _by(properties.renyi_entropy, order=2)
    yield Question("renyi_entropy, order=2", ask, lambda s, _: collision_bits(s.probabilities))


QUESTIONS = tuple(_questions())


def questions(names: Sequence[str] | None) -> tuple[Question, ...]:
    """Return all questions, or those about the named properties."""
    if names is None:
        return QUESTIONS
    return tuple(q for q in QUESTIONS if q.name.split(",")[0] in names)


def measure(runs: int, questions: Sequence[Question] = QUESTIONS) -> Held:
    """Return whether each interval held the truth; None where there was no interval."""
    held: Held = {}
    # Not the stream of `draw`: further records would repeat those of the samples.
    random = np.random.default_rng([SEED, 1])
    for records in RECORDS:
        for law, name in zip(LAWS, NAMES, strict=True):
            for place, sample in enumerate(draw(law, records, runs)):
                slow = place < slow_runs(runs)
                asked = [q for q in questions if law in q.laws and (slow or not q.slow)]
                truths = [question.truth(sample, random) for question in asked]
                for epsilon in EPSILONS:
                    source = _told(sample.profile, epsilon, random)
                    # The slow ones last: they make further releases of their own number.
                    order = sorted(zip(asked, truths, strict=True), key=lambda pair: pair[0].slow)
                    for question, truth in order:
                        resamples = SLOW_RESAMPLES if question.slow else RESAMPLES
                        interval = _interval(question.ask, source, sample, resamples)
                        cell = Cell(question.name, epsilon, records, name)
                        held.setdefault(cell, []).append(_holds(interval, truth))
    return held


def slow_runs(runs: int) -> int:
    """How many samples the slow estimators are asked of."""
    return max(1, runs // SLOW_RUNS_SHARE)


def print_coverage(held: Held, runs: int, questions: Sequence[Question] = QUESTIONS) -> None:
    """Print the table, and which cells are not as they are to be."""
    print(
        f"Of {runs} samples, how many in a hundred of the 95 % intervals hold the truth,"
        f" {' / '.join(NAMES)}; {RESAMPLES} further releases each. For the linear program"
        f" (valiant-valiant) {slow_runs(runs)} samples and {SLOW_RESAMPLES} further releases."
        " A dash: no interval was given; (of m): only m were.\n"
    )
    rows = []
    for question in questions:
        names = [n for n, law in zip(NAMES, LAWS, strict=True) if law in question.laws]
        samples = slow_runs(runs) if question.slow else runs
        for epsilon in EPSILONS:
            shares = [
                " / ".join(_share(held[Cell(question.name, epsilon, n, law)]) for law in names)
                for n in RECORDS
            ]
            rows.append([question.name, samples, epsilon or "exact", *shares])
    head = ["interval of", "samples", "ε", *(f"{n:,} records" for n in RECORDS)]
    print_table(head, rows)
    _print_misses(held)


def _print_misses(held: Held) -> None:
    shares = {cell: _percent(each) for cell, each in held.items()}
    known = {cell: share for cell, share in shares.items() if share is not None}
    few = [
        f"{cell.name}, {cell.law}, {cell.records:,} records, "
        + ("exact" if cell.epsilon is None else f"ε = {cell.epsilon}")
        + f": {share:.0f}"
        for cell, share in known.items()
        if share < LOW
    ]
    many = sum(share > HIGH for share in known.values())
    print(
        f"\nOf {len(known)} shares {len(few)} are below {LOW} % and {many} above {HIGH} %."
        + "".join(f"\n- {each}" for each in few)
    )


def _told(profile: Profile, epsilon: str | None, random: np.random.Generator) -> Profile | Release:
    return profile if epsilon is None else anonymize(profile, epsilon=epsilon, source=random.bytes)


def _interval(
    ask: Asked, source: Profile | Release, sample: Sample, resamples: int
) -> tuple[float, float] | None:
    # Where the released profile has no interval, further releases would be in vain.
    if isinstance(source, Release) and ask(source.value, sample, resamples).interval is None:
        return None
    return ask(source, sample, resamples).interval


def _holds(interval: tuple[float, float] | None, truth: float) -> bool | None:
    # The entropy of the uniform law is the largest there is, up to its last digit.
    return None if interval is None else interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def _percent(held: Sequence[bool | None]) -> float | None:
    given = [each for each in held if each is not None]
    return 100 * sum(given) / len(given) if given else None


def _share(held: Sequence[bool | None]) -> str:
    share = _percent(held)
    if share is None:
        return "–"
    given = sum(each is not None for each in held)
    return f"{share:.0f}" + ("" if given == len(held) else f" (of {given})")
