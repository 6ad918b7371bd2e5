"""Proofs that Coq checks: what the files in this folder state, and what of them was checked.

`make proofs` checks them and writes `checked.json`; nothing of it is part of the package.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
CHECKED = FOLDER / "checked.json"
FILES = ("transcripts", "regions", "ledger", "contrasts", "bounding", "truncated", "examples")
"""In the order in which they are checked: each uses those before it alone."""

THEOREMS = {
    "transcripts": (
        "factor_filter",
        "factor_filter_event",
        "moments_within",
        "moment_filter",
        "moment_ge0",
        "moment_mul",
        "moment_converts",
    ),
    "regions": (
        "adaptive_parallel_composition",
        "adaptive_parallel_composition_cells",
        "path_budget",
        "path_budget_moments",
    ),
    "ledger": ("mass_left", "either_rule", "either_rule_holds"),
    "contrasts": (
        "size_rows",
        "sum_rows",
        "number_of_rows",
        "rows_orthogonal",
        "paid_by_one_key",
        "paid_by_a_table",
        "cost_of_a_table",
        "equal_errors",
    ),
    "bounding": ("one_user_each_count", "one_user_few_counts", "random_key"),
    "truncated": (
        "overlaps",
        "truncated_up",
        "truncated_down",
        "factor_le",
        "truncated_exact",
        "tail_closed",
    ),
}


def hash_files() -> dict[str, str]:
    """Return the SHA-256 of each file of proofs, in hexadecimal digits."""
    names = [f"{name}.v" for name in FILES]
    return {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in names}


def read_checked() -> dict[str, Any]:
    """Return what was last checked: versions, hashes, assumptions, and the computed examples."""
    found: dict[str, Any] = json.loads(CHECKED.read_text())
    return found
