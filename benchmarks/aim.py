"""AIM beside tables of one release: all 36 tables of one and two attributes of Adult.

For comparison only: AIM (McKenna, Mullins, Sheldon, Miklau 2022) from its paper, on the estimation
of the library mbi, with floating-point noise. Its model is held to some megabytes and an estimation
to some steps, so that a run ends in minutes; with the defaults of its authors it takes hours.
Errors are means over tables of the L1 distance to the true table, over the number of records: those
of its model, before records are made of it, and those of whole numbers. Needs the data of
`benchmarks/tables.py`.

    JAX_ENABLE_X64=1 python -m benchmarks.aim [--rho R ...] [--rounds T] [--steps S]
"""

import argparse
import math
import time
from itertools import combinations
from typing import Any

import jax
import mbi
import numpy as np
from mbi.junction_tree import hypothetical_model_size

import dphist as dh
from benchmarks.tables import (
    NAMES,
    RHOS,
    TABLES,
    Cells,
    count_table,
    measure,
    read_adult,
    read_tables,
)
from dphist.arrays import AnyArray

_MEASURING = 0.9  # of rho; the rest chooses which tables are measured
_TYPICAL = math.sqrt(2 / math.pi)  # of the distance of a standard normal number from 0
_FIRST_STEPS = 100

Clique = tuple[str, ...]


class Aim:
    """A run of AIM on counts.

    Parameters
    ----------
    truth : the true tables, by their keys.
    domain : keys and their numbers of values.
    rho, rounds, megabytes, steps : the budget; how often a table is chosen, at most about; the
        largest model, and the steps of one estimation.
    """

    def __init__(
        self,
        truth: Cells,
        domain: mbi.Domain,
        rho: float,
        rounds: int,
        megabytes: float,
        steps: int,
        generator: np.random.Generator,
    ) -> None:
        self._truth, self._domain, self._rho = truth, domain, rho
        self._megabytes, self._steps, self._draw = megabytes, steps, generator
        self._sigma = math.sqrt(rounds / (2 * _MEASURING * rho))
        self._epsilon = math.sqrt(8 * (1 - _MEASURING) * rho / rounds)
        self._spent = 0.0
        self._measured: list[mbi.LinearMeasurement] = []
        self._model: Any = None
        # A table is worth the keys that it shares with all tables asked.
        self._worth = {
            clique: float(sum(len({*clique} & {*asked}) for asked in truth)) for clique in truth
        }

    def run(self) -> Any:
        """Return the model of all that was measured."""
        for clique in self._truth:
            if len(clique) == 1:
                self._measure(clique)
        self._estimate(_FIRST_STEPS)
        last = False
        while not last:
            left = self._rho - self._spent
            if left < 2 * (0.5 / self._sigma**2 + self._epsilon**2 / 8):
                self._sigma = math.sqrt(1 / (2 * _MEASURING * left))
                self._epsilon = math.sqrt(8 * (1 - _MEASURING) * left)
                last = True
            clique = self._choose()
            before = self._cells(clique)
            self._measure(clique)
            self._estimate(self._steps)
            moved = np.abs(self._cells(clique) - before).sum()
            if moved <= _TYPICAL * self._sigma * before.size:
                self._sigma, self._epsilon = self._sigma / 2, self._epsilon * 2
        return self._model

    def _measure(self, clique: Clique) -> None:
        true = self._truth[clique]
        noisy = true.ravel() + self._draw.normal(scale=self._sigma, size=true.size)
        self._measured.append(mbi.LinearMeasurement(noisy, clique, stddev=self._sigma))
        self._spent += 0.5 / self._sigma**2

    def _choose(self) -> Clique:
        """Return a table by the exponential mechanism, of those that leave the model small."""
        used = [one.clique for one in self._measured]
        most = self._megabytes * self._spent / self._rho
        fitting = [
            clique
            for clique in self._truth
            if clique in used or hypothetical_model_size(self._domain, [*used, clique]) <= most
        ]
        self._spent += self._epsilon**2 / 8
        scores = np.array([self._score(clique) for clique in fitting])
        sensitivity = max(self._worth[clique] for clique in fitting)
        exponents = self._epsilon * scores / (2 * sensitivity)
        chances = np.exp(exponents - exponents.max())
        return fitting[self._draw.choice(len(fitting), p=chances / chances.sum())]

    def _score(self, clique: Clique) -> float:
        true = self._truth[clique]
        off = np.abs(true - self._cells(clique)).sum()
        return self._worth[clique] * float(off - _TYPICAL * self._sigma * true.size)

    def _cells(self, clique: Clique) -> AnyArray:
        found = self._model.project(clique)
        return np.asarray(found.transpose(clique).datavector(flatten=False))

    def _estimate(self, steps: int) -> None:
        self._model = mbi.estimation.MirrorDescent().estimate(
            self._domain, self._measured, iters=steps, warm_start=self._model
        )

    def tables(self) -> Cells:
        """Return all tables of the model."""
        return {clique: self._cells(clique) for clique in self._truth}


def main() -> None:
    """Print a row for each rho: errors of AIM and of whole numbers, and how long they took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rho", nargs="+", default=RHOS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--megabytes", type=float, default=2.0)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    if not jax.config.jax_enable_x64:
        raise SystemExit("set JAX_ENABLE_X64=1: estimation stalls in single precision")
    if options.rounds < 2 * len(NAMES):
        raise SystemExit(f"--rounds must be at least {2 * len(NAMES)}: each attribute takes one")
    data = read_adult()
    domain = mbi.Domain(NAMES, data.keys.shape)
    truth = {names: count_table(data, names) for names in TABLES}
    assert len(TABLES) == len([*combinations(NAMES, 2)]) + len(NAMES)
    print("two-way (one-way)      AIM        whole numbers   seconds of AIM, pairs measured")
    for rho in options.rho:
        for seed in range(options.runs):
            start = time.perf_counter()
            aim = Aim(
                truth, domain, float(rho), options.rounds, options.megabytes, options.steps,
                np.random.default_rng(seed),
            )  # fmt: skip
            aim.run()
            seconds = time.perf_counter() - start
            released = dh.Tables(rho=rho, keys=data.keys, tables=TABLES).release(data).value
            each = aim.tables(), read_tables(released.to_whole_numbers())
            shown = [
                f"{measure(data, tables, 2):.4f} ({measure(data, tables, 1):.4f})"
                for tables in each
            ]
            pairs = len({one.clique for one in aim._measured if len(one.clique) == 2})
            print(f"{rho:>8}  {'  '.join(shown)}  {seconds:.0f}, {pairs}", flush=True)


if __name__ == "__main__":
    main()
