"""Guarantees say whom they protect: units as values, and what may be added up."""

import copy
import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dphist as dh
from dphist import ZCDP, ApproxDP, ApproxZCDP, ParameterError, PrivacyUnit, PureDP, compose
from dphist.ledger.book import Account
from dphist.ledger.budget import Budget
from dphist.privacy.unit import as_unit
from dphist.release.document import checksum
from dphist.report import make_json, report_html, summary_text

EACH = [PureDP, ZCDP]
BOTH = [ApproxDP, ApproxZCDP]
FIVE = PrivacyUnit("record", 5)


def guarantees(unit: object) -> list:
    one = [kind("0.01", unit=unit) for kind in EACH]
    return one + [kind("0.01", "1e-6", unit=unit) for kind in BOTH]  # type: ignore[arg-type]


# --- the unit as a value


def test_units_are_equal_by_whom_they_protect_and_how_many() -> None:
    assert (
        PrivacyUnit()
        == PrivacyUnit("record")
        == PrivacyUnit("one record")
        == PrivacyUnit("record", 1)
    )
    assert PrivacyUnit("user") == PrivacyUnit("user", bounds={"max_labels": 10})
    assert hash(PrivacyUnit("user")) == hash(PrivacyUnit("user", bounds={"max_labels": None}))
    different = [
        PrivacyUnit(),
        FIVE,
        PrivacyUnit("user"),
        PrivacyUnit("event"),
        PrivacyUnit("user", 2),
    ]
    assert len(set(different)) == len(different)
    with pytest.raises(AttributeError):
        FIVE.at_most = 6  # type: ignore[misc]


def test_units_are_equal_by_what_they_protect() -> None:
    """Rows beside users are protected too; who asserts bounds, and what counts, only informs."""
    user = PrivacyUnit("user")
    with_rows = PrivacyUnit("user", or_rows=True)
    assert with_rows != user
    assert len({user, with_rows}) == 2
    for informs in ({"asserted": True}, {"events": 5}, {"bounds": {"max_labels": 3}}):
        for unit in (user, with_rows):
            assert replace(unit, **informs) == unit
            assert hash(replace(unit, **informs)) == hash(unit)
    with pytest.raises(ParameterError, match="same unit"):
        compose(PureDP(1, user), PureDP(1, with_rows))
    with pytest.raises(ParameterError, match="has must be given"):
        PureDP(1, with_rows).for_unit(user)


@pytest.mark.parametrize("who", ["patient", "account", "ward 7", "stay, or visit"])
@pytest.mark.parametrize("or_rows", [False, True])
@pytest.mark.parametrize("asserted", [False, True])
@pytest.mark.parametrize("events", [None, 5, 2000])
def test_the_text_of_a_unit_is_read_as_that_unit(
    who: str, or_rows: bool, asserted: bool, events: int | None
) -> None:
    """As files of 0.2 hold it; what was written as facts is read as well."""
    unit = PrivacyUnit(who, asserted=asserted, or_rows=or_rows, events=events)
    for read in (
        as_unit(str(unit)),
        PrivacyUnit.from_content(str(unit)),
        PrivacyUnit.from_content(json.loads(json.dumps(unit.to_content()))),
    ):
        assert read == unit
        assert (read.asserted, read.events, str(read)) == (asserted, events, str(unit))
    old = {"who": unit.name, "at_most": 3, "bounds": {"max_records": 2}}
    assert PrivacyUnit.from_content(old) == PrivacyUnit(who, 3, or_rows=or_rows)


ENDS = [
    "",
    ", as promised by the caller",
    ", or one row without a b",
    ", exchanged for another",
    ", of which at most 5 count",
]


@given(
    begin=st.sampled_from(["", "one ", "all events of one "]),
    who=st.text("one, ab7", min_size=1, max_size=20),
    ends=st.lists(st.sampled_from(ENDS), max_size=3),
)
@example("all events of one ", "b", [ENDS[2], ENDS[4], ENDS[1]])
def test_who_is_read_once(begin: str, who: str, ends: list[str]) -> None:
    """What is left of a text states no further fact, so a unit made of it is the same."""
    try:
        unit = as_unit(begin + who + "".join(ends))
    except ParameterError:
        return
    assert PrivacyUnit(unit.who).who == unit.who
    assert unit.single == unit
    assert as_unit(str(unit)) == unit


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("patient, or one row without a patient", "or_rows"),
        ("one patient, as promised by the caller", "asserted"),
        ("record, exchanged for another", "exchanged"),
        ("all events of one user, of which at most 5 count", "events"),
    ],
)
def test_a_name_states_no_fact(text: str, fact: str) -> None:
    """Else two units would have one text, and a ledger holds text."""
    with pytest.raises(ParameterError, match=f"who must be a name alone: {fact} must be given"):
        PrivacyUnit(text)


