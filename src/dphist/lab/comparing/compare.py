"""`dphist.compare`: mechanisms side by side on the caller's own data."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any

from dphist.data.guard import refuse_guarded
from dphist.data.open_data import open_data
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
from dphist.document.kind import Kind, kinds
from dphist.errors import Argument, ParameterError
from dphist.files import check_output_path, write_text
from dphist.lab.comparing.comparison import Comparison
from dphist.lab.comparing.contenders import make_contenders
from dphist.lab.comparing.measuring import Cell, Effort, Tally, measure_all
from dphist.lab.comparing.results import (
    FORMAT,
    ComparedRow,
    LeftOut,
    Style,
    epsilon_text,
    format_text,
    number_text,
    read_earlier,
    recall_measured,
    seconds_text,
    state_error,
)
from dphist.parameters import (
    Exact,
    decimal_text,
    exact_number,
    positive_number,
    probability,
    whole_number,
)
from dphist.properties.estimate import NORMAL
from dphist.release.release import VERSION

_BETWEEN_WRITES = 0.25  # seconds


def compare(
    mechanisms: Any,
    data: Any,
    epsilons: Iterable[Exact] | Exact = (1, "0.1"),
    *,
    delta: Exact | None = None,
    published: bool = False,
    seconds: float = 60,
    target: float = 0.05,
    most: int = 400,
    output: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Measure error and time of mechanisms on the same data.

    **Not private.** A comparison looks at the data. Use public data, or data of your own where
    looking is allowed; do not publish the result if the data are secret, and do not choose a
    mechanism for secret data by it.

    Parameters
    ----------
    mechanisms : sequence, or mapping of names
        Each a class of mechanisms, such as ``dh.AdaptiveScan``; a mechanism, with its epsilon
        replaced; ``functools.partial`` of a class; or a function that takes epsilon and returns a
        mechanism. A mechanism of your own needs a method `release`. Parameters that a class
        requires, such as the number of labels, are taken from the data, and the result says so.
    data : Profile (anonymized), BinnedCounts or array of counts (ranges), LabelCounts (labels),
        KeyedCounts (tables), GroupedCounts (groups), RegionalProfile (regions), or a sequence of
        events, each a sequence of labels (streams); or what a kind that you registered is compared
        on.
    epsilons : totals of a release; of labels, tables and streams with `delta`.
    delta : total delta; required for labels, tables and streams (anonymized: 1e-9 where one is
        needed).
    published : also compare with every mechanism of this kind that dphist has or that was
        implemented for comparison only.
    seconds : time for everything. A run that does not end in time is cut, and the result lists
        what was left out. (Runs are cut in the main thread only, and not on Windows.)
    target : a cell is finished when the standard error is this share of the error,
    most : or after this many runs.
    output : a CSV file, written after each cell. If it exists, the comparison goes on from it;
        a file of other data, delta or version of dphist is refused. A mechanism of yours is
        measured again if its file was edited since.
    progress : called with a sentence after each cell.

    Returns
    -------
    Comparison
        Ctrl-C returns what was measured so far.

    Raises
    ------
    ParameterError
        If a parameter is out of range, a class needs a parameter that is unknown, or `output`
        is of other settings.
    LedgerError
        If a ledger guards the data.

    Notes
    -----
    Noise is fresh in each run, as in releases, and all mechanisms get equal data. Mechanisms for
    labels, tables and streams are calibrated to the total.

    >>> import dphist as dh
    >>> profile = dh.Profile.from_counts([9, 7, 4, 2, 1, 1])
    >>> found = compare([dh.AdaptiveScan, dh.SortedCounts], profile, [1], seconds=5, most=20)
    >>> sorted(row.mechanism for row in found), found.measures[0].name
    (['AdaptiveScan', 'SortedCounts'], 'sorted L1 error')
    """
    if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        raise ParameterError("seconds", "must be a number above 0")
    if not (isinstance(target, int | float) and target >= 0):
        raise ParameterError("target", "must be a number of at least 0")
    effort = Effort(float(target), most=whole_number(most, "most", 2))
    asked = _read_epsilons(epsilons)
    total_delta = None if delta is None else decimal_text(probability(delta, "delta"), 150)
    kind, case = open_case(data, delta)
    contenders = _list_contenders(make_contenders(mechanisms, case), case, published)
    settings = {
        "format": FORMAT,
        "dphist": VERSION,
        "kind": kind.name,
        "data": case.digest,
        "delta": total_delta,
    }
    earlier: Sequence[ComparedRow] = ()
    if output is not None:
        check_output_path(output)
        earlier = read_earlier(output, settings)
    cells = [
        _cell(contender, exact, given, case, earlier)
        for exact, given in asked
        for contender in contenders
    ]
    return _measure_cells(
        cells, case, contenders, effort, seconds, settings, earlier, output, progress
    )


