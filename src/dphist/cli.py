"""The command line: parse, call, print. All work is done by the library it calls.

Exit codes: 0 done; 2 the command cannot be meant like that (a bad option, a column or path
that does not exist); 1 anything else. No traceback reaches a user, for it could show data.
"""

import argparse
import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dphist.anonymized import AdaptiveScan, best_mechanism
from dphist.errors import ColumnError, DphistError, OutputFileError, ParameterError
from dphist.parameters import decimal_text
from dphist.profile import Profile
from dphist.release import Release
from dphist.report import report_html, words
from dphist.report.summary import summary_text
from dphist.report.table import table_csv
from dphist.writing import check_distinct, check_output_path, staged_outputs

_GUESSES = (10_000, 1_000_000, 100_000_000)  # records, where no guess was given


class _UsageError(Exception):
    """The command was typed wrongly; the message says how."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}\nSee '{self.prog} --help'.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        with _stopping_cleanly():
            options = _parser().parse_args(arguments)
            run: Callable[[argparse.Namespace], None] = options.run
            run(options)
            if sys.stdout is not None:  # None where the caller closed it
                sys.stdout.flush()
    except (_UsageError, ParameterError, ColumnError) as error:
        return _fail(str(error), 2)
    except DphistError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written", 1)
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # ours are DphistErrors; this one is of the terminal or pipe
        return _fail(f"could not print: {error.strerror or 'the system refused'}", 1)
    except MemoryError:
        return _fail("not enough memory; nothing was written", 1)
    except Exception as error:  # an unforeseen error's text could quote data
        return _fail(f"unexpected {type(error).__name__}; please report it to the maintainers", 1)
    return 0


@contextlib.contextmanager
def _stopping_cleanly() -> Iterator[None]:
    """Clean up on SIGTERM and SIGHUP as on Ctrl-C; print what any terminal can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    names = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(name, stop) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _fail(message: str, code: int) -> int:
    print(f"dphist: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dphist",
        description="Release histograms with differential privacy.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dphist {version('dphist')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    _add_anonymize(commands)
    _add_show(commands)
    return parser


def _add_anonymize(commands: "argparse._SubParsersAction[_Parser]") -> None:
    command = commands.add_parser(
        "anonymize",
        help="release how many labels have each count",
        description=(
            "Release an anonymized histogram: how many labels have each count, such as how many "
            "passwords are used by exactly 7 people."
        ),
        epilog=(
            "FILE is a profile with columns count,prevalence; or, with --label and --count, "
            "labels with their counts; or, with --label alone, raw records, one a row. "
            "CSV, TSV (also gzip) and Parquet are read."
        ),
        allow_abbrev=False,
    )
    command.set_defaults(run=_anonymize)
    command.add_argument("file", metavar="FILE", help="the data; not opened by --dry-run")
    command.add_argument("--epsilon", required=True, metavar="E", help="for example 1, 0.1, 1/3")
    command.add_argument("--label", metavar="COLUMN", help="column of labels")
    command.add_argument("--count", metavar="COLUMN", help="column of counts, beside --label")
    command.add_argument(
        "--sensitivity",
        type=_whole,
        default=1,
        metavar="M",
        help="records that one unit (a user, an edge) can change in all; 1 unless given",
    )
    command.add_argument("--dry-run", action="store_true", help="state guarantee and error only")
    command.add_argument(
        "--expect-total",
        type=_whole,
        metavar="N",
        help="a public guess of the number of records, for the expected error of a dry run",
    )
    command.add_argument(
        "--expect-shape",
        metavar="S",
        default="1",
        help="a public guess that the i-th count falls like 1 / i^S, for the same; 1 unless given",
    )
    command.add_argument("--output", metavar="JSON", help="write the release here")
    _add_outputs(command)


def _add_show(commands: "argparse._SubParsersAction[_Parser]") -> None:
    command = commands.add_parser(
        "show",
        help="summarise a saved release",
        description="Summarise a saved release, or write its table or report again.",
        allow_abbrev=False,
    )
    command.set_defaults(run=_show, output=None)
    command.add_argument("file", metavar="RELEASE", help="a release that dphist wrote (JSON)")
    _add_outputs(command)


def _add_outputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--table", metavar="CSV", help="write columns count,prevalence here")
    command.add_argument("--report", metavar="HTML", help="write a page that explains it here")
    how = command.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="print nothing but errors")
    how.add_argument(
        "--json",
        action="store_true",
        help="print JSON: the release itself, or with --output what was written",
    )


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a whole number") from None


