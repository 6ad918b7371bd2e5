"""One more listed label, "other", for all labels that are not listed."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import BoundsError, ParameterError
from dphist.report import report_html, summary_text
from tests.support.labels.told import release

LISTED = ["a", "b"]
TABLE = pa.table({"who": [1, 1, 1, 2, 3, 3], "word": ["a", "x", "y", "b", "x", "other"]})
BOUNDS: dict[str, Any] = {"label": "word", "user": "who", "max_labels": 2}


def counts(other_than: Any = LISTED, **more: Any) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(TABLE, **BOUNDS | more, other_than=other_than)


def mechanism(**more: Any) -> dh.ThresholdHistogram:
    given: dict[str, Any] = {"epsilon": 1, "labels": LISTED, "other": True, "max_labels": 2}
    return dh.ThresholdHistogram(**given | more)


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "truncated", "optimal"])
@pytest.mark.parametrize("max_labels", [1, 2, 3, 4])
def test_other_costs_what_one_more_listed_label_does(noise: Any, max_labels: int) -> None:
    given: dict[str, Any] = {"epsilon": 1, "max_labels": max_labels, "noise": noise}
    if noise in ("truncated", "optimal"):
        given["delta"] = "1e-6"
    made = dh.ThresholdHistogram(labels=LISTED, other=True, **given)
    three = dh.ThresholdHistogram(labels=[*LISTED, "c"], **given)
    assert made.changed_labels == three.changed_labels == min(max_labels, 3)
    assert made.guarantee == three.guarantee
    assert made.epsilon_guarantee == three.epsilon_guarantee
    assert made.privacy_losses() == three.privacy_losses()
    assert made.law == three.law
    assert made.half_width() == three.half_width()


def test_noise_in_common_is_that_of_one_more_label() -> None:
    labels = [f"ward {n}" for n in range(8)]
    given: dict[str, Any] = {"epsilon": 1, "max_labels": 9, "noise": "gaussian", "correlated": True}
    made = dh.ThresholdHistogram(labels=labels, other=True, sums_of=9, **given)
    nine = dh.ThresholdHistogram(labels=[*labels, "c"], sums_of=9, **given)
    assert (made.weight, made.noise_law()) == (nine.weight, nine.noise_law())
    assert made.error_of_sum([*labels, "other"]) == nine.error_of_sum([*labels, "c"])
    with pytest.raises(ParameterError, match="sums_of must be"):
        dh.ThresholdHistogram(labels=labels, other=True, sums_of=10, **given)


def test_a_release_has_the_listed_labels_and_other() -> None:
    made = mechanism(epsilon=50)
    table = made.release(counts()).value
    assert {label: table.count(label) for label in table.labels} == {"a": 1, "b": 1, "other": 2}
    summed = {"n": dh.Clamp(0, 4, 1)}
    rows = TABLE.append_column("n", pa.array([1, 2, 3, 4, 0, 0]))
    data = dh.LabelCounts.from_table(rows, **BOUNDS, other_than=LISTED, sums=summed)
    found = mechanism(epsilon=90, sums=summed).release(data).value
    assert {label: float(found.sum(label, of="n").value) for label in found.labels} == {
        "a": 1,
        "b": 4,
        "other": 4,
    }


def test_users_by_labels_count_other_as_one() -> None:
    made = mechanism(epsilon=90, max_labels=1, users_by_labels=3)
    data = counts(users_by_labels=3, max_labels=1)
    assert made.release(data).noisy["users"].tolist() == [2, 1, 0]


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "another list": (mechanism(labels=["a", "c"]), counts(), "other=True needs a table in which"),
    "a longer list": (mechanism(labels=["a"]), counts(), "other=True needs a table in which"),
    "no list": (mechanism(), counts(None), r"other_than=mechanism\.labels"),
    "no other": (mechanism(other=False), counts(), "the table was counted with other_than"),
    "found labels": (
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2),
        counts(),
        "the table was counted with other_than",
    ),
    "a ranking": (
        dh.TopLabels(k=2, epsilon=1, delta="1e-6"),
        counts(),
        "the table was counted with other_than",
    ),
    "the largest": (
        dh.TopThreshold(k=2, epsilon=1, delta="1e-6", max_labels=2),
        counts(),
        "the table was counted with other_than",
    ),
    "labels without counts": (
        dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=2),
        counts(),
        "the table was counted with other_than",
    ),
    "a number that is found": (
        dh.AutoThreshold(epsilon=1, delta="1e-6", max_labels=2),
        counts(),
        "the table was counted with other_than",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_count_other_labels_are_refused_before_the_charge(
    name: str, tmp_path: Path
) -> None:
    made, data, said = REFUSED[name]
    with pytest.raises(BoundsError, match=said):
        made.release(data)
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=200, delta="0.1", unit="one user")
    with pytest.raises(BoundsError, match=said):
        ledger.release(made, data, by="me", key="k")
    assert ledger.spent.epsilon == 0


def test_bounds_are_those_of_the_list_and_other() -> None:
    """Two listed labels and other are three: a user without a bound changes all of them."""
    unbounded = counts(max_labels=None)
    with pytest.raises(BoundsError, match="no bound max_labels"):
        mechanism(max_labels=2).release(unbounded)
    assert len(mechanism(max_labels=3).release(unbounded).value) == 3


def test_a_session_refuses_data_with_other() -> None:
    session = dh.PayWhatYouGet(epsilon=1, delta="1e-6", max_labels=2)
    with pytest.raises(BoundsError, match="counted with other_than"):
        session.top(counts(), k=1)


def test_a_plain_table_of_counts_says_how_it_was_counted() -> None:
    table = pa.table({"label": ["a", "b", "other"], "count": [1, 1, 2]})
    with pytest.raises(BoundsError, match="other=True needs a table in which"):
        mechanism().release(table)
    asserted = dh.LabelCounts.from_counts(
        ["a", "other"], [1, 2], max_labels=2, max_count=1, other_than=LISTED[::-1]
    )
    found = mechanism(epsilon=50).release(asserted).value
    assert [found.count(label) for label in ("a", "b", "other")] == [1, 0, 2]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"labels": None, "delta": "1e-6"}, "other needs labels"),
        ({"labels": ["a", "other"]}, "labels must not list 'other'"),
        ({"labels": [1, 2]}, "labels must list .* all text"),
        ({"labels": range(3)}, "labels must list .* all text"),
        ({"other": 1}, "other must be True or False"),
        ({"other": "yes"}, "other must be True or False"),
    ],
)
def test_mechanisms_that_cannot_be_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        mechanism(**given)


@pytest.mark.parametrize("noise", ["laplace", "best"])
def test_a_total_is_calibrated_and_a_release_saved(noise: str, tmp_path: Path) -> None:
    made = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=1,
        delta=0,
        labels=LISTED,
        other=True,
        max_labels=2,
        noise=noise,
    )
    released = made.release(counts())
    released.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded.mechanism == made
    assert loaded.mechanism.other
    assert loaded.value == released.value


def test_pages_say_what_other_is() -> None:
    said = release(mechanism(max_count=3), counts(max_count=3))
    text = " ".join(summary_text(said).split())
    assert "Labels that are not listed are counted together, as other." in text
    page = " ".join(report_html(said).split())
    assert "a user adds at most 3 to it, with however many of these labels" in page
    without = " ".join(summary_text(release(mechanism(other=False), counts(None))).split())
    assert "as other" not in without


def test_differences_are_of_the_same_lists() -> None:
    first = mechanism().release(counts())
    again = mechanism(labels=LISTED[::-1]).release(counts(LISTED[::-1]))
    assert dh.difference(first, again) is not None
    for changed, data in (
        (mechanism(labels=["a", "c"]), counts(["a", "c"])),
        (mechanism(labels=["a", "b", "c"], other=False), counts(None)),
    ):
        with pytest.raises(ParameterError, match="must have the same labels beside other"):
            dh.difference(first, changed.release(data))


def test_a_plan_is_for_one_more_label() -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 8}
    rows = dh.plan("labels", labels=3, other=True, **given).rows
    assert rows == dh.plan("labels", labels=4, **given).rows
    assert rows != dh.plan("labels", labels=3, **given).rows
    with pytest.raises(ParameterError, match="other needs labels"):
        dh.plan("labels", other=True, **given)
    with pytest.raises(ParameterError, match="other must be True or False"):
        dh.plan("labels", labels=3, other=1, **given)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_audit_finds_no_fault(noise: Any) -> None:
    found = dh.audit(mechanism(noise=noise), delta="1e-6", seconds=3, confidence=1 - 1e-9)
    assert not found.refuted
    assert [each.verdict for each in found.layers if each.layer == "replay"] == ["holds"]
