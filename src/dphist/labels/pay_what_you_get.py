"""PayWhatYouGet: many top-label queries that pay for the labels returned (Algorithm 4)."""

import threading
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, ParameterError, UnsupportedError
from dphist.labels.mechanism import (
    DELTA,
    EPSILON,
    LARGEST_BOUND,
    LEVEL,
    MAX_COUNT,
    MAX_LABELS,
    checked_bound,
    checked_delta,
    checked_epsilon,
    user_of,
)
from dphist.labels.top_labels import TopLabels, check_scale, check_stated
from dphist.mechanism import ExpectedError, MechanismBase, parameter
from dphist.noise.for_tests import is_for_tests
from dphist.noise.inversion import Source
from dphist.noise.law import Drawing, NoiseLaw
from dphist.parameters import Exact, optional_whole, whole_number
from dphist.privacy import ApproxZCDP
from dphist.release.release import FOR_TESTS, Release


class _Left:
    """What is left of a session: the one thing of it that changes."""

    __slots__ = ("for_tests", "labels", "lock", "queries")

    def __init__(self, labels: int, queries: int) -> None:
        self.labels, self.queries = labels, queries
        self.for_tests = False
        self.lock = threading.Lock()

    def reserve(self, k: int) -> None:
        """Take the most a query can cost before it sees data, so that no two overspend."""
        with self.lock:
            if self.queries < 1:
                raise UnsupportedError("all queries of the session were asked")
            if k > self.labels:
                raise ParameterError("k", f"is {k} but {self.labels} labels of the budget are left")
            self.queries -= 1
            self.labels -= k

    def refund(self, labels: int) -> None:
        """Give back what a query did not use."""
        with self.lock:
            self.labels += labels


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class PayWhatYouGet(MechanismBase):
    """A session of `TopLabels` queries that share one budget of labels.

    Each query asks for at most as many labels as are left, and pays for the labels it returns;
    the null row, which says that too few were found, pays for one. Queries may be chosen after
    seeing earlier results, and may ask different tables.

    Guarantee
    ---------
    The whole session is (queries delta)-approximate (budget epsilon**2 / 8)-zCDP, known before any
    data and whatever is asked, for streams of tables that differ by one user, who adds at most
    `max_count` to each of any number of labels of each table (or of `max_labels` of them, which
    lowers the threshold). Each table must come from the same users' data by a rule fixed by earlier
    results; a table that depends on other secrets is not covered. Each release states what its
    query would cost by itself; those costs are not to be added to the session's. A
    forked process has a copy of the session, which spends by itself and is not covered.

    Parameters
    ----------
    budget : whole number, at least 1. Labels in all.
    queries : whole number, at least 1. queries * delta must be below 1.
    epsilon, delta, max_labels, max_count : of each query, see `TopLabels`.
    """

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
    _left: _Left = field(init=False)

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
            epsilon=checked_epsilon(epsilon),
            delta=checked_delta(delta),
            max_labels=optional_whole(max_labels, "max_labels", 1, LARGEST_BOUND),
            max_count=checked_bound(max_count, "max_count"),
        )
        if not self.queries * self.delta < 1:
            raise ParameterError(
                "queries", "times " + Argument("delta") + " must be below 1", "lower one of them"
            )
        check_scale(self.max_count / self.epsilon)
        check_stated(self.budget * self.epsilon**2 / 8)
        self._hold(_left=_Left(self.budget, self.queries))

    def __repr__(self) -> str:
        target = "" if self.target is None else f", target={self.target!r}"
        said = f"; {FOR_TESTS}" if self.for_tests else ""
        return (
            f"PayWhatYouGet(budget={self.budget}, queries={self.queries}, {self.guarantee}"
            f"{target}; left: {self.remaining} labels, {self.remaining_queries} queries{said})"
        )

    def __reduce__(self) -> str:
        raise TypeError("a session cannot be copied or pickled: its budget would be spent twice")

    @property
    def guarantee(self) -> ApproxZCDP:
        """What the whole session costs, however it goes (Rogers 2023, Theorem 10)."""
        rho = self.budget * self.epsilon**2 / 8
        return ApproxZCDP(rho, self.queries * self.delta, user_of(self.max_labels, self.max_count))

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

    def restored(self, value: Any, noisy: object) -> Any:
        """Refuse: a session is not saved; releases of its queries are those of `TopLabels`."""
        raise ValueError("a session is not saved")

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

    def top(
        self, counts: object, k: int = 10, candidates: int = 100, source: Source | None = None
    ) -> Release:
        """Release the at most k most common labels, as `TopLabels` does, and pay for them.

        A query that fails once it has looked at data, or at a frame that is no `LabelCounts`, pays
        for k labels.

        Parameters
        ----------
        counts : LabelCounts, or a frame Narwhals reads with columns label and count
            The bounds of a frame are the caller's promise: they are the session's.
        k : how many labels are returned at most; no more than `remaining`.
        candidates : how many of the largest counts are looked at, at least k.
        source : `source(n)` returns n random bytes. For tests only: release and session say so.

        Returns
        -------
        Release of a LabelTable of labels, the most common first, without counts; a null label in
        the last row says that fewer than k were found.

        Raises
        ------
        ParameterError
            If k is more than `remaining`, or no query is left; nothing is paid then.
        BoundsError
            If the table was counted under larger bounds than the session's; nothing is paid.
        """
        query = self._query(k, candidates)
        if isinstance(counts, LabelCounts):
            query._accept(counts)
        self._left.reserve(query.k)
        if is_for_tests(source, counts):
            self._left.for_tests = True  # is never unset, so that no other thread can undo it
        release = query.release(counts, source)
        self._left.refund(query.k - len(release.value))
        return release

    def _query(self, k: int, candidates: int) -> TopLabels:
        return TopLabels(
            k=k,
            candidates=candidates,
            epsilon=self.epsilon,
            delta=self.delta,
            max_labels=self.max_labels,
            max_count=self.max_count,
        )
