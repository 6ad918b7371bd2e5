"""Files of earlier versions load as they did."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import dphist as dh
from dphist.report import report_html
from tests.support.mechanisms.cases import (
    LABELS,
    PROFILE,
    ROOT,
    calibrated,
    check_saved,
    released,
    signed,
)

SAVED = sorted((ROOT / "tests" / "saved_releases").glob("*.json"))
UNITS = {
    "adaptive_scan": dh.PrivacyUnit("record", 2),
    "stream_of_users": dh.PrivacyUnit("user"),
    "threshold_with_budget": dh.PrivacyUnit("user"),
    "top_labels": dh.PrivacyUnit("user"),
    "tree_of_users": dh.PrivacyUnit("user"),
}


@pytest.mark.long(every=2)
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
@pytest.mark.quick("[threshold_with_budget]")
def test_files_without_units_load_as_before(path: Path, tmp_path: Path) -> None:
    """They were written by the version before units, targets and marks."""
    content = json.loads(path.read_text())
    assert {"unit", "target", "random_bits"}.isdisjoint(content)
    release = dh.Release.load(path)
    assert release.guarantee.unit == UNITS.get(path.stem, dh.PrivacyUnit("record"))
    asked = content.get("budget")
    assert (release.budget is None) == (asked is None)
    if asked is not None:
        assert {name: str(getattr(release.budget, name)) for name in ("epsilon", "delta")} == {
            name: str(Fraction(text)) for name, text in asked["parameters"].items()
        }
    assert not release.for_tests  # it was not noted, and is not known
    if release.noisy:
        assert release.redecode().value.__class__ is release.value.__class__
    check_saved(release, tmp_path / "again.json")
    report_html(release)


def test_there_are_such_files() -> None:
    assert len(SAVED) == 7


def test_what_earlier_versions_read_is_where_it_was(tmp_path: Path) -> None:
    """They take a guarantee's parameters for those of its class, which knew no unit."""
    release = released(calibrated("ThresholdHistogram, gaussian", releases=4), LABELS)
    content = json.loads(release.to_json())
    assert content["format_version"] == 1
    assert set(content["guarantee"]["parameters"]) == {"rho", "delta"}
    assert "budget" not in content  # which they knew of two kinds of mechanisms only
    assert "target" not in content["mechanism"]["parameters"]
    assert content["unit"]["who"] == "user"


@pytest.mark.parametrize(
    "unit",
    [
        {"who": "user", "at_most": 1, "bounds": {}},
        {"who": "record", "at_most": 4, "bounds": {}},
        {"who": "record", "at_most": 0, "bounds": {}},
        {"who": "", "at_most": 1, "bounds": {}},
        {"at_most": 1},
        "one record",
        None,
    ],
)
def test_a_unit_that_nothing_states_is_read_only_if_it_can_be(unit: object) -> None:
    """A file whose unit is not what it states is refused; so is one that is no unit."""
    mechanism = dh.AdaptiveScan(epsilon=1, sensitivity=3)
    users = replace(mechanism.release(PROFILE), provenance={"unit": "one patient"})
    content = json.loads(users.to_json())
    with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed({**content, "unit": unit}))
