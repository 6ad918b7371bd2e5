"""What is published: the site, and source archive and wheel, built twice to the same bytes."""

import hashlib
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from subprocess import PIPE
from subprocess import run as run_bytes

from releasing.running import ROOT, CheckError, run

IN_WHEEL = ("LICENSE", "entry_points.txt")
OUTSIDE_WHEEL = ("tests/", "benchmarks/", "mutants/", "formal/", "releasing/", "data/")


def built(into: Path, commit: str = "HEAD", root: Path = ROOT) -> list[Path]:
    """Build source archive and wheel of a commit into a folder.

    Only files of the commit are seen. Times in the archives are that of the commit, as
    SOURCE_DATE_EPOCH demands.
    """
    source = into.parent / f"{into.name}-source"
    command = ["git", "archive", commit]
    archive = run_bytes(command, cwd=root, stdout=PIPE, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        opened.extractall(source, filter="data")
    when = run("git", "log", "-1", "--format=%ct", commit, cwd=root).strip()
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", into, source)
    run(*build, cwd=into.parent, env={"SOURCE_DATE_EPOCH": when, "PYTHONHASHSEED": "0"})
    shutil.rmtree(source)
    return sorted(into.iterdir())


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_same(first: list[Path], second: list[Path]) -> str:
    """Two builds have the same names and bytes."""
    hashes = [{path.name: hash_of(path) for path in made} for made in (first, second)]
    if hashes[0] != hashes[1]:
        raise CheckError(f"two builds of the same commit differ: {hashes[0]} and {hashes[1]}")
    return ", ".join(hashes[0])


def check_site(into: Path, pages: Path = ROOT / "docs") -> str:
    """The site builds from the pages, and no link or docstring of it warns."""
    builder = (sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html")
    run(*builder, pages, into, cwd=into.parent)
    return f"{len(list(into.rglob('*.html')))} pages"


def package_files(commit: str = "HEAD", root: Path = ROOT) -> list[str]:
    """Return the files of the package in a commit: modules, templates, schemas, py.typed."""
    named = run("git", "ls-tree", "-r", "--name-only", commit, "src/dphist", cwd=root)
    return [name.removeprefix("src/") for name in named.splitlines()]


def check_contents(wheel: Path, package: Sequence[str]) -> str:
    """The wheel has all files of the package and what a user needs, and nothing of development."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    if missing := sorted(set(package) - set(names)):
        raise CheckError(f"{wheel.name} lacks {missing[0]}")
    for wanted in IN_WHEEL:
        if not any(name.endswith(wanted) for name in names):
            raise CheckError(f"{wheel.name} lacks {wanted}")
    if strange := [name for name in names if name.startswith(OUTSIDE_WHEEL)]:
        raise CheckError(f"{wheel.name} contains {strange[0]}")
    return f"{len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB"


def check_description(made: list[Path]) -> str:
    """The package index will show README and metadata."""
    run(sys.executable, "-m", "twine", "check", "--strict", *made)
    return "twine check --strict"


def write_sums(folder: Path) -> str:
    """Write the checksums beside what they are of, as sha256sum reads them."""
    paths = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hash_of(path)}  {path.name}\n" for path in paths]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return f"{len(lines)} checksums"
