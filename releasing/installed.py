"""The wheel in clean environments: its first use, its types, its bill of materials, its tests."""

import re
import sys
from pathlib import Path

from releasing.running import ROOT, CheckError, environment, run

FAST = ("-m", "not audit and not verify", "-q", "-n", "2", "--dist", "loadfile")
SAMPLE = ROOT / "releasing" / "sample.py"


def check_first_use(wheel: Path, folder: Path) -> Path:
    """Install the wheel alone, and do what README does; return the folder of programs."""
    programs = environment(folder / "alone", str(wheel))
    origin = run(programs / "python", "-c", "import dphist; print(dphist.__file__)", cwd=folder)
    if not Path(origin.strip()).is_relative_to(folder):
        raise CheckError(f"dphist was imported from {origin.strip()}, not from the wheel")
    outputs = ("--output", "release.json", "--table", "release.csv", "--report", "page.html")
    data = ROOT / "data" / "passwords_yahoo.csv"
    run(programs / "dphist", "anonymize", data, "--epsilon", "1", *outputs, cwd=folder)
    for name in ("release.json", "release.csv", "page.html"):
        if (folder / name).stat().st_size < 1000:
            raise CheckError(f"{name} is nearly empty")
    run(programs / "dphist", "show", "release.json", cwd=folder)
    return programs


def check_extras_are_named(programs: Path, folder: Path) -> str:
    """Without an extra, its functions say which to install."""
    said = {
        "sign": "import dphist.ledger.signing as s; s.create_key()",
        "accounting": "import dphist as dh; dh.AdaptiveScan(epsilon=1).dp_event()",
        "opendp": "import dphist.opendp",
        "postgres": "import dphist as dh; dh.Ledger.open('postgresql://127.0.0.1/none')",
    }
    for extra, code in said.items():
        printed = run(programs / "python", "-c", code, cwd=folder, codes=(1,))
        if f"dphist[{extra}]" not in printed:
            last = printed.strip().splitlines()[-1]
            raise CheckError(f"without the extra {extra}, the error does not name it: {last}")
    return ", ".join(said)


def check_types(programs: Path, folder: Path) -> str:
    """mypy and pyright find the types of an installed dphist, and a call that is wrong.

    Pyright is the one that basedpyright ships, which needs no download when it runs.
    """
    sample = folder / "sample.py"
    text = SAMPLE.read_text()
    sample.write_text(text)
    checkers = {
        "mypy": (sys.executable, "-m", "mypy", "--strict", "--python-executable"),
        "pyright": (Path(sys.executable).with_name("basedpyright"), "--pythonpath"),
    }
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
    return into.name


def check_tests(wheel: Path, folder: Path, tests: tuple[str, ...]) -> str:
    """The tests of `make test`, of the wheel in place of the checkout."""
    programs = environment(folder / "tested", f"dphist[dev] @ {wheel.as_uri()}")
    single = {"OPENBLAS_NUM_THREADS": "1"}
    found = run(programs / "python", "-m", "pytest", *FAST, *tests, env=single)
    return found.strip().splitlines()[-1]
