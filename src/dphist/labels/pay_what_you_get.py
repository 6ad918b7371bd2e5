"""PayWhatYouGet: many top-label queries that pay for the labels returned (Algorithm 4)."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.errors import Argument, ParameterError
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LARGEST_BOUND,
    LEVEL,
    MAX_COUNT,
    MAX_LABELS,
    check_bound,
    check_delta,
)
from dphist.labels.session import Left, SessionMeasuring
from dphist.labels.top_labels import check_scale, check_stated
from dphist.mechanism import ExpectedError, parameter
from dphist.noise.law import Drawing, NoiseLaw
from dphist.parameters import Exact, optional_whole, privacy_parameter, whole_number
from dphist.release.release import FOR_TESTS, Release


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class PayWhatYouGet(SessionMeasuring):
    """A session of `TopLabels` queries that share one budget of labels.

    Each query asks for at most as many labels as are left, and pays for the labels it returns;
    the null row, which says that too few were found, pays for one. Queries may be chosen after
    seeing earlier results, and may ask different tables.

    Guarantee
    ---------
    - Neighbors are streams of tables that differ by one user, who adds at most `max_count` to each
      of any number of labels of each table (or of `max_labels` of them, which lowers the
      threshold).
    - The whole session: (queries delta)-approximate (budget epsilon**2 / 8)-zCDP, known before any
      data and whatever is asked. Each release states what its query would cost by itself; do not
      add that to the cost of the session.
    - Each table must come from the data of the same users, by a rule that earlier results fix.
    - Not covered: a table that depends on other secrets; and a copy of the session in a forked
      process, which spends by itself.

    Parameters
    ----------
    budget : whole number, at least 1. Labels in all.
    queries : whole number, at least 1. queries * delta must be below 1.
    epsilon, delta, max_labels, max_count : of each query, see `TopLabels`.
    """

    paper = "rogers2023"
    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Algorithm 4 and Theorem 10."
    )

    budget: int = parameter("Labels that all queries together may return.")
    queries: int = parameter("Queries that may be asked.")
    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter(**DELTA)
    max_labels: int | None = parameter(**MAX_LABELS)
    max_count: int = parameter(**MAX_COUNT)
    _left: Left = field(init=False)

    def __init__(
        self,
        budget: int = 50,
        queries: int = 20,
        *,
        epsilon: Exact,
        delta: Exact,
        max_labels: int | None = None,
        max_count: int = 1,
    ) -> None:
        self._hold(
            budget=whole_number(budget, "budget", 1),
            queries=whole_number(queries, "queries", 1),
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=check_delta(delta),
            max_labels=optional_whole(max_labels, "max_labels", 1, LARGEST_BOUND),
            max_count=check_bound(max_count, "max_count"),
        )
        if not self.queries * self.delta < 1:
            raise ParameterError(
                "queries", "times " + Argument("delta") + " must be below 1", "lower one of them"
            )
        check_scale(self.max_count / self.epsilon)
        check_stated(self.budget * self.epsilon**2 / 8)
        self._hold(_left=Left(self.budget, self.queries))

    def __repr__(self) -> str:
        target = "" if self.target is None else f", target={self.target!r}"
        said = f"; {FOR_TESTS}" if self.for_tests else ""
        return (
            f"PayWhatYouGet(budget={self.budget}, queries={self.queries}, {self.guarantee}"
            f"{target}; left: {self.remaining} labels, {self.remaining_queries} queries{said})"
        )

    @property
    def for_tests(self) -> bool:
        """Whether random bits of a query came from the caller: then the session protects nobody."""
        return self._left.for_tests

    @property
    def remaining(self) -> int:
        """How many labels may still be returned."""
        return self._left.labels

    @property
    def remaining_queries(self) -> int:
        """How many queries may still be asked."""
        return self._left.queries

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the Gumbel noise of each query, in records."""
        return self.max_count / self.epsilon

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of each query."""
        return NoiseLaw("Gumbel", self.noise_scale, Drawing.COMPARED)

    @property
    def description(self) -> str:
        """How the queries are answered."""
        return (
            f"Up to {self.queries} queries for the most common labels, each answered by TopLabels, "
            f"return at most {self.budget} labels together; each pays for the labels it returns."
        )

    def expected_error(self, k: int = 10, candidates: int = 100) -> ExpectedError:
        """Return the error to expect of one query, from public numbers alone."""
        return self._query(k, candidates).expected_error()

    def intervals(self, release: Release, level: float = LEVEL) -> None:
        """Return None: no counts are released."""

    def restore(self, value: Any, noisy: object) -> Any:
        """Refuse: a session is not saved; releases of its queries are those of `TopLabels`."""
        raise ValueError("a session is not saved")
