"""What a ledger shows of data: releases, a refusal, what is left, and its entries."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dphist.errors import BudgetError
from dphist.lab.auditing.named import named
from dphist.ledger.ledger import Ledger

BUDGET = 1
PAIRS = [
    ("no records, and one", [0, 0], [1, 0]),
    ("a large count grows", [10**6, 3], [10**6 + 1, 3]),
]


def transcript() -> Callable[[Sequence[int]], Any]:
    """Return a callable that spends a new ledger on data, a release too many included.

    The second release depends on the first one: an analyst chooses it after seeing that.
    """
    half, quarter = (
        named("LeafCounts", epsilon=epsilon, delta=None, parameters={"bins": 2})
        for epsilon in ("1/2", "1/4")
    )

    def run(counts: Sequence[int]) -> Any:
        data = np.asarray(counts)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger.create(Path(folder) / "a.ledger", epsilon=BUDGET, unit="one record")
            first = ledger.release(half, data, by="ana", key="first").value.bins.tolist()
            following = quarter if first[0] > first[1] else half
            second = ledger.release(following, data, by="ana", key="second").value.bins.tolist()
            again = ledger.release(half, data, by="ana", key="first").value.bins.tolist()
            try:
                third = ledger.release(half, data, by="ben", key="third").value.bins.tolist()
            except BudgetError as error:
                third = str(error)
            left = str(ledger.remaining.epsilon)
        return {
            "first": first,
            "second": second,
            "the first again": again,
            "third": third,
            "left": left,
        }

    return run