def test_an_account_keeps_its_unit_whichever_version_wrote_it() -> None:
    """As 0.2 wrote it: what a key was charged for includes it, and 0.2 reads it."""
    account = Account("main", PrivacyUnit("patient", 2, or_rows=True), Budget(epsilon=1))
    content = account.to_content()
    assert content["unit"] == {"who": "patient, or one row without a patient", "at_most": 2}
    assert Account.from_content(content).unit == account.unit
    plain = Account("main", PrivacyUnit("patient"), Budget(epsilon=1)).to_content()
    assert plain["unit"] == {"who": "patient", "at_most": 1}


def test_a_release_of_0_2_that_states_text_loads_equal() -> None:
    counts = dh.LabelCounts.from_table(
        pa.table({"user": ["1", None], "label": ["a", "a"]}),
        label="label", user="user", max_labels=1, null_users="separate", unit="patient",
    )  # fmt: skip
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(counts)
    content = json.loads(release.to_json())
    assert content["stated"]["unit"] == {**unit_of("patient"), "or_rows": True}
    text = "one patient, or one row without a patient"
    stated = {**content["stated"], "unit": text}
    old = edited(
        release, stated=stated, unit={**content["unit"], "who": text[4:], "or_rows": False}
    )
    assert dh.Release.from_json(old) == release
    lied = {key: value for key, value in content["unit"].items() if key != "or_rows"}
    with pytest.raises(dh.ReleaseFileError):
        dh.Release.from_json(edited(release, unit=lied))


@pytest.mark.parametrize(
    ("unit", "text", "shown"),
    [
        (PrivacyUnit(), "one record", "PrivacyUnit('record')"),
        (FIVE, "at most 5 records", "PrivacyUnit('record', 5)"),
        (PrivacyUnit("patient", 1200), "at most 1,200 patients", "PrivacyUnit('patient', 1200)"),
        (PrivacyUnit("one  entry", 2), "at most 2 entries", "PrivacyUnit('entry', 2)"),
        (
            PrivacyUnit("user", bounds={"max_labels": None, "max_count": 3}),
            "one user",
            "PrivacyUnit('user', bounds={'max_count': 3, 'max_labels': None})",
        ),
    ],
)
def test_units_are_read_and_written(unit: PrivacyUnit, text: str, shown: str) -> None:
    assert (str(unit), repr(unit)) == (text, shown)
    assert eval(shown, {"PrivacyUnit": PrivacyUnit}) == unit  # noqa: S307
    for again in (pickle.loads(pickle.dumps(unit)), copy.deepcopy(unit)):  # noqa: S301
        assert again == unit
        assert again.bounds == unit.bounds


