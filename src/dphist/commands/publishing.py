"""Reading with progress, writing all outputs or none, and saying what was done."""

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dphist import signals
from dphist.commands.ledger.options import Protected, find_place_to_pay, is_file
from dphist.commands.options import UsageError
from dphist.commands.presentation import present_release
from dphist.commands.printing import complain, say
from dphist.commands.users_look import UsersLook
from dphist.counting.engine.progress import ERASED, Report, open_display
from dphist.counting.reading.paths import find_files
from dphist.document.blocks import Document
from dphist.errors import DphistError, OutputFileError, phrase
from dphist.files import check_distinct, check_output_path, stage_outputs
from dphist.privacy import ApproxDP
from dphist.release.release import Release
from dphist.report import make_json, make_release_document, report_html, summary_text
from dphist.report.sdmx import check_structure
from dphist.report.table_files import check_form, find_form, table_file
from dphist.signals import handlers_wait

_NOT_SHOWN = (
    "{show_below} needs {table} or {report}, or what is printed without {output}, {json} and "
    "{quiet}: a saved release and JSON always hold every number"
)
STORED = 6
"""Exit code of a command that returned the stored release of its key, and read no data."""


def check_paths(options: argparse.Namespace, files: Sequence[str] | None = None) -> None:
    """Find what is wrong with the paths before data are read or noise is drawn.

    Parameters
    ----------
    files : that are read (default: FILE).
    """
    check_table(options)
    inputs = list_inputs(options, files)
    check_inputs(inputs)
    check_outputs(list_outputs(options).values(), inputs, overwrite=options.overwrite)


def check_table(options: argparse.Namespace) -> None:
    """Refuse a table in a format that cannot be written, before data are read."""
    show_below = getattr(options, "show_below", None)
    if show_below is not None:
        printed = not (options.quiet or options.json or options.output)
        if not (options.table or options.report or printed):
            raise UsageError(phrase(_NOT_SHOWN))
    if options.table is None:
        return
    form = check_form(options.table, show_below)
    if form != ".csv" and not hasattr(options, "structure"):
        raise UsageError(
            f"the table of this command is CSV: {options.table} must not end in {form}"
        )
    if getattr(options, "structure", None) is not None:
        if form != ".sdmx.csv":
            raise UsageError(phrase("{structure} needs a {table} whose name ends in .sdmx.csv"))
        check_structure(options.structure)


def check_inputs(files: Iterable[str]) -> None:
    """Refuse files that do not exist or cannot be read, before one is opened."""
    for name in files:
        if not Path(name).exists():
            raise UsageError(f"{name} does not exist")
        if Path(name).is_dir() or not os.access(name, os.R_OK):
            raise UsageError(f"{name} must be a file that can be read")


def list_inputs(options: argparse.Namespace, files: Sequence[str] | None = None) -> list[str]:
    """Return the paths of what is read: `files` (default: FILE), public lists, TOML files."""
    named = [getattr(options, name, None) for name in ("known_labels", "config", "dataset_file")]
    public = [each for each in named if isinstance(each, str) and each]
    public += getattr(options, "described_lists", [])
    return [*(find_files(options.file) if files is None else files), *public]


def check_outputs(
    paths: Iterable[str | None], inputs: Sequence[str | None] = (), *, overwrite: bool
) -> None:
    """Find what is wrong with outputs before anything is read or made; None stands for no file.

    Raises
    ------
    UsageError
        If one is an input, is there and may not be replaced, or cannot be written.
    """
    written = [path for path in paths if path is not None]
    for path in written:
        check_not_read(path, inputs)
    try:
        check_distinct(written)
        for path in written:
            check_output_path(path)
    except OutputFileError as error:
        raise UsageError(*error.args) from None
    found = [] if overwrite else find_existing(written)
    if found:
        raise UsageError(describe_existing(found))


def check_not_read(path: str, inputs: Sequence[str | None]) -> None:
    """Refuse an output that is one of the inputs."""
    if os.path.realpath(path) in [os.path.realpath(name) for name in inputs if name is not None]:
        raise UsageError(f"{path} is an input; writing there would destroy it")


def find_existing(paths: Iterable[str]) -> list[str]:
    """Return those of some outputs that are there already."""
    return [path for path in paths if os.path.lexists(os.path.realpath(path))]


def find_in_the_way(options: argparse.Namespace) -> list[str]:
    """Return the outputs that are there already and may not be replaced."""
    return [] if options.overwrite else find_existing(list_outputs(options).values())


def describe_existing(paths: Sequence[str]) -> str:
    """Return why outputs that are there are not replaced, and what to do."""
    there = f"{', '.join(paths)} {'exists' if len(paths) == 1 else 'exist'}"
    it = "it" if len(paths) == 1 else "them"
    return f"{there}; name another output, or replace {it} with --overwrite"


def check_purpose(options: argparse.Namespace) -> None:
    """Refuse to make a release that nobody would see."""
    if options.quiet and not list_outputs(options):
        nothing = "{quiet} without {output}, {table} or {report} would release nothing"
        raise UsageError(phrase(nothing))


