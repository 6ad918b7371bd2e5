"""What Coq has checked is what the library uses: docs/understand/checked.md."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from formal import FILES, THEOREMS, hash_files, read_checked

from dphist.labels.threshold.bounded_noise import TruncatedNoise
from dphist.labels.threshold.law import truncated_delta
from dphist.tables.contrasts import make_contrasts

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "understand" / "checked.md"
PROOFS = ROOT / "docs" / "understand" / "proofs"
EXAMPLES = read_checked()["examples"]
SIZES = range(2, 2 + len(EXAMPLES["rows"]))


def test_files_have_not_changed_since_they_were_checked() -> None:
    assert read_checked()["files"] == hash_files(), "run `make proofs`"


def test_no_theorem_rests_on_an_axiom() -> None:
    names = {f"{file}.{theorem}" for file, theorems in THEOREMS.items() for theorem in theorems}
    assert read_checked()["assumptions"] == dict.fromkeys(names, "Closed under the global context")
    assert set(THEOREMS) <= set(FILES)


def test_the_page_and_the_proofs_name_every_theorem() -> None:
    named = set(re.findall(r"`(\w+\.\w+)`", PAGE.read_text()))
    on_proofs = {
        name
        for path in PROOFS.glob("*.md")
        for line in path.read_text().splitlines()
        if line.startswith("*Checked by a machine")
        for name in re.findall(r"`(\w+\.\w+)`", line)
    }
    assert set(read_checked()["assumptions"]) <= named
    assert on_proofs <= set(read_checked()["assumptions"])
    assert {name.split(".")[0] for name in on_proofs} == set(THEOREMS)


def test_the_page_names_tests_that_are_there() -> None:
    for path, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text()):
        assert f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"


@pytest.mark.parametrize("size", SIZES)
def test_rows_of_keys_are_those_that_the_theorems_are_about(size: int) -> None:
    checked = EXAMPLES["rows"][size - SIZES.start]
    assert sorted(make_contrasts(size).rows()[1:].tolist()) == sorted(checked)


@pytest.mark.parametrize("size", SIZES)
def test_noise_of_a_row_is_as_large_as_the_theorem_assumes(size: int) -> None:
    rows = make_contrasts(size).rows()
    scales = make_contrasts(size).groups()
    assert sorted(np.concatenate([held for _, held in scales]).tolist()) == list(range(1, size))
    for scale, held in scales:
        for row in rows[held]:
            assert scale**2 >= int(row @ row)
    paid = sum(
        np.array([Fraction(int(x) ** 2, int(row @ row)) for x in row], object) for row in rows[1:]
    )
    assert set(np.atleast_1d(paid)) == {1 - Fraction(1, size)}


@pytest.mark.parametrize("limit", range(1, len(EXAMPLES["distances"])))
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(7, 10), Fraction(2)])
def test_noise_that_ends_has_the_law_of_the_theorem(limit: int, rate: Fraction) -> None:
    weights = np.exp(-float(rate) * np.array(EXAMPLES["distances"][limit]))
    noise = TruncatedNoise(rate, limit)
    for change in range(1, limit + 1):
        tail = weights[:change].sum() / weights.sum()
        assert noise.chance_above(limit - change) == pytest.approx(tail, rel=1e-12)
        for labels in (1, 3):
            exact = 1 - (1 - tail) ** labels
            said = truncated_delta(rate, limit, Fraction(999_999, 10**6), labels, change)
            assert exact * (1 - 1e-12) <= said <= exact * (1 + 1e-9)
