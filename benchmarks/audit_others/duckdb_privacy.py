"""Noise of the DuckDB extension `privacy`, by compiling the functions that draw it.

    git clone https://github.com/cwida/privacy
    python -m benchmarks.audit_others.duckdb_privacy privacy/src/aggregates/dp_laplace_noise.cpp

The extension is not run. Its function that adds noise, and its constant, are taken from its source
as they are and compiled with g++; the seed and the number of a cell are computed as that source and
`compiler/privacy_mechanisms.cpp` do, with DuckDB's own `hash`.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

WORD = 1 << 64
DEFAULT_SEED = 42  # of GetDpNoiseSeed, where `privacy_seed` is not set
PROGRAM = """
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <stdexcept>
#define PAC_MAGIC_HASH {magic}ULL
typedef std::runtime_error InvalidInputException;
{function}
int main() {{
    std::cout << std::hexfloat;
    double value;
    uint64_t seed, nonce;
    while (std::cin >> value >> seed >> nonce)
        std::cout << AddLaplaceNoise(value, 1.0, seed, nonce) << "\\n";
}}
"""


class Extension:
    """What the extension adds to counts, with scale 1.

    Parameters
    ----------
    source : the file that defines `AddLaplaceNoise`.
    folder : for the compiled program.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        header = source.parents[1] / "include/aggregates/as_aggregate.hpp"
        self.magic = int(_find(r"define PAC_MAGIC_HASH (\d+)ULL", header.read_text()))
        function = _find(r"(static double AddLaplaceNoise\(.*?\n\})", source.read_text())
        self._program = folder / "noise"
        text = PROGRAM.format(magic=self.magic, function=function)
        command = ["g++", "-O2", "-x", "c++", "-", "-o", str(self._program)]
        subprocess.run(command, input=text, text=True, check=True)

    def seed(self, query: int) -> int:
        """Return the seed of the n-th query of a database, as GetDpNoiseSeed has it."""
        seed = DEFAULT_SEED ^ (self.magic * query % WORD)
        return (seed * self.magic % WORD) ^ self.magic

    def cell(self, *keys: object) -> int:
        """Return the number of a cell of the first aggregate of a query that groups by keys."""
        number = self.magic ^ 1
        for key in keys:
            number ^= duckdb.execute("SELECT hash($key)", {"key": key}).fetchall()[0][0]
        return number

    def release(self, cases: list[tuple[float, int, int]]) -> NDArray[np.float64]:
        """Return noisy values of (value, query, cell)."""
        lines = "".join(f"{value!r} {self.seed(query)} {cell}\n" for value, query, cell in cases)
        done = subprocess.run(
            [self._program], input=lines, text=True, stdout=subprocess.PIPE, check=True
        )
        return np.array([float.fromhex(line) for line in done.stdout.split()])


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        raise SystemExit(f"the source has no {pattern}: it is another version")
    return found[1]


def main() -> None:
    """Print what each of three claims is seen by."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_others.duckdb_privacy")
    parser.add_argument("source", type=Path)
    with tempfile.TemporaryDirectory() as folder:
        extension = Extension(parser.parse_args().source, Path(folder))
        seeds = [extension.release([(0.0, query, extension.cell("a"))])[0] for query in (1, 2, 3)]
        print(f"noise of cell 'a' in queries 1, 2, 3 of any database: {np.round(seeds, 4)}")
        cells = {
            "(a, b) and (b, a)": [extension.cell("a", "b"), extension.cell("b", "a")],
            "(a, a) and (b, b)": [extension.cell("a", "a"), extension.cell("b", "b")],
            "(a, a) and no keys": [extension.cell("a", "a"), extension.cell()],
        }
        for name, pair in cells.items():
            first, second = extension.release([(0.0, 7, cell) for cell in pair])
            print(f"noise of {name} in query 7: {first:.4f} and {second:.4f}")
        for count in (0.0, 1.0):
            noisy = extension.release([(count, query, 1) for query in range(1, 20_001)])
            coarse = np.mean(np.ldexp(noisy, 53) % 1 == 0)
            print(f"sum {count:.0f}: {coarse:.1%} of 20,000 outcomes are multiples of 2^-53")


if __name__ == "__main__":
    main()