@pytest.mark.parametrize(
    ("who", "at_most", "bounds", "named"),
    [
        ("", 1, {}, "who"),
        ("one ", 1, {}, "who"),
        ("two\nlines", 1, {}, "who"),
        ("\x1b[31mred", 1, {}, "who"),
        ("x" * 201, 1, {}, "who"),
        (5, 1, {}, "who"),
        (None, 1, {}, "who"),
        ("user", 0, {}, "at_most"),
        ("user", 1.5, {}, "at_most"),
        ("user", True, {}, "at_most"),
        ("user", 1, {"max_labels": 0}, "max_labels"),
        ("user", 1, {"max labels": 1}, "bounds"),
    ],
)
def test_nonsense_is_no_unit(who: object, at_most: object, bounds: object, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        PrivacyUnit(who, at_most, bounds)  # type: ignore[arg-type]


# --- guarantees with units


def test_a_guarantee_that_states_no_unit_protects_one_record() -> None:
    for guarantee in (PureDP(1), ZCDP(1), ApproxDP(1, 0), ApproxZCDP(1, 0)):
        assert guarantee.unit == PrivacyUnit("record")
    assert PureDP(1) == PureDP(1, unit="one record") != PureDP(1, unit=FIVE)
    assert compose(PureDP(1), PureDP(2)) == PureDP(3)


@pytest.mark.parametrize("guarantee", guarantees("one patient"), ids=repr)
def test_the_unit_is_compared_hashed_shown_and_pickled(guarantee: object) -> None:
    other = type(guarantee)(*numbers(guarantee))
    assert guarantee.unit == PrivacyUnit("patient")
    assert guarantee != other
    assert hash(guarantee) != hash(other)
    assert repr(guarantee).endswith(", unit='patient')")
    assert "unit" not in repr(other)
    assert "unit" not in str(guarantee)
    assert eval(repr(guarantee), vars(dh)) == guarantee  # noqa: S307
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee  # noqa: S301


def numbers(guarantee: object) -> list[Fraction]:
    names = ("epsilon", "rho", "delta")
    return [value for name in names if (value := getattr(guarantee, name, None)) is not None]


def test_a_group_is_shown_as_one() -> None:
    shown = repr(PureDP(1, unit=FIVE))
    assert shown == "PureDP(epsilon=1, unit=PrivacyUnit('record', 5))"
    assert eval(shown, vars(dh)) == PureDP(1, FIVE)  # noqa: S307


def test_conversions_keep_the_unit() -> None:
    for unit in (PrivacyUnit("user"), FIVE):
        assert PureDP(1, unit).to_zcdp().unit == unit
        assert PureDP(1, unit).to_approx_dp("1e-9").unit == unit
        assert ZCDP(1, unit).to_approx_dp("1e-9").unit == unit
        assert ApproxDP(1, "1e-9", unit).to_approx_zcdp().unit == unit
        assert ApproxDP(1, "1e-9", unit).to_approx_dp("1e-8").unit == unit
        assert ApproxZCDP(1, "1e-9", unit).to_approx_dp("1e-8").unit == unit


@pytest.mark.parametrize("unit", ["user", FIVE], ids=str)
def test_composition_keeps_the_unit(unit: object) -> None:
    for first in guarantees(unit):
        for second in guarantees(unit):
            assert compose(first, second).unit == first.unit


def test_composition_keeps_the_bounds_that_all_name() -> None:
    ten, five = (PrivacyUnit("user", bounds={"max_labels": most}) for most in (10, 5))
    assert compose(PureDP(1, ten), PureDP(1, ten)).unit.bounds == (("max_labels", 10),)
    assert compose(PureDP(1, ten), PureDP(1, five)).unit.bounds == ()


@pytest.mark.parametrize("first", guarantees("record"), ids=repr)
@pytest.mark.parametrize("second", guarantees(FIVE), ids=repr)
def test_one_record_and_five_do_not_add_up(first: object, second: object) -> None:
    for pair in ((first, second), (second, first)):
        with pytest.raises(ParameterError) as caught:
            compose(*pair)  # type: ignore[arg-type]
        said = str(caught.value)
        assert "one record" in said
        assert "at most 5 records" in said
        assert (
            "guarantee.for_unit(PrivacyUnit('record', 5)), at 5 times epsilon or 25 times" in said
        )
    converted = first.for_unit(FIVE)
    assert compose(converted, second).unit == FIVE  # type: ignore[arg-type]


def test_what_the_error_names_is_possible() -> None:
    """A record and a user: the conversion that is named needs a bound, and then composes."""
    record, user = PureDP("0.1"), ApproxZCDP("0.5", "1e-6", unit="user")
    with pytest.raises(ParameterError, match=r"for_unit\('user', has=m\), at m times epsilon"):
        compose(record, user)
    with pytest.raises(ParameterError, match=r"for_unit\('user', has=m\)"):
        compose(user, record)
    with pytest.raises(ParameterError, match="has must be given: the maximum number of records"):
        record.for_unit("user")
    converted = record.for_unit("user", has=5)
    assert converted == PureDP("0.5", unit="user")
    assert converted.unit.bounds == (("max_records", 5),)
    assert compose(converted, user).unit == PrivacyUnit("user")


def test_fewer_of_the_same_are_protected_at_no_less_than_the_same_price() -> None:
    assert PureDP(1, FIVE).for_unit(PrivacyUnit("record", 3)) == PureDP(1, PrivacyUnit("record", 3))
    assert PureDP(1, FIVE).for_unit("record") == PureDP(1)
    # Twelve records are three steps of at most five, not two.
    assert ZCDP(1, FIVE).for_unit(PrivacyUnit("record", 12)).rho == 9
    assert ZCDP(1, FIVE).for_unit("user", has=12) == ZCDP(9, unit="user")
    assert ZCDP(1, FIVE).for_unit("user", has=5) == ZCDP(1, unit="user")
    with pytest.raises(ParameterError, match="has must be omitted"):
        PureDP(1, FIVE).for_unit("record", has=2)
    for bad in (0, 1.5, True):
        with pytest.raises(ParameterError, match="has"):
            PureDP(1).for_unit("user", has=bad)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="members"):
            PureDP(1).for_group(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="unit must be"):
        PureDP(1).for_unit(5, has=1)  # type: ignore[arg-type]


