"""Smallest and largest values of unknowns of a system, by linear programs in whole numbers.

Solver: HiGHS, through `scipy.optimize.milp`. Its numbers are floating point. What it finds is
rounded to the side that claims less, and a solution counts only after whole numbers were checked.
"""

import contextlib
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeWarning, linprog, milp

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.errors import DataError
from dphist.lab.rules.counts import UNBOUNDED
from dphist.lab.rules.moves import Moves
from dphist.lab.rules.system import CONTRADICTION, Frozen, Part

_TOLERANCE, _RELATIVE = 1e-4, 1e-8  # by which a bound of the solver may be wrong
_LONGEST = 2.0  # seconds of one program
_ROUGH = 0.5  # gap to the optimum at which a program that moves all unknowns may end
_TRIES = 6  # programs that move all unknowns at once
_SUBSTITUTE = 1e7  # from here on a bound is left out, which keeps the solver's numbers small
_LARGE = 500  # unknowns, from which on inner points are faster than the simplex method
_INFEASIBLE = 2  # of `scipy.optimize.milp`


@dataclass(frozen=True, slots=True)
class Reached:
    """What is known of each unknown.

    Attributes
    ----------
    low, high : (n,) int64, bounds that hold for all numbers that agree with what is published.
    seen_low, seen_high : (n,) int64, the smallest and largest in solutions that were found.
    programs : the number of programs that were solved.
    """

    low: IntArray
    high: IntArray
    seen_low: IntArray
    seen_high: IntArray
    programs: int

    @property
    def is_exact(self) -> BoolArray:
        """(n,) bool, whether both bounds are taken by a solution."""
        exact: BoolArray = (self.low == self.seen_low) & (self.high == self.seen_high)
        return exact


def find_bounds(
    system: Frozen,
    targets: IntArray,
    solution: IntArray | None,
    seconds: float,
    moves: Moves | None = None,
) -> Reached:
    """Find the smallest and largest value of unknowns.

    Parameters
    ----------
    system : what is published; its bounds are tightened.
    targets : the unknowns that matter, the most important first.
    solution : numbers that satisfy it, such as the true counts; None if none are known.
    seconds : after which no further program is started; bounds then are those found so far.
    moves : of the first unknowns, which keep all sums; they save programs.

    Raises
    ------
    DataError
        If no numbers satisfy it, as far as each sum by itself tells.
    """
    until = time.monotonic() + seconds
    system.tighten()
    search = _Search(system, until)
    if solution is not None and system.is_solved_by(solution):
        search.add_solution(solution)
        if moves is not None:
            search.move(moves, solution)
    fixed = system.low == system.high
    search.seen_low[fixed] = search.seen_high[fixed] = system.low[fixed]
    for part in system.split():
        search.run(part, targets)
    loose = (np.bincount(system.columns, minlength=len(fixed)) == 0) | (system.high >= UNBOUNDED)
    search.seen_low[loose], search.seen_high[loose] = system.low[loose], system.high[loose]
    return Reached(system.low, system.high, search.seen_low, search.seen_high, search.programs)


