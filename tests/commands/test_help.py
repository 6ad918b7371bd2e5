"""The help of an option that sets a parameter says what the mechanism's metadata say."""

import argparse
from typing import Any

import pytest

import dphist as dh
from dphist.commands import registry
from dphist.mechanism import meanings_of
from dphist.streams import ContinualMechanism

# Options of the command line that are totals, where the mechanism's own are for a single label.
TOTALS = {"epsilon", "delta"}
# A flag says what it does; the metadata say "whether".
FLAGS = {"count_cut_users", "correlated"}
COMMANDS: dict[str, tuple[list[type[Any]], set[str], set[str]]] = {
    "anonymize": ([dh.AdaptiveScan], {"epsilon", "sensitivity"}, set()),
    "ranges": (
        [dh.AdaptiveTree, dh.HierarchicalTree, dh.LeafCounts],
        {"epsilon", "rho", "sensitivity", "workload", "expected_total"},
        set(),
    ),
    "labels": (
        [dh.ThresholdHistogram],
        {"max_labels", "max_count", "noise", "labels", "sums_of"},
        TOTALS | FLAGS,
    ),
    "top": ([dh.TopLabels], {"max_labels", "max_count", "k", "candidates"}, TOTALS),
    "stream": (
        [ContinualMechanism],
        {
            "horizon",
            "max_labels",
            "method",
            "labels",
            "label_type",
            "max_events_per_user",
            "readings",
        },
        TOTALS,
    ),
}


def helps(command: str) -> dict[str, str]:
    """Return the help of each option by the parameter it sets, as a reader sees it."""
    parser = registry.parser_of([command])
    found = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {
        "labels" if action.dest == "known_labels" else action.dest: str(action.help) % {}
        for action in found.choices[command]._actions
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_options_say_what_their_parameters_mean(command: str) -> None:
    mechanisms, said, otherwise = COMMANDS[command]
    shown = helps(command)
    meanings = [meanings_of(mechanism) for mechanism in mechanisms]
    parameters = {name for known in meanings for name in known}
    assert parameters & shown.keys() == said | otherwise
    for name in said:
        for known in meanings:
            if name in known:
                meaning = known[name]["meaning"].removesuffix(".")
                assert shown[name].lower().startswith(meaning.lower())
    for name in otherwise & TOTALS:
        assert shown[name].startswith(f"total {name}")