# --- mechanisms and releases

BINS = dh.BinnedCounts
MECHANISMS = {
    "AdaptiveScan": (dh.AdaptiveScan(epsilon=1), PrivacyUnit("record")),
    "RankSplit": (dh.RankSplit(epsilon=1, sensitivity=5), FIVE),
    "PartitionSampler": (dh.PartitionSampler(epsilon=1, delta="1e-9", sensitivity=5), FIVE),
    "AdaptiveTree": (dh.AdaptiveTree(epsilon=1, bins=4, sensitivity=5), FIVE),
    "LeafCounts": (dh.LeafCounts(rho=1, bins=4), PrivacyUnit("record")),
    "ThresholdHistogram": (
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10, max_count=3),
        PrivacyUnit("user", bounds={"max_labels": 10, "max_count": 3}),
    ),
    "TopLabels": (
        dh.TopLabels(epsilon=1, delta="1e-6"),
        PrivacyUnit("user", bounds={"max_labels": None, "max_count": 1}),
    ),
    "AutoThreshold": (
        dh.AutoThreshold(epsilon=1, delta="1e-6", max_labels=100),
        PrivacyUnit("user", bounds={"max_labels": 100, "max_count": 1}),
    ),
    "DiscoverLabels": (
        dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=100),
        PrivacyUnit("user", bounds={"max_labels": 100, "max_count": 1}),
    ),
    "TopThreshold": (
        dh.TopThreshold(epsilon=1, delta="1e-6", max_labels=2),
        PrivacyUnit("user", bounds={"max_labels": 2, "max_count": 1}),
    ),
    "PayWhatYouGet": (
        dh.PayWhatYouGet(epsilon=1, delta="1e-6", max_labels=2),
        PrivacyUnit("user", bounds={"max_labels": 2, "max_count": 1}),
    ),
    "events": (
        dh.ContinualMechanism(epsilon=1, delta="1e-6", horizon=100),
        PrivacyUnit("event", bounds={"max_labels": 1}),
    ),
    "users": (
        dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=100, max_events_per_user=5),
        PrivacyUnit("user", bounds={"max_labels": 1, "max_events": 5}),
    ),
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_mechanisms_say_whom_they_protect_before_any_data(mechanism: tuple) -> None:
    made, unit = mechanism
    assert made.guarantee.unit == unit
    assert made.guarantee.unit.bounds == unit.bounds
    assert made.to_approx_dp("1e-3").unit == unit
    direct = getattr(made, "epsilon_guarantee", None)
    assert direct is None or direct.unit == unit


def test_a_record_and_a_user_with_five_do_not_add_up() -> None:
    record = dh.AdaptiveScan(epsilon=1).guarantee
    for user in (
        dh.AdaptiveScan(epsilon=1, sensitivity=5).guarantee,
        dh.LeafCounts(epsilon=1, bins=3, sensitivity=5).guarantee,
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, max_count=5).guarantee,
    ):
        with pytest.raises(ParameterError, match="same unit"):
            compose(record, user)


ROWS = pd.DataFrame(
    {"who": ["a", "a", "b", "c"], "word": ["x", "y", "x", "x"], "at": [0.1, 0.2, 0.3, 0.9]}
)


def releases_of_users() -> dict[str, dh.Release]:
    """Releases of three kinds from one table, whose users were bounded, each to another number."""
    labels = dh.LabelCounts.from_table(ROWS, label="word", user="who", max_labels=2)
    bins = dh.bin_counts(ROWS, column="at", edges=[0, 0.5, 1], user="who", max_records=3)
    stream = dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=9, max_events_per_user=2)
    stream.update(["x"], user="a")
    return {
        "labels": dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=5).release(labels),
        "ranges": dh.LeafCounts(epsilon=1, bins=2, sensitivity=4).release(bins),
        "streams": stream.release(),
    }


