"""Google's own DP-SIPS, run from a checkout of the repository google/dpsynth that a user names.

Nothing of it is part of this project. Its file `dpsynth/local_mode/primitives.py` needs NumPy and
SciPy alone. Its authors skip its tests ("broken at HEAD"), and plan to replace it.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.discover.others import spread_for

FILE = "dpsynth/local_mode/primitives.py"


def primitives(checkout: Path) -> ModuleType:
    """Return the module with DP-SIPS."""
    found = importlib.util.spec_from_file_location("dpsynth_primitives", checkout / FILE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def google_sips(module: ModuleType, sets: Any, epsilon: float, delta: float, cap: int) -> int:
    """Find labels with the function of Google, in its three rounds.

    It takes a budget of Gaussian noise and a delta of thresholds; they are halves of the total, as
    in our own DP-SIPS. The labels of a user that it may choose from are those of `sets`.
    """
    users = np.repeat(np.arange(len(sets.starts) - 1), np.diff(sets.starts))
    budget = 1 / spread_for(epsilon, delta / 2) ** 2
    draw = np.random.default_rng()
    selected, _, _ = module._select_partitions_sips(
        draw, sets.members, budget, delta / 2, user_ids=users, max_part=cap
    )
    return len(selected)