def release_file(
    mechanism: Any,
    options: argparse.Namespace,
    read: Callable[[Report | None], Any],
    protected: Protected,
    look: UsersLook | None = None,
) -> None:
    """Read a file, release what it says, and publish that; the paths are checked first.

    Parameters
    ----------
    read : returns the data; called with what is to be told of the progress.
    protected : whom the data will protect, for a ledger.
    look : what is released first, of the same users.
    """
    place = find_place_to_pay(options)
    paid_at = [place] if place and is_file(place) else []
    check_paths(options, [*find_files(options.file), *paid_at])
    if not options.reserve:
        check_purpose(options)

    def open_with_progress(read: Callable[[Report | None], Any] = read) -> Any:
        with show_progress(shown=not (options.quiet or options.json)) as progress:
            return read(progress)

    if place is None and look is not None:
        users = look.mechanism.release(open_with_progress(look.read))
        mechanism = look.follow(users, mechanism)
        bound = mechanism.sensitivity
        release = mechanism.release(
            open_with_progress(lambda progress: look.count(progress, bound))
        )
        publish(release.with_users(users), options)
        return
    if place is None:
        publish(mechanism.release(open_with_progress()), options)
        return
    from dphist.commands.ledger.payment import (  # slow to import
        describe_data,
        release_paid,
        reserve,
    )
    from dphist.ledger import Deferred

    data = Deferred(open_with_progress, *protected, describe_data(options))
    if options.reserve:
        reserve(mechanism, options, place, data)
        return
    if look is None:
        release, charged, said = release_paid(mechanism, options, place, data)
    else:
        from dphist.commands.ledger.paid_look import release_both_paid  # slow to import

        release, charged, said = release_both_paid(
            mechanism, options, place, data, look, open_with_progress
        )
    publish(release, options, said, {"charged": charged})
    if not charged and not options.again:
        options.ends_with = STORED
        if options.quiet or options.json:
            complain(f"dphist: {said[0]}")


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
    release = present_release(release, options)
    paths = list_outputs(options)
    # Whoever thinks that nothing was written may release again, and pay twice.
    written = f"{', '.join(paths.values())} written, but not all was printed"
    if not paths:
        written = "interrupted; the release may have been printed in part"
    published = False
    try:
        with stage_outputs() as staged:
            for kind, path in paths.items():
                content = make_content(release, kind, options)
                staged.write(path, content, replace=options.overwrite)
            with handlers_wait():
                staged.commit()
                published = True
                if paths:
                    signals.set_note("")
                signals.set_line(written)
        _announce(release, paths, options, said, shown or {})
        signals.set_note("")
        signals.ignore_signals()
        return
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, OSError) as error:
        if not published or (isinstance(error, OSError) and not paths):
            raise
        problem: BaseException = DphistError(written)
        if isinstance(error, KeyboardInterrupt):
            problem = signals.Interrupted(written, getattr(error, "number", signal.SIGINT))
    raise problem


def list_outputs(options: argparse.Namespace) -> dict[str, str]:
    """Return the paths of what is written, by its kind."""
    named = {"release": options.output, "table": options.table, "report": options.report}
    return {kind: path for kind, path in named.items() if path is not None}


def make_content(release: Release, kind: str, options: argparse.Namespace) -> str | bytes:
    """Return what an output holds."""
    if kind == "table":
        return table_file(
            release,
            find_form(options.table),
            spreadsheet_safe=options.spreadsheet_safe,
            structure=getattr(options, "structure", None),
            show_below=getattr(options, "show_below", None),
        )
    if kind == "report":
        return report_html(release, getattr(options, "show_below", None))
    return release.to_json()


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
            content = {**make_json(release), **shown, "wrote": paths}
            say(json.dumps(content), flush=True)
        else:
            say(release.to_json().rstrip(), flush=True)
        return
    if options.output is None:
        say(summary_text(release, getattr(options, "show_below", None)))
    else:
        document = make_release_document(release)
        say(f"Released under {document.fact('cost').text}.")
        for line in exchange_lines(document, options):
            say(line)
    for line in said:
        say(line)
    say_written(paths)
    if sys.stdout is not None:
        sys.stdout.flush()


def exchange_lines(document: Document, options: argparse.Namespace) -> list[str]:
    """Return what an exchange costs, where the budget is for one."""
    if not getattr(options, "exchanged", False):
        return []
    said, delta = f"If exchanged: {document.fact('exchanged').text}", getattr(options, "delta", 0)
    if delta:  # of Gaussian tables, which state a rho
        said += f". That is the {ApproxDP(options.epsilon, delta)} that was asked for"
    return [f"{said}."]


def say_written(paths: dict[str, str]) -> None:
    """Print what was written where."""
    for kind, path in paths.items():
        say(f"wrote {path} ({kind})")


@contextlib.contextmanager
def show_progress(shown: bool) -> Iterator[Report | None]:
    """Show progress on a terminal that a person watches, nothing in a pipe."""
    display = open_display() if shown else None
    if display is None:
        yield None
        return
    signals.set_screen(ERASED.encode())
    try:
        yield display
    finally:
        display.close()
        signals.set_screen(b"")
