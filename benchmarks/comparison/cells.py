"""The cells of the comparison: mechanism, profile and epsilon, each with a key of its own."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dphist import Profile, __version__
from dphist.document.compared import Contender
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort

_SUFFIXES = {".csv", ".gz", ".parquet"}


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A profile, what it is called, and a digest of what is in it."""

    name: str
    profile: Profile
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One measurement to make, and the key under which its result is kept."""

    dataset: Dataset
    epsilon: Fraction
    contender: Contender
    mechanism: Any
    key: str


def file_name(path: Path) -> str:
    """Return a file's name without the endings that say its format."""
    while path.suffix in _SUFFIXES:
        path = path.with_suffix("")
    return path.name


def read_datasets(paths: Iterable[Path]) -> list[Dataset]:
    """Read each file once, smallest total first; files of one name get their folder's too."""
    distinct = list(dict.fromkeys(path.resolve() for path in paths))
    names = [file_name(path) for path in distinct]
    read = []
    for path, name in zip(distinct, names, strict=True):
        profile = Profile.read(path)
        unique = name if names.count(name) == 1 else f"{path.parent.name}/{name}"
        read.append(Dataset(unique, profile, digest(profile)))
    return sorted(read, key=lambda dataset: (dataset.profile.total, dataset.name))


def digest(profile: Profile) -> str:
    """Name the content of a profile, whatever file it came from."""
    return open_case(profile)[1].digest


def key_of(contender: Contender, mechanism: object, content: str, effort: Effort) -> str:
    """Return what a result depends on, in one line.

    A mechanism's repr shows all its parameters, epsilon and what it was given among them, and
    the version of the library stands for its code.
    """
    parts = [contender.name, repr(mechanism), __version__, content, asdict(effort)]
    return json.dumps(parts, ensure_ascii=False)


def plan(
    datasets: Sequence[Dataset],
    epsilons: Sequence[Fraction],
    contenders: Sequence[Contender],
    effort: Effort,
) -> list[Cell]:
    """Return all cells in the order they are measured and shown in: small profiles first."""
    cells = []
    for dataset in datasets:
        _, case = open_case(dataset.profile)
        for epsilon in sorted(set(epsilons), reverse=True):
            for contender in contenders:
                mechanism = contender.make(epsilon, case.opened)
                key = key_of(contender, mechanism, dataset.digest, effort)
                cells.append(Cell(dataset, epsilon, contender, mechanism, key))
    return cells
