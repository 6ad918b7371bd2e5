"""Rounds of runs: choose a pair and an event on some, bound its odds on others, and again."""

import math
import random
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dphist.document.audited import Pair
from dphist.lab.auditing.outcome import Features, Watch, capture_run, list_features
from dphist.lab.auditing.statistical.bounds import bound_epsilons, joint_is_narrower
from dphist.lab.auditing.statistical.choosing import Choice, choose
from dphist.lab.auditing.statistical.events import Event
from dphist.lab.auditing.subject import Run, Variants

_MOST_RUNS = 2000
_FEWEST_REPEATED = 60
_FAR = 7.0  # standard deviations, and a few agreements more, that no correct mechanism reaches


@dataclass(frozen=True)
class Repeated:
    """What was found: `warning` is empty where runs look independent."""

    warning: str
    runs: int
    interrupted: bool = False


def look_for_repetitions(run: Run, data: Any, seconds: float) -> Repeated:
    """Run many times on the same data, and say whether runs repeat each other.

    All bounds of the statistical layer take runs for independent. What draws from a cycle, or keeps
    a state, is judged wrongly. So two things are looked at: whether outcomes agree more often at
    some distance than at all others, and whether the first half of the runs looks like the second.
    """
    end = time.monotonic() + seconds
    shown: list[int] = []
    try:
        while len(shown) < _MOST_RUNS and time.monotonic() < end:
            shown.append(hash(capture_run(run, data)))
    except KeyboardInterrupt:
        return Repeated("", len(shown), interrupted=True)
    return Repeated(dependence(shown), len(shown))


def dependence(shown: Sequence[Hashable]) -> str:
    """Return what makes runs on the same data look dependent, in words; nothing if they do not."""
    if len(shown) < _FEWEST_REPEATED:
        return ""
    if _drifts(shown):
        return (
            "Later runs on the same data differ from earlier ones: there is a state. The counts "
            "above are not to be relied on."
        )
    lag = _find_agreeing_lag(shown)
    if lag is not None:
        return (
            f"Runs on the same data repeat each other: outcomes agree with those {lag} runs before "
            "far more often than independent ones would. The counts above are not to be relied on."
        )
    return ""


