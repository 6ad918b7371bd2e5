"""What a run of `dphist stream` writes, and where.

A run writes the release of all readings of its stream, also of earlier runs, in the place of what
those wrote: that costs nothing, and is what its outputs are for. Anything else that is there is
not replaced without being asked to.
"""

import argparse
import os
import sys
from collections.abc import Collection
from pathlib import Path

from dphist.commands.options import UsageError
from dphist.commands.publishing import in_the_way, outputs_of, refusal
from dphist.continual import ContinualHistogram
from dphist.errors import DphistError, OutputFileError
from dphist.release import Release
from dphist.report import report_html
from dphist.report.table import table_csv
from dphist.running_counts import RunningCounts
from dphist.writing import check_distinct, check_output_path, staged_outputs

_MAKERS = {"release": Release.to_json, "table": table_csv, "report": report_html}


def write_outputs(release: Release, paths: dict[str, str], replaced: Collection[str]) -> None:
    """Write all outputs or none; of those that are there by then, only some are replaced."""
    with staged_outputs() as staged:
        for kind, path in paths.items():
            staged.write_text(path, _MAKERS[kind](release), replace=path in replaced)


def check_new_outputs(options: argparse.Namespace) -> None:
    """Refuse outputs that are there already, where they cannot be those of the stream: it is new.

    Raises
    ------
    UsageError
    """
    found = in_the_way(options)
    if found:
        raise UsageError(refusal(found))


def replaceable(stream: ContinualHistogram, options: argparse.Namespace) -> list[str]:
    """Return the outputs that may be replaced: all if asked for, else those of this stream.

    A page does not tell of which stream it is. It may be replaced where it lies beside a release
    or a table of this one.

    Raises
    ------
    UsageError
        If another output is there already.
    """
    paths = outputs_of(options)
    if options.overwrite:
        return list(paths.values())
    there = {kind: path for kind, path in paths.items() if path in in_the_way(options)}
    known = [kind for kind, path in there.items() if kind != "report" and _is_of(stream, path)]
    if known and "report" in there and _is_page(there["report"]):
        known.append("report")
    strange = [path for kind, path in there.items() if kind not in known]
    if strange:
        raise UsageError(f"{refusal(strange)}: it is not known to be of this stream")
    return list(there.values())


def _is_of(stream: ContinualHistogram, path: str) -> bool:
    """Whether a release or a table is of earlier readings of a stream, which never change."""
    try:
        text, current = Path(path).read_text(encoding="utf-8"), stream.released()
        if text.startswith("{"):
            saved = Release.from_json(text)
            if not isinstance(saved.value, RunningCounts) or saved.mechanism != current.mechanism:
                return False
            text = table_csv(saved)
    except (OSError, ValueError, DphistError):  # ValueError of bytes that are no text
        return False
    return text != "" and table_csv(current).startswith(text)


def _is_page(path: str) -> bool:
    """Whether a file is a page about running counts."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return text.startswith("<!doctype html>") and "Running counts</h1>" in text


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
