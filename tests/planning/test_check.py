"""Acceptance criteria: read as written, decided by known noise and released values alone."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.planning.criteria import criterion


@pytest.mark.parametrize(
    ("text", "quantity", "relation", "bound", "percent"),
    [
        ("range error < 0.5 %", "range error", "below", Fraction(1, 200), True),
        ("Range error<=500 records", "range error", "at most", 500, False),
        ("at least 50 labels", "labels", "at least", 50, False),
        ("labels ≥ 1,000", "labels", "at least", 1000, False),
        ("at most 9 labels", "labels", "at most", 9, False),
        ("count error below 10%", "count error", "below", Fraction(1, 10), True),
        ("delta <= 1e-6", "delta", "at most", Fraction(1, 10**6), False),
        ("appears  from at most 40", "appears from", "at most", 40, False),
        ("data: the median age is plausible", "data", "", 0, False),
    ],
)
def test_criteria_are_read_as_written(
    text: str, quantity: str, relation: str, bound: Any, percent: bool
) -> None:
    found = criterion(text)
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
        ("cut users < 5", "cut users is a share"),
        ("epsilon\n< 1", "one line"),
        ("range error < 3 %", "releases of labels have no range error"),
    ],
)
def test_others_are_refused(text: str, message: str) -> None:
    with pytest.raises(dh.ParameterError, match=message):
        criterion(text, "labels")


def verdicts(release: dh.Release, kind: str, criteria: list[str]) -> dict[str, bool | None]:
    asked = {"ranges": {"bins": 64, "total": 9}, "anonymized": {"total": 9}, "stream": {}}
    more: dict[str, Any] = asked.get(kind, {})
    if kind == "stream":
        more = {"horizon": 100}
    plan = dh.plan(kind, epsilon=1, criteria=criteria, **more)
    return {each.criterion.text: each.holds for each in dh.check(release, plan)}


def table(count_users: bool = False) -> dh.LabelCounts:
    users = [f"u{n}" for n in range(400)]
    rows = [(user, label) for n, user in enumerate(users) for label in "abc"[: 1 + n % 3]]
    return dh.LabelCounts.from_table(
        pa.table({"user": [u for u, _ in rows], "label": [label for _, label in rows]}),
        label="label",
        user="user",
        max_labels=2,
        count_users=count_users,
    )


def labels_release(**more: Any) -> dh.Release:
    made = dh.calibrate(dh.ThresholdHistogram, epsilon=2, delta="1e-6", max_labels=2, **more)
    return made.release(table(bool(more)))


def test_labels() -> None:
    release = labels_release()
    expected = release.mechanism.expected_error()
    smallest = int(min(release.value.counts))
    share = 100 * expected.half_width / smallest
    found = verdicts(
        release,
        "labels",
        [
            "at least 2 labels",
            "at least 4 labels",
            f"appears from <= {expected.appears_from}",
            f"appears from < {expected.appears_from}",
            f"count error <= {expected.half_width}",
            f"count error < {share + 0.1:.3f} %",
            f"count error < {share - 0.1:.3f} %",
            "epsilon <= 2",
            "epsilon < 2",
            "delta <= 1e-6",
            "cut users < 50 %",
            "missing labels at most 3",
            "bounding error < 5 %",
            "data: no label is misspelled",
        ],
    )
    assert list(found.values()) == [
        *(True, False, True, False, True, True, False, True, False, True),
        *(None, None, None, None),
    ]


def test_cut_users_are_known_where_they_were_counted() -> None:
    release = labels_release(count_cut_users=True)
    cut = release.mechanism.cut_users(release.noisy)
    within = f"cut users < {50 * (cut.low + cut.high):.6f} %"
    found = verdicts(release, "labels", ["cut users < 90 %", "cut users < 1 %", within])
    assert list(found.values()) == [True, False, None], "the noise leaves the middle open"


def test_ranges() -> None:
    counts = np.full(64, 1000)
    release = dh.HierarchicalTree(epsilon=1, bins=64, nonnegative=False).release(counts)
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, 65, (2, 2000)), axis=0)
    error = np.sqrt(np.mean(release.value.error(ends[0], ends[1]) ** 2))
    share = 100 * error / (release.total or 0)
    found = verdicts(
        release,
        "ranges",
        [
            f"range error < {error * 1.01:.6f} records",
            f"range error < {error * 0.99:.6f}",
            f"range error < {share * 1.01:.6f} %",
            f"range error < {share * 0.99:.6f} %",
            "epsilon at most 1",
        ],
    )
    assert list(found.values()) == [True, False, True, False, True]


@pytest.mark.verify
def test_anonymized(shakespeare: dh.Profile) -> None:
    release = dh.AdaptiveScan(epsilon=1).release(shakespeare)
    error = release.mechanism.expected_error(shape=release)
    found = verdicts(
        release,
        "anonymized",
        [
            f"profile error < {error + 1:.1f}",
            f"profile error < {error - 1:.1f}",
            "profile error < 0.1 %",
            "at least 1000 labels",
            "at least 1000000 labels",
        ],
    )
    assert list(found.values()) == [True, False, True, True, False]


def test_streams() -> None:
    mechanism = dh.calibrate(dh.ContinualMechanism, epsilon=8, delta="1e-6", horizon=100)
    stream = dh.ContinualHistogram(epsilon=mechanism.epsilon, delta=mechanism.delta, horizon=100)
    for _ in range(90):
        stream.update(["a"])
    release = stream.release()
    found = verdicts(
        release,
        "stream",
        ["at least 1 labels", "at least 2 labels", "count error < 1", "epsilon <= 8"],
    )
    assert list(found.values()) == [True, False, False, None], "no epsilon was asked for"


def test_a_release_of_another_kind_is_refused() -> None:
    plan = dh.plan("anonymized", total=100, epsilon=1, criteria=["epsilon <= 1"])
    with pytest.raises(
        dh.ParameterError, match=r"release must be of anonymized, .* it is of labels"
    ):
        dh.check(labels_release(), plan)
    with pytest.raises(dh.ParameterError, match=r"release must be a dphist\.Release"):
        dh.check(table(), plan)  # type: ignore[arg-type]


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
