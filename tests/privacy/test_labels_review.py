"""Proposed tests. Those marked `xfail` show faults of the code as it is; the rest pass on it."""

import json
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from dphist.calibrate import calibrate
from dphist.errors import DphistError
from dphist.labels import LabelCounts
from dphist.noise.lazy import GAUSSIAN, LazyNoise
from dphist.unknown import PayWhatYouGet, ThresholdHistogram, TopLabels, TopThreshold
from dphist.unknown import threshold as module
from dphist.unknown.mechanism import LARGEST_COUNT, counts_of_frame
from dphist.unknown.threshold import GeometricNoise

fault = pytest.mark.xfail(reason="fault of the code under review")

MECHANISMS: list[Any] = [
    ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1),
    TopThreshold(epsilon=1, delta="1e-6", max_labels=1),
    TopLabels(epsilon=1, delta="1e-6", k=2),
]
by_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)


def counts(labels: list[Any], values: list[int]) -> LabelCounts:
    return LabelCounts.from_counts(labels, values, max_labels=1, max_count=1)


def as_dict(data: LabelCounts) -> dict[Any, int]:
    table = data.surviving(lambda batch: batch)
    return dict(zip(table["label"].to_pylist(), table["count"].to_pylist(), strict=True))


def label_type(release: Any) -> str:
    return str(json.loads(release.to_json())["value"]["label_type"])


# --- Faults


@fault
def test_from_counts_does_not_wrap() -> None:
    """One more record must move the sum by one, not from 2**63 - 1 to nothing."""
    data = counts(["a", "a"], [2**63 - 1, 1])
    assert as_dict(data)["a"] >= LARGEST_COUNT


@fault
@by_mechanism
def test_the_type_of_released_labels_does_not_show_unreleased_ones(mechanism: Any) -> None:
    from decimal import Decimal

    one = mechanism.release(counts([Decimal("1.5")], [10**6]))
    more = mechanism.release(counts([Decimal("1.5"), Decimal("2.3333")], [10**6, 1]))
    assert label_type(one) == label_type(more)


@fault
@by_mechanism
def test_a_release_does_not_show_whether_there_was_a_row(mechanism: Any) -> None:
    assert label_type(mechanism.release(counts([], []))) == label_type(
        mechanism.release(counts(["a"], [1]))
    )


@fault
@by_mechanism
def test_the_same_of_objects_of_pandas(mechanism: Any) -> None:
    def frame(labels: list[Any]) -> pd.DataFrame:
        ones = pd.Series([1] * len(labels), dtype="int64")
        return pd.DataFrame({"label": pd.Series(labels, dtype=object), "count": ones})

    assert label_type(mechanism.release(frame([]))) == label_type(mechanism.release(frame([1])))


@fault
def test_an_object_of_another_kind_is_judged_by_itself() -> None:
    """Whether a row of text and a row of a number are each accepted must not depend on the other."""

    def accepted(labels: list[Any]) -> bool:
        series = pd.Series(labels, dtype=object)
        try:
            counts_of_frame(pd.DataFrame({"label": series, "count": [9] * len(series)}), 1, 1)
        except DphistError:
            return False
        return True

    assert accepted(["a", 3]) == (accepted(["a"]) and accepted([3]))


@fault
@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ([1, "secret"], [1, 1]),
        (["a"], ["secret"]),
        (["a", "b"], [1]),
        (["a"], [2**63]),
        ([["a"]], [1]),
    ],
    ids=str,
)
def test_from_counts_refuses_in_words_of_its_own(labels: Any, values: Any) -> None:
    with pytest.raises(DphistError) as caught:
        counts(labels, values)
    assert "secret" not in str(caught.value)


@fault
def test_one_row_does_not_rename_a_label_of_a_collated_column() -> None:
    connection = duckdb.connect()
    for name in ("without", "with_it"):
        connection.execute(f"CREATE TABLE {name} (term VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO with_it VALUES ('a')")
    for name in ("without", "with_it"):
        connection.execute(f"INSERT INTO {name} SELECT 'A' FROM range(1000)")
    before, after = (
        as_dict(LabelCounts.from_table(connection.table(name), label="term"))
        for name in ("without", "with_it")
    )
    assert sum(abs(after.get(k, 0) - before.get(k, 0)) for k in before | after) <= 1


@fault
def test_one_row_does_not_rename_an_interval() -> None:
    connection = duckdb.connect()
    rows = "SELECT INTERVAL '30 days' AS term FROM range(1000)"
    one = "SELECT INTERVAL '1 month' AS term"
    found = []
    for query in (rows, f"SELECT * FROM ({one} UNION ALL {rows}) AS t"):
        try:
            found.append(as_dict(LabelCounts.from_table(connection.sql(query), label="term")))
        except DphistError:
            return  # a type without one text for equal values is refused: good
    assert found[0].keys() <= found[1].keys()


@fault
@by_mechanism
@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()], ids=str)
def test_views_are_read_or_refused(mechanism: Any, kind: pa.DataType) -> None:
    labels = pa.array(["a"] if kind == pa.string_view() else [b"a"], kind)
    try:
        mechanism.release(pa.table({"label": labels, "count": [10**6]}))
    except DphistError:
        pass


@fault
def test_labels_that_cannot_be_ordered_are_refused_when_they_are_counted() -> None:
    relation = duckdb.sql("SELECT INTERVAL '1 day' AS term FROM range(100)")
    try:
        MECHANISMS[0].release(LabelCounts.from_table(relation, label="term"))
    except DphistError:
        pass


