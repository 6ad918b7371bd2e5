"""Choosing the largest: noisy maxima and the sparse vector technique in its published forms."""

from fractions import Fraction

from dphist.lab.auditing.suite.entry import entry, geometric, one_sided_geometric
from dphist.lab.auditing.suite.noise import DING

UP = (([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]), ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
      ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]), ([0, 0, 0, 0, 0], [1, 1, 0, 0, 0]))  # fmt: skip
QUERIES = (
    ([0] * 10, [1] * 10),
    ([0] * 5 + [1] * 5, [1] * 5 + [0] * 5),
    ([0] * 9 + [1], [1] * 9 + [0]),
    ([0] * 10, [0] * 9 + [1]),
    ([0] * 4 + [1], [1] * 4 + [0]),
    ([0] * 12 + [1] * 12, [1] * 12 + [0] * 12),
)
# Checked against the papers' own code of StatDP (noisy max, histogram and sparse vector, of which
# iSVT1 to 4 are algorithms 5, 6, 4 and 3 here) and of DP-Sniper (algorithms 1 to 6).
LYU = "M. Lyu et al. Understanding the Sparse Vector Technique for DP. VLDB 2017. Algorithm"
_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)


def _largest(noisy: list[int]) -> int:
    return noisy.index(max(noisy))


@entry(UP, faulty=False, truth="1", source=DING)
def place_of_the_noisy_maximum(counts: list[int]) -> int:
    """All counts may change by 1."""
    return _largest([count + geometric(_HALF) for count in counts])


@entry(UP, faulty=True, truth="2.5", source=DING)
def the_noisy_maximum_itself(counts: list[int]) -> int:
    """The largest noisy count is released in place of its place."""
    return max(count + geometric(_HALF) for count in counts)


@entry(UP, faulty=False, truth="1", source="The twin: as many counts are paid as may change.")
def the_noisy_maximum_that_is_paid(counts: list[int]) -> int:
    """The largest of five counts, each with a fifth of the budget."""
    return max(count + geometric(Fraction(1, 5)) for count in counts)


@entry(UP, faulty=False, truth="1", source=f"{DING} Noisy max with exponential noise.")
def place_of_the_one_sided_maximum(counts: list[int]) -> int:
    """Noise is never negative."""
    return _largest([count + one_sided_geometric(_HALF) for count in counts])


@entry(UP, faulty=True, truth="infinite", source=f"{DING} Noisy max with exponential noise.")
def the_one_sided_maximum_itself(counts: list[int]) -> int:
    """Noise is never negative, so no result is below the largest count."""
    return max(count + one_sided_geometric(_HALF) for count in counts)


@entry(UP, faulty=True, truth="5", source="Noise for one count where five may change.")
def place_and_counts(counts: list[int]) -> list[int]:
    """All noisy counts in order."""
    return sorted((count + geometric(_HALF) for count in counts), reverse=True)


@entry(UP, faulty=False, truth="1", source="The twin: five counts are paid.")
def place_and_counts_that_are_paid(counts: list[int]) -> list[int]:
    """All noisy counts in order."""
    return sorted((count + geometric(Fraction(1, 5)) for count in counts), reverse=True)


def _sparse(
    answers: list[int], line: Fraction, each: Fraction | None, most: int | None, *,
    values: bool = False, refresh: bool = False,
) -> list[object]:  # fmt: skip
    """Which answers are at least 0, by noise on the line and on each, until `most` are."""
    shown: list[object] = []
    threshold, found = geometric(line), 0
    for answer in answers:
        noisy = answer + (geometric(each) if each is not None else 0)
        if noisy >= threshold:
            shown.append(noisy if values else "above")
            found += 1
            threshold = geometric(line) if refresh else threshold
            if found == most:
                break
        else:
            shown.append("below")
    return shown


@entry(QUERIES, faulty=False, truth="1", source=f"{LYU} 1.")
def sparse_vector_1(answers: list[int]) -> list[object]:
    """The technique as it should be: noise of 2 c / epsilon_2 on each answer."""
    return _sparse(answers, _HALF, Fraction(1, 8), 2)


@entry(QUERIES, faulty=False, truth="1", source=f"{LYU} 2: Dwork and Roth 2014.")
def sparse_vector_2(answers: list[int]) -> list[object]:
    """A new line after each answer above it."""
    return _sparse(answers, _QUARTER, Fraction(1, 8), 2, refresh=True)


@entry(QUERIES, faulty=True, truth="infinite", source=f"{LYU} 3: lecture notes of 2011.")
def sparse_vector_3(answers: list[int]) -> list[object]:
    """Noisy answers above the line are released themselves."""
    return _sparse(answers, _HALF, _HALF, 1, values=True)


@entry(QUERIES, faulty=False, truth="1", source="The twin of 3: Y. Wang et al. PLDI 2019.")
def sparse_vector_with_fresh_values(answers: list[int]) -> list[object]:
    """The value that is released has noise of its own, and a third of the budget."""
    third = Fraction(1, 3)
    shown = _sparse(answers, third, Fraction(1, 6), 1)
    above = shown[-1:] == ["above"]
    return [*shown[:-1], answers[len(shown) - 1] + geometric(third)] if above else shown


@entry(QUERIES, faulty=True, truth="3.25", source=f"{LYU} 4: Lee and Clifton 2014.")
def sparse_vector_4(answers: list[int]) -> list[object]:
    """Noise on each answer does not grow with the number of answers above."""
    return _sparse(answers, _QUARTER, Fraction(3, 4), 2)


@entry(QUERIES, faulty=False, truth="1", source="The twin of 4: noise of 2 c / epsilon_2.")
def sparse_vector_4_that_is_paid(answers: list[int]) -> list[object]:
    """Noise on each answer grows with the number of answers above."""
    return _sparse(answers, _QUARTER, Fraction(3, 16), 2)


@entry(QUERIES, faulty=True, truth="infinite", source=f"{LYU} 5: Stoddard et al. 2014.")
def sparse_vector_5(answers: list[int]) -> list[object]:
    """No noise on the answers, and no end."""
    return _sparse(answers, _HALF, None, None)


@entry(QUERIES, faulty=True, truth="infinite", source=f"{LYU} 6: Chen et al. 2015.")
def sparse_vector_6(answers: list[int]) -> list[object]:
    """Noise on each answer, and no end."""
    return _sparse(answers, _HALF, _HALF, None)


@entry(QUERIES, faulty=False, truth="1", source="The twin of algorithm 6: it ends at the first.")
def sparse_vector_that_ends(answers: list[int]) -> list[object]:
    """One answer above the line, then nothing more."""
    return _sparse(answers, _HALF, _QUARTER, 1)
