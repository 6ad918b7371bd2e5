"""What a run of `dphist stream` writes, and where."""

import argparse
import os
import sys
from pathlib import Path

from dphist.commands.options import UsageError
from dphist.errors import OutputFileError
from dphist.release import Release
from dphist.report import report_html
from dphist.report.table import table_csv
from dphist.writing import check_distinct, check_output_path, staged_outputs

_MAKERS = {"release": Release.to_json, "table": table_csv, "report": report_html}


def outputs_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the paths of what is written, by its kind."""
    named = {"release": options.output, "table": options.table, "report": options.report}
    return {kind: path for kind, path in named.items() if path is not None}


def write_outputs(release: Release, paths: dict[str, str]) -> None:
    """Write all outputs in the place of earlier ones, or none."""
    with staged_outputs() as staged:
        for kind, path in paths.items():
            staged.write_text(path, _MAKERS[kind](release))


def check_stream_paths(options: argparse.Namespace) -> None:
    """Find what is wrong with the paths before the state is opened or input is read."""
    paths = list(outputs_of(options).values())
    inputs = [path for path in (options.state, options.known_labels) if path is not None]
    for path in paths:
        if any(os.path.realpath(path) == os.path.realpath(each) for each in inputs):
            raise UsageError(f"{path} is the state or the known labels; writing would destroy it")
        if _is_input(path):
            raise UsageError(f"{path} is the input; writing there would destroy it")
    if _is_input(options.state):
        raise UsageError(f"{options.state} is the input; name another file as --state")
    try:
        check_output_path(options.state)
        check_distinct(paths)
        for path in paths:
            check_output_path(path)
    except OutputFileError as error:
        raise UsageError(str(error)) from None


def _is_input(path: str) -> bool:
    """Whether this is the file that standard input comes from."""
    try:
        return os.path.samestat(Path(path).stat(), os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):
        return False
