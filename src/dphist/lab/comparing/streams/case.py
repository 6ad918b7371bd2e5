"""Streams of events to compare on: running counts, read at eight times."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any

from dphist.errors import ParameterError
from dphist.lab.comparing.case import Case, digest_of
from dphist.lab.comparing.contender import BLACK, BLUE, ORANGE, Contender
from dphist.lab.comparing.label_errors import MEASURES, errors_of
from dphist.lab.comparing.making import Given
from dphist.lab.comparing.measuring import Run
from dphist.privacy.calibration import calibrate
from dphist.release.maker import parameters_of
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.streams.methods import Method

READINGS = 8
_COLORS: dict[Method, str] = {"toeplitz": BLACK, "autoregressive": ORANGE, "binary": BLUE}


class StreamsCase(Case):
    """Events in time order, and the mechanisms for running counts.

    All are calibrated to a total (epsilon, delta) of all readings. The number of events and the
    largest number of labels of an event are taken for public bounds.
    """

    kind = "streams"
    measures = tuple(
        replace(one, meaning=f"{one.meaning} The mean over {READINGS} readings.")
        for one in MEASURES
    )

    def __init__(self, events: Iterable[Iterable[str]], delta: Any) -> None:
        if delta is None:
            raise ParameterError("delta", "must be given: running counts have a total delta")
        self.data = [sorted(set(event)) for event in events]
        if not self.data:
            raise ParameterError("data", "must have at least one event")
        self._delta = delta
        length = len(self.data)
        self._times = sorted({-(-length * turn // READINGS) for turn in range(1, READINGS + 1)})
        self._truths: list[dict[str, int]] = []
        counted: Counter[str] = Counter()
        for begin, end in pairwise([0, *self._times]):
            for event in self.data[begin:end]:
                counted.update(event)
            self._truths.append(dict(counted))

    @property
    def facts(self) -> Mapping[str, str]:
        """Events, labels and delta."""
        return {
            "events": f"{len(self.data):,}",
            "labels": f"{len(self._truths[-1]):,}",
            "max_labels": str(self._most),
            "delta": str(self._delta),
        }

    @property
    def _most(self) -> int:
        return max(1, *map(len, self.data)) if len(self.data) > 1 else max(1, len(self.data[0]))

    @property
    def digest(self) -> str:
        """Names the events in their order."""
        return digest_of(json.dumps(event).encode() for event in self.data)

    def known(self) -> Mapping[str, Given]:
        """Return horizon, labels of an event, and the number of readings."""
        return {
            "horizon": Given(len(self.data)),
            "max_labels": Given(self._most, always=True),
            "readings": Given(len(self._times), always=True),
            "delta": Given(self._delta),
        }

    def make(self, mechanism: Callable[..., Any], epsilon: Any, **parameters: Any) -> Any:
        """Return the mechanism whose readings cost (epsilon, delta) in all."""
        parameters.pop("delta", None)
        return calibrate(mechanism, epsilon=epsilon, delta=self._delta, **parameters)

    def published(self) -> list[Contender]:
        """Return the counters of dphist, of which "binary" is the published one."""
        return [
            self.contender(
                f"ContinualMechanism, {method}",
                partial(ContinualMechanism, method=method),
                color,
            )
            for method, color in _COLORS.items()
        ]

    def run(self, mechanism: Any) -> Run:
        """Return what feeds the events to a new stream and reads it."""
        made = getattr(mechanism, "mechanism", mechanism)
        if not isinstance(made, ContinualMechanism):
            raise ParameterError("mechanisms", "for streams must be ContinualMechanisms")

        def once() -> tuple[Sequence[float | None], float]:
            stream = ContinualHistogram(**parameters_of(made))
            found, seconds = [], 0.0
            for place, (begin, end) in enumerate(pairwise([0, *self._times])):
                begun = time.perf_counter()
                stream.update_many(self.data[begin:end])
                counts = stream.counts()
                seconds += time.perf_counter() - begun
                truth = self._truths[place]
                found.append(errors_of(counts, truth, sum(truth.values())))
            return [_mean(column) for column in zip(*found, strict=True)], seconds

        return once


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
