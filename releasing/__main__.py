"""Check that this checkout can be published, and write what would be.

    python -m releasing [--dirty] [--tests PATH ...] [--no-tests] [--no-targets]
    python -m releasing --targets NAME ...

Steps: what the files state of the version, the site, two builds that must be equal, metadata, first
use of the wheel in a clean environment, types from outside, bill of materials, tests of the wheel
in a second clean environment, all targets of the Makefile in fresh clones. `--targets` runs some of
these, and nothing else. `dist/` then has the source archive, the wheel, the bill of materials
and `SHA256SUMS`. `python -m releasing` ends with 1 at the first step that fails, and says why.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from releasing import artifacts, installed, schedulers, stated, targets
from releasing.running import ROOT, CheckError, environment


def main() -> int:
    """Run all steps."""
    parser = argparse.ArgumentParser(prog="python -m releasing")
    add = parser.add_argument
    add("--dirty", action="store_true", help="what is not committed is left out, not refused")
    add("--tests", nargs="+", default=["tests"], help="tests to run of the wheel (default: all)")
    add("--no-tests", action="store_true", help="leave the tests out")
    add("--no-targets", action="store_true", help="leave the targets of the Makefile out")
    add("--targets", nargs="+", choices=list(targets.SHORTENED), help="run these alone")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="dphist-release-") as folder:
            if options.targets:
                _step("targets", lambda: targets.check_targets(Path(folder), options.targets))
            else:
                _steps(Path(folder), options)
    except CheckError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    return 0


def _steps(folder: Path, options: argparse.Namespace) -> None:
    _step("version", stated.check_versions)
    _step("changelog", stated.check_changelog)
    _step("audit", stated.check_audit)
    if not options.dirty:
        _step("committed", stated.check_committed)
    _step("docs", lambda: artifacts.check_site(folder / "site"))
    first = artifacts.built(folder / "first")
    second = artifacts.built(folder / "second")
    _step("reproducible", lambda: artifacts.check_same(first, second))
    _step("metadata", lambda: artifacts.check_description(first))
    wheel = next(path for path in first if path.suffix == ".whl")
    _step("wheel", lambda: artifacts.check_contents(wheel, artifacts.package_files()))
    programs = environment(folder / "alone", str(wheel))
    _step("first use", lambda: installed.check_first_use(programs, folder))
    _step("extras", lambda: installed.check_extras_are_named(programs, folder))
    _step("types", lambda: installed.check_types(programs, folder))
    _step("schedulers", lambda: schedulers.check_all(wheel, folder / "schedulers"))
    into = ROOT / "dist"
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(folder / "first", into)
    materials = into / f"dphist-{stated.version()}.cdx.json"
    _step("bill of materials", lambda: installed.write_materials(programs, materials))
    _step("checksums", lambda: artifacts.write_sums(into))
    if not options.no_tests:
        tested = environment(folder / "tested", f"dphist[dev] @ {wheel.as_uri()}")
        _step("tests", lambda: installed.check_tests(tested, folder, tuple(options.tests)))
    if not options.no_targets:
        _step("targets", lambda: targets.check_targets(folder / "targets"))
    print(f"dist/ can be published as {stated.version()}.")


def _step(name: str, check: Callable[[], str]) -> None:
    print(f"{name}: {check()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
