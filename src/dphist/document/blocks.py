"""Document: what is to be said of a release, once, in blocks that name the surfaces they are for.

A block holds facts and sentences with slots for the owner's words. Renderers (`dphist.render`) make
a page, lines of a terminal, the card of a notebook or JSON of it. None of them knows a kind, and
none reads a sentence.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np

from dphist.arrays import BoolArray, IntArray, NumberArray
from dphist.document.chart import Chart
from dphist.sentence import Sentence

_NORMAL = 1.959963984540054  # 97.5 % point
_OF_A_RELEASE = (
    "Everything on this page is a parameter of the mechanism, a function of released values, or "
    "chosen by whoever made the release. Publishing the page with the release costs no further "
    "privacy."
)
NO_BOUND = 2**62
"""Numbers from here on stand for all larger ones: no histogram of data has so large a total."""


class Surface(Enum):
    """Where a document is shown."""

    PAGE = "page"
    TERMINAL = "terminal"
    CARD = "card"
    JSON = "json"


PAGE, TERMINAL, CARD, JSON = Surface
ON_PAGE, ON_TERMINAL, ON_CARD, ON_JSON = (frozenset({each}) for each in Surface)
READ = ON_PAGE | ON_TERMINAL | ON_CARD
"""All surfaces that people read."""
HEADED, BRIEF, DRAWN = ON_PAGE | ON_TERMINAL, ON_TERMINAL | ON_CARD, ON_PAGE | ON_CARD
EVERYWHERE = READ | ON_JSON

Surfaces: TypeAlias = frozenset[Surface]


def number_text(number: float) -> str:
    """Write a count: a whole number, or an estimate to a tenth.

    >>> number_text(1234), number_text(-0.25)
    ('1,234', '-0.2')
    """
    return f"{number:,.1f}" if isinstance(number, float) else f"{number:,}"


@dataclass(frozen=True, slots=True)
class PlusMinus:
    """Half of a 95 % interval around a number.

    >>> str(PlusMinus(12.345)), str(PlusMinus(1234.5))
    ('± 13 (95 %)', '± 1,235 (95 %)')
    """

    half_width: float

    @classmethod
    def of(cls, standard_error: float) -> "PlusMinus":
        """Return half of the interval of a number with a normal error: 1.96 standard errors."""
        return cls(_NORMAL * standard_error)

    def __str__(self) -> str:
        return f"± {self.number} (95 %)"

    @property
    def number(self) -> str:
        """Half of the interval, rounded up."""
        return f"{math.ceil(self.half_width):,}"

    def around(self, number: int) -> list[int]:
        """Return the interval of a number that cannot be negative."""
        return [max(number - math.ceil(self.half_width), 0), number + math.ceil(self.half_width)]


@dataclass(frozen=True, slots=True)
class Between:
    """A 95 % interval.

    >>> str(Between(3, 1900)), str(Between(3, 2**62))
    ('3 to 1,900', '3 or more')
    """

    low: int
    high: int

    def __str__(self) -> str:
        if self.high >= NO_BOUND:
            return f"{self.low:,} or more"
        return f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class NoError:
    """Why no error is stated of a number."""

    why: str

    def __str__(self) -> str:
        return self.why


Error: TypeAlias = PlusMinus | Between | NoError


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known, by its name.

    Attributes
    ----------
    name : for readers.
    text : the fact in words.
    key : name of `value` in JSON and for programs; empty for a fact that has none.
    value : the fact as a value.
    error : of a released number: every number has its error, or says why it has none.
    note : what the number is of, or what the parameter means.
    code : whether the name is that of a parameter.
    on : the surfaces.
    lines : parts of the text that a page shows one below the other; empty for a short text.

    Raises
    ------
    TypeError
        If the value is a number without an error.
    """

    name: str
    text: str
    key: str = ""
    value: Any = None
    error: Error | None = None
    note: str = ""
    code: bool = False
    on: Surfaces = READ
    lines: Sequence[str] = ()

    def __post_init__(self) -> None:
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if is_number and self.error is None:
            raise TypeError(f"{self.name} is a number, and its error is not stated")

    @property
    def uncertainty(self) -> Sentence:
        """The error as it follows a number; empty for a fact that is no number."""
        words = "95 % interval {error}" if isinstance(self.error, Between) else "{error}"
        error = self.error.why if isinstance(self.error, NoError) else str(self.error)
        return Sentence("" if self.error is None else words, error=error)


