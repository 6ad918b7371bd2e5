"""New labels of a further sample: who errs least, on made and on real populations.

Of a made population, n records and then t n further ones are drawn. The records of a real one are
all there are, and each is in the first part with probability 1/(1 + t). What is estimated is how
many labels of the further records were not in the first. Errors are root mean squares in labels;
the ratio is that of g-modeling to the better of the others, and its standard error comes from
leaving out one run in turn.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import dphist
from benchmarks.data import ROOT, folder
from benchmarks.markdown import print_table
from dphist import Profile
from dphist.properties.support_coverage import (
    CHAO_JOST,
    G_MODELING,
    GOOD_TOULMIN,
    SMOOTHED,
    support_coverage,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

RUNS = 100
SEED = 1909
EPSILON = "1"
EXTRA = (Fraction(1, 2), Fraction(1), Fraction(2))
PROFILES = {
    "butterflies": "species_butterflies",
    "copepods": "species_copepod",
    "words, Shakespeare": "words_shakespeare",
    "words, Brown": "words_brown",
    "passwords, phpBB": "passwords_phpbb",
    "degrees, wiki-Vote": "degrees_wiki-Vote",
    "degrees, ca-GrQc": "degrees_ca-GrQc",
}
SMALL = {"words, Shakespeare": 3000, "degrees, wiki-Vote": 2000, "copepods": 2000}
TABLES = {
    "words, Hamlet": (
        "labelled/shakespeare_by_work.parquet",
        "SELECT count::BIGINT FROM read_parquet(?) WHERE work = 'hamlet' ORDER BY ALL",
    ),
    "bigrams": (
        "labelled/reddit_bigrams.parquet",
        "SELECT count(*) FROM read_parquet(?) GROUP BY ngram ORDER BY ALL",
    ),
    "items of a shop": (
        "labelled/online_retail.parquet",
        "SELECT count(*) FROM read_parquet(?) GROUP BY item ORDER BY ALL",
    ),
    "pets' names": (
        "streams/seattle_pets.parquet",
        "SELECT count(*) FROM read_parquet(?) GROUP BY animal_name ORDER BY ALL",
    ),
}
HEAD = ["population", "t", "n", "new", "g-modeling", "smoothed", "unbiased", "Chao–Jost"]
HEAD += ["ratio", "g-modeling, private", "interval holds"]


@dataclass(frozen=True)
class Population:
    """Counts of all there is, or probabilities and a number of records to draw."""

    name: str
    counts: IntArray | None = None
    law: FloatArray | None = None
    records: int = 0

    def draw(self, extra: Fraction, random: np.random.Generator) -> tuple[Profile, Fraction, int]:
        """Return the first records, how many times as many follow, and their new labels."""
        if self.counts is not None:
            first = random.binomial(self.counts, float(1 / (1 + extra)))
            more = self.counts - first
        else:
            assert self.law is not None
            law = self.law / np.sum(self.law)
            first = random.multinomial(self.records, law)
            more = random.multinomial(round(extra * self.records), law)
        new = int(np.count_nonzero((first == 0) & (more > 0)))
        return Profile.from_counts(first), Fraction(int(more.sum()), int(first.sum())), new


def populations() -> Iterator[Population]:
    """Yield made populations, then the real ones that are there."""
    random = np.random.default_rng(SEED)
    yield Population("geometric counts, mean 3", random.geometric(1 / 3, 3000))
    yield Population("geometric counts, mean 10", random.geometric(1 / 10, 3000))
    for exponent, labels, records in (
        (1.0, 10**4, 5000),
        (1.1, 10**5, 10_000),
        (1.5, 10**5, 10_000),
    ):
        law = np.arange(1.0, labels + 1) ** -exponent
        yield Population(f"Zipf {exponent:g}", law=law, records=records)
    for shape, labels, records in ((0.1, 10**4, 3000), (0.5, 1000, 1000), (2.0, 3000, 3000)):
        law = random.gamma(shape, size=labels)
        yield Population(f"Dirichlet {shape:g}", law=law, records=records)
    yield Population("log-normal", law=np.exp(random.normal(0, 1.5, 2000)), records=2000)
    yield Population("uniform", law=np.ones(1000), records=1000)
    for name, counts in _real():
        yield Population(name, counts)
        if name in SMALL:
            records = SMALL[name]
            yield Population(f"{name}, {records:,}", law=counts.astype(float), records=records)


def _real() -> Iterator[tuple[str, IntArray]]:
    place = folder("profiles")
    if place is None:
        shipped = Profile.read(ROOT / "data" / "words_shakespeare.csv")
        print("No folder of profiles, so Shakespeare's words alone.\n")
        yield "words, Shakespeare", shipped.sorted_counts()
        return
    for name, file in PROFILES.items():
        yield name, Profile.read(place / f"{file}.csv").sorted_counts()
    import duckdb

    with duckdb.connect() as connection:
        for name, (path, query) in TABLES.items():
            if (place.parent / path).exists():
                rows = connection.execute(query, [str(place.parent / path)]).fetchall()
                yield name, np.array([row[0] for row in rows], np.int64)


def row_of(population: Population, extra: Fraction, runs: int) -> list[str]:
    """Draw samples and return the row of the table."""
    # Another stream than that of the populations: with the same, samples would depend on them.
    random = np.random.default_rng([SEED, 1])
    methods = (G_MODELING, SMOOTHED, GOOD_TOULMIN, CHAO_JOST, "private")
    errors: dict[str, list[float]] = {method: [] for method in methods}
    held, sizes, truths = [], [], []
    for _ in range(runs):
        profile, more, new = population.draw(extra, random)
        found = support_coverage(profile, extra=more)
        low, high = found.interval or (0.0, 0.0)
        held.append(low <= new <= high)
        errors[G_MODELING].append(found.value - new)
        for method in (SMOOTHED, GOOD_TOULMIN, CHAO_JOST):
            if method != GOOD_TOULMIN or extra <= 1:
                # A part that was drawn may be a little less than half.
                at = min(more, Fraction(1)) if method == GOOD_TOULMIN else more
                value = support_coverage(profile, extra=at, method=method).value
                errors[method].append(value - new)
        release = dphist.anonymize(profile, epsilon=EPSILON, source=random.bytes)
        errors["private"].append(support_coverage(release.value, extra=more).value - new)
        sizes.append(profile.total)
        truths.append(new)
    squares = {name: np.square(each) for name, each in errors.items() if each}
    roots = {name: f"{np.sqrt(each.mean()):.3g}" for name, each in squares.items()}
    others = [name for name in (SMOOTHED, GOOD_TOULMIN, CHAO_JOST) if name in squares]
    best = min(others, key=lambda name: float(squares[name].mean()))
    ratio, spread = _ratio(squares[G_MODELING], squares[best])
    shown = [roots.get(method, "") for method in methods]
    held_share = f"{100 * np.mean(held):.0f}"
    row = [
        population.name,
        f"{float(extra):g}",
        f"{np.mean(sizes):,.0f}",
        f"{np.mean(truths):,.0f}",
    ]
    return [*row, *shown[:-1], f"{ratio:.2f} ± {spread:.2f}", shown[-1], held_share]


def _ratio(ours: FloatArray, others: FloatArray) -> tuple[float, float]:
    """Return the ratio of root mean squares, and the jackknife's standard error."""
    runs = len(ours)
    ratio = float(np.sqrt(ours.sum() / others.sum()))
    if runs < 2:
        return ratio, np.nan
    without = np.sqrt((ours.sum() - ours) / (others.sum() - others))
    return ratio, float(np.sqrt((runs - 1) * np.var(without)))


def print_new_labels(runs: int) -> None:
    """Print the table, and how the ratios are distributed."""
    rows = [row_of(each, extra, runs) for each in populations() for extra in EXTRA]
    print(f"{runs} samples each; private at ε = {EPSILON}.\n")
    print_table(HEAD, rows)
    ratios = np.array([float(row[8].split()[0]) for row in rows])
    print(
        f"\nGeometric mean of the ratios {np.exp(np.log(ratios).mean()):.2f}; below 1 in"
        f" {np.count_nonzero(ratios < 1)} of {len(ratios)} rows, largest {ratios.max():.2f}."
    )
