"""The help of an option that sets a parameter says what the mechanism's metadata say."""

from typing import Any

import pytest

import dphist as dh
from dphist.commands.registry import find_command
from dphist.mechanism import read_meanings
from dphist.streams import ContinualMechanism

# Options of the command line that are totals, where the mechanism's own are for a single label.
TOTALS = {"epsilon", "delta"}
# A flag says what it does; the metadata say "whether".
FLAGS = {"correlated"}
# What no option sets, as other options or the data say it, or as nobody needs to choose.
UNSET = {
    *("branching", "root", "consistent", "nonnegative"),
    *("windows", "step"),
}
OF_AXES = {"bins"}  # of a mechanism of all axes; an option of one axis has the same name
COMMANDS: dict[str, tuple[list[type[Any]], set[str]]] = {
    "anonymize": ([dh.AdaptiveScan], set()),
    "ranges": ([dh.AdaptiveTree, dh.HierarchicalTree, dh.LeafCounts], set()),
    "labels": ([dh.ThresholdHistogram], TOTALS | FLAGS),
    "top": ([dh.TopLabels], TOTALS),
    "stream": ([ContinualMechanism], TOTALS),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_options_say_what_their_parameters_mean(command: str) -> None:
    mechanisms, otherwise = COMMANDS[command]
    said = {each.parameter or each.name: each.meaning for each in find_command(command).options}
    for mechanism in mechanisms:
        for name, known in read_meanings(mechanism).items():
            if name in OF_AXES:
                continue
            if name in UNSET:
                assert name not in said
            elif name in otherwise:
                assert name in FLAGS or said[name].startswith(f"total {name}")
            else:
                assert said[name].lower().startswith(known["meaning"].removesuffix(".").lower())
