"""Ledgers with a few charges, in this process and in children."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dphist as dh
from dphist.ledger import Ledger
from dphist.ledger import entries as actions

Place = str | Path
DATA = dh.Profile.from_counts([8, 8, 3])
STEP = dh.AdaptiveScan(epsilon="1/100")


def create(place: Place, **changes: Any) -> Ledger:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "unit": "one record"}
    return Ledger.create(place, **{**parameters, **changes})


def charged(ledger: Ledger) -> list[str]:
    return [entry.content["key"] for entry in ledger.entries() if entry.action == actions.CHARGED]


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked process; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
