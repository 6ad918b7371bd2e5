"""Times: the times at which noise was drawn, in ascending order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload


class Times(Sequence[int]):
    """Ascending times that never change; a continuation shares their memory.

    Adding a time takes the same short time however many there are, so that reading a stream after
    every event does not take longer from reading to reading.
    """

    __slots__ = ("_items", "_number")

    def __init__(self, times: Iterable[int] = ()) -> None:
        """Hold these times; ValueError if they do not ascend."""
        self._items = list(times)
        self._number = len(self._items)
        if any(later <= earlier for earlier, later in zip((0, *self), self, strict=False)):
            raise ValueError("times must ascend")

    def append_time(self, time: int) -> "Times":
        """Return these times and a later one."""
        if time <= (self[-1] if self._number else 0):
            raise ValueError("times must ascend")
        # Another continuation may have used the place behind these: a step that was not taken.
        is_last = len(self._items) == self._number
        longer = Times()
        longer._items = self._items if is_last else self._items[: self._number]
        longer._items.append(time)
        longer._number = self._number + 1
        return longer

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> "Times": ...

    def __getitem__(self, place: int | slice) -> "int | Times":
        if isinstance(place, slice):
            return Times(self._items[each] for each in range(self._number)[place])
        return self._items[range(self._number)[place]]

    def __iter__(self) -> Iterator[int]:
        return islice(self._items, self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Times | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]
