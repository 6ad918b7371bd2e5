"""A ledger of one account."""

from pathlib import Path

import pytest

from dphist.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "clinic.ledger", epsilon=1, delta="1e-6", unit="one record")
