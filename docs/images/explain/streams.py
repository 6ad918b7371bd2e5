"""Figures of streams: the noise of a running count over time."""

from typing import Any

import numpy as np
from style import BLUE, GRAY, GREEN, ORANGE, panels, repeatable, save

import dphist as dh

EVENTS = 4_096


def counter() -> None:
    """A running count of one label, true and released."""
    generator = np.random.default_rng(7)
    rate = 0.05 + 0.1 * (np.arange(EVENTS) > 1_800)
    events = generator.random(EVENTS) < rate
    stream = dh.calibrate(
        dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=EVENTS, labels=["aspirin"]
    )
    source = repeatable("stream")
    step, times, seen = 32, [], []
    for begin in range(0, EVENTS, step):
        batch = [["aspirin"] if each else [] for each in events[begin : begin + step]]
        stream.update_many(batch, source=source)
        times.append(stream.time)
        seen.append(stream.counts(source=source)["aspirin"])
    figure, (axes,) = panels(9, 3.0, 1)
    axes.plot(np.arange(1, EVENTS + 1), np.cumsum(events), color=GRAY, label="true")
    axes.plot(times, seen, color=BLUE, label="released, read every 32 events")
    axes.set(title="A running count at ε = 1 in total", xlabel="events", ylabel="records")
    axes.legend()
    save(
        figure,
        "counter",
        "A running count and its release",
        "The true running count of a label over 4,096 events, and the released one, which stays "
        "within a few dozen records of it at all times. All 128 readings together cost epsilon 1.",
    )


def noise_over_time() -> None:
    """The standard deviation of three ways to release a running count."""
    at = np.unique(np.geomspace(1, EVENTS, 200).astype(int))
    figure, (axes,) = panels(9, 3.3, 1)
    total: dict[str, Any] = {
        "epsilon": 1,
        "delta": "1e-6",
        "horizon": EVENTS,
        "labels": ["aspirin"],
    }
    mechanisms = {
        "toeplitz (the default)": ("toeplitz", GREEN),
        "binary (the published one)": ("binary", BLUE),
    }
    for name, (method, color) in mechanisms.items():
        made = dh.calibrate(dh.ContinualMechanism, method=method, **total)
        axes.plot(at, [made.standard_error_at(int(time)) for time in at], color=color, label=name)
    # Fresh noise at each of T readings costs the sum of all: its deviation grows with their root.
    one = dh.calibrate(dh.ContinualMechanism, method="binary", **(total | {"horizon": 1}))
    fresh = one.standard_error_at(1) * np.sqrt(EVENTS)
    axes.axhline(fresh, color=ORANGE, label="fresh noise at every event")
    axes.set(title="Noise of a running count, at ε = 1 in total", xlabel="events so far")
    axes.set(ylabel="standard deviation, records", xscale="log", yscale="log")
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.73))
    save(
        figure,
        "streams",
        "Noise of a running count over time",
        "Fresh noise at each of 4,096 events has a standard deviation of hundreds of records. The "
        "binary tree and the default add noise that is correlated over time; the default's "
        "deviation is the smallest, and grows slowly.",
    )