def _find_agreeing_lag(shown: Sequence[Hashable]) -> int | None:
    """Return a distance at which outcomes agree too often."""
    runs = len(shown)
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, outcome in enumerate(shown):
        places[outcome].append(place)
    agreeing, pairs = np.zeros(runs), 0
    for each in places.values():
        if len(each) > 1:
            there = np.zeros(2 * runs)
            there[each] = 1
            agreeing += np.fft.irfft(np.abs(np.fft.rfft(there)) ** 2)[:runs]
            pairs += len(each) * (len(each) - 1) // 2
    lags = np.arange(1, 2 * runs // 3)
    expected = pairs / (runs * (runs - 1) / 2) * (runs - lags)
    limit = expected + _FAR * np.sqrt(expected) + _FAR
    excess = np.round(agreeing)[lags] - limit
    best = int(np.argmax(excess))
    return int(lags[best]) if excess[best] > 0 else None


def _drifts(shown: Sequence[Hashable]) -> bool:
    half = len(shown) // 2
    first, second = Counter(shown[:half]), Counter(shown[half : 2 * half])
    both = ((first[each], second[each]) for each in {*first, *second})
    return any(abs(one - two) > _FAR * math.sqrt(one + two) + _FAR for one, two in both)


_FEWEST, _MOST_AT_FIRST = 25, 200  # runs on each of two neighbors, to choose by, at first
_FIRST_SHARE = 0.1  # of the time, for the first choice
_SHARE_OF_ALL = 0.3  # if it takes more, some pairs are left out
_CHOOSING_SHARE = 0.4  # of the time that is left, after which no further pair is looked at
_MOST_KEPT = 20_000  # features of older runs are dropped beyond this
_MOST_VARIANTS = 4  # of the pair that showed most, for the next round
_USED = 0.9  # of the time that is left, by the last round


@dataclass(frozen=True)
class Found:
    """What one round showed: an event, counted on runs that did not choose it.

    Attributes
    ----------
    pair : the neighbors; `swapped` if the event is likelier on the second.
    event : what was counted.
    hits, other_hits : runs in which it happened where it is likelier, and where it is not.
    runs : on each of the two.
    epsilon : what this shows at the audit's delta, at the least.
    error : probability that it is wrong.
    joint : how the probabilities are bounded, see `bound_epsilons`.
    """

    pair: Pair
    swapped: bool
    event: Event
    hits: int
    other_hits: int
    runs: int
    epsilon: float
    error: float
    joint: bool


@dataclass
class Progress:
    """What is known so far."""

    runs: int = 0
    rounds: int = 0
    pairs: int = 0
    found: tuple[Found, ...] = ()
    stopped: str = ""

    @property
    def best(self) -> Found | None:
        """The round that shows most: all rounds hold together."""
        return max(self.found, key=lambda each: each.epsilon, default=None)


class _TimeIsUpError(Exception):
    """The audit's seconds are over."""


def run_in_rounds(
    run: Run,
    pairs: tuple[Pair, ...],
    *,
    epsilon: float,
    delta: float,
    error: float,
    seconds: float,
    tell: Callable[[Progress], None],
    variants: Variants | None = None,
) -> Progress:
    """Run on neighbors until the claim is refuted or the time is up.

    Round r may be wrong with probability `error` / (r (r + 1)), and one that is the last with
    `error` / r, so that all rounds together are wrong with `error` at most, however many there are
    and whenever one stops. In each round all earlier runs choose a pair, a direction and an event;
    fresh runs, of which the number is fixed before, bound its probabilities.

    Parameters
    ----------
    run : what is audited.
    pairs : neighbors.
    epsilon, delta : the claim.
    error : probability with which a correct mechanism may be refuted.
    seconds : after which no further run begins.
    tell : called after each round.
    variants : makes pairs like the one that showed most; they are tried in the next round.
    """
    progress = Progress()
    rounds = _Rounds(run, list(pairs), _Clock(time.monotonic() + seconds), progress, delta)
    try:
        rounds.begin(seconds)
        while True:
            choices = rounds.choose()
            last = rounds.is_last(choices)
            progress.rounds += 1
            own = error / (progress.rounds * (1 if last else progress.rounds + 1))
            for found in rounds.bound(choices[0], own, last=last) if choices else ():
                progress.found += (found,)
                if found.epsilon > epsilon:
                    progress.stopped = "refuted"
                    break
            tell(progress)
            if last or progress.stopped:
                break
            rounds.go_on(choices, variants)
    except _TimeIsUpError:
        pass
    except KeyboardInterrupt:
        progress.stopped = "interrupted"
    progress.stopped = progress.stopped or "the time was up"
    return progress


@dataclass(frozen=True)
class _Clock:
    end: float

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def check(self) -> None:
        if self.left <= 0:
            raise _TimeIsUpError


@dataclass(frozen=True)
class _Chosen:
    """An event that tells a pair apart."""

    number: int
    choice: Choice


@dataclass
class _Rounds:
    """Pairs, what runs on them showed, and how long runs and choices take.

    Attributes
    ----------
    seen : what runs on each pair showed, on either neighbor.
    alive : numbers of the pairs that are still run on.
    size : runs on each of two neighbors that this round chooses by, beside the earlier ones, and
        that it counts the event in.
    a_run : seconds that a run on both of two neighbors took, by pair.
    choosing : seconds that the last choice took.
    """

    run: Run
    pairs: list[Pair]
    clock: _Clock
    progress: Progress
    delta: float
    seen: dict[int, tuple[deque[Features], deque[Features]]] = field(default_factory=dict)
    alive: list[int] = field(default_factory=list)
    size: int = _FEWEST
    a_run: dict[int, float] = field(default_factory=dict)
    choosing: float = 0.0

    def begin(self, seconds: float) -> None:
        """Run once on each pair; from that, decide how many runs the first choice gets.

        The slower they are, the fewer; in the end on fewer pairs.
        """
        for number in range(len(self.pairs)):
            self._run_more(number, 1)
        each = max(sum(self.a_run.values()), 1e-9)
        self.size = min(max(int(_FIRST_SHARE * seconds / each), _FEWEST), _MOST_AT_FIRST)
        affordable = max(int(_SHARE_OF_ALL * seconds * len(self.pairs) / (self.size * each)), 2)
        self.alive = list(range(len(self.pairs)))
        if affordable < len(self.alive):
            self.alive = sorted(random.SystemRandom().sample(self.alive, affordable))
        self.progress.pairs = len(self.alive)

    def choose(self) -> list[_Chosen]:
        """Run on all pairs; return events, those that seem to show most first."""
        for number in self.alive:
            self._run_more(number, self.size)
        begun, most = time.monotonic(), _CHOOSING_SHARE * self.clock.left
        choices: list[_Chosen] = []
        for number in self.alive:
            found = choose(*self.seen[number], self.delta, self.clock.check)
            choices += [_Chosen(number, choice) for choice in found]
            if choices and time.monotonic() - begun > most:
                break
        self.choosing = time.monotonic() - begun
        return sorted(choices, key=lambda chosen: -chosen.choice.score)

    def is_last(self, choices: list[_Chosen]) -> bool:
        """Whether there is no time for this round and one more."""
        if not choices:
            return False
        bounding = (self.size + 2 * self.size) * self.a_run[choices[0].number]
        choosing = 2 * self.size * sum(self.a_run[number] for number in self._select_best(choices))
        return self.clock.left * _USED < bounding + choosing + 2 * self.choosing

    def bound(self, chosen: _Chosen, error: float, *, last: bool) -> Iterator[Found]:
        """Count the event in fresh runs: as many as the time allows if this round is the last.

        Then there are two looks at them, as nobody knows how long runs will take. How many runs
        there are at each look, and how their probabilities are bounded, is decided before. A look
        that the time does not allow is dropped.
        """
        number, event, swapped = chosen.number, chosen.choice.event, chosen.choice.swapped
        begun, seen = time.monotonic(), self.seen[number]
        often = [(sum(map(event.holds, side)) + 0.5) / (len(side) + 1) for side in seen]
        looking = (time.monotonic() - begun) / len(seen[0])
        looks = [(self.size, error)]
        if last:
            counted_run = max(self.a_run[number] + looking, 1e-6)
            most = max(int(self.clock.left * _USED / counted_run), 2)
            looks = [(most // 2, error / 3), (most, 2 * error / 3)]
        likely, rare = reversed(often) if swapped else often
        bounds = [
            joint_is_narrower(round(likely * size), round(rare * size), size, self.delta, own)
            for size, own in looks
        ]
        hits, done = [0, 0], 0

        def count(side: int, features: Features) -> None:
            hits[side] += event.holds(features)
            seen[side].append(features)  # for later choices

        for (size, own), joint in zip(looks, bounds, strict=True):
            self._run_both(number, size - done, count)
            one, other, done = hits[swapped], hits[not swapped], size
            (shown,) = bound_epsilons(one, other, size, [self.delta], own, joint=joint)
            yield Found(self.pairs[number], swapped, event, one, other, size, shown, own, joint)

    def go_on(self, choices: list[_Chosen], variants: Variants | None) -> None:
        """Decide which pairs stay, and how many runs there are in the next round."""
        self.size, self.alive = 2 * self.size, self._select_best(choices)
        if variants is not None and choices:
            new = _new_pairs(variants, self.pairs[choices[0].number], self.pairs)
            self.alive += range(len(self.pairs), len(self.pairs) + len(new))
            self.pairs += new

    def _select_best(self, choices: list[_Chosen]) -> list[int]:
        # Pairs without an event come last, but stay where there is room: theirs may be rare.
        ranked = dict.fromkeys([each.number for each in choices] + self.alive)
        return list(ranked)[: max(2, (len(self.alive) + 1) // 2)]

    def _run_more(self, number: int, size: int) -> None:
        """Run on a pair, for choices."""
        seen = self.seen.setdefault(number, (deque(maxlen=_MOST_KEPT), deque(maxlen=_MOST_KEPT)))
        self._run_both(number, size, lambda side, features: seen[side].append(features))

    def _run_both(self, number: int, size: int, take: Callable[[int, Features], None]) -> None:
        """Run `size` times on both of two neighbors, and pass on 0 or 1 with what each showed."""
        pair, begun = self.pairs[number], time.monotonic()
        draw = random.Random(secrets.randbits(64))  # noqa: S311 - public data
        with Watch() as watch:
            for _ in range(size):
                self.clock.check()
                # In random order: what drifts with time must not tell the two apart.
                for side in (0, 1) if draw.random() < 0.5 else (1, 0):
                    data = pair.other if side else pair.one
                    take(side, list_features(watch.see(self.run, data)))
                self.progress.runs += 2
        self.a_run[number] = (time.monotonic() - begun) / size


def _new_pairs(variants: Variants, pair: Pair, pairs: list[Pair]) -> list[Pair]:
    """Return pairs like this one that were not tried."""
    tried = {each.name for each in pairs}
    made = variants(pair, random.Random(secrets.randbits(64)))  # noqa: S311 - public data
    new = {each.name: each for each in made if each.name not in tried}
    return list(new.values())[:_MOST_VARIANTS]