def _anonymize(options: argparse.Namespace) -> None:
    if options.count is not None and options.label is None:
        raise _UsageError("--count needs --label: the column of labels that are counted")
    if options.expect_total is not None and not options.dry_run:
        raise _UsageError("--expect-total is for --dry-run; a release knows its private total")
    if options.expect_shape != "1" and not options.dry_run:
        raise _UsageError("--expect-shape is for --dry-run")
    mechanism = best_mechanism(epsilon=options.epsilon, sensitivity=options.sensitivity)
    if options.dry_run:
        _print_dry_run(mechanism, options)
        return
    _check_paths(options)
    if options.quiet and not _outputs(options):
        raise _UsageError("--quiet without --output, --table or --report would release nothing")
    with _progress(shown=not (options.quiet or options.json)) as progress:
        profile = _read(options, progress)
    _publish(mechanism.release(profile), options)


def _read(options: argparse.Namespace, progress: Callable[[float], None] | None) -> Profile:
    if options.label is None:
        return Profile.read(options.file)
    return Profile.from_table(
        options.file, label=options.label, count=options.count, progress=progress
    )


def _show(options: argparse.Namespace) -> None:
    _check_paths(options)
    _publish(Release.load(options.file), options)


def _outputs(options: argparse.Namespace) -> dict[str, str]:
    named = {"release": options.output, "table": options.table, "report": options.report}
    return {kind: path for kind, path in named.items() if path is not None}


def _check_paths(options: argparse.Namespace) -> None:
    """Find what is wrong with the paths before data are read or noise is drawn."""
    if not Path(options.file).exists():
        raise _UsageError(f"{options.file} does not exist")
    paths = list(_outputs(options).values())
    if any(os.path.realpath(path) == os.path.realpath(options.file) for path in paths):
        raise _UsageError(f"{options.file} is the input; writing there would destroy it")
    try:
        check_distinct(paths)
        for path in paths:
            check_output_path(path)
    except OutputFileError as error:
        raise _UsageError(str(error)) from None


def _publish(release: Release, options: argparse.Namespace) -> None:
    """Write all outputs or none, then say what was done."""
    paths = _outputs(options)
    makers = {"release": Release.to_json, "table": table_csv, "report": report_html}
    with staged_outputs() as staged:
        for kind, path in paths.items():
            staged.write_text(path, makers[kind](release))
    try:
        _announce(release, paths, options)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, OSError):
        if not paths:
            raise
        # Whoever thinks that nothing was written may release again, and pay twice.
        problem = DphistError(f"{', '.join(paths.values())} written, but not all was printed")
    else:
        return
    raise problem


def _announce(release: Release, paths: dict[str, str], options: argparse.Namespace) -> None:
    """Print what was released and written."""
    if options.quiet:
        return
    if options.json:
        print(
            _written_json(release, paths) if options.output else release.to_json().rstrip(),
            flush=True,
        )
        return
    if options.output is None:
        print(summary_text(release))
    else:
        print(f"Released under {release.guarantee}.")
    for kind, path in paths.items():
        print(f"wrote {path} ({kind})")
    if sys.stdout is not None:
        sys.stdout.flush()


def _written_json(release: Release, paths: dict[str, str]) -> str:
    return json.dumps(
        {
            "guarantee": _guarantee_json(release.mechanism),
            "total": release.total,
            "labels": release.value.labels,
            "wrote": paths,
        }
    )


def _guarantee_json(mechanism: AdaptiveScan) -> dict[str, str | int]:
    return {
        "name": type(mechanism.guarantee).__name__,
        "epsilon": decimal_text(mechanism.epsilon),
        "sensitivity": mechanism.sensitivity,
    }


def _print_dry_run(mechanism: AdaptiveScan, options: argparse.Namespace) -> None:
    guesses = _GUESSES if options.expect_total is None else (options.expect_total,)
    errors = {guess: mechanism.expected_error(guess, options.expect_shape) for guess in guesses}
    if options.quiet:
        return
    if options.json:
        print(
            json.dumps(
                {
                    "guarantee": _guarantee_json(mechanism),
                    "mechanism": type(mechanism).__name__,
                    "expected_error": {str(guess): error for guess, error in errors.items()},
                }
            )
        )
        return
    print(f"Guarantee: {mechanism.guarantee}, for {words.privacy_unit(mechanism.sensitivity)}.")
    print(words.guarantee_in_words(mechanism.guarantee, mechanism.sensitivity))
    print(mechanism.in_words())
    for guess, error in errors.items():
        print(f"If there are {guess:,} records: {words.error_in_words(error, guess)}.")
    print("FILE was not opened.")


@contextlib.contextmanager
def _progress(shown: bool) -> Iterator[Callable[[float], None] | None]:
    """Show progress on a terminal that a person watches, nothing in a pipe."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("reading"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


if __name__ == "__main__":
    raise SystemExit(main())
