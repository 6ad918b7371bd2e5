"""The law that a mechanism states is that of the noise which its sampler is asked for."""

from fractions import Fraction

import pyarrow as pa
import pytest

import dphist as dh
from dphist.lab.auditing.replay.session import record
from dphist.lab.auditing.subject import find_setup
from tests.support.mechanisms.cases import CASES, made

SAMPLERS = {"geometric": "two-sided geometric", "gaussian": "Gaussian"}
# Their replays say why they record no request for noise; without records only a total is measured.
UNRECORDED = {"PrivHist, empty", "TopThreshold", "TopLabels", "PartitionSampler"}
UNRECORDED |= {name for name in CASES if "correlated" in name or "Continual" in name}
UNRECORDED |= {name for name in CASES if name.endswith(("truncated", "optimal"))}
IN_SMALL_UNITS = {"ThresholdHistogram, gaussian", "DiscoverLabels"}


@pytest.mark.parametrize("name", sorted(CASES.keys() - UNRECORDED))
@pytest.mark.quick(every=3)
def test_the_sampler_is_asked_for_the_law_that_is_stated(name: str) -> None:
    mechanism, data = made(name), CASES[name][1]
    if isinstance(data, pa.Table):
        labels, counts = data["label"].to_pylist(), data["count"].to_pylist()
        data = dh.LabelCounts.from_counts(labels, counts, max_labels=2, max_count=1)
    recorded = record(mechanism.release, data, told=find_setup(mechanism).told)
    requests = [each for each in recorded.requests if each.size]
    assert {SAMPLERS[each.sampler] for each in requests} == {mechanism.law.distribution}
    geometric = mechanism.law.distribution == "two-sided geometric"
    smallest = min(1 / each.parameter if geometric else each.parameter for each in requests)
    units = smallest / Fraction(mechanism.law.scale)
    # Few counts of a tree pay with the whole budget, and few caps are 1. Tables pay with the
    # rest of theirs, in which noise depends on how many values are found.
    if name.startswith(("AdaptiveTree", "AutoThreshold", "Tables, found", "GroupedHistogram")):
        assert units >= 1
    else:
        assert units.denominator == 1
        assert (units > 1) == (name in IN_SMALL_UNITS)
