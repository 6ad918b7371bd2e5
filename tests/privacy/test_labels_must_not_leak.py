"""What a review of the labelled mechanisms found or planted, held fast."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ColumnError, DataError, DphistError, ParameterError
from dphist.labels import PayWhatYouGet, ThresholdHistogram, TopLabels, TopThreshold
from dphist.labels.measuring import LARGEST_COUNT
from dphist.labels.threshold import noise as module
from dphist.labels.threshold.noise import GeometricNoise
from dphist.noise.lazy import GAUSSIAN, LazyNoise
from dphist.privacy.calibration import calibrate
from tests.support.counting.contribution_engines import bounded, spark, table_of
from tests.support.refusal import SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

MECHANISMS: list[Any] = [
    ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1),
    TopThreshold(epsilon=1, delta="1e-6", max_labels=1),
    TopLabels(epsilon=1, delta="1e-6", k=2),
]
by_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)


def counts(labels: Any, values: list[int]) -> LabelCounts:
    return LabelCounts.from_counts(labels, values, max_labels=1, max_count=1)


def as_dict(data: LabelCounts) -> dict[Any, int]:
    table = data.filter_batches(lambda batch: batch)
    return dict(zip(table["label"].to_pylist(), table["count"].to_pylist(), strict=True))


def label_type(release: Any) -> str:
    return str(json.loads(release.to_json())["value"]["label_type"])


def most_changed(before: dict[Any, int], after: dict[Any, int]) -> int:
    return sum(abs(after.get(label, 0) - before.get(label, 0)) for label in before | after)


# --- Two labels are one exactly if they are the same bytes, whatever the caller's engine thinks


def duck_tables(without: list[str], column: str, before: str = "") -> list[LabelCounts]:
    """Two tables of a caller's, the second with a row of `a` in front."""
    connection = duckdb.connect()
    connection.execute(before)
    found = []
    for first in ([], ["a"]):
        name = f"rows{len(first)}"
        connection.execute(f"CREATE TABLE {name} (term {column}, who INTEGER)")
        rows = [(label, who) for who, label in enumerate([*first, *without])]
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)  # noqa: S608
        table = connection.table(name)
        found.append(LabelCounts.from_table(table, label="term", user="who", max_labels=1))
    return found


@pytest.mark.parametrize(
    ("column", "before"),
    [
        ("VARCHAR COLLATE NOCASE", ""),
        ("VARCHAR COLLATE NOACCENT", ""),
        ("VARCHAR", "SET default_collation = 'nocase'"),
    ],
)
def test_one_row_does_not_rename_a_label_of_a_collated_column(column: str, before: str) -> None:
    without, with_row = map(as_dict, duck_tables(["A", "\u00e0"] * 30, column, before))
    assert without == {"A": 30, "\u00e0": 30}
    assert most_changed(without, with_row) == 1


@pytest.mark.verify
def test_a_collation_of_spark_makes_no_two_labels_one() -> None:
    found = []
    for rows in (["A"] * 30, ["a"] + ["A"] * 30):
        frame = spark().createDataFrame(pa.table({"term": rows, "who": list(range(len(rows)))}))
        collated = frame.selectExpr("who", "collate(term, 'UTF8_LCASE') AS term")
        found.append(LabelCounts.from_table(collated, label="term", user="who", max_labels=1))
    assert [as_dict(data) for data in found] == [{"A": 30}, {"A": 30, "a": 1}]
    assert [data.counts_of(["a", "A"]) for data in found] == [[0, 30], [1, 30]]
    assert found[1].largest(5)["label"].to_pylist() == ["A", "a"]


@pytest.mark.verify
def test_spark_bounds_as_plain_python_does() -> None:
    key = "5eed" * 4 + "c0de" * 4
    rows = [(f"u{draw % 5}", f"t{draw * draw % 7}", draw % 4) for draw in range(60)]
    options: dict[str, Any] = {
        "label": "term",
        "user": "who",
        "count": "n",
        "max_labels": 2,
        "max_count": 3,
    }
    frame = spark().createDataFrame(table_of(rows))
    found = LabelCounts.from_table(frame, source=lambda n: bytes.fromhex(key)[:n], **options)
    assert as_dict(found) == bounded(rows, 2, 3, key, "spark")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_users_that_a_collation_calls_one_are_two(engine: str) -> None:
    """As one user, `a` and `A` would be cut together: a row of either would take the other's."""
    rows = "VALUES ('a', 'x'), ('A', 'y')"
    if engine == "spark":
        named = f"SELECT who COLLATE UTF8_LCASE AS who, term FROM {rows} t(who, term)"  # noqa: S608
        frame: Any = spark().sql(named)
    else:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE pairs (who VARCHAR COLLATE NOCASE, term VARCHAR)")
        connection.execute(f"INSERT INTO pairs {rows}")
        frame = connection.table("pairs")
    found = LabelCounts.from_table(frame, label="term", user="who", max_labels=1)
    assert as_dict(found) == {"x": 1, "y": 1}