def test_releases_protect_the_user_that_the_data_state() -> None:
    """However many records of a user each of them counts, one user is one user."""
    found = releases_of_users()
    for release in found.values():
        assert release.guarantee.unit == PrivacyUnit("user")
        assert dh.Release.from_json(release.to_json()).guarantee.unit == PrivacyUnit("user")
    assert found["ranges"].guarantee.unit.bounds == (("max_records", 4),)
    total = compose(*(release.guarantee for release in found.values()))
    assert total.unit == PrivacyUnit("user")
    with pytest.raises(ParameterError, match="same unit"):
        compose(found["labels"].guarantee, dh.AdaptiveScan(epsilon=1).guarantee)


def test_the_unit_of_a_release_is_in_the_words_of_the_data() -> None:
    axis = dh.Axis.from_edges([0, 1, 2], "age")
    outside = {"below": 0, "above": 0, "null": 0}
    counts = BINS(np.array([5, 6]), (axis,), outside, sensitivity=2, unit=PrivacyUnit("patient"))
    release = dh.LeafCounts(epsilon=1, bins=2, sensitivity=2).release(counts)
    assert release.guarantee == PureDP(1, unit="one patient")
    assert dh.Release.from_json(release.to_json()) == release


def test_rows_that_count_one_are_records() -> None:
    rows = dh.LabelCounts.from_table(ROWS, label="word")
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(rows)
    assert release.provenance["unit"] == PrivacyUnit("row")
    assert release.guarantee.unit == PrivacyUnit("record")
    again = dh.Release.from_json(release.to_json())
    assert again.guarantee == release.guarantee
    compose(release.guarantee, dh.AdaptiveScan(epsilon=1).guarantee)
    # A row that may count five is none.
    heavy = ROWS.assign(n=3)
    rows = dh.LabelCounts.from_table(heavy, label="word", count="n", max_count=5)
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, max_count=5)
    release = mechanism.release(rows)
    assert release.guarantee.unit == PrivacyUnit("row")
    assert dh.Release.from_json(release.to_json()).guarantee == release.guarantee


def test_users_and_rows_without_one_are_another_unit() -> None:
    kept = dh.LabelCounts.from_table(
        ROWS, label="word", user="who", max_labels=1, null_users="separate"
    )
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(kept)
    assert str(release.guarantee.unit) == "one user, or one row without a user"
    with pytest.raises(ParameterError, match="same unit"):
        compose(release.guarantee, ApproxZCDP(1, 0, unit="user"))


def test_bounds_that_are_promised_protect_a_user_all_the_same() -> None:
    frame = pd.DataFrame({"label": ["a"], "count": [100]})
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(frame)
    assert release.provenance["unit"].asserted
    assert release.guarantee.unit == PrivacyUnit("user")


# --- edges of a graph

EDGES = pd.DataFrame({"u": list("abab"), "v": list("bcca")})
PATH_OF_EDGES = {"undirected": False, "directed": True}


def from_edges(directed: bool, **more: Any) -> dh.Release:
    degrees = dh.Profile.from_edges(EDGES, source="u", target="v", directed=directed)
    return dh.anonymize(degrees, epsilon=1, **more)


@pytest.mark.parametrize("directed", PATH_OF_EDGES.values(), ids=PATH_OF_EDGES)
def test_the_degrees_of_a_graph_protect_one_edge(directed: bool) -> None:
    """Two cells that an edge changes are no two records: two edges change four."""
    degrees = dh.Profile.from_edges(EDGES, source="u", target="v", directed=directed)
    cells = 1 if directed else 2
    for each in (
        degrees,
        degrees.conjugate(),
        pickle.loads(pickle.dumps(degrees)),  # noqa: S301
        copy.deepcopy(degrees),
    ):
        assert (each.unit, each.sensitivity) == (PrivacyUnit("edge"), cells)
        release = dh.PrivHist(epsilon=1, sensitivity=cells).release(each)
        assert release.guarantee == PureDP(1, unit="one edge")
        assert release.guarantee.unit.bounds == (("max_records", cells),)
    again = dh.Release.from_json(release.to_json())
    assert again.guarantee == release.guarantee
    assert again == release


@pytest.mark.parametrize("directed", PATH_OF_EDGES.values(), ids=PATH_OF_EDGES)
def test_edges_and_records_do_not_add_up(directed: bool) -> None:
    edges = from_edges(directed).guarantee
    for records in (PureDP(1), PureDP(1, PrivacyUnit("record", 2))):
        for pair in ((edges, records), (records, edges)):
            with pytest.raises(ParameterError, match=r"for_unit\('edge', has=m\)"):
                compose(*pair)
    # An edge of at most three records of another table; both ways of counting degrees.
    several = PureDP(1, PrivacyUnit("record", 2)).for_unit("edge", has=3)
    assert compose(edges, several, from_edges(not directed).guarantee) == PureDP(4, unit="edge")


