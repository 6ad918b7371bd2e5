"""RunningCounts: released readings of the running counts of a stream. Not secret."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.errors import DataError, ParameterError
from dphist.parameters import whole_number
from dphist.release.label_table import LabelTable
from dphist.release.label_types import (
    IN_WORDS,
    LABEL_TYPES,
    LabelType,
    as_arrow,
    find_order,
    format_label,
    read_label,
)
from dphist.release.tabular import Released

Reading: TypeAlias = Mapping[Any, int] | tuple[Sequence[Any], Sequence[int]]

_LEAST, _MOST = -(2**63), 2**63 - 1


class RunningCounts(Released):
    """Readings of a stream at increasing times: the labels released at each, with counts.

    A label missing from a reading was not above the threshold at that time: its count is unknown
    and need not be 0. Rows of a reading are sorted by descending count, then by label.

    Parameters
    ----------
    times : sequence of int, (k,), number of events until each reading, increasing; at least one.
    readings : sequence of k readings, each a mapping of labels to counts, or a pair of labels and
        counts.
    label_type : the type of the labels (default: "text"); see `ContinualMechanism`.

    Raises
    ------
    DataError
        If times do not increase, a label is not of the type or is repeated in a reading, or a count
        is not an int64.

    Examples
    --------
    >>> counts = RunningCounts([100, 200], [{"tea": 61}, {"tea": 118, "milk": 73}])
    >>> counts, counts.labels, counts.at(100).labels
    (RunningCounts(2 readings, 2 labels), ['tea', 'milk'], ['tea'])
    """

    __slots__ = ("_counts", "_labels", "_places", "_starts", "_times", "_type")

    _times: IntArray
    _labels: tuple[str, ...]  # as text, in the order of `labels`
    _type: LabelType
    _places: IntArray  # of each row's label among the labels
    _counts: IntArray  # of each row
    _starts: IntArray  # where each reading's rows start, and the end of all

    def __init__(
        self,
        times: Sequence[int],
        readings: Sequence[Reading],
        *,
        label_type: LabelType = "text",
    ) -> None:
        self._type = _check_type(label_type)
        rows = [_read_rows(reading, self._type) for reading in readings]
        distinct = dict.fromkeys(chain.from_iterable(labels for labels, _ in rows))
        known = {label: place for place, label in enumerate(distinct)}
        places = [[known[label] for label in labels] for labels, _ in rows]
        self._hold(list(times), list(known), places, [counts for _, counts in rows])

    def _hold(
        self,
        times: list[Any],
        labels: list[Any],
        places: list[list[int]],
        counts: list[list[Any]],
    ) -> None:
        """Check, sort and hold; `places` index labels as given, each in some reading."""
        sizes = [len(each) for each in places]
        if not len(times) == len(places) == len(counts):
            raise DataError("times and readings must be of the same number")
        if sizes != [len(each) for each in counts]:
            raise DataError("each label of a reading must have one count")
        if any(len(set(each)) < len(each) for each in places):
            raise DataError("a label must be in a reading once at most")
        checked = [_check_label(label, self._type) for label in labels]
        row_places = np.array(list(chain.from_iterable(places)), np.int64)
        row_counts = _check_counts(list(chain.from_iterable(counts)))
        reading = np.repeat(np.arange(len(sizes)), np.array(sizes, np.int64))
        by_name = _ranks(checked, self._type)
        # The bitwise complement sorts like the negative, without overflow.
        order = np.lexsort((by_name[row_places], ~row_counts, reading))
        row_places, row_counts = row_places[order], row_counts[order]
        # The last row of each label, by the label's index; every label has one.
        last = len(row_places) - 1 - np.unique(row_places[::-1], return_index=True)[1]
        there = reading[last] == len(sizes) - 1
        first_to_last = np.lexsort((by_name, ~row_counts[last], ~there))
        moved = np.empty(len(checked), np.int64)
        moved[first_to_last] = np.arange(len(checked))
        self._times = _freeze(_check_times(times))
        self._labels = tuple(checked[place] for place in first_to_last.tolist())
        self._places, self._counts = _freeze(moved[row_places]), _freeze(row_counts)
        self._starts = _freeze(np.append(0, np.cumsum(np.array(sizes, np.int64))))

    def __repr__(self) -> str:
        readings = "1 reading" if len(self) == 1 else f"{len(self)} readings"
        labels = "1 label" if len(self._labels) == 1 else f"{len(self._labels)} labels"
        return f"RunningCounts({readings}, {labels})"

    def __len__(self) -> int:
        return len(self._times)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunningCounts):
            return NotImplemented
        return (self._type, self._labels) == (other._type, other._labels) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("_times", "_starts", "_places", "_counts")
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        """Copy and unpickle through the constructor, which makes the arrays read-only."""
        return RunningCounts.from_content, (self.to_content(),)

    @property
    def times(self) -> IntArray:
        """Number of events until each reading, (len,) int64, increasing."""
        return self._times

    @property
    def labels(self) -> list[Any]:
        """All labels in any reading: in the order of the last one, then by their last counts."""
        return [read_label(text, self._type) for text in self._labels]

    @property
    def label_texts(self) -> list[str]:
        """The same labels as text: see `dphist.release.label_types`."""
        return list(self._labels)

    @property
    def label_type(self) -> LabelType:
        """The type of the labels."""
        return self._type

    @property
    def latest(self) -> LabelTable:
        """The last reading."""
        return self._table(len(self) - 1)

    def at(self, time: int) -> LabelTable:
        """Return the reading at a time.

        Raises
        ------
        ParameterError
            If there is no reading at that time; `times` lists all.
        """
        wanted = whole_number(time, "time", 0)
        place = int(np.searchsorted(self._times, wanted))
        if place == len(self) or self._times[place] != wanted:
            raise ParameterError("time", "must be that of a reading: one of times")
        return self._table(place)

    def top(self, k: int) -> LabelTable:
        """Return the k largest counts of the last reading, or all if there are fewer."""
        return self._table(len(self) - 1, whole_number(k, "k", 1))

    def line(self, label: object) -> tuple[IntArray, IntArray]:
        """Return the indices of the readings that have a label, and its counts in them.

        Both are (n,) int64, empty for a label in no reading.
        """
        text = format_label(label, self._type)
        if text is None or text not in self._labels:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = np.flatnonzero(self._places == self._labels.index(text))
        return np.searchsorted(self._starts, rows, side="right") - 1, self._counts[rows]

    def to_arrow(self) -> pa.Table:
        """Return all readings as an Arrow table with columns time, label and count."""
        times = np.repeat(self._times, np.diff(self._starts))
        return pa.table({"time": times, **self._columns(slice(None))})

    def to_content(self) -> dict[str, Any]:
        """Return a JSON object for saving: each label once, rows by its index."""
        cuts = self._starts[1:-1]
        kind = {} if self._type == "text" else {"label_type": self._type}
        return {
            **kind,
            "times": self._times.tolist(),
            "labels": list(self._labels),
            "places": [part.tolist() for part in np.split(self._places, cuts)],
            "counts": [part.tolist() for part in np.split(self._counts, cuts)],
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "RunningCounts":
        """Make running counts from the result of `to_content`.

        Raises
        ------
        DataError, KeyError, TypeError
            If `content` does not have that form.
        """
        labels = _check_list(content["labels"])
        places = [_check_list(each) for each in _check_list(content["places"])]
        counts = [_check_list(each) for each in _check_list(content["counts"])]
        used = set(chain.from_iterable(places))
        if not all(type(place) is int and 0 <= place < len(labels) for place in used):
            raise DataError("places must be those of labels")
        if not set(map(type, chain.from_iterable(places))) <= {int}:
            raise DataError("places must be whole numbers")
        if len(used) < len(labels) or len(set(labels)) < len(labels):
            raise DataError("labels must be listed once, and be in a reading")
        found = cls.__new__(cls)
        found._type = _check_type(content.get("label_type", "text"))
        found._hold(_check_list(content["times"]), labels, places, counts)
        return found

    def _table(self, reading: int, most: int | None = None) -> LabelTable:
        first, last = self._starts[reading : reading + 2].tolist()
        stop = last if most is None else min(last, first + most)
        return LabelTable(pa.table(self._columns(slice(first, stop))))

    def _columns(self, rows: slice) -> dict[str, pa.Array]:
        labels = as_arrow(self._labels, self._type).take(pa.array(self._places[rows]))
        return {"label": labels, "count": pa.array(self._counts[rows])}


def _read_rows(reading: Reading, kind: LabelType) -> tuple[list[str], list[Any]]:
    """Return the labels of a reading as text, and its counts, unchecked."""
    both: Sequence[Any] = (
        (list(reading), list(reading.values())) if isinstance(reading, Mapping) else reading
    )
    labels, counts = (list(x.tolist() if hasattr(x, "tolist") else x) for x in both)
    return [_check_label(label, kind) for label in labels], counts


def _check_type(kind: Any) -> LabelType:
    if kind not in LABEL_TYPES:
        raise DataError(f"label_type must be one of {', '.join(LABEL_TYPES)}")
    found: LabelType = kind
    return found


def _ranks(labels: list[str], kind: LabelType) -> IntArray:
    """Return each label's rank: numbers by size, others in the order of code points."""
    ranks = np.empty(len(labels), np.int64)
    keys = list(map(find_order(kind), labels))
    ranks[sorted(range(len(labels)), key=keys.__getitem__)] = np.arange(len(labels))
    return ranks


def _check_times(times: list[Any]) -> IntArray:
    if not times:
        raise DataError("there must be at least one reading")
    if not (_are_whole(times) and 0 <= min(times) <= max(times) <= _MOST):
        raise DataError("times must be whole numbers of events")
    checked = np.array([int(time) for time in times], np.int64)
    if not bool(np.all(np.diff(checked) > 0)):
        raise DataError("times must increase: there is one reading at a time")
    return checked


def _check_label(label: Any, kind: LabelType) -> str:
    text = format_label(label, kind)
    if text is None:
        raise DataError(f"labels must be {IN_WORDS[kind]}")
    return text


def _check_counts(counts: list[Any]) -> IntArray:
    problem = DataError("counts must be whole numbers of 64 bits")
    if not _are_whole(counts):
        raise problem
    if counts and not _LEAST <= min(counts) <= max(counts) <= _MOST:
        raise problem
    return np.array(counts, np.int64)


def _are_whole(numbers: list[Any]) -> bool:
    kinds = set(map(type, numbers))
    return all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)


def _check_list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise DataError("a list is expected")
    return values


def _freeze(array: IntArray) -> IntArray:
    array.setflags(write=False)
    return array