@dataclass(frozen=True, slots=True)
class Note:
    """Sentences.

    Attributes
    ----------
    style : of a page: a paragraph, small print, a formula, code, or a heading within a section.
    """

    text: str
    style: Literal["", "aside", "formula", "code", "heading", "quote"] = ""
    on: Surfaces = READ


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : its heading.
    cells : (k,) numbers; or texts.
    low, high : (k,) whole numbers, the 95 % intervals of the cells, if they have any.
    released : whether the cells are released labels, which are shown as they are.
    bars : surfaces that draw the numbers as bars too.
    digits : whether texts are numbers, which stand at the right.
    over : a heading over this column and its neighbors of the same, such as the name of a key.
    heads : whether the cells are headings of rows, first of groups of them, then within these.
        Pages show those of equal neighbors once.
    left_out : (k,) the cells that `instead` stands for; see `leave_out`.
    """

    name: str
    cells: Sequence[str] | NumberArray
    low: IntArray | None = None
    high: IntArray | None = None
    released: bool = False
    bars: Surfaces = frozenset()
    digits: bool = False
    over: str = ""
    heads: bool = False
    left_out: BoolArray | None = None
    instead: str = ""

    def leave_out(self, rows: BoolArray, instead: str = "") -> "Column":
        """Return this column without the cells of some rows, nor their intervals.

        >>> column = Column("Count", np.array([9, 2]), np.array([8, 1]), np.array([10, 3]))
        >>> column.leave_out(np.array([False, True]), "<5").shown(1)
        ['<5', '']
        """
        if self.is_text or self.digits:
            texts: Any = zip(rows.tolist(), self.cells, strict=True)
            return replace(self, cells=[instead if row else cell for row, cell in texts])
        cells, low, high = (
            None if each is None else np.where(rows, 0, each)
            for each in (self.cells, self.low, self.high)
        )
        assert cells is not None  # noqa: S101 - for mypy
        return replace(self, cells=cells, low=low, high=high, left_out=rows, instead=instead)

    def shown(self, place: int) -> list[str]:
        """Return the texts of a row: the cell, then its interval if it has one."""
        if self.left_out is not None and self.left_out[place]:
            return [self.instead, *[""] * (len(self.names) - 1)]
        cell = self.cells[place]
        found = [cell if isinstance(cell, str) else number_text(cell)]
        if self.low is not None and self.high is not None:
            found.append(str(Between(int(self.low[place]), int(self.high[place]))))
        return found

    @property
    def names(self) -> list[str]:
        """The heading, after the one over it, then that of the intervals."""
        name = f"{self.over}: {self.name}" if self.over else self.name
        return [name] if self.low is None else [name, "95 % interval"]

    @property
    def is_text(self) -> bool:
        """Whether the cells are texts, and no numbers."""
        return len(self.cells) > 0 and isinstance(self.cells[0], str) and not self.digits


@dataclass(frozen=True, slots=True)
class File:
    """A file that pages offer below a table; it stands in the page.

    Attributes
    ----------
    name : of the file.
    text : what it is, after its name.
    write : returns what it holds, as text.
    """

    name: str
    text: str
    write: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; surfaces show as many of its rows as they have room for.

    Attributes
    ----------
    caption : what all rows are, then what the first and the last are, where rows are left out.
    empty : what is said of a table without rows.
    number : heading of the rows' numbers, such as "Rank", for a table whose first rows matter most.
        Surfaces show these, and a page all rows.
    whole : whether pages and terminals show all rows and columns, however many and wide they are,
        and cards more rows than of other tables. A terminal shows the caption too.
    total : number of rows of which the columns hold the first; None if they hold all.
    files : with all rows.
    """

    columns: Sequence[Column]
    caption: tuple[str, str, str] = ("", "", "")
    empty: str = ""
    on: Surfaces = READ
    number: str = ""
    whole: bool = False
    total: int | None = None
    files: Sequence[File] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells)

    @property
    def groups(self) -> list[tuple[str, list[Column]]]:
        """The headings over columns, each with its columns; "" for those without any."""
        return [(over, list(held)) for over, held in groupby(self.columns, lambda each: each.over)]

    @property
    def further(self) -> int:
        """The number of rows that the columns do not hold."""
        return 0 if self.total is None else self.total - self.rows

    def ends(self, size: int) -> tuple[range, range]:
        """Return the places of the first and the last `size` rows; of all if they are no more.

        Of a table that is shown whole, all; of one with numbers, or with further rows, those of the
        first `2 * size` rows, and no last ones.
        """
        if self.whole:
            return range(self.rows), range(0)
        if self.number or self.further:
            return range(min(2 * size, self.rows)), range(0)
        if self.rows <= 2 * size:
            return range(self.rows), range(0)
        return range(size), range(self.rows - size, self.rows)