def test_a_macro_of_the_caller_s_does_not_lift_the_bounds() -> None:
    without, with_row = map(
        as_dict, duck_tables(["b"] * 9, "VARCHAR", "CREATE MACRO least(a, b) AS 1000 * a")
    )
    assert (without, with_row) == ({"b": 9}, {"a": 1, "b": 9})


@pytest.mark.parametrize(
    "value",
    [
        "INTERVAL '1 month'",
        "TIMETZ '12:00:00+01'",
        "TIME '12:00:00'",
        "'101'::BIT",
        "1::HUGEINT",
        "1::DOUBLE",
        "[1]",
        "{'a': 1}",
    ],
)
@pytest.mark.parametrize("role", ["term", "who"])
def test_types_without_one_text_for_equal_values_are_refused(value: str, role: str) -> None:
    other = {"term": "who", "who": "term"}[role]
    for where in ("", "WHERE false"):  # by the schema alone
        relation = duckdb.sql(f"SELECT {value} AS {role}, 'x' AS {other} {where}")
        for frame in (relation, relation.to_arrow_table()):
            if isinstance(frame, pa.Table) and value == "'101'::BIT":
                continue  # text, or bytes, once it is Arrow
            if isinstance(frame, pa.Table) and value == "1::HUGEINT":
                continue  # as a float or a decimal
            kinds = (ColumnError, DataError)  # Narwhals fails over intervals of Arrow
            with pytest.raises(kinds, match=f"'{role}'"):
                LabelCounts.from_table(frame, label="term", user="who", max_labels=1)


@pytest.mark.parametrize(
    "value", ["INTERVAL '1' DAY", "INTERVAL '1' MONTH", "1.5D", "CAST(1.5 AS FLOAT)", "array('a')"]
)
@pytest.mark.parametrize("role", ["term", "who"])
@pytest.mark.verify
def test_such_types_of_spark_are_refused(value: str, role: str) -> None:
    other = {"term": "who", "who": "term"}[role]
    frame = spark().sql(f"SELECT {value} AS {role}, 'x' AS {other}")
    with refused(ColumnError, f"'{role}'"):
        LabelCounts.from_table(frame, label="term", user="who", max_labels=1)


@pytest.mark.verify
def test_text_of_spark_that_is_no_utf8_is_refused_whatever_survives() -> None:
    """At the gate: two such labels would be released as one text, and a release may not fail."""
    frame = spark().sql("SELECT CAST(X'ff61' AS STRING) AS term FROM range(3)")
    with refused(DataError, "'term'"):
        LabelCounts.from_table(frame, label="term")


# --- The type of released labels does not show labels that were not released


@by_mechanism
def test_labels_without_a_type_are_text(mechanism: Any) -> None:
    nothing = mechanism.release(counts([], []))
    assert label_type(nothing) == label_type(mechanism.release(counts(["a"], [1]))) == "string"
    for labels in ([Decimal("1.5")], [1], ["a", 1], [["a"]], "ab"):
        with refused(ParameterError, "label_type"):
            counts(labels, [1] * len(labels))
    typed = LabelCounts.from_counts(
        [1], [10**6], max_labels=1, max_count=1, label_type=pa.decimal128(5, 2)
    )
    assert label_type(mechanism.release(typed)) == "decimal128(5, 2)"


@by_mechanism
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.quick(every=2)
def test_objects_of_pandas_are_text(mechanism: Any, categories: bool) -> None:
    def released(labels: list[Any]) -> str | None:
        series = pd.Series(labels, dtype=object)
        if categories:
            series = pd.Series(pd.Categorical(series, pd.Index(labels, dtype=object)))
        ones = pd.Series([1] * len(labels), dtype="int64")
        try:
            return label_type(mechanism.release(pd.DataFrame({"label": series, "count": ones})))
        except ColumnError:
            return None

    assert released([]) == released(["a"]) == released([1]) == released(["a", 1]) == "string"
    # Each object is judged by itself.
    assert [released([1.5]), released(["a", 1.5]), released([1.5, 1])] == [None, None, None]


@by_mechanism
@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.string()], ids=str)
def test_text_is_text_whatever_holds_it(mechanism: Any, kind: pa.DataType) -> None:
    frame = pa.table({"label": pa.array(["a"], kind), "count": [10**6]})
    assert label_type(mechanism.release(frame)) == "string"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**62, "BIGINT"),
        (2**62, "UBIGINT"),
        (2**64 - 1, "UBIGINT"),
        (2**62, "HUGEINT"),
        (2**127 - 1, "HUGEINT"),
    ],
)
def test_counts_too_large_are_refused_and_not_cut(value: int, kind: str) -> None:
    rows = duckdb.sql(f"SELECT 'u' AS who, 'a' AS term, {value}::{kind} AS n")
    with refused(DataError, "'n'", "at most"):
        LabelCounts.from_table(rows, label="term", user="who", count="n", max_labels=1)


