"""The set of mutants: read from the TOML files beside this one, and checked against the code."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).resolve().parent
_FUNCTION = re.compile(r"^(?:    )?def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One planted bug.

    Attributes
    ----------
    family : name of the file that it stands in.
    name : unique; letters, digits and hyphens.
    learns : what a reader of a release could learn if the library had this bug.
    lemma : page below `proofs/` and number, such as "noise, Lemma 3"; or another page of the
        repository where the rule stands that is broken.
    module : dotted name of the module that is edited.
    find : text that occurs exactly once in the module.
    replace : what is put in its place.
    tests : files or node ids, of which at least one must fail.
    long : whether only a test of `make verify` catches it.
    """

    family: str
    name: str
    learns: str
    lemma: str
    module: str
    find: str
    replace: str
    tests: tuple[str, ...]
    long: bool = False

    def file(self, root: Path = ROOT) -> Path:
        """Return the file of the module in a copy of the repository."""
        path = root / "src" / Path(*self.module.split("."))
        package = path / "__init__.py"
        return package if package.exists() else path.with_suffix(".py")

    def applied(self, root: Path = ROOT) -> str:
        """Return the text of the module with the bug in it."""
        return self.file(root).read_text().replace(self.find, self.replace)


def load(folder: Path = FOLDER) -> list[Mutant]:
    """Read all mutants, family by family.

    Raises
    ------
    ValueError
        If an entry has fields that a mutant has not, or lacks one.
    """
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            unknown = set(entry) - {field.name for field in fields(Mutant)}
            if unknown:
                raise ValueError(f"{path.name}: no field is named {sorted(unknown)}")
            try:
                found.append(Mutant(path.stem, **{**entry, "tests": tuple(entry["tests"])}))
            except (KeyError, TypeError) as error:
                raise ValueError(f"{path.name}: {entry.get('name')}: lacks {error}") from None
    return found


def chosen(mutants: Iterable[Mutant], patterns: Iterable[str], only_short: bool) -> list[Mutant]:
    """Return the mutants whose name or family matches a pattern; all where there is none."""
    wanted = list(patterns) or ["*"]
    return [
        mutant
        for mutant in mutants
        if any(fnmatch(mutant.name, each) or mutant.family == each for each in wanted)
        and not (only_short and mutant.long)
    ]


def problems(mutants: list[Mutant], root: Path = ROOT) -> list[str]:
    """Return what is wrong with the entries, in words: the code may have moved on."""
    found = []
    names = [mutant.name for mutant in mutants]
    functions: dict[str, set[str]] = {}
    for mutant in mutants:
        what = f"{mutant.family}.toml: {mutant.name}"
        if names.count(mutant.name) > 1:
            found.append(f"{what}: the name is there twice")
        if not re.fullmatch(r"[a-z0-9-]+", mutant.name):
            found.append(f"{what}: the name must be of letters, digits and hyphens")
        if not mutant.file(root).exists():
            found.append(f"{what}: there is no module {mutant.module}")
            continue
        times = mutant.file(root).read_text().count(mutant.find)
        if times != 1:
            found.append(f"{what}: `find` occurs {times} times in {mutant.module}, not once")
        elif mutant.find == mutant.replace:
            found.append(f"{what}: nothing is replaced")
        else:
            found += _syntax(what, mutant.applied(root))
        found += _missing_page(what, mutant, root)
        if not mutant.tests:
            found.append(f"{what}: no test is named")
        for test in mutant.tests:
            found += _missing_test(what, test, root, functions)
    return found


def _syntax(what: str, text: str) -> list[str]:
    try:
        compile(text, what, "exec")
    except SyntaxError as error:
        return [f"{what}: the edited module does not compile: {error}"]
    return []


def _missing_page(what: str, mutant: Mutant, root: Path) -> list[str]:
    """Name the page and lemma of a mutant if there is none such."""
    page, _, place = mutant.lemma.partition(", ")
    path = (
        root / page
        if page.endswith(".md")
        else root / "docs" / "understand" / "proofs" / f"{page}.md"
    )
    if not path.exists():
        return [f"{what}: there is no page {page}"]
    if place.startswith("Lemma") and f"## {place}:" not in path.read_text():
        return [f"{what}: {page} has no {place}"]
    return []


def _missing_test(what: str, test: str, root: Path, functions: dict[str, set[str]]) -> list[str]:
    """Name a test that is not there; `functions` holds those of files that were read."""
    file, _, function = test.partition("::")
    if not (root / file).exists():
        return [f"{what}: there is no {file}"]
    if not function:
        return []
    if file not in functions:
        functions[file] = set(_FUNCTION.findall((root / file).read_text()))
    name = function.split("[")[0].split("::")[-1]
    return [] if name in functions[file] else [f"{what}: {file} has no {name}"]