@fault
@pytest.mark.parametrize(("epsilon", "delta"), [("0.000194239", "5.972e-15")], ids=str)
def test_calibration_is_not_above_its_total_by_a_last_digit(epsilon: str, delta: str) -> None:
    made = calibrate(TopLabels, epsilon=epsilon, delta=delta, k=10)
    assert made.to_approx_dp(delta).epsilon <= Fraction(epsilon)


@fault
def test_what_is_added_is_a_function_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts c and c + 1 must have the same possible values, or a pure guarantee is not pure."""
    for noise in (-(2**62), 2**62 - 1):
        monkeypatch.setattr(
            module, "two_sided_geometric", lambda p, n, s, z=noise: pa.array([z] * n).to_numpy()
        )
        noisy, _ = GeometricNoise(Fraction(1)).add(pa.array([5, 6]).to_numpy(), None, None)
        assert noisy[0] == noisy[1]


@fault
def test_a_session_s_price_cannot_be_rewritten() -> None:
    session = PayWhatYouGet(5, 5, epsilon=1, delta="1e-6")
    before = session.guarantee
    for name in ("epsilon", "delta", "budget", "queries"):
        with pytest.raises(AttributeError):
            setattr(session, name, getattr(session, name) / 10)
    assert session.guarantee == before


# --- Planted bugs that the suite as it was let through


def test_sums_of_two_halves_do_not_wrap() -> None:
    """Planted: `if largest > LARGEST_COUNT` in `_added`."""
    frame = pa.table({"label": ["a", "a"], "count": [2**62, 2**62]})
    assert as_dict(counts_of_frame(frame, 1, 1)) == {"a": LARGEST_COUNT}


def test_counts_are_cut_off_at_the_stated_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: counts cut off at LARGEST_COUNT - 1."""
    monkeypatch.setattr(module, "two_sided_geometric", lambda p, n, s: pa.array([0] * n).to_numpy())
    noisy, _ = GeometricNoise(Fraction(1)).add(
        pa.array([2**62 - 1, 2**62, 2**63 - 1]).to_numpy(), None, None
    )
    assert noisy.tolist() == [2**62 - 1] * 3  # a released sum is at most that


def test_both_steps_of_a_payment_hold_the_lock() -> None:
    """Planted: the refund without the lock, where two threads may lose or gain labels."""
    session = PayWhatYouGet(5, 5, epsilon=1, delta="1e-6")
    lock, entered = session._lock, []

    class Watched:
        def __enter__(self) -> None:
            entered.append(session.remaining)
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    session._lock = Watched()  # type: ignore[assignment]
    session.top(counts([], []), k=3)
    assert entered == [5, 2]
    assert session.remaining == 4


def test_a_key_has_128_bits() -> None:
    """Planted: a key of one byte, under which 1 in 256 runs makes the same choices."""
    from dphist.tables.contributions import fresh_key

    keys = [fresh_key() for _ in range(200)]
    assert {len(key) for key in keys} == {32}
    assert len(set(keys)) == 200
    for place in range(32):
        assert len({key[place] for key in keys}) > 4


def test_ends_in_floating_point_lie_outside_the_exact_ones(seeded: Any) -> None:
    """Planted: a refined end rounded to nearest, not outwards."""
    noise = LazyNoise(GAUSSIAN, Fraction(10**9, 3), [7] * 12, seeded(1))
    for i in range(12):
        noise._refine(i)
        low, high = noise._narrow[i]
        assert Fraction(float(noise._low[i])) < low <= high < Fraction(float(noise._high[i]))


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(10**6)])
def test_the_first_intervals_are_as_wide_as_the_proof_says(scale: Fraction, seeded: Any) -> None:
    """Planted: a margin without the scale of the noise."""
    noise = LazyNoise(GAUSSIAN, scale, [0] * 50, seeded(1))
    for low, high in zip(noise._low, noise._high, strict=True):
        x = abs((low + high) / 2) / float(scale)
        assert (high - low) / 2 == pytest.approx(2.0**-36 * float(scale) * (1 + x), rel=1e-3)


@pytest.mark.parametrize("bound", [4, None])
def test_a_threshold_lowered_by_one_label_protects_that_many(bound: int | None) -> None:
    """Planted: `bound >= self.candidates - 1` in `TopLabels._protected_labels`."""
    from dphist.errors import BoundsError

    data = LabelCounts.from_counts(["a"], [5], max_labels=bound, max_count=1)
    mechanism = TopLabels(k=2, candidates=4, epsilon=1, delta="0.1", max_labels=3)
    assert mechanism.threshold < TopLabels(k=2, candidates=4, epsilon=1, delta="0.1").threshold
    with pytest.raises(BoundsError):
        mechanism.release(data)


def test_wide_intervals_are_compared_with_all_they_overlap() -> None:
    """Planted: runs are cut without the running maximum of upper ends."""
    noise = LazyNoise(GAUSSIAN, Fraction(1), [0, 1, 2, -100])
    exact = [Fraction(5, 2), Fraction(1), Fraction(2), Fraction(-100)]
    for i, value in enumerate(exact):  # the first is known only to lie between 0 and 3
        noise._narrow[i] = value, value
        noise._low[i] = noise._high[i] = float(value)
    noise._low[0], noise._high[0] = 0.0, 3.0
    assert noise.descending_above(3, 3) == [0, 2, 1]
