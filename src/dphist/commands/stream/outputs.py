"""What a run of `dphist stream` writes, and where.

A run writes the release of all readings of its stream, those of earlier runs too, and replaces what
these wrote, at no cost. Any other file is replaced only with --overwrite.
"""

import argparse
import os
import sys
from collections.abc import Collection
from pathlib import Path

from dphist.commands.options import UsageError
from dphist.commands.presentation import present_release
from dphist.commands.publishing import (
    check_outputs,
    check_table,
    describe_existing,
    find_in_the_way,
    list_outputs,
    make_content,
)
from dphist.document.csv_rows import Field, csv_field, list_lines, safe_field
from dphist.document.kind import find_kind
from dphist.errors import DphistError, OutputFileError, UnsupportedError
from dphist.files import stage_outputs
from dphist.release.release import Release
from dphist.streams import ContinualHistogram


def write_outputs(
    stream: ContinualHistogram, options: argparse.Namespace, replaced: Collection[str]
) -> None:
    """Write all outputs or none; of those that are there by then, only some are replaced.

    Raises
    ------
    OutputFileError
        If the system refuses, or a file is there by now that is not of this stream.
    """
    release = stream.released()
    release = present_release(release, options)
    paths = list_outputs(options)
    with stage_outputs() as staged:
        for kind, path in paths.items():
            staged.write(path, make_content(release, kind, options), replace=path in replaced)
        # A stream may run for days: what was there when it began may be another's now.
        strange = [] if options.overwrite else _list_strange(stream, options, replaced)
        if strange:
            raise OutputFileError(
                f"{', '.join(strange)} changed meanwhile, and is not known to be of this stream "
                "any more; nothing was written"
            )
        staged.commit()


def find_replaceable(stream: ContinualHistogram, options: argparse.Namespace) -> list[str]:
    """Return the outputs that may be replaced: all if asked for, else those of this stream.

    A page does not tell of which stream it is, nor does a table without rows. They may be replaced
    where they lie beside a release or a table of this one.

    Raises
    ------
    UsageError
        If another output is there already.
    """
    paths = list(list_outputs(options).values())
    if options.overwrite:
        return paths
    there = find_in_the_way(options)
    strange = _list_strange(stream, options, there)
    if strange:
        raise UsageError(f"{describe_existing(strange)}: it is not known to be of this stream")
    return there


def _list_strange(
    stream: ContinualHistogram, options: argparse.Namespace, paths: Collection[str]
) -> list[str]:
    """Return those of some outputs that are there and not known to be of this stream."""
    try:
        current = stream.released()
    except UnsupportedError:  # nothing was recorded
        current = None
    there = {kind: path for kind, path in list_outputs(options).items() if path in paths}
    there = {kind: path for kind, path in there.items() if os.path.lexists(os.path.realpath(path))}
    texts = {kind: _read_text(path) for kind, path in there.items()}
    known = [kind for kind, text in texts.items() if current and _is_earlier(current, text)]
    # These tell nothing of whose they are.
    if known and _is_page(texts.get("report", "")):
        known.append("report")
    if current and known and _is_header(current, texts.get("table")):
        known.append("table")
    return [path for kind, path in there.items() if kind not in known]


def _read_text(path: str) -> str:
    """Return the text of a file; nothing where it has none."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError):  # ValueError of bytes that are no text
        return ""


def _is_earlier(current: Release, text: str) -> bool:
    """Whether a release or a table is of earlier readings of a stream, which never change."""
    if not text.startswith("{"):
        return any(_is_earlier_table(current, text, each) for each in (csv_field, safe_field))
    try:
        saved = Release.from_json(text)
    except DphistError:
        return False
    earlier, now = saved.value, current.value
    if saved.mechanism != current.mechanism:
        return False
    times = earlier.times.tolist()
    return times == now.times[: len(times)].tolist() and all(
        earlier.at(time) == now.at(time) for time in times
    )


def _is_earlier_table(current: Release, text: str, field: Field) -> bool:
    """Whether a text is the header and some rows of a table, whole, from the first one on.

    The header alone tells of no stream, unless the table has no rows.
    """
    place = 0
    for number, line in enumerate(list_lines(find_kind(current).table(current), field)):
        if place == len(text) and number > 1:
            return True
        if not text.startswith(line, place):
            return False
        place += len(line)
    return place == len(text)


def _is_header(current: Release, text: str | None) -> bool:
    """Whether a text is a table of a stream without rows."""
    table = find_kind(current).table(current)
    return text in [next(list_lines(table, field)) for field in (csv_field, safe_field)]


def _is_page(text: str) -> bool:
    """Whether a text is a page about running counts."""
    known = '<meta name="dphist-kind" content="streams">', "<h1>Running counts of a stream"
    return text.startswith("<!doctype html>") and any(mark in text for mark in known)


def check_stream_paths(options: argparse.Namespace, *, new: bool) -> None:
    """Find what is wrong with the paths before the state is opened or input is read.

    Parameters
    ----------
    new : whether the stream is: outputs that are there already cannot be of it then.
    """
    check_table(options)
    outputs = list(list_outputs(options).values())
    for path in outputs:
        if _is_input(path):
            raise UsageError(f"{path} is the input; writing there would destroy it")
    if _is_input(options.state):
        raise UsageError(f"{options.state} is the input; name another file as --state")
    check_outputs([options.state], overwrite=True)
    read = [options.state, options.known_labels, options.ledger]
    check_outputs(outputs, read, overwrite=options.overwrite or not new)


def _is_input(path: str) -> bool:
    """Whether this is the file that standard input comes from."""
    try:
        return os.path.samestat(Path(path).stat(), os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):
        return False
