"""dphist audit: try to refute what a mechanism claims."""

import argparse
import json
import shlex
import sys
from typing import Any

from dphist.auditing.audit import audit
from dphist.auditing.named import MECHANISMS, named
from dphist.auditing.result import AuditResult
from dphist.auditing.subject import command
from dphist.commands.ending import settle
from dphist.commands.options import Commands, UsageError
from dphist.errors import DphistError, ParameterError


class RefutedError(DphistError):
    """A claim that the audit refuted."""

    code = 1


def add_audit(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    parser = commands.add_parser(
        "audit",
        help=summary,
        description=(
            "Run a mechanism many times on neighboring data, and see whether what it shows differs "
            "by more than it claims. An audit that refutes nothing proves nothing; it says how "
            "large a fault it would have seen. No data of yours are read but those of --neighbours."
        ),
        epilog="Exit codes: 0 if no claim is refuted; 1 if one is.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=_audit)
    parser.add_argument(
        "mechanism",
        nargs="?",
        metavar="MECHANISM",
        help="a mechanism of dphist, such as AdaptiveScan; package.module:name of a mechanism, a "
        "class of mechanisms or a function of data; with --program, a command line",
    )
    parser.add_argument(
        "--all", action="store_true", help="audit every mechanism of dphist; --seconds are shared"
    )
    parser.add_argument(
        "--program",
        action="store_true",
        help="MECHANISM is a command line: it gets the data as JSON, and prints JSON",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="with --program: it is started once, and answers each line of JSON with a line",
    )
    claim = parser.add_argument_group("the claim")
    claim.add_argument("--epsilon", metavar="E", help="claimed epsilon (default: the mechanism's)")
    claim.add_argument(
        "--delta", metavar="D", help="claimed delta (default: the mechanism's, or 0)"
    )
    claim.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the mechanism, such as max_labels=3; may be repeated",
    )
    runs = parser.add_argument_group("the runs")
    runs.add_argument(
        "--neighbours",
        metavar="JSON",
        help='file with pairs of data: [[ONE, OTHER], ...] or [["name", ONE, OTHER], ...]',
    )
    runs.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    runs.add_argument(
        "--confidence",
        type=float,
        default=0.999,
        help="probability that a correct mechanism is not refuted (default: 0.999)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="print nothing but errors")
    how.add_argument("--json", action="store_true", help="print JSON")


def _audit(options: argparse.Namespace) -> None:
    if options.all == (options.mechanism is not None):
        raise UsageError("give a MECHANISM, or --all")
    names = list(MECHANISMS) if options.all else [options.mechanism]
    found = []
    for name in names:
        result = _audited(options, name, options.seconds / len(names))
        found.append(result)
        if not options.json and not options.quiet:
            print(f"{result}\n", flush=True)
        if result.stopped == "interrupted":
            break
    if options.json:
        content: Any = [json.loads(each.to_json()) for each in found]
        print(json.dumps(content if options.all else content[0]))
    refuted = [each.name for each in found if each.refuted]
    if refuted:
        raise RefutedError(f"refuted: {', '.join(refuted)}")
    settle()


def _audited(options: argparse.Namespace, name: str, seconds: float) -> AuditResult:
    parameters = dict(_parameter(each) for each in options.set)
    if options.lines and not options.program:
        raise UsageError("--lines needs --program")
    if options.program:
        if options.epsilon is None or options.neighbours is None:
            raise UsageError("--program needs --epsilon and --neighbours")
        audited = command(shlex.split(name), lines=options.lines)
    else:
        audited = named(name, epsilon=options.epsilon, delta=options.delta, parameters=parameters)
    from_class = hasattr(audited, "guarantee")
    return audit(
        audited,
        _pairs(options.neighbours),
        epsilon=None if from_class else options.epsilon,
        delta=0 if from_class else options.delta or 0,
        seconds=seconds,
        confidence=options.confidence,
        progress=None if options.quiet or options.json else _tell,
    )


def _tell(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(text, file=sys.stderr)


def _parameter(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise UsageError("--set must be NAME=VALUE, such as max_labels=3")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _pairs(path: str | None) -> Any:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a path as given
            return json.load(file)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except (OSError, ValueError):
        raise ParameterError(f"neighbours must be JSON that can be read: see {path}") from None
