"""`dphist.compare`: mechanisms side by side on the caller's own data."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dphist.atomic_files import check_output_path, write_text
from dphist.document.compared import Case, Contender
from dphist.errors import Argument, ParameterError
from dphist.lab.comparing.cases import case_of
from dphist.lab.comparing.cell import Cell, measure_all
from dphist.lab.comparing.code import without_code
from dphist.lab.comparing.comparison import Comparison, LeftOut
from dphist.lab.comparing.measuring import Effort, Tally
from dphist.lab.comparing.outcome import left_out_of, rows_of, said_of, styles_of
from dphist.lab.comparing.own import contenders_of
from dphist.lab.comparing.results_file import FORMAT, Earlier, kept_of, read_earlier, text_of
from dphist.parameters import (
    Exact,
    decimal_text,
    exact_number,
    positive_number,
    probability,
    whole_number,
)
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
    data : Profile (anonymized), BinnedCounts or array of counts (ranges), LabelCounts (labels), or
        a sequence of events, each a sequence of labels (streams); or what a kind that you
        registered is compared on.
    epsilons : totals of a release; of labels and streams with `delta`.
    delta : total delta; required for labels and streams (anonymized: 1e-9 where one is needed).
    published : also compare with every mechanism of this kind that dphist has or that was
        implemented for comparison only.
    seconds : time for everything. A run that does not end in time is cut, and the result lists
        what was left out. (Runs are cut in the main thread only, and not on Windows.)
    target : a cell is finished when the standard error is this share of the error,
    most : or after this many runs.
    output : a CSV file, written after each cell. If it exists, the comparison goes on from it;
        a file of other data, delta or version of dphist is refused. A mechanism of yours is
        measured anew if its file was edited since.
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
    labels and streams are calibrated to the total.

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
    asked = _asked(epsilons)
    total_delta = None if delta is None else decimal_text(probability(delta, "delta"), 150)
    kind, case = case_of(data, delta)
    contenders = _all_of(contenders_of(mechanisms, case), case, published)
    settings = {
        "format": FORMAT,
        "dphist": VERSION,
        "kind": kind.name,
        "data": case.digest,
        "delta": total_delta,
    }
    earlier = Earlier()
    if output is not None:
        check_output_path(output)
        earlier = read_earlier(output, settings)
    cells = [
        _cell(contender, exact, given, case, earlier)
        for exact, given in asked
        for contender in contenders
    ]
    return _measured(cells, case, contenders, effort, seconds, settings, earlier, output, progress)


def _measured(
    cells: Sequence[Cell],
    case: Case,
    contenders: Sequence[Contender],
    effort: Effort,
    seconds: float,
    settings: dict[str, Any],
    earlier: Earlier,
    output: str | Path | None,
    progress: Callable[[str], None] | None,
) -> Comparison:
    begun = time.perf_counter()
    written = -math.inf

    def write(left_out: Sequence[LeftOut] = ()) -> None:
        nonlocal written
        if output is not None:
            mine = rows_of(cells, case)
            own = {(row.mechanism, row.epsilon) for row in mine}
            others = [row for row in earlier.rows if (row.mechanism, row.epsilon) not in own]
            write_text(output, text_of([*mine, *others], settings, left_out))
        written = time.perf_counter()

    def done(cell: Cell) -> None:
        if time.perf_counter() - written > _BETWEEN_WRITES:
            write()
        if progress is not None:
            enough = sum(bool(one.failure) or one.tally.is_enough(effort) for one in cells)
            progress(f"{enough} of {len(cells)} cells finished; {said_of(cell, case)}")

    try:
        stopped = measure_all(cells, case, effort, seconds, done)
    finally:
        write(left_out_of(cells))
    return Comparison(
        kind=settings["kind"],
        measures=case.measures,
        rows=tuple(rows_of(cells, case)),
        left_out=tuple(left_out_of(cells)),
        facts=dict(case.facts),
        stopped=stopped,
        seconds=time.perf_counter() - begun,
        styles=tuple(styles_of(contenders, case)),
        settings=settings,
    )


def _asked(epsilons: Any) -> list[tuple[Fraction, Any]]:
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


def _all_of(own: list[Contender], case: Case, published: bool) -> list[Contender]:
    """Return the caller's contenders and, if asked for, all others."""
    known = {one.name: one for one in case.published()}
    names = {one.name for one in own}
    others = [one for one in known.values() if one.name not in names] if published else []
    own = [_styled_as(one, known.get(one.name)) for one in own]
    if not own and not others:
        raise ParameterError(
            "mechanisms", "must name at least one, or " + Argument("published") + " must be True"
        )
    return [*own, *others]


def _styled_as(one: Contender, other: Contender | None) -> Contender:
    """Return a contender that is drawn as another one of its name is."""
    return one if other is None else replace(one, color=other.color, dashed=other.dashed)


def _cell(
    contender: Contender, epsilon: Fraction, asked: Any, case: Case, earlier: Earlier
) -> Cell:
    rows = earlier.of(contender.name, epsilon)
    if any(without_code(row.parameters) != without_code(contender.parameters) for row in rows):
        raise ParameterError(
            "output",
            f"must be of the same mechanisms, and holds another one named {contender.name}",
            "name another output, or give it another name in a mapping",
        )
    if any(row.parameters != contender.parameters for row in rows):
        rows = ()  # it was edited since, so that its runs begin anew
    kept = kept_of(rows, case.measures)
    tally = Tally(len(kept), kept, squares=case.measures[0].root)
    return Cell(contender, epsilon, asked, tally, rows[0].guarantee if rows else "")
