"""Markdown tables, and where the benchmark data are."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from dphist import Profile

ROOT = Path(__file__).parents[1]


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table, numbers to the right."""
    print("| " + " | ".join(head) + " |")
    print("|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def profile_paths() -> list[Path]:
    """The profiles of the folder $DPHIST_PROFILES, else those shipped with the project."""
    folder = Path(os.environ.get("DPHIST_PROFILES", ROOT / "data"))
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise SystemExit(f"no profiles (*.csv) in {folder}; name a folder in DPHIST_PROFILES")
    print(f"Profiles from {folder.name}/: {len(paths)}\n")
    return paths


def profiles() -> dict[str, Profile]:
    """Each profile by its file's name."""
    return {path.stem: Profile.read(path) for path in profile_paths()}