class _Search:
    """Programs on the parts of one system, and what they have shown."""

    def __init__(self, system: Frozen, until: float) -> None:
        self.system, self.until = system, until
        self.seen_low = np.full(len(system.low), UNBOUNDED)
        self.seen_high = np.full(len(system.low), -1)
        self.programs, self.has_moved = 0, False

    def add_solution(self, values: IntArray) -> None:
        """Note numbers that satisfy the system."""
        np.minimum(self.seen_low, values, out=self.seen_low)
        np.maximum(self.seen_high, values, out=self.seen_high)

    def move(self, moves: Moves, solution: IntArray) -> None:
        """Note the solutions that moves make of one."""
        self.has_moved, size = True, len(moves.codes)
        low, high = self.system.low[:size], self.system.high[:size]
        for cell, sign in product(range(size), (1, -1)):
            if time.monotonic() > self.until:
                return
            if not self._is_met(cell, -sign):
                found = moves.walk(solution[:size], low, high, cell, sign)
                values = np.concatenate([found, solution[size:]])
                if self.system.is_solved_by(values):
                    self.add_solution(values)

    def run(self, part: Part, targets: IntArray) -> None:
        """Find the bounds of the targets of a part: most programs have whole solutions anyway."""
        held = dict(zip(part.unknowns.tolist(), range(len(part.unknowns)), strict=True))
        places = [held[each] for each in targets.tolist() if each in held]
        draws = np.random.default_rng(0)  # directions of a search: no noise of a release
        for _ in range(0 if self.has_moved or len(places) <= 2 else _TRIES):
            if self._are_met(part.unknowns[places]):
                break
            cost = draws.choice([-1.0, 1.0], len(part.unknowns))
            self._solve(part, cost, whole=False) or self._solve(part, cost, whole=True)
        for whole in (False, True):
            for place, sign in product(places, (1, -1)):
                self._bound(part, place, sign, whole=whole)

    def _are_met(self, unknowns: IntArray) -> bool:
        return all(self._is_met(each, sign) for each in unknowns.tolist() for sign in (1, -1))

    def _is_met(self, unknown: int, sign: int) -> bool:
        """Return whether a solution takes the lower bound, or with the sign -1 the upper one."""
        if sign > 0:
            return bool(self.seen_low[unknown] <= self.system.low[unknown])
        return bool(self.seen_high[unknown] >= self.system.high[unknown])

    def _bound(self, part: Part, place: int, sign: int, *, whole: bool) -> None:
        """Find the smallest value of one unknown, or with the sign -1 the largest."""
        if not self._is_met(int(part.unknowns[place]), sign):
            cost = np.zeros(len(part.unknowns))
            cost[place] = sign
            self._solve(part, cost, whole=whole, bounded=place)

    def _solve(self, part: Part, cost: FloatArray, *, whole: bool, bounded: int = -1) -> bool:
        """Solve a program; note what it shows, and return whether its solution is whole.

        Parameters
        ----------
        bounded : the place of the unknown that the cost is of, if it is of one.
        """
        left = self.until - time.monotonic()
        if left <= 0:
            return True
        where = part.unknowns
        low = (self.system.low[where] - part.base).astype(float)
        high = (self.system.high[where] - part.base).astype(float)
        high[high > _SUBSTITUTE] = np.inf
        gap = 0.0 if bounded >= 0 else _ROUGH
        answer = _call(part, cost, Bounds(low, high), whole, min(left, _LONGEST), gap)
        self.programs += 1
        if answer.status == _INFEASIBLE:
            raise DataError(CONTRADICTION)
        bound = answer.mip_dual_bound if whole else answer.fun if answer.status == 0 else None
        if bounded >= 0 and bound is not None and math.isfinite(bound):
            self._note_bound(part, bounded, cost[bounded], float(bound))
        return answer.x is not None and self._note_solution(part, answer.x)

    def _note_bound(self, part: Part, place: int, sign: float, bound: float) -> None:
        """Note a bound, rounded to the side that claims less."""
        unknown, base = part.unknowns[place], int(part.base[place])
        low, high = self.system.low, self.system.high
        found = math.ceil(bound - _TOLERANCE - _RELATIVE * abs(bound))
        if sign > 0:
            low[unknown] = max(low[unknown], min(base + found, self.seen_low[unknown]))
        else:
            high[unknown] = min(high[unknown], max(base - found, self.seen_high[unknown]))

    def _note_solution(self, part: Part, found: FloatArray) -> bool:
        """Note a solution if, as whole numbers, it satisfies the sums of its part."""
        where, moved = part.unknowns, np.rint(found)
        values, sums = part.base + moved.astype(np.int64), part.matrix @ moved
        fits = (values >= self.system.low[where]) & (values <= self.system.high[where])
        if not (fits.all() and ((sums >= part.least) & (sums <= part.most)).all()):
            return False
        self.seen_low[where] = np.minimum(self.seen_low[where], values)
        self.seen_high[where] = np.maximum(self.seen_high[where], values)
        return True


def _call(
    part: Part, cost: FloatArray, bounds: Bounds, whole: bool, seconds: float, gap: float
) -> Any:
    """Call the solver; what it prints or warns of is caught."""
    options = {"time_limit": seconds, "disp": False}
    with _mute(), warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)
        if not whole and len(cost) > _LARGE and (part.least == part.most).all():
            spans = np.stack([bounds.lb, bounds.ub], axis=1)
            return linprog(
                cost,
                A_eq=part.matrix,
                b_eq=part.least,
                bounds=spans,
                method="highs-ipm",
                options=options,
            )
        return milp(
            cost,
            integrality=np.full(len(cost), int(whole)),
            bounds=bounds,
            constraints=LinearConstraint(part.matrix, part.least, part.most),
            options={**options, "mip_rel_gap": gap},
        )


@contextlib.contextmanager
def _mute() -> Iterator[None]:
    """Send what a library in C prints to nowhere, for as long as one call takes."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    kept: list[tuple[int, int]] = []
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            with contextlib.suppress(OSError):  # that is closed already
                kept.append((number, os.dup(number)))
                os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
