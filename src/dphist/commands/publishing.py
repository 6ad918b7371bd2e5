"""Reading with progress, writing all outputs or none, and saying what was done."""

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dphist.atomic_files import check_distinct, check_output_path, staged_outputs
from dphist.commands import ending
from dphist.commands.ledger.options import is_file, place_to_pay
from dphist.commands.options import UsageError
from dphist.commands.presenting import presented
from dphist.commands.printing import say
from dphist.errors import DphistError, OutputFileError
from dphist.privacy import PrivacyUnit
from dphist.release.release import Release
from dphist.report import json_of, report_html, shown_as, summary_text, table_csv
from dphist.stopping import handlers_wait
from dphist.tables.engine.progress import Report
from dphist.tables.engine.progress_display import ERASED, open_display

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Protected:
    """Whom data will protect that are not read yet: what they will say of themselves.

    Attributes
    ----------
    unit : such as "one user"; None where they name no unit.
    records : maximum number of records of one such unit, if bounded.
    """

    unit: PrivacyUnit | None
    records: int | None


class _Releasing(Protocol[T_contra]):
    """A mechanism for data of one kind."""

    def release(self, data: T_contra, /) -> Release: ...


def check_paths(options: argparse.Namespace, files: Sequence[str] | None = None) -> None:
    """Find what is wrong with the paths before data are read or noise is drawn.

    Parameters
    ----------
    files : that are read (default: FILE).
    """
    inputs = inputs_of(options, files)
    for name in inputs:
        if not Path(name).exists():
            raise UsageError(f"{name} does not exist")
        if Path(name).is_dir() or not os.access(name, os.R_OK):
            raise UsageError(f"{name} must be a file that can be read")
    paths = list(outputs_of(options).values())
    for path in paths:
        check_not_read(path, inputs)
    try:
        check_distinct(paths)
        for path in paths:
            check_output_path(path)
    except OutputFileError as error:
        raise UsageError(*error.args) from None
    found = in_the_way(options)
    if found:
        raise UsageError(refusal(found))


def inputs_of(options: argparse.Namespace, files: Sequence[str] | None = None) -> list[str]:
    """Return the paths of what is read: `files` (default: FILE), public labels, configuration."""
    named = [getattr(options, name, None) for name in ("known_labels", "config")]
    return [*([options.file] if files is None else files), *filter(None, named)]


def check_not_read(path: str, inputs: Sequence[str]) -> None:
    """Refuse an output that is one of the inputs."""
    if any(os.path.realpath(path) == os.path.realpath(name) for name in inputs):
        raise UsageError(f"{path} is read; writing there would destroy it")


def check_purpose(options: argparse.Namespace) -> None:
    """Refuse to make a release that nobody would see."""
    if options.quiet and not outputs_of(options):
        raise UsageError("--quiet without --output, --table or --report would release nothing")


def release_file(
    mechanism: "_Releasing[T]",
    options: argparse.Namespace,
    read: Callable[[Report | None], T],
    protected: Protected,
) -> None:
    """Read a file, release what it says, and publish that; the paths are checked first.

    Parameters
    ----------
    read : returns the data; called with what is to be told of the progress.
    protected : whom the data will protect, for a ledger.
    """
    place = place_to_pay(options)
    check_paths(options, [options.file, *([place] if place and is_file(place) else [])])
    if not options.reserve:
        check_purpose(options)

    def opened() -> T:
        with progress_bar(shown=not (options.quiet or options.json)) as progress:
            return read(progress)

    if place is None:
        publish(mechanism.release(opened()), options)
        return
    from dphist.commands.ledger.paying import release_paid  # slow to import, and seldom needed
    from dphist.ledger import Deferred

    data = Deferred(opened, protected.unit, protected.records)
    paid = release_paid(mechanism, options, place, data)
    if paid is not None:
        publish(paid.release, options, paid.said, {"charged": paid.charged})


def publish(
    release: Release,
    options: argparse.Namespace,
    said: Sequence[str] = (),
    shown: Mapping[str, Any] | None = None,
) -> None:
    """Write all outputs or none, then say what was done.

    Parameters
    ----------
    said, shown : lines about the payment, and the same for JSON about what was written.
    """
    release = presented(release, options)
    paths = outputs_of(options)
    # Whoever thinks that nothing was written may release again, and pay twice.
    written = f"{', '.join(paths.values())} written, but not all was printed"
    if not paths:
        written = "interrupted; the release may have been printed in part"
    published = False
    try:
        with staged_outputs() as staged:
            for kind, path in paths.items():
                text = text_of(release, kind, options)
                staged.write_text(path, text, replace=options.overwrite)
            with handlers_wait():
                staged.commit()
                published = True
                if paths:
                    ending.note("")
                ending.say(written)
        _announce(release, paths, options, said, shown or {})
        ending.note("")
        ending.settle()
        return
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, OSError) as error:
        if not published or (isinstance(error, OSError) and not paths):
            raise
        problem: BaseException = DphistError(written)
        if isinstance(error, KeyboardInterrupt):
            problem = ending.Interrupted(written, getattr(error, "number", signal.SIGINT))
    raise problem


def outputs_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the paths of what is written, by its kind."""
    named = {"release": options.output, "table": options.table, "report": options.report}
    return {kind: path for kind, path in named.items() if path is not None}


def text_of(release: Release, kind: str, options: argparse.Namespace) -> str:
    """Return the text of an output."""
    if kind == "table":
        return table_csv(release, spreadsheet_safe=options.spreadsheet_safe)
    return report_html(release) if kind == "report" else release.to_json()


def in_the_way(options: argparse.Namespace) -> list[str]:
    """Return the outputs that are there already and may not be replaced."""
    paths = [] if options.overwrite else outputs_of(options).values()
    return [path for path in paths if os.path.lexists(os.path.realpath(path))]


def refusal(paths: list[str]) -> str:
    """Return why outputs that are there are not replaced, and what to do."""
    there = f"{', '.join(paths)} {'exists' if len(paths) == 1 else 'exist'}"
    return f"{there}; name another output, or replace it with --overwrite"


def _announce(
    release: Release,
    paths: dict[str, str],
    options: argparse.Namespace,
    said: Sequence[str],
    shown: Mapping[str, Any],
) -> None:
    """Print what was released and written."""
    if options.quiet:
        return
    if options.json:
        if options.output:
            content = {**json_of(release), **shown, "wrote": paths}
            say(json.dumps(content), flush=True)
        else:
            say(release.to_json().rstrip(), flush=True)
        return
    if options.output is None:
        say(summary_text(release))
    else:
        say(f"Released under {shown_as(release).fact('cost').text}.")
    for line in said:
        say(line)
    say_written(paths)
    if sys.stdout is not None:
        sys.stdout.flush()


def say_written(paths: dict[str, str]) -> None:
    """Print what was written where."""
    for kind, path in paths.items():
        say(f"wrote {path} ({kind})")


def say_in_the_way(options: argparse.Namespace) -> None:
    """Print, in a dry run, that the run itself would be refused for its outputs."""
    found = in_the_way(options)
    if found:
        say(f"It would be refused: {refusal(found)}.")


@contextlib.contextmanager
def progress_bar(shown: bool) -> Iterator[Report | None]:
    """Show progress on a terminal that a person watches, nothing in a pipe."""
    display = open_display() if shown else None
    if display is None:
        yield None
        return
    ending.on_screen(ERASED.encode())
    try:
        yield display
    finally:
        display.close()
        ending.on_screen(b"")
