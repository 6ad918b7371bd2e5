"""Transcripts of streams, replayed at production scale.

Horizons of 2**20 events and more, batches of hundreds of thousands, windows, users, listed labels
and others. What noise is added to is out of sight, as sums over blocks of events exist nowhere but
in the proof; here they are computed from the events. Lemmas 2, 3 and 6 of
docs/understand/proofs/streams.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dphist.errors import ParameterError
from dphist.lab.auditing.replay import DivergedError, Told, loss, loss_of_neighbours, record, replay
from dphist.release.maker import read_parameters
from dphist.streams.counters.autoregressive import autoregressive_counter
from dphist.streams.counters.binary import blocks, levels
from dphist.streams.counters.noise_table import NoiseTable
from dphist.streams.counters.toeplitz import toeplitz_counter
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

# Events as rows: a label and a user each; -1 stands for no label.
Stream = np.ndarray
METHODS: tuple[Any, ...] = ("toeplitz", "autoregressive", "binary")


@dataclass
class Setting:
    """A mechanism, and at which times it is read.

    `paths` is how many paths of noise a table has: one a label, and 64 at least.
    """

    mechanism: ContinualMechanism
    times: Sequence[int]
    labels: int = 30
    users: int | None = None
    windows: Sequence[tuple[int, int]] = ()
    paths: int = 64
    seen: list[str] = field(default_factory=list)

    def stream(self, seed: int = 0) -> Stream:
        """Common labels and rare ones; a tenth of all events is empty."""
        rng = np.random.default_rng(seed)
        labels = np.minimum(rng.geometric(0.15, self.times[-1]) - 1, self.labels - 1)
        labels[rng.random(len(labels)) < 0.1] = -1
        labels[: self.labels] = np.arange(self.labels)  # so that places are known
        return labels

    def run(self, events: Stream) -> list[Any]:
        """Feed the events, read at all times, and return all that was said."""
        said: list[Any] = []
        stream = ContinualHistogram(**read_parameters(self.mechanism))
        before = 0
        for time in self.times:
            part = events[before:time]
            texts = [None if label < 0 else f"label {label}" for label in part.tolist()]
            rows = {"label": pd.array(texts, "string")}
            user = None
            if self.users is not None:
                user, rows["user"] = "user", np.arange(before, time) % self.users
            stream.update_many(pd.DataFrame(rows), user=user)
            said.append(list(stream.counts().items()))
            before = time
        said += [list(stream.window(*window).items()) for window in self.windows]
        said.append(stream.release().to_json())
        return said

    def counted(self, events: Stream) -> Stream:
        """The events that count: the first ones of each user, up to the bound."""
        if self.users is None:
            return events
        turn = np.arange(len(events)) // self.users
        return np.where(turn < self.mechanism.max_events_per_user, events, -1)

    def marks(self) -> list[int]:
        every = self.mechanism.windows
        return [] if every is None else list(range(every, self.times[-1] + 1, every))

    def told(self) -> dict[int, Told]:
        """The sums over the blocks of the binary mechanism, in its units, request by request."""
        drawn: list[tuple[int, int]] = []
        before: set[tuple[int, int]] = set()
        for time in sorted({*self.times, *self.marks()}):
            drawn += [block for block in blocks(time) if block not in before]
            before = set(blocks(time))
        return {
            k: lambda events, block=block: self.sums(events, block)  # type: ignore[misc]
            for k, block in enumerate(drawn)
        }

    def sums(self, events: Stream, block: tuple[int, int]) -> np.ndarray:
        level, number = block
        held = self.counted(events)[number << level : (number + 1) << level]
        counts = np.bincount(held[held >= 0], minlength=self.paths)
        return counts << self.mechanism.counter.unit_bits


def setting(times: Sequence[int], **parameters: Any) -> Setting:
    held = {"epsilon": "1/10", "horizon": 2**20, "method": "binary", **parameters}
    if "labels" not in held:
        held.setdefault("delta", "1e-9")
    own = {name: held.pop(name) for name in ("users", "windows_read") if name in held}
    windows = own.get("windows_read", ())
    return Setting(ContinualMechanism(**held), times, users=own.get("users"), windows=windows)


LISTED = [f"label {i}" for i in range(30)]
POWERS = [2**k for k in range(5, 19)]
OFTEN = [40, 1000, 4095, 4096, 4097, 70_000, 131_071, 131_072, 200_001]
SETTINGS = {
    "listed": setting(POWERS, labels=LISTED),
    "not listed": setting(POWERS),
    "often": setting(OFTEN, max_labels=3),
    "few readings": setting(OFTEN, readings=len(OFTEN) + 1),
    "windows": setting(OFTEN, windows=10_000, windows_read=[(1, 10_000), (60_001, 200_000)]),
    "users": setting(OFTEN, max_events_per_user=3, users=50_000),
    "least": setting(POWERS, epsilon="1e-12", labels=LISTED),
    "large": setting(POWERS, epsilon=64, horizon=2**40),
    "largest": setting(POWERS, epsilon=9759, labels=LISTED, horizon=2**20),
}


@pytest.mark.long(every=2)
@pytest.mark.quick("[listed]", "[windows]", "[large]")
@pytest.mark.parametrize("name", SETTINGS)
def test_the_binary_mechanism(name: str) -> None:
    """An event early, late, in the middle is empty: what is lost is within the guarantee."""
    own = SETTINGS[name]
    events, told = own.stream(), own.told()
    claimed = own.mechanism.guarantee.rho
    transcript = record(own.run, events, told=told)
    replay(transcript, own.run, events, told=told)
    losses = []
    for place in (own.labels + 2, own.times[-1] // 3, own.times[-1] - 1):
        other = events.copy()
        where = (
            place + int(np.flatnonzero(events[place:] >= 0)[0])
            if place < len(events) - 9
            else place
        )
        other[where] = -1
        losses.append(loss(transcript, replay(transcript, own.run, other, told=told))[1])
    assert 0 < max(losses) <= claimed
    # The events after all that made labels known may be any others.
    replay(
        transcript, own.run, np.append(events[: own.labels], own.stream(1)[own.labels :]), told=told
    )


@pytest.mark.parametrize("listed", [True, False])
def test_enormous_counts_are_released_by_their_noisy_ones_alone(listed: bool) -> None:
    """More than 2**20 events of one label, or none: the same noisy counts, the same release."""
    labels = {"labels": LISTED} if listed else {}
    own = setting([100, 1_200_000, 1_200_001], horizon=2**21, epsilon="1e-9", **labels)
    few, many = np.full((2, own.times[-1]), -1)
    few[: own.labels] = many[: own.labels] = np.arange(own.labels)
    many[own.labels :] = 7
    transcript = record(own.run, few, told=own.told())
    replay(transcript, own.run, many, told=own.told())
    assert [len(said) for said in transcript.published[:3]] == [30 * listed] * 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick("[autoregressive]")
def test_paths_of_very_many_labels_are_their_own(method: Any) -> None:
    """Of the first labels and of those that came later, at a mark before them and at the end."""
    parameters: dict[str, Any] = {"epsilon": "1/100", "delta": "1e-9", "horizon": 2**16}
    stream = ContinualHistogram(method=method, windows=6000, **parameters)
    for start in (0, 6000, 12_000):
        stream.update_many([[f"label {i}"] for i in range(start, start + 6000)])
        stream.counts()
    noise = stream._state.noise
    assert len(noise.rows) >= 18_000
    assert len(np.unique(noise.total())) > len(noise.rows) * 0.99
    for units in noise.marks.values():
        assert len(np.unique(units)) > len(noise.rows) * 0.99
    # Between two marks each path moves by noise of its own.
    first, second = noise.marks[6000], noise.marks[12_000]
    assert len(np.unique(second - first)) > len(noise.rows) * 0.99


def test_the_first_event_costs_all_there_is() -> None:
    """It lies in a block of each level, all of which are used when read at powers of two."""
    own = setting([2**k for k in range(17)], labels=LISTED, horizon=2**17 - 1)
    events, told = own.stream(), own.told()
    other = events.copy()
    other[0] = -1
    found = loss_of_neighbours(own.run, events, other, told=told)
    assert found == (0, own.mechanism.guarantee.rho)
    assert own.mechanism.guarantee.rho == Fraction(17, 200)


@pytest.mark.verify
def test_all_events_of_a_user_cost_no_more_than_is_stated() -> None:
    own = setting([2**k for k in range(5, 17)], max_events_per_user=3, users=20_000, labels=LISTED)
    own = replace(own, times=[*own.times, 70_000])
    events, told = own.stream(), own.told()
    other = events.copy()
    other[np.arange(len(events)) % 20_000 == 40] = -1
    _, rho = loss_of_neighbours(own.run, events, other, told=told)
    assert 0 < rho <= own.mechanism.guarantee.rho
    # Beyond the third, nothing is counted: what is in these events tells nothing.
    late = events.copy()
    late[60_000 + 41] = -1 if events[60_000 + 41] >= 0 else 3
    assert loss_of_neighbours(own.run, events, late, told=told) == (0, 0)


@pytest.mark.long(every=4)
@pytest.mark.quick("[1-toeplitz]", "[1-binary]", every=2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", ["1/1000", "1", "50"])
def test_what_noise_is_drawn_does_not_depend_on_the_events(method: Any, epsilon: str) -> None:
    """Nor on how many labels were seen: there are spare paths from the first label on."""
    for parameters in ({"labels": LISTED}, {"windows": 50_000}, {}):
        own = setting(OFTEN, method=method, epsilon=epsilon, **parameters)
        streams = [own.stream(), own.stream(1), np.zeros(OFTEN[-1], int)]
        if own.mechanism.labels is not None:
            streams.append(np.full(OFTEN[-1], -1))
        asked = [record(own.run, events).requests for events in streams]
        assert all(requests == asked[0] for requests in asked)
        assert {request.sampler for request in asked[0]} == {"gaussian"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick(every=3)
def test_counts_are_the_true_ones_and_noise_that_events_do_not_move(method: Any) -> None:
    """With the same draws an event adds one, from then on, to its label's counts alone."""
    own = setting(OFTEN, method=method, labels=LISTED)
    events = own.stream()
    other = events.copy()
    where = 4096 + int(np.flatnonzero(events[4096:] >= 0)[0])
    other[where] = -1
    before, after = (record(own.run, data).published for data in (events, other))
    label = f"label {events[where]}"
    for time, one, its in zip(OFTEN, before, after, strict=False):
        difference = {name: count - dict(its)[name] for name, count in one}
        expected = int(time > where)
        assert difference == {name: expected * (name == label) for name in LISTED}