def test_edges_of_a_calibrated_mechanism_do_not_add_up_with_records() -> None:
    mechanism = dh.calibrate(dh.PrivHist, epsilon=1, delta="1e-6", sensitivity=2)
    degrees = dh.Profile.from_edges(EDGES, source="u", target="v")
    release = mechanism.release(degrees)
    assert release.guarantee.unit == PrivacyUnit("edge")
    again = dh.Release.from_json(release.to_json())
    assert again.guarantee.unit == PrivacyUnit("edge")
    with pytest.raises(ParameterError, match="same unit"):
        compose(release.guarantee, PureDP(1, PrivacyUnit("record", 2)))


@pytest.mark.parametrize("directed", PATH_OF_EDGES.values(), ids=PATH_OF_EDGES)
@pytest.mark.long(every=2)
def test_edges_are_said_to_be_protected_and_not_to_be_cut(directed: bool) -> None:
    release = from_edges(directed)
    counted = "" if directed else ", which is counted up to 2 times"
    summary = " ".join(summary_text(release).split())
    page = " ".join(report_html(release).split())
    for text in (summary, page):
        assert f"one edge{counted}" in text
        for wrong in ("chosen at random", "was cut", "who counts", "users", "edges cut"):
            assert wrong not in text
    assert "if adding or removing one edge, a row of the table, turns one" in page
    assert "For a node with m edges, all of them together, epsilon is m times as large" in page
    told = make_json(release)
    assert (told["guarantee"]["unit"], told["counts_of"]) == ("one edge", "edges")


# --- a file says the unit that its mechanism protects


def edited(release: dh.Release, **changes: object) -> str:
    """A document with other content and the right checksum."""
    content = {**json.loads(release.to_json()), **changes}
    del content["checksum"]
    return json.dumps({**content, "checksum": checksum(content)})


def unit_of(who: str, at_most: int = 1, **bounds: int | None) -> dict[str, object]:
    return {"who": who, "at_most": at_most, "bounds": bounds}


OTHER_UNITS = {
    "user": unit_of("user"),
    "fewer": unit_of("record"),
    "more": unit_of("record", 500),
    "bounds": unit_of("record", 5, max_records=5),
    "nobody": unit_of(""),
    "no unit": None,
}


@pytest.mark.parametrize("unit", OTHER_UNITS.values(), ids=OTHER_UNITS)
def test_a_file_of_records_says_no_other_unit(unit: object) -> None:
    five = dh.PrivHist(epsilon=1, sensitivity=5).release(dh.Profile.from_counts([5, 4]))
    assert dh.Release.from_json(edited(five)).guarantee == PureDP(1, FIVE)
    with pytest.raises(dh.ReleaseFileError):
        dh.Release.from_json(edited(five, unit=unit))


@pytest.mark.parametrize("kind", ["labels", "ranges", "streams"])
def test_a_file_of_users_says_no_other_bounds(kind: str) -> None:
    release = releases_of_users()[kind]
    again = dh.Release.from_json(edited(release))
    assert again.guarantee.unit.bounds == release.guarantee.unit.bounds != ()
    for unit in (unit_of("user"), unit_of("user", max_records=1), unit_of("record")):
        with pytest.raises(dh.ReleaseFileError):
            dh.Release.from_json(edited(release, unit=unit))
    # Without what was stated the unit is the mechanism's own.
    if kind == "ranges":
        with pytest.raises(dh.ReleaseFileError):
            dh.Release.from_json(edited(release, stated={}))
        own = dh.Release.from_json(edited(release, stated={}, unit=unit_of("record", 4)))
        assert own.guarantee.unit == PrivacyUnit("record", 4)


def test_a_file_without_a_unit_has_that_of_its_mechanism() -> None:
    """As development versions wrote them."""
    release = releases_of_users()["ranges"]
    content = json.loads(release.to_json())
    del content["checksum"], content["unit"]
    old = json.dumps({**content, "checksum": checksum(content)})
    assert dh.Release.from_json(old).guarantee == release.guarantee
    assert dh.Release.from_json(old).guarantee.unit.bounds == release.guarantee.unit.bounds
