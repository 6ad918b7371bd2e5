"""Mechanisms as JSON: every mechanism comes back as it was, and nothing else does."""

import json

import pytest

import dphist as dh
from tests.support.mechanisms.cases import CASES, calibrated, made


@pytest.mark.verify
@pytest.mark.parametrize("case", CASES)
def test_every_mechanism_comes_back(case: str) -> None:
    for mechanism in (made(case), calibrated(case)):
        again = dh.mechanism_from_json(dh.mechanism_to_json(mechanism))
        assert again == mechanism
        assert again.guarantee == mechanism.guarantee
        assert again.target == mechanism.target


@pytest.mark.verify
def test_a_target_comes_back() -> None:
    mechanism = dh.for_error(dh.ThresholdHistogram, appears_from=99, max_labels=3, delta="1e-6")
    again = dh.mechanism_from_json(dh.mechanism_to_json(mechanism))
    assert again == mechanism
    assert again.target == mechanism.target


def test_a_guarantee_that_is_not_the_mechanism_s_is_refused() -> None:
    text = dh.mechanism_to_json(dh.LeafCounts(epsilon=2, bins=4))
    weaker = json.loads(text)
    weaker["guarantee"]["parameters"]["epsilon"] = "1"
    for wrong in (json.dumps(weaker), text.replace("LeafCounts", "NoCounts")):
        with pytest.raises(dh.ReleaseFileError, match="not a valid mechanism"):
            dh.mechanism_from_json(wrong)
    mechanism = dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=3)
    cheaper = json.loads(dh.mechanism_to_json(mechanism))
    cheaper["target"]["guarantee"]["parameters"]["epsilon"] = "0.5"
    with pytest.raises(dh.ReleaseFileError, match="not a valid mechanism"):
        dh.mechanism_from_json(json.dumps(cheaper))


def test_other_texts_are_refused() -> None:
    for wrong in ("", "[]", "{}", '{"format": "dphist release"}'):
        with pytest.raises(dh.ReleaseFileError, match="not a dphist mechanism"):
            dh.mechanism_from_json(wrong)
    later = json.loads(dh.mechanism_to_json(dh.AdaptiveScan(epsilon=1)))
    with pytest.raises(dh.ReleaseFileError, match="later version"):
        dh.mechanism_from_json(json.dumps({**later, "format_version": 2}))
    foreign = {**later, "package": "no-such-package"}
    with pytest.raises(dh.ReleaseFileError, match="install that package"):
        dh.mechanism_from_json(json.dumps(foreign))
    with pytest.raises(dh.ParameterError, match="mechanism must be one of dphist"):
        dh.mechanism_to_json("AdaptiveScan")  # type: ignore[arg-type]