def test_the_ends_of_epsilon_are_those_that_are_replayed() -> None:
    for refused in ("0.9e-12", 9760):
        with pytest.raises(ParameterError, match="epsilon"):
            setting(POWERS, epsilon=refused, labels=LISTED)


@pytest.mark.parametrize("method", METHODS)
def test_paths_are_drawn_at_as_many_times_as_are_paid_for(method: Any) -> None:
    """Readings and marks of windows: each is a time at which rounding costs (Lemma 5)."""
    parameters: dict[str, Any] = {"windows": 100, "readings": 3, "method": method}
    mechanism = ContinualMechanism(epsilon=1, delta="1e-6", horizon=5000, **parameters)
    stream = ContinualHistogram(epsilon=1, delta="1e-6", horizon=5000, **parameters)
    drawn: set[int] = set()
    at = NoiseTable._advance

    def watched(self: NoiseTable, time: int, source: Any) -> NoiseTable:
        drawn.add(time)
        return at(self, time, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoiseTable, "_advance", watched)
        for time in (777, 2333, 5000):
            stream.update_many([["a"]] * (time - stream.time))
            stream.counts()
    assert len(drawn) == 52
    paid = times_paid_for(mechanism)
    assert len(drawn) <= paid <= 53


def times_paid_for(mechanism: ContinualMechanism) -> int:
    """At how many times the counter that a mechanism has may be asked, by its units.

    The binary one may be asked at any; the other is the one made for that many.
    """
    if mechanism.method == "binary":
        return 52
    make = toeplitz_counter if mechanism.method == "toeplitz" else autoregressive_counter
    square = levels(mechanism.horizon) * mechanism.epsilon**2
    return next(
        times
        for times in range(1, mechanism.horizon + 1)
        if make(square, mechanism.horizon, times) == mechanism.counter
    )


# --- Power

Patch = Callable[[pytest.MonkeyPatch], None]


def counts_without_noise_when_small(patch: pytest.MonkeyPatch) -> None:
    total = NoiseTable.total

    def wrong(self: NoiseTable) -> np.ndarray:
        units = total(self)
        return np.where(np.arange(len(units)) > 20, 0, units)

    patch.setattr(NoiseTable, "total", wrong)


def another_path_at_each_reading(patch: pytest.MonkeyPatch) -> None:
    at = NoiseTable._advance
    patch.setattr(
        NoiseTable,
        "_advance",
        lambda self, time, source: at(replace(self, times=()), time, source),
    )


@pytest.mark.parametrize("bug", [counts_without_noise_when_small, another_path_at_each_reading])
@pytest.mark.quick("[another_path_at_each_reading]")
def test_planted_bugs_are_noticed(bug: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    own = SETTINGS["often"]
    events = own.stream()
    other = events.copy()
    rare = own.labels + int(np.flatnonzero(events[own.labels :] > 20)[0])
    other[rare] = -1
    bug(monkeypatch)
    with pytest.raises(DivergedError):
        loss_of_neighbours(own.run, events, other, told=own.told())
