"""Data objects carry a bound; whatever is built from one keeps it, or is refused."""

from collections import UserList, deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.ranges.counts import load_counts
from tests.support.refusal import NUMBER, refused

ROWS = pa.table({"who": [1] * 9 + [2], "x": [0, 1] * 5})
MECHANISMS = [dh.LeafCounts, dh.HierarchicalTree, dh.AdaptiveTree]


@cache  # none of them can be changed
def binned() -> dh.BinnedCounts:
    return dh.bin_counts(ROWS, column="x", edges=[0, 1, 2], user="who", max_records=5)


@cache
def profile() -> dh.Profile:
    return dh.Profile.from_table(ROWS, label="x", user="who", max_records=5)


@cache
def labels() -> dh.LabelCounts:
    return dh.LabelCounts.from_table(ROWS, label="x", user="who", max_labels=5)


def objects(*values: Any) -> Any:
    held = np.empty(len(values), object)
    for place, value in enumerate(values):
        held[place] = value
    return held


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "itself": lambda data: data,
    "list": lambda data: [data, data],
    "tuple": lambda data: (data,),
    "deque": lambda data: deque([data, data]),
    "UserList": lambda data: UserList([data]),
    "nested": lambda data: [[data], [data]],
    "objects": lambda data: objects(data, data),
    "objects of two axes": lambda data: objects(data, data).reshape(1, 2),
    "list of objects": lambda data: [objects(data)],
    "series": lambda data: pd.Series([data, data]),
    "chunk": lambda data: iter([data]),
    "chunk of objects": lambda data: iter([objects(data)]),
    "chunks": lambda data: iter([data, data]),
    "chunk in a list": lambda data: iter([[data], deque([data])]),
    "generator": lambda data: (each for each in (data,)),
}
all_wrapped = pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)


@pytest.mark.quick(
    "[LeafCounts-binned", "-itself]", "LeafCounts-labels-list]", "LeafCounts-labels-chunk]"
)
@all_wrapped
@pytest.mark.parametrize("make", [binned, profile, labels])
@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_mechanisms_for_ranges_take_them_whole(kind: Any, make: Any, wrap: Any) -> None:
    if make is binned and wrap is WRAPPED["itself"]:
        released = kind(epsilon=1, bins=2, sensitivity=5).release(binned())
        assert released.provenance == {"unit": dh.PrivacyUnit("user"), "max_records": "5"}
        return
    for bins in (1, 2, 4, (1, 2), (2, 2)):
        with pytest.raises(dh.DphistError):
            kind(epsilon=1, bins=bins, sensitivity=5).release(wrap(make()))


@pytest.mark.quick("[binned", "[profile", "[labels-itself]", "[labels-list]", "[labels-chunk]")
@all_wrapped
@pytest.mark.parametrize("make", [binned, profile, labels])
def test_no_profile_is_made_of_them(make: Any, wrap: Any) -> None:
    with pytest.raises(dh.DphistError):
        dh.Profile.from_counts(wrap(make()))
    with pytest.raises(dh.DphistError):
        dh.Profile.from_prevalences(wrap(make()), [1, 1])
    with pytest.raises(dh.DphistError):
        dh.Profile.from_prevalences([1, 2], wrap(make()))
    with pytest.raises(dh.DphistError):
        dh.LabelCounts.from_counts(["a", "b"], wrap(make()), max_labels=1, max_count=1)


@pytest.mark.parametrize("make", [binned, profile, labels])
@pytest.mark.parametrize(
    "convert",
    [np.asarray, np.array, np.sum, lambda data: np.add(data, 1), lambda data: np.stack([data])],
    ids=["asarray", "array", "sum", "add", "stack"],
)
def test_they_are_no_arrays(make: Any, convert: Any) -> None:
    with refused(
        dh.UnsupportedError, "would lose", "(the data owner" if make is not profile else "owner"
    ):
        convert(make())


@pytest.mark.parametrize("make", [binned, profile, labels])
@pytest.mark.parametrize("convert", [list, len, iter, int, float, pa.array, sum, memoryview])
def test_nor_anything_else_that_loses_the_bound(make: Any, convert: Any) -> None:
    with pytest.raises((TypeError, dh.UnsupportedError, pa.ArrowInvalid)):
        convert(make())


def test_what_is_derived_keeps_its_bound() -> None:
    assert profile().conjugate().sensitivity == 5
    with pytest.raises(dh.BoundsError):
        dh.AdaptiveScan(epsilon=1).release(profile().conjugate())


# --- Masks

