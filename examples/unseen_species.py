"""How many species would further trapping find? Corbet's butterflies, from their counts alone.

    python examples/unseen_species.py

For two years A. S. Corbet caught butterflies in Malaya, and asked R. A. Fisher how many new species
two more years would bring. All that is needed is in 24 numbers: 118 species were caught once, 74
twice, and so on (Fisher, Corbet and Williams 1943, "The relation between the number of species and
the number of individuals in a random sample of an animal population"). The 119 species that were
caught more often are left out here: they tell hardly anything about those never caught.

The answer comes from a smooth density of the species' rates (g-modeling, Efron 2016). For two more
years it is 74 species, where Good and Toulmin (1956) found 75 and Chao and Jost's extrapolation 67.

The second column comes from an anonymized release of the same numbers at epsilon 1, which protects
one butterfly; or one visit, one purchase, one user, where data are about people. Its intervals hold
the noise of the release too. --counts names a file of other data with columns count,prevalence, and
--epsilon another budget.
"""

import argparse
import sys
from pathlib import Path

import dphist as dh

# Species caught 1, 2, ..., 24 times.
CAUGHT = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14]
CAUGHT += [6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]
TIMES = ["1/4", "1/2", 1, 2, 3]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", metavar="FILE", type=Path)
    parser.add_argument("--epsilon", default="1", metavar="E")
    chosen = parser.parse_args(arguments)
    try:
        foresee(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def foresee(chosen: argparse.Namespace) -> None:
    if chosen.counts is None:
        species = dh.Profile.from_prevalences(range(1, 25), CAUGHT)
    else:
        species = dh.Profile.read(chosen.counts)
    release = dh.anonymize(species, epsilon=chosen.epsilon)

    # The left column is for who may see the data; the right one may be published.
    print(f"{'':<30}{'from the counts':>22}{'from a release':>22}")
    print(f"{'':<30}{'(not private)':>22}{f'(epsilon {chosen.epsilon})':>22}")
    print(f"{'species caught':<30}{species.labels:>22,}{release.value.labels:>22,}")
    for more in TIMES:
        cells = [new_species(source, more) for source in (species, release)]
        print(f"{f'new ones, in {more} × the time':<30}{cells[0]:>22}{cells[1]:>22}")
    cells = [at_least(source) for source in (species, release)]
    print(f"{'species there are, at least':<30}{cells[0]:>22}{cells[1]:>22}")


def new_species(source: dh.Profile | dh.Release, more: str | int) -> str:
    """The new species in so much of the time again, with a 95 % interval."""
    try:
        return shown(dh.properties.support_coverage(source, extra=more))
    except dh.ParameterError:  # too few records to see so far ahead
        return "not foretold"


def at_least(source: dh.Profile | dh.Release) -> str:
    """Chao's lower bound on the number of species, caught or not."""
    return shown(dh.properties.support_size(source, method="chao1"))


def shown(estimate: dh.properties.Estimate) -> str:
    if estimate.interval is None:
        return f"{estimate.value:,.0f}"
    low, high = estimate.interval
    return f"{estimate.value:,.0f} ({low:,.0f} to {high:,.0f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
