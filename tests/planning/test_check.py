"""Acceptance criteria: read as written, decided by known noise and released values alone."""

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.planning.criteria import criterion
from dphist.planning.declared import find_quantities, list_examples, list_planned_kinds
from tests.support.planning.labels import count_labels, labels_release


@pytest.mark.parametrize(
    ("kind", "text", "quantity", "relation", "bound", "percent"),
    [
        ("ranges", "range error < 0.5 %", "range error", "below", Fraction(1, 200), True),
        ("ranges", "Range error<=500 records", "range error", "at most", 500, False),
        ("labels", "at least 50 labels", "labels", "at least", 50, False),
        ("anonymized", "labels ≥ 1,000", "labels", "at least", 1000, False),
        ("streams", "at most 9 labels", "labels", "at most", 9, False),
        ("labels", "count error below 10%", "count error", "below", Fraction(1, 10), True),
        ("labels", "delta <= 1e-6", "delta", "at most", Fraction(1, 10**6), False),
        ("labels", "appears  from at most 40", "appears from", "at most", 40, False),
        ("ranges", "data: the median age is plausible", "data", "", 0, False),
    ],
)
def test_criteria_are_read_as_written(
    kind: str, text: str, quantity: str, relation: str, bound: Any, percent: bool
) -> None:
    found = criterion(text, kind)
    assert (found.quantity, found.relation, found.bound) == (quantity, relation, bound)
    assert found.percent == percent
    assert found.text == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read; write a quantity"),
        ("the error is small", "cannot be read"),
        ("range error < -1", "cannot be read"),
        ("range errors < 1", "cannot be read"),
        ("labels >= 5 %", "labels is no share"),
        ("share cut < 5", "share cut is a share"),
        ("epsilon\n< 1", "one line"),
        ("range error < 3 %", "releases of labels have no range error"),
    ],
)
def test_others_are_refused(text: str, message: str) -> None:
    with pytest.raises(dh.ParameterError, match=message):
        criterion(text, "labels")


@pytest.mark.parametrize("kind", list_planned_kinds())
def test_examples_are_accepted(kind: str) -> None:
    for example in list_examples(kind):
        assert criterion(example, kind).quantity in find_quantities(kind)
    with pytest.raises(dh.ParameterError, match=f"such as '{list_examples(kind)[0]}'"):
        criterion("small", kind)


def test_a_release_of_another_kind_is_refused() -> None:
    plan = dh.plan("anonymized", total=100, epsilon=1, criteria=["epsilon <= 1"])
    with pytest.raises(
        dh.ParameterError, match=r"release must be of anonymized, .* it is of labels"
    ):
        dh.check(labels_release(), plan)
    with pytest.raises(dh.ParameterError, match=r"release must be a dphist\.Release"):
        dh.check(count_labels(), plan)  # type: ignore[arg-type]


def test_epsilon_of_a_record_is_not_that_of_a_user() -> None:
    criteria = ["epsilon <= 2", "delta <= 1e-6"]
    rows = dh.LabelCounts.from_table(pa.table({"label": ["a"] * 400}), label="label", max_labels=1)
    made = dh.calibrate(dh.ThresholdHistogram, epsilon=2, delta="1e-6", max_labels=1)
    plan = dh.plan("labels", epsilon=2, users=400, unit="one patient", criteria=criteria)
    for verdict in dh.check(made.release(rows), plan):
        assert verdict.holds is False
        assert verdict.said == "the release protects one record, and the plan is for one patient"
    assert all(each.holds for each in dh.check(labels_release(), plan))  # users are the patients
    of_records = dh.plan("labels", epsilon=2, users=400, unit="one record", criteria=criteria)
    assert all(each.holds for each in dh.check(made.release(rows), of_records))