MASKED = np.ma.array([NUMBER, 2], mask=[1, 0])  # type: ignore[arg-type]
ROW = np.ma.array([[NUMBER, 2]], mask=[[1, 0]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bins", "data"),
    [
        (2, MASKED),
        (4, iter([MASKED, MASKED])),
        (4, iter([np.array([1, 2]), MASKED])),
        ((2, 2), [MASKED, MASKED]),
        ((2, 2), [[3, 4], MASKED]),
        ((2, 2), (MASKED, [3, 4])),
        ((2, 2), deque([MASKED, MASKED])),
        ((2, 2), objects(MASKED, MASKED)),
        ((2, 2), iter([ROW, ROW])),
        ((2, 2), iter([[MASKED], [MASKED]])),
        ((2, 2), iter([[[3, 4]], [MASKED]])),
        ((1, 2, 2), [[MASKED, MASKED]]),
        ((1, 2, 2), [np.ma.stack([MASKED, MASKED])]),
        (2, [np.ma.masked, 3]),
        ((1, 2), [[np.ma.masked, 3]]),
    ],
)
@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_what_a_mask_suppresses_is_never_counted(kind: Any, bins: Any, data: Any) -> None:
    if not isinstance(data, list | tuple | deque | np.ndarray):
        data = iter(list(data))  # for one mechanism only: an iterator is used up
    with pytest.raises((dh.DataError, dh.ParameterError)) as caught:
        kind(epsilon=1, bins=bins).release(data)
    assert str(NUMBER) not in str(caught.value)


class Own(Sequence[Any]):
    """A sequence of somebody's own, which NumPy would take for a list."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: Any) -> Any:
        return self.items[place]


class Bare:
    """As `Own`, and not even registered as a sequence."""

    __init__, __len__, __getitem__ = Own.__init__, Own.__len__, Own.__getitem__


@pytest.mark.parametrize("kind", [Own, Bare])
def test_sequences_of_one_s_own_are_looked_at_item_by_item(kind: Any) -> None:
    for make in MECHANISMS:
        with pytest.raises(dh.DataError, match="missing"):
            make(epsilon=1, bins=(2, 2)).release(kind([MASKED, MASKED]))
        with pytest.raises(dh.ParameterError, match="integer type"):
            make(epsilon=1, bins=3).release(kind([True, 2, 3]))
    with pytest.raises(dh.ParameterError, match="integer type"):
        dh.Profile.from_counts(kind([True, 2, 3]))
    assert dh.Profile.from_counts(kind([5, 2, 3])).total == 10
    assert load_counts(kind([kind([5, 2]), [1, 0]]), (2, 2)).counts.tolist() == [[5, 2], [1, 0]]


@pytest.mark.parametrize("unit", ["ns", "s", "D"])
def test_a_span_of_time_is_no_count(unit: str) -> None:
    for span in (np.timedelta64(5, unit), np.timedelta64("NaT", unit)):  # type: ignore[call-overload]
        for values in ([span, 3], [3, span], objects(span, 3)):
            with pytest.raises((dh.ParameterError, dh.DataError)):
                dh.Profile.from_counts(values)
            with pytest.raises((dh.ParameterError, dh.DataError)):
                dh.LeafCounts(epsilon=1, bins=2).release(values)


def test_a_mask_that_hides_nothing_is_no_mask() -> None:
    open_mask = np.ma.array([[5, 2], [1, 0]], mask=np.zeros((2, 2)))  # type: ignore[arg-type]
    for data in (open_mask, [open_mask[0], open_mask[1]], iter([open_mask])):
        assert load_counts(data, (2, 2)).counts.tolist() == [[5, 2], [1, 0]]


@pytest.mark.parametrize("values", [[MASKED], [MASKED, 3], objects(MASKED), (MASKED, MASKED)])
def test_masks_in_lists_of_counts(values: Any) -> None:
    with pytest.raises((dh.DataError, dh.ParameterError)):
        dh.Profile.from_counts(values)


@pytest.mark.parametrize(
    "data",
    [
        [[1, 2], [3, 4]],
        ((1, 2), (3, 4)),
        [np.array([1, 2]), np.array([3, 4], np.uint8)],
        [pd.Series([1, 2]), pl.Series([3, 4])],
        deque([[1, 2], (3, 4)]),
        UserList([UserList([1, 2]), range(3, 5)]),
        np.array([[1, 2], [3, 4]], object),
        pd.DataFrame([[1, 2], [3, 4]]),
        pl.DataFrame([[1, 3], [2, 4]]),
        pa.chunked_array([[1]]).to_numpy().repeat(4).cumsum().reshape(2, 2),
    ],
    ids=lambda data: type(data).__name__,
)
def test_grids_in_whatever_they_come(data: Any) -> None:
    assert load_counts(data, (2, 2)).counts.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "data",
    [[[1, 2], [3]], [[1, 2], 3], [1, 2], [[True, 2], [3, 4]], [[1.0, 2], [3, 4]], ["ab", "cd"]],
)
def test_what_is_no_grid(data: Any) -> None:
    with refused(dh.ParameterError, "counts"):
        load_counts(data, (2, 2))


def test_counts_in_a_mechanism_show_nothing() -> None:
    held = load_counts(np.array([NUMBER, 2]), (2,))
    assert str(NUMBER) not in repr(held)
    assert str(NUMBER) not in str(held)
