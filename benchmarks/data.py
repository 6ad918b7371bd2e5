"""Where the benchmarks find real data: little of it may be shipped with the project.

A folder named by DPHIST_DATA, else `../shared/data` beside a checkout that has one; in it
`profiles`, `ranges`, `edges`. Profiles fall back on the two shipped in `data/`. The older
DPHIST_PROFILES names a folder of profiles alone.
"""

import os
from pathlib import Path

from dphist import Profile

ROOT = Path(__file__).parents[1]


def folder(kind: str) -> Path | None:
    """Return the folder of "profiles", "ranges" or "edges", or None where there is none."""
    named = os.environ.get("DPHIST_DATA")
    found = (Path(named) if named else ROOT.parent / "shared" / "data") / kind
    return found if found.is_dir() else None


def profile_paths() -> list[Path]:
    """The profiles of the folder there is, or those shipped with the project."""
    named = os.environ.get("DPHIST_PROFILES")
    place = Path(named) if named else folder("profiles") or ROOT / "data"
    paths = sorted(place.glob("*.csv"))
    if not paths:
        raise SystemExit(f"no profiles (*.csv) in {place}; name a folder in DPHIST_PROFILES")
    print(f"Profiles from {place.name}/: {len(paths)}\n")
    return paths


def profiles() -> dict[str, Profile]:
    """Each profile by its file's name."""
    return {path.stem: Profile.read(path) for path in profile_paths()}