def _measure_cells(
    cells: Sequence[Cell],
    case: Case,
    contenders: Sequence[Contender],
    effort: Effort,
    seconds: float,
    settings: dict[str, Any],
    earlier: Sequence[ComparedRow],
    output: str | Path | None,
    progress: Callable[[str], None] | None,
) -> Comparison:
    begun = time.perf_counter()
    written = -math.inf

    def write(left_out: Sequence[LeftOut] = ()) -> None:
        nonlocal written
        if output is not None:
            mine = list_rows(cells, case)
            own = {(row.mechanism, row.epsilon) for row in mine}
            others = [row for row in earlier if (row.mechanism, row.epsilon) not in own]
            write_text(output, format_text([*mine, *others], settings, left_out))
        written = time.perf_counter()

    def report_done(cell: Cell) -> None:
        if time.perf_counter() - written > _BETWEEN_WRITES:
            write()
        if progress is not None:
            enough = sum(bool(one.failure) or one.tally.is_enough(effort) for one in cells)
            progress(f"{enough} of {len(cells)} cells finished; {describe_cell(cell, case)}")

    try:
        stopped = measure_all(cells, case, effort, seconds, report_done)
    finally:
        write(list_left_out(cells))
    return Comparison(
        kind=settings["kind"],
        measures=case.measures,
        rows=tuple(list_rows(cells, case)),
        left_out=tuple(list_left_out(cells)),
        facts=dict(case.facts),
        stopped=stopped,
        seconds=time.perf_counter() - begun,
        styles=tuple(choose_styles(contenders, case)),
        settings=settings,
    )


def _read_epsilons(epsilons: Any) -> list[tuple[Fraction, Any]]:
    """Return exact epsilons, largest first, with each as mechanisms get it."""
    several = isinstance(epsilons, Iterable) and not isinstance(epsilons, str | bytes)
    each = list(epsilons) if several else [epsilons]
    found = {positive_number(one, "epsilons"): _as_number(one) for one in each}
    if not found:
        raise ParameterError("epsilons", "must hold at least one number above 0")
    return sorted(found.items(), key=lambda pair: pair[0], reverse=True)


def _as_number(epsilon: Any) -> Any:
    """Return text as a number: a float, if that means the same; mechanisms get the rest as given.

    >>> _as_number("0.1"), _as_number("1/3"), _as_number(2)
    (0.1, Fraction(1, 3), 2)
    """
    if not isinstance(epsilon, str):
        return epsilon
    exact = exact_number(epsilon, "epsilons")
    return float(exact) if exact_number(float(exact), "epsilons") == exact else exact


def _list_contenders(own: list[Contender], case: Case, published: bool) -> list[Contender]:
    """Return the caller's contenders and, if asked for, all others."""
    known = {one.name: one for one in case.list_published()}
    names = {one.name for one in own}
    others = [one for one in known.values() if one.name not in names] if published else []
    styles = {one.name: known.get(one.name, one) for one in own}
    own = [
        replace(one, color=styles[one.name].color, dashed=styles[one.name].dashed) for one in own
    ]
    if not own and not others:
        raise ParameterError(
            "mechanisms", "must name at least one, or " + Argument("published") + " must be True"
        )
    return [*own, *others]


def _cell(
    contender: Contender, epsilon: Fraction, asked: Any, case: Case, earlier: Sequence[ComparedRow]
) -> Cell:
    cell = contender.name, epsilon
    rows = [row for row in earlier if (row.mechanism, row.epsilon) == cell]
    if any(row.parameters != contender.parameters for row in rows):
        raise ParameterError(
            "output",
            f"must be of the same mechanisms, and holds another one named {contender.name}",
            "name another output, or give it another name in a mapping",
        )
    if any(row.code != contender.code for row in rows):
        rows = []  # it was edited since, so its runs start over
    kept = recall_measured(rows, case.measures)
    tally = Tally(len(kept), kept, squares=case.measures[0].root)
    return Cell(contender, epsilon, asked, tally, rows[0].guarantee if rows else "")


def open_case(data: Any, delta: Any = None) -> tuple[Kind, Case]:
    """Return the kind of data, and the data, opened, with the mechanisms for them.

    Raises
    ------
    LedgerError
        If a ledger guards the data: comparing would look at them without paying.
    ParameterError
        If they are of no kind, or a delta is missing.
    """
    refuse_guarded(data)
    declared = [(kind, kind.comparing) for kind in kinds() if kind.comparing is not None]
    for kind, comparing in reversed(declared):
        if comparing.takes(data):
            return kind, comparing.case(data, open_data(data), delta)
    *some, last = (comparing.data for _, comparing in declared)
    raise ParameterError("data", f"must be {', '.join(some)}, or {last}")


_FREE = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)


def list_rows(cells: Sequence[Cell], case: Case) -> list[ComparedRow]:
    """Return what is known, by measure and epsilon, the best mechanism first."""
    found = []
    for place, measure in enumerate(case.measures):
        some = []
        for cell in cells:
            one = cell.tally.measured(place)
            if one is None:
                continue
            error, doubt = state_error(one, measure.root)
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
                    contender.code,
                )
            )
        sign = -1 if measure.larger_is_better else 1
        found += sorted(some, key=lambda row: (-row.epsilon, sign * row.error))
    return found


def list_left_out(cells: Sequence[Cell]) -> list[LeftOut]:
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


def describe_cell(cell: Cell, case: Case) -> str:
    """Say what is known of a cell."""
    what = f"{cell.contender.name}, ε = {epsilon_text(cell.epsilon)}"
    known = next(
        ((one, found) for place, one in enumerate(case.measures)
         if (found := cell.tally.measured(place)) is not None), None,
    )  # fmt: skip
    if cell.failure or known is None:
        return f"{what}: {_reason(cell)}"
    measure, measured = known
    error, doubt = state_error(measured, measure.root)
    about = "" if doubt is None else f" ± {number_text(NORMAL * doubt)}"
    return (
        f"{what}: {number_text(error)}{about} {measure.unit} ({measured.runs} runs, "
        f"{seconds_text(measured.seconds)} each)"
    )


def choose_styles(contenders: Sequence[Contender], case: Case) -> list[Style]:
    """Give each contender a line of its own; those that nobody published stand out from others."""
    known = {one.name for one in case.list_published()}
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
