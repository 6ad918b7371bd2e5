"""What cells have come to: rows, what is left out, and how each mechanism is drawn."""

from collections.abc import Sequence
from itertools import cycle

from dphist.document.compared import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    Case,
    Contender,
)
from dphist.lab.comparing.cell import Cell
from dphist.lab.comparing.comparison import ComparedRow, LeftOut, Style
from dphist.lab.comparing.results_file import stated
from dphist.lab.comparing.text import epsilon_text, number_text, seconds_text

_FREE = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)


def rows_of(cells: Sequence[Cell], case: Case) -> list[ComparedRow]:
    """Return what is known, by measure and epsilon, the best mechanism first."""
    found = []
    for place, measure in enumerate(case.measures):
        some = []
        for cell in cells:
            one = cell.tally.measured(place)
            if one is None:
                continue
            error, doubt = stated(one, measure.root)
            contender = cell.contender
            some.append(
                ComparedRow(
                    contender.name,
                    contender.told,
                    cell.guarantee,
                    cell.epsilon,
                    measure.name,
                    measure.unit,
                    error,
                    doubt,
                    one.runs,
                    one.seconds,
                    contender.parameters,
                )
            )
        sign = -1 if measure.larger_is_better else 1
        found += sorted(some, key=lambda row: (-row.epsilon, sign * row.error))
    return found


def left_out_of(cells: Sequence[Cell]) -> list[LeftOut]:
    """Return the cells that failed, or that no run of ended."""
    return [
        LeftOut(cell.contender.name, cell.epsilon, _reason(cell))
        for cell in cells
        if cell.failure or not cell.tally.runs
    ]


def _reason(cell: Cell) -> str:
    if cell.failure:
        return cell.failure
    if cell.tally.cut:
        return f"no run ended within {seconds_text(cell.tally.cut)}"
    if cell.foreseen:
        return f"a release takes {seconds_text(cell.foreseen)} or more"
    return "the time was up before its turn"


def said_of(cell: Cell, case: Case) -> str:
    """Say what is known of a cell."""
    what = f"{cell.contender.name}, ε = {epsilon_text(cell.epsilon)}"
    known = next(
        ((one, found) for place, one in enumerate(case.measures)
         if (found := cell.tally.measured(place)) is not None), None,
    )  # fmt: skip
    if cell.failure or known is None:
        return f"{what}: {_reason(cell)}"
    measure, measured = known
    error, doubt = stated(measured, measure.root)
    about = "" if doubt is None else f" ± {number_text(doubt)}"
    return (
        f"{what}: {number_text(error)}{about} {measure.unit} ({measured.runs} runs, "
        f"{seconds_text(measured.seconds)} each)"
    )


def styles_of(contenders: Sequence[Contender], case: Case) -> list[Style]:
    """Give each contender a line of its own; those that nobody published stand out from others."""
    known = {one.name for one in case.published()}
    others = any(one.name in known for one in contenders)
    used = {(one.color, one.dashed) for one in contenders}
    free = [(color, dashed) for dashed in (False, True) for color in _FREE]
    left = cycle([one for one in free if one not in used] or free)
    found = []
    for one in contenders:
        color, dashed = (one.color, one.dashed) if one.color else next(left)
        out = others and one.name not in known
        found.append(Style(one.name, one.told, color, dashed, out))
    return found
