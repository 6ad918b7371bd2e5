"""A table of people that is cut into parts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding import contributions
from dphist.data.partial import Partial
from tests.support.counting.contribution_engines import Engine

PARTS = 3
KEYS: dict[str, Any] = {
    "place": ["BE", "zürich", ""],
    "year": [2021, 2019, 2020],
    "age": dh.Axis.from_edges([0, 18, 65]),
}
GIVEN: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 2, "parts": PARTS}


def table(rows: int = 300, users: int = 60, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "place": draw.choice(["BE", "zürich", "", "elsewhere"], rows),
            "year": pa.array(draw.integers(2019, 2022, rows), pa.int16()),
            "age": draw.integers(0, 80, rows),
            "who": [f"p{who}" for who in draw.integers(0, users, rows)],
            "n": draw.integers(0, 6, rows),
        }
    )


def cut(frame: Callable[[int], Any], **given: Any) -> list[Partial]:
    given = {**GIVEN, "unlisted": "drop", **given}
    return [dh.KeyedCounts.partial(frame(part), part=part, **given) for part in range(PARTS)]


def in_folders(engine: Engine, rows: pa.Table, folder: Path) -> Callable[[int], Any]:
    """Return what holds the rows in this engine, made for each part."""

    def make(part: int) -> Any:
        own = folder / str(part)
        own.mkdir(exist_ok=True)
        return engine.make(rows, own)

    return make


@pytest.fixture
def with_key(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have users bounded under the key of this number."""

    def choose(number: int) -> None:
        monkeypatch.setattr(contributions, "draw_key", lambda: bytes([number] * 16).hex())

    return choose