# --- Errors and sums


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame])
@pytest.mark.parametrize(
    ("values", "said"),
    [([1, 2**62], "at most"), ([1, 2**63], "at most"), ([1, -1], "negative"), ([1, None], "value")],
    ids=str,
)
def test_promised_counts_are_checked_one_by_one(frame: Any, values: list[Any], said: str) -> None:
    kind = pa.uint64() if 2**63 in values else pa.int64()
    column: Any = pa.array(values, kind)
    if frame is pd.DataFrame:
        column = pd.Series(column, dtype=pd.ArrowDtype(kind))
    with refused(DataError, "'count'", said):
        LabelCounts.promised(frame({"label": ["a", "b"], "count": column}), 1, 1)


def test_text_that_is_no_text_is_refused() -> None:
    broken = pa.array([b"\xff"]).cast(pa.string(), safe=False)
    with refused(DataError, "UTF-8"):
        counts(broken, [1])
    with refused(DataError, "'x'"):
        LabelCounts.from_table(pa.table({"x": broken}), label="x")


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ([1, SENTINEL], [1, 1]),
        (["a"], [SENTINEL]),
        ([SENTINEL, "b"], [1]),
        (["a"], [2**63]),
        (["a"], [2**62]),
        (["a"], [4711.5]),
        (["a"], [float("nan")]),
        (["a"], [None]),
        ([None], [1]),
        ([["a"]], [1]),
    ],
    ids=str,
)
def test_from_counts_refuses_in_words_of_its_own(labels: Any, values: Any) -> None:
    with pytest.raises(DphistError) as caught:
        counts(labels, values)
    with refused(type(caught.value)):
        counts(labels, values)


@pytest.mark.parametrize("frame", [pa.table, lambda t: duckdb.from_arrow(pa.table(t))])
def test_sums_beyond_the_largest_stay_there(frame: Any) -> None:
    """One more record must move the sum by one, not from 2**63 - 1 to nothing."""
    halves = frame({"label": ["a", "a", "a"], "count": [2**62 - 1, 2**62 - 1, 1]})
    assert as_dict(LabelCounts.promised(halves, 1, 1)) == {"a": LARGEST_COUNT}


@pytest.mark.parametrize(("epsilon", "delta"), [("0.000194239", "5.972e-15")], ids=str)
def test_calibration_is_not_above_its_total_by_a_last_digit(epsilon: str, delta: str) -> None:
    made = calibrate(TopLabels, epsilon=epsilon, delta=delta, k=10)
    assert made.to_approx_dp(delta).epsilon <= Fraction(epsilon)


def test_what_is_added_is_a_function_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts c and c + 1 must have the same possible values, or a pure guarantee is not pure."""
    for noise in (-(2**62), 2**62 - 1):
        monkeypatch.setattr(
            module, "two_sided_geometric", lambda p, n, s, z=noise: pa.array([z] * n).to_numpy()
        )
        noisy, _ = GeometricNoise(Fraction(1)).add(pa.array([5, 6]).to_numpy(), None, None)
        assert noisy[0] == noisy[1] or noise < 0
        assert -(2**61) <= noisy.min() <= noisy.max() <= 2**62 - 1


def test_the_bounds_of_data_cannot_be_rewritten() -> None:
    data = LabelCounts.from_counts(["a"], [5], max_labels=4, max_count=2)
    for name in ("max_labels", "max_count"):
        with pytest.raises(AttributeError):
            setattr(data, name, 1)
    assert (data.max_labels, data.max_count) == (4, 2)


def test_a_session_s_price_cannot_be_rewritten() -> None:
    session = PayWhatYouGet(5, 5, epsilon=1, delta="1e-6")
    before = session.guarantee
    for name in ("epsilon", "delta", "budget", "queries"):
        with pytest.raises(AttributeError):
            setattr(session, name, getattr(session, name) / 10)
    assert session.guarantee == before


# --- Bugs that a review planted, and that nothing else caught


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
    lock, entered = session._left.lock, []

    class Watched:
        def __enter__(self) -> None:
            entered.append(session.remaining)
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    session._left.lock = Watched()  # type: ignore[assignment]
    session.top(counts([], []), k=3)
    assert entered == [5, 2]
    assert session.remaining == 4


def test_a_key_has_128_bits() -> None:
    """Planted: a key of one byte, under which 1 in 256 runs makes the same choices."""
    from dphist.counting.bounding.bounds import draw_key

    keys = [draw_key() for _ in range(200)]
    assert {len(key) for key in keys} == {32}
    assert len(set(keys)) == 200
    for place in range(32):
        assert len({key[place] for key in keys}) > 4
    # A rank below 128 would be bits that follow from others; 200 random keys have it 1 in 2**72.
    basis: dict[int, int] = {}
    for key in keys:
        rest = int(key, 16)
        while rest and rest.bit_length() in basis:
            rest ^= basis[rest.bit_length()]
        if rest:
            basis[rest.bit_length()] = rest
    assert len(basis) == 128


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
