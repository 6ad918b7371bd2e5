"""The wheel in clean environments: its first use, its types, its bill of materials, its tests."""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from releasing.running import ROOT, CheckError, run

NAMED = {
    "sign": "import dphist.ledger.signing as s; s.create_key()",
    "accounting": "import dphist as dh; dh.AdaptiveScan(epsilon=1).dp_event()",
    "opendp": "import dphist.lab.bridges.opendp",
    "postgres": "import dphist as dh; dh.Ledger.open('postgresql://127.0.0.1/none')",
    "excel": "import dphist as dh; dh.LeafCounts(epsilon=1, bins=1).release([3]).to_xlsx('t.xlsx')",
    "disclose": "import dphist.lab.disclosure.entry",
}
"""What needs each extra. Nothing needs `spark` before there is a table of Spark."""

FAST = ("-m", "not audit and not verify", "-q", "-n", "2", "--dist", "loadfile")
SAMPLE = ROOT / "releasing" / "sample.py"
CHECKERS: Mapping[str, tuple[str | Path, ...]] = {
    "mypy": (sys.executable, "-m", "mypy", "--strict", "--python-executable"),
    "pyright": (Path(sys.executable).with_name("basedpyright"), "--pythonpath"),
}
"""Commands that check types; the Python that has dphist and the file follow."""


def check_origin(programs: Path, folder: Path) -> None:
    """An environment in a folder imports the dphist that is installed in it, not a checkout."""
    code = "import dphist; print(dphist.__file__)"
    origin = run(programs / "python", "-c", code, cwd=folder).strip()
    if not Path(origin).is_relative_to(folder):
        raise CheckError(f"dphist was imported from {origin}, not from the wheel")


def check_first_use(programs: Path, folder: Path) -> str:
    """With the wheel alone, do what README does."""
    check_origin(programs, folder)
    outputs = ("--output", "release.json", "--table", "release.csv", "--report", "page.html")
    data = ROOT / "data" / "passwords_yahoo.csv"
    run(programs / "dphist", "anonymize", data, "--epsilon", "1", *outputs, cwd=folder)
    for name in ("release.json", "release.csv", "page.html"):
        if (folder / name).stat().st_size < 1000:
            raise CheckError(f"{name} is nearly empty")
    run(programs / "dphist", "show", "release.json", cwd=folder)
    return "anonymize, show"


def check_extras_are_named(programs: Path, folder: Path) -> str:
    """Without an extra, its functions say which to install."""
    for extra, code in NAMED.items():
        printed = run(programs / "python", "-c", code, cwd=folder, codes=(1,))
        if f"dphist[{extra}]" not in printed:
            last = printed.strip().splitlines()[-1]
            raise CheckError(f"without the extra {extra}, the error does not name it: {last}")
    return ", ".join(NAMED)


def check_types(
    programs: Path, folder: Path, checkers: Mapping[str, tuple[str | Path, ...]] = CHECKERS
) -> str:
    """mypy and pyright find the types of an installed dphist, and a call that is wrong.

    Pyright is the one that basedpyright ships, which needs no download when it runs.
    """
    sample = folder / "sample.py"
    text = SAMPLE.read_text()
    sample.write_text(text)
    (folder / "pyrightconfig.json").write_text(
        '{"typeCheckingMode": "standard", "include": ["sample.py"]}'
    )
    for name, command in checkers.items():
        run(*command, programs / "python", sample, cwd=folder)
        sample.write_text(f'{text}\ndh.AdaptiveScan(epsilon=1, labels="many").release(3)\n')
        found = run(*command, programs / "python", sample, cwd=folder, codes=(1,))
        sample.write_text(text)
        if not re.search(r"labels", found):
            raise CheckError(f"{name} does not see a call that is wrong")
    return ", ".join(checkers)


def write_materials(programs: Path, into: Path) -> str:
    """Write the bill of materials (CycloneDX) of the environment that has the wheel alone.

    pip and setuptools are removed from it before: they came with the environment.
    """
    run(programs / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")
    run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
        *("--pyproject", ROOT / "pyproject.toml", "--output-format", "JSON"),
        *("--output-file", into, programs / "python"),
    )
    return check_materials(into)


def declared() -> dict[str, Any]:
    """Return what `pyproject.toml` states of the project."""
    stated: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return stated


def check_materials(path: Path) -> str:
    """The bill of materials is of this version, with all that it needs and no tool of ours."""
    project = declared()
    bill = json.loads(path.read_text())
    main = bill["metadata"]["component"]
    if (main["name"], main["version"]) != ("dphist", project["version"]):
        raise CheckError(f"{path.name} is of {main['name']} {main['version']}")
    found = {name_of(each["name"]) for each in bill["components"]}
    needed = {name_of(each) for each in project["dependencies"]}
    if missing := sorted(needed - found):
        raise CheckError(f"{path.name} lacks {', '.join(missing)}, which dphist needs")
    tools = {name_of(each) for each in project["optional-dependencies"]["dev"]} - needed
    if strange := sorted(tools & found):
        raise CheckError(f"{path.name} has {', '.join(strange)}, which no user installs")
    return f"{len(found)} components"


def name_of(requirement: str) -> str:
    """Return the name of a requirement, as the package index compares names."""
    found = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[_.]", "-", found[0]).lower() if found else requirement


def check_tests(programs: Path, folder: Path, tests: tuple[str, ...]) -> str:
    """The tests of `make test`, of the wheel in place of the checkout."""
    check_origin(programs, folder)
    single = {"OPENBLAS_NUM_THREADS": "1"}
    found = run(programs / "python", "-m", "pytest", *FAST, *tests, env=single)
    return found.strip().splitlines()[-1]
