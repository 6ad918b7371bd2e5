"""Streams of events to compare on: running counts, read at eight times."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dphist.document import compared
from dphist.document.options import Option
from dphist.errors import ColumnError, InputFileError, ParameterError
from dphist.foreign import read_columns
from dphist.release.maker import read_parameters
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.streams.methods import Method

READINGS = 8
_COLORS: dict[Method, str] = {
    "toeplitz": compared.BLACK,
    "autoregressive": compared.ORANGE,
    "binary": compared.BLUE,
}


class StreamsCase(compared.CaseOfTotal):
    """Events in time order, and the mechanisms for running counts.

    All are calibrated to a total (epsilon, delta) of all readings. The number of events and the
    largest number of labels of an event serve as public bounds.
    """

    measures = tuple(
        replace(one, meaning=f"{one.meaning} The mean over {READINGS} readings.")
        for one in compared.MEASURES
    )

    def __init__(self, events: Sequence[Iterable[str]], _: object, delta: Any) -> None:
        data = [sorted(set(event)) for event in events]
        super().__init__(data, data, delta)
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
            "delta": str(self.delta),
        }

    @property
    def _most(self) -> int:
        return max(1, *map(len, self.data))

    @property
    def digest(self) -> str:
        """Names the events in their order."""
        return compared.compute_digest(json.dumps(event).encode() for event in self.data)

    def list_known(self) -> Mapping[str, compared.Given]:
        """Return horizon, labels of an event, and the number of readings."""
        return {
            "horizon": compared.Given(len(self.data)),
            "max_labels": compared.Given(self._most, always=True),
            "readings": compared.Given(len(self._times), always=True),
            "delta": compared.Given(self.delta),
        }

    def list_published(self) -> list[compared.Contender]:
        """Return the counters of dphist, of which "binary" is the published one."""
        return [
            self.contender(
                f"ContinualMechanism, {method}",
                partial(ContinualMechanism, method=method),
                color,
            )
            for method, color in _COLORS.items()
        ]

    def run(self, mechanism: Any) -> compared.Run:
        """Return what feeds the events to a new stream and reads it."""
        made = getattr(mechanism, "mechanism", mechanism)
        if not isinstance(made, ContinualMechanism):
            raise ParameterError("mechanisms", "for streams must be ContinualMechanisms")

        def once() -> tuple[Sequence[float | None], float]:
            stream = ContinualHistogram(**read_parameters(made))
            found, seconds = [], 0.0
            for place, (begin, end) in enumerate(pairwise([0, *self._times])):
                begun = time.perf_counter()
                stream.update_many(self.data[begin:end])
                counts = stream.counts()
                seconds += time.perf_counter() - begun
                truth = self._truths[place]
                found.append(compared.compute_errors(counts, truth, sum(truth.values())))
            return [_mean(column) for column in zip(*found, strict=True)], seconds

        return once


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _are_events(data: Any) -> bool:
    if isinstance(data, str) or not isinstance(data, Sequence) or not data:
        return False
    if not all(isinstance(event, list | tuple | set | frozenset) for event in data):
        return False
    labels = [label for event in data for label in event]
    return all(isinstance(label, str) for label in labels)


def read_events(path: str | Path, label: str) -> list[list[str]]:
    """Read events from a CSV or Parquet file: each row one label, or none.

    Raises
    ------
    InputFileError, ColumnError
        If the file cannot be read, or has no such column.
    """
    if not str(path).endswith(".parquet"):
        columns = read_columns(Path(path))
        if label not in columns:
            raise _no_column(label)
        return [[text] if text else [] for text in columns[label]]
    try:
        names = pq.read_schema(path).names
        table = pq.read_table(path, columns=[label]) if label in names else None
    except (OSError, pa.ArrowException):
        raise InputFileError(f"{path} cannot be read as Parquet") from None
    if table is None:
        raise _no_column(label)
    try:
        texts = table[label].cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise ColumnError(f"the column {label!r} must hold a text in each row") from None
    return [[] if text is None else [text] for text in texts]


def _no_column(label: str) -> ColumnError:
    return ColumnError(f"the file must have the column {label!r}")


COMPARING = compared.Comparing(
    title="Mechanisms for streams",
    data="a sequence of events, each a sequence of labels",
    takes=_are_events,
    case=StreamsCase,
    file=compared.DataFile(
        option=Option(
            "events",
            "a row per event, in time order; needs --label: streams",
            "FILE",
            rules=compared.NEEDS,
        ),
        columns=[compared.LABEL],
        read=read_events,
    ),
)
