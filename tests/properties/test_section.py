"""The section about the population: what it says, of every release."""

import pytest

from dphist import AnonymizedHistogram, Profile, RankSplit, Release, properties
from dphist.document.blocks import Note, Table
from dphist.errors import ParameterError
from dphist.properties import Estimate
from dphist.properties.overview import (
    NONE,
    Property,
    can_be_estimated,
    estimate_properties,
    format_interval,
    format_value,
    group_notes,
    name_item,
    population_blocks,
)
from dphist.properties.resampling import further_releases
from tests.support.report import releases


def rows_of(release: Release) -> dict[str, tuple[str, str]]:
    """Return estimate and interval by the name of the property, as the page shows them."""
    tables = [block for block in population_blocks(release) if isinstance(block, Table)]
    rows = [[column.shown(at)[0] for column in t.columns] for t in tables for at in range(t.rows)]
    return {name: (value, interval) for name, value, interval in rows}


def notes_in(release: Release) -> str:
    return " ".join(b.text for b in population_blocks(release) if isinstance(b, Note))


@pytest.mark.verify
def test_its_numbers_are_those_of_the_functions() -> None:
    release = releases.usual_release()
    shown = rows_of(release)
    assert shown["Shannon entropy (bits)"][0] == f"{properties.entropy(release.value):.3f}"
    bound = properties.support_size(release, method="chao1", resamples=40)
    assert bound.interval is not None
    low, high = bound.interval
    assert shown["Number of labels, at least"][0] == f"{bound.value:,.0f}"
    assert shown["Number of labels, at least"][1] == f"{low:,.0f} to {high:,.0f}"
    coverage = properties.support_coverage(release.value, extra=1)
    assert shown["New labels in n further records"][0] == f"{coverage:,.0f}"
    opened = properties.guessing(release.value, guesses=1000)
    assert shown["Share of the 1,000 most common labels"][0] == f"{100 * float(opened):.2f} %"


@pytest.mark.verify
def test_its_intervals_have_the_noise_of_the_release() -> None:
    release = releases.usual_release()
    assert "and for the noise of the release" in notes_in(release)
    bound = properties.support_size(release, method="chao1", resamples=40)
    bare = properties.support_size(release.value, method="chao1")
    assert format_interval(bare) != format_interval(bound)


@pytest.mark.verify
def test_it_is_a_function_of_the_release() -> None:
    release = releases.usual_release()
    first = population_blocks(release)
    further_releases.cache_clear()
    assert [str(each) for each in population_blocks(release)] == [str(each) for each in first]


def test_of_very_many_records_it_does_not_run_the_mechanism(monkeypatch) -> None:
    release = releases.usual_release()
    many = Release(AnonymizedHistogram([2**30], [2]), release.guarantee, release.mechanism)

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(RankSplit, "release", refuse)
    assert "comes on top" in notes_in(many)


def test_what_is_too_large_is_left_out() -> None:
    release = releases.tiny_release()
    endless = Release(
        AnonymizedHistogram([2**62, 2**62 + 1], [3, 3]), release.guarantee, release.mechanism
    )
    assert not can_be_estimated(endless.value)
    assert rows_of(endless) == {}


def estimate(value: float, unit: str, error: float | None = None) -> Estimate:
    return Estimate(value, "plug-in", error, None, unit, ())


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.14159, "bits", "3.142"),
        (75.0, "labels", "75"),
        (12.34, "labels", "12.3"),
        (7281.4, "labels", "7,281"),
        (225686770.4, "labels", "225,686,770"),
        (float("inf"), "bits", "no bound"),
        (float("nan"), "labels", "unknown"),
        (0.0188513, "share of records", "1.885 %"),
        (0.0000012345, "share of records", "0.0001234 %"),
        (1.0, "share of records", "100.0 %"),
        (0.99999, "share of records", "100.0 %"),
        (0.0, "share of records", "0 %"),
    ],
)
def test_numbers(value: float, unit: str, text: str) -> None:
    assert format_value(estimate(value, unit)) == text


def test_errors_stand_where_there_is_no_interval() -> None:
    """± stands for half of a 95 % interval; the bias of an entropy may be far larger."""
    assert format_interval(estimate(1.0, "bits")) == NONE
    assert format_interval(estimate(1.0, "bits", 0.01234)) == NONE
    assert format_interval(estimate(1.0, "1", 0.01234)) == "± 0.024"
    assert format_interval(estimate(0.5, "share of records", 0.01)) == "± 2.0 %"
    assert format_interval(estimate(5.0, "labels", 1234.5)) == "± 2,400"
    assert format_interval(estimate(5.0, "labels", float("inf"))) == NONE
    both = Estimate(2.0, "m", 0.1, (1.5, float("inf")), "labels", ())
    assert format_interval(both) == "1.5 to no bound"


def test_names_and_notes() -> None:
    thirds = Property("entropy", "Shannon entropy", estimate(1.0, "units"), {"base": "3"})
    assert name_item(thirds) == "Shannon entropy (base 3)"
    one = Property("guessing", "A", Estimate(0.1, "m", None, None, "labels", ("first", "second")))
    two = Property("guessing", "B", Estimate(0.2, "m", None, None, "labels", ("first", "second")))
    assert group_notes([one, thirds, two]) == [
        ("A; B", "Method m. First. Second."),
        ("Shannon entropy", "Method plug-in."),
    ]


def test_names_of_further_records() -> None:
    rows = estimate_properties(releases.tiny_release().value, extra=["1/3", "1/2", 1])
    names = [row.name for row in rows if row.function == "support_coverage"]
    assert names == [f"New labels in {n} further records" for n in ("(1/3)n", "0.5n", "n")]


def test_what_is_too_far_ahead_is_a_row() -> None:
    rows = estimate_properties(Profile.from_counts([1, 1, 3]), extra=[1, 2])
    near, far = [row for row in rows if row.function == "support_coverage"]
    assert near.estimate.method == far.estimate.method == "g-modeling"
    assert format_value(near.estimate) == f"{near.estimate.value:.1f}"
    assert name_item(far) == "New labels in 2n further records"
    assert (format_value(far.estimate), format_interval(far.estimate)) == ("unknown", NONE)
    assert group_notes([far])[0][1].endswith("Unknown: too far ahead for this few records.")
    for extra in (0, -1, "soon"):
        with pytest.raises(ParameterError, match="extra"):
            estimate_properties(Profile.from_counts([1, 1, 3]), extra=[extra])


def test_one_label_is_the_commonest() -> None:
    rows = estimate_properties(Profile.from_counts([4]))
    assert "Share of the most common label" in [row.name for row in rows]
