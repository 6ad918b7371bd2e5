"""Files of 0.1 load; files of a later version are read, or refused with that version's name."""

import json
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.release.document import VERSION
from dphist.release.kind_names import OLD_TAGS
from tests.support.mechanisms.cases import CASES, ROOT, check_saved, made, released, signed

FIRST = sorted((ROOT / "tests" / "saved_releases" / "of_0_1_0").glob("*.json"))
KINDS = {
    "anonymized": "AdaptiveScan",
    "ranges": "AdaptiveTree",
    "labels": "ThresholdHistogram, gaussian",
    "streams": "ContinualMechanism",
}


@pytest.mark.quick("[AdaptiveTree]", "[ContinualMechanism]", "[RankSplit]", "-gaussian]")
@pytest.mark.parametrize("path", FIRST, ids=lambda path: path.stem)
def test_a_file_of_0_1_loads(path: Path, tmp_path: Path) -> None:
    """Of every mechanism, by the last version that called itself 0.1.0."""
    content = json.loads(path.read_text())
    assert content["library_version"] == "0.1.0"
    release = dh.Release.load(path)
    again = json.loads(release.to_json())
    if "unit" in content.get("stated", {}):  # was text
        content["stated"]["unit"] = dh.PrivacyUnit.from_content(
            content["stated"]["unit"]
        ).to_content()
    parameters = content["mechanism"]["parameters"]
    if "count_cut_users" in parameters:  # is gone
        assert parameters.pop("count_cut_users") is False
        parameters["users_by_labels"] = None
    if content["mechanism"]["name"] == "ThresholdHistogram":  # no sums, weights or "other"
        parameters |= {"sums": None, "sums_share": "0.5", "other": False, "step": None}
        parameters |= {"users_by_totals": False}
    assert again["kind"] == OLD_TAGS.get(content["kind"], content["kind"]) != content["kind"]
    for key in ("guarantee", "unit", "mechanism", "total", "value", "noisy", "stated"):
        assert again.get(key) == content.get(key), key
    assert release.version == "0.1.0"
    if release.noisy:
        assert type(release.redecode().value) is type(release.value)
    check_saved(release, tmp_path / "again.json")


def test_there_is_a_file_of_every_mechanism_of_0_1() -> None:
    contents = [json.loads(path.read_text()) for path in FIRST]
    assert {OLD_TAGS.get(each["kind"], each["kind"]) for each in contents} == set(KINDS)
    assert {each["mechanism"]["name"] for each in contents} >= {
        *("AdaptiveScan", "AdaptiveTree", "ContinualMechanism", "CumulativeCounts"),
        *("DiscoverLabels", "HierarchicalTree", "LeafCounts", "PartitionSampler", "PrivHist"),
        *("RankSplit", "SortedCounts", "ThresholdHistogram", "TopLabels", "TopThreshold"),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_with_the_tag_of_an_earlier_version_is_the_same(kind: str) -> None:
    content = content_of(kind)
    (tag,) = (tag for tag, name in OLD_TAGS.items() if name == kind)
    old = signed({**content, "kind": tag})
    assert dh.Release.from_json(old) == dh.Release.from_json(signed(content))


def content_of(kind: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        released(made(KINDS[kind]), CASES[KINDS[kind]][1]).to_json()
    )
    assert content["kind"] == kind
    return content


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_a_later_version_is_read_or_refused_with_its_name(kind: str) -> None:
    content = content_of(kind)
    assert content["library_version"] == VERSION
    later = {**content, "library_version": "97.5.3.dev1"}
    assert dh.Release.from_json(signed(later)).version == "97.5.3.dev1"
    unknown = [
        {**later, "mechanism": {**content["mechanism"], "name": "OfTomorrow"}},
        {
            **later,
            "mechanism": {
                "name": content["mechanism"]["name"],
                "parameters": {**content["mechanism"]["parameters"], "of_tomorrow": 1},
            },
        },
        {**later, "kind": "histogram of tomorrow"},
        {**later, "guarantee": {"name": "GaussianDP", "parameters": {"mu": "1"}}},
    ]
    for each in unknown:
        with pytest.raises(dh.ReleaseFileError, match=r"later version of dphist, 97\.5\.3, and"):
            dh.Release.from_json(signed(each))
        for known in (VERSION, "0.1.0"):
            with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
                dh.Release.from_json(signed({**each, "library_version": known}))
    with pytest.raises(dh.ReleaseFileError, match="later version of dphist; install"):
        dh.Release.from_json(signed({**later, "format_version": 3}))


@pytest.mark.parametrize("stated", [None, 97, "", "tomorrow", "97", ["97.5.3"], "v97.5.3"])
def test_what_is_no_version_is_not_taken_for_a_later_one(stated: object) -> None:
    content = {**content_of("anonymized"), "library_version": stated, "kind": "none"}
    with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(content))


def test_only_the_numbers_of_a_version_are_shown() -> None:
    content = content_of("anonymized")
    hostile = {**content, "kind": "none", "library_version": "97.5\x1b[2J<script>"}
    with pytest.raises(dh.ReleaseFileError) as caught:
        dh.Release.from_json(signed(hostile))
    assert "97.5.0" in str(caught.value)
    assert "script" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_plan_of_a_later_version_is_refused_with_its_name() -> None:
    content = json.loads(dh.plan("ranges", epsilon=[1], bins=4, total=100).to_json())
    later = {**content, "library_version": "97.5", "kind": "of tomorrow"}
    with pytest.raises(dh.ReleaseFileError, match=r"later version of dphist, 97\.5\.0"):
        type(dh.plan("ranges", epsilon=[1], bins=4, total=100)).from_json(signed(later))