@dataclass(frozen=True, slots=True)
class Figures:
    """Charts side by side; cards show the first.

    Attributes
    ----------
    title, text : of all charts together, such as small multiples, which have their own titles
        alone; empty for charts with a caption each.
    """

    charts: Sequence[Chart]
    on: Surfaces = DRAWN
    title: str = ""
    text: str = ""


Block: TypeAlias = Fact | Note | Table | Figures


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under one heading.

    Attributes
    ----------
    name : one word, different for each section of a document.
    title : the heading on a page.
    blocks : in their order; or a function that returns them, called where the section is shown.
    on : the surfaces; of a section whose blocks are computed, those that it is computed for.
    wide : whether a page shows it below its heading, across the whole width.
    """

    name: str
    title: str
    blocks: Sequence[Block] | Callable[[], Sequence[Block]]
    on: Surfaces = EVERYWHERE
    wide: bool = False

    def list_blocks(self, surface: Surface) -> list[Block]:
        """Return the blocks that a surface shows."""
        if surface not in self.on:
            return []
        blocks = self.blocks() if callable(self.blocks) else self.blocks
        return [block for block in blocks if surface in block.on]


@dataclass(frozen=True, slots=True)
class Document:
    """What is to be said of a release, of one that is not made yet, or of what was looked at.

    Attributes
    ----------
    kind : name of the kind, or of what is not a release.
    title : the heading.
    sections : of blocks, in their order.
    made : how it came to be, after the title: "released with differential privacy".
    version : of dphist.
    slots : the owner's words, see `dphist.sentence`.
    headline : the guarantee in a few symbols.
    heads : what stands above the title of a page: data and period.
    result : the result in a sentence; empty if there is none.
    lead : the guarantee in a sentence.
    warnings : what a reader must know first.
    glance : sections of facts that are shown first, without a heading.
    date : UTC day of the release, if it is known.
    about : what the document is of, in a word: it stands before the title of a card, if any.
    kicker : what it is of, as it stands above the title of a page.
    closing : what stands at the end of a page.
    """

    kind: str
    title: str
    sections: Sequence[Section]
    made: str = ""
    version: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)
    headline: str = ""
    heads: Sequence[str] = ()
    result: str = ""
    lead: str = ""
    warnings: Sequence[str] = ()
    glance: Sequence[Section] = ()
    date: str | None = None
    about: str = "Release"
    kicker: str = "Differentially private release"
    closing: str = _OF_A_RELEASE

    def blocks(self, surface: Surface) -> Iterator[Block]:
        """Yield all blocks that a surface shows, the glance first."""
        for section in (*self.glance, *self.sections):
            yield from section.list_blocks(surface)

    def fact(self, key: str) -> Fact:
        """Return the fact of a key, shown or not, that takes no time; KeyError if there is none."""
        sections = (*self.glance, *self.sections)
        listed = [section.blocks for section in sections if not callable(section.blocks)]
        for block in (block for blocks in listed for block in blocks):
            if isinstance(block, Fact) and block.key == key:
                return block
        raise KeyError(key)

    def with_section(self, section: Section) -> "Document":
        """Return this document with one more section at its end."""
        return replace(self, sections=(*self.sections, section))
