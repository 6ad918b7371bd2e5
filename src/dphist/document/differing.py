"""Differing: what a kind says of two releases, so that their difference can be stated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dphist.arrays import FloatArray
from dphist.errors import Message, ParameterError
from dphist.sentence import Sentence

Bounds: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper ends of intervals for the true counts of one release, (k,) each."""

BOTH = ("before", "after")
"""The parameters of `dphist.difference` that hold releases."""


_INTERVALS = (
    "Each interval holds for its row with the stated probability, over the noise of both releases: "
    "each release's own interval is taken at half of the error, so that it does not matter what "
    "the two have in common, such as the same people."
)
INTERVALS = Sentence(f"{_INTERVALS} It is of bounded counts.")
INTERVALS_BEFORE_BOUNDING = Sentence(
    f"{_INTERVALS} The two releases bound {{users}} differently, so a change of their counts mixes "
    "what happened with what bounding took, and none is stated. Intervals are of counts before "
    "bounding, which are larger by at most the number of {users} who had more than was kept. For "
    "changes of bounded counts, whose intervals are narrower, release both with one fixed bound."
)


UNKNOWN_BOUNDING = "Nothing is known of what bounding took from the counts."


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """Two releases, row by row.

    Attributes
    ----------
    places : what the rows are, as columns of texts by name, (k,) each.
    before, after : (k,) float64, released numbers; NaN where a release does not show the row.
    bounds : returns intervals for the true numbers of both releases, each of which holds for each
        row with the given probability, over the noise of its release.
    tests : the error rate of all rows together is divided by this number for a single row.
    correction : what the division is, and what it holds for, as a sentence.
    margin : what the gap between two intervals must exceed beside, in records.
    holds : what the intervals hold for, in sentences.
    noun : what is counted in a row, such as "label".
    joint : what stands between the columns of a row where it is named in one text.
    ordered : whether the rows have an order of their own.
    proved : whether the intervals are proved, not approximate.
    bounding : what is known of what bounding took from each release, as sentences.
    alike : whether both count the same, so that one number may be subtracted from the other.
    """

    places: Mapping[str, Sequence[str]]
    before: FloatArray
    after: FloatArray
    bounds: Callable[[float], tuple[Bounds, Bounds]]
    tests: int
    correction: str
    holds: Sequence[str]
    noun: str
    margin: float = 0
    joint: str = " to "
    ordered: bool = True
    proved: bool = True
    bounding: Sequence[str] = ()
    alike: bool = True


def check_same(what: str, before: Any, after: Any, *, remedy: Message = "") -> None:
    """Refuse two releases that do not have something in common."""
    if before != after:
        different = f"must have the same {what}; otherwise their numbers count different things"
        raise ParameterError(BOTH, different, remedy)
