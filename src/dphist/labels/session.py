"""Measuring of `PayWhatYouGet`: what a query pays, before and after it sees data."""

import threading
from fractions import Fraction

from dphist.data.label_counts import LabelCounts
from dphist.errors import ParameterError, UnsupportedError
from dphist.labels.measuring import make_user_unit
from dphist.labels.top_labels import TopLabels
from dphist.mechanism import MechanismBase
from dphist.noise.for_tests import is_for_tests
from dphist.noise.inversion import Source
from dphist.privacy import ApproxZCDP
from dphist.release.release import Release


class Left:
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


class SessionMeasuring(MechanismBase):
    """What sees the data: `docs/understand/proofs/top_labels.md`."""

    __slots__ = ()

    budget: int
    queries: int
    epsilon: Fraction
    delta: Fraction
    max_labels: int | None
    max_count: int
    _left: Left

    @property
    def guarantee(self) -> ApproxZCDP:
        """What the whole session costs, however it goes (Rogers 2023, Theorem 10)."""
        rho = self.budget * self.epsilon**2 / 8
        unit = make_user_unit(self.max_labels, self.max_count)
        return ApproxZCDP(rho, self.queries * self.delta, unit)

    def __reduce__(self) -> str:
        raise TypeError("a session cannot be copied or pickled: its budget would be spent twice")

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
