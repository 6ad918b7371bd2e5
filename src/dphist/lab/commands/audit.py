"""dphist audit: try to refute what a mechanism claims."""

import argparse
import json
import math
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.commands.options import OVERWRITE, QUIET_OR_JSON, UsageError, argument, read_named_value
from dphist.commands.printing import complain, say
from dphist.commands.publishing import check_outputs
from dphist.document.options import (
    Command,
    Excludes,
    Group,
    Needs,
    OneOf,
    Option,
    decimal,
    split_parts,
)
from dphist.errors import DphistError, ParameterError
from dphist.files import write_text
from dphist.foreign import read_json, read_text
from dphist.lab.auditing.audit import audit
from dphist.lab.auditing.document import document_of_all, in_one_line
from dphist.lab.auditing.named import everything, make_named, mechanisms, names_class
from dphist.lab.auditing.result import LAYERS, AuditResult
from dphist.lab.auditing.subject import command
from dphist.render.html import page
from dphist.signals import ignore_signals

_OWN_CLAIM = "each claim is audited as it is made, on neighbors of its own"


class RefutedError(DphistError):
    """A claim that the audit refuted."""

    code = 1


def _audit(options: argparse.Namespace) -> None:
    if not 0 < options.seconds < math.inf:
        raise ParameterError("seconds", "must be a number above 0")
    check_outputs([options.report], [options.neighbours], overwrite=options.overwrite)
    names = list(everything()) if options.all else [options.subject]
    found = []
    end = time.monotonic() + options.seconds
    for number, name in enumerate(names):
        share = max(end - time.monotonic(), 0.1) / (len(names) - number)
        result = _run_audit(options, name, share, 1 - (1 - options.confidence) / len(names))
        found.append(result)
        if not options.json and not options.quiet:
            whole = not options.all or result.refuted or result.objects
            say(f"{result}\n" if whole else in_one_line(result), flush=True)
        if result.stopped == "interrupted":
            break
    if options.json:
        content: Any = [json.loads(each.to_json()) for each in found]
        say(json.dumps(content if options.all else content[0]))
    if options.report is not None:
        write_text(options.report, page(document_of_all(found)))
    _raise_refuted(found)
    ignore_signals()


def _raise_refuted(found: list[AuditResult]) -> None:
    """Raise what the exit code says of the results."""
    refuted = [each.name for each in found if each.refuted]
    doubted = [each.name for each in found if each.objects and not each.refuted]
    said = [f"refuted: {', '.join(refuted)}"] if refuted else []
    if doubted:
        said.append(f"noise does not account for the claim: {', '.join(doubted)}")
    if said:
        raise RefutedError("; ".join(said))


def _run_audit(
    options: argparse.Namespace, name: str, seconds: float, confidence: float
) -> AuditResult:
    parameters = dict(map(read_named_value, options.set))
    shared: dict[str, Any] = {
        "seconds": seconds,
        "confidence": confidence,
        "progress": None if options.quiet or options.json else _tell,
    }
    layers = _read_layers(options.layers)
    known = everything(slow=True)
    if name in known and name not in mechanisms():
        if parameters or options.epsilon is not None or options.neighbours is not None:
            raise UsageError(f"{name} is audited with parameters and neighbors of its own")
        audited, pairs, epsilon, delta = known[name].make()
        held = [each for each in layers if each in known[name].layers] or list(known[name].layers)
        result = audit(audited, pairs, epsilon=epsilon, delta=delta, layers=held, **shared)
        return replace(result, name=name)
    if options.program:
        audited = command(shlex.split(name), lines=options.lines)
    else:
        audited = make_named(
            name, epsilon=options.epsilon, delta=options.delta, parameters=parameters
        )
    calibrated = not options.program and names_class(name)  # to the epsilon and delta
    return audit(
        audited,
        _read_pairs(options.neighbours),
        epsilon=None if calibrated else options.epsilon,
        delta=0 if calibrated or options.delta is None else options.delta,
        layers=layers,
        **shared,
    )


def _read_layers(text: str) -> list[str]:
    asked = split_parts(text)
    if not set(asked) <= set(LAYERS):
        raise UsageError(f"--layers must be some of {', '.join(LAYERS)}, with commas between")
    return asked


def _tell(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        complain(text)


def _read_pairs(path: str | None) -> Any:
    if path is None:
        return None
    try:
        return read_json(read_text(Path(path).read_bytes()))
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except OSError:
        raise ParameterError("neighbours", f"must be a file that can be read: see {path}") from None
    except ValueError as error:
        raise ParameterError("neighbours", f"must be a file of JSON: {path}: {error}") from None


COMMAND = Command(
    text="Run a mechanism many times on neighboring data, and see whether what it shows differs by "
    "more than it claims. An audit that refutes nothing proves nothing; it says how large a fault "
    "it would have seen. No data of yours are read but those of --neighbours.",
    epilog="Exit codes: 0 if no claim is refuted; 1 if one is, or if the noise that a mechanism "
    "asks for does not account for its claim.",
    table=[
        OneOf(
            [
                argument(
                    "subject",
                    "a mechanism of dphist, such as AdaptiveScan; package.module:name of a "
                    "mechanism, a class of mechanisms or a function of data; with --program, a "
                    "command line",
                    "MECHANISM",
                    required=False,
                    parameter="mechanism",
                ),
                Option(
                    "all",
                    "audit every mechanism of dphist, tables of every engine, streams and a "
                    "ledger; --seconds are shared",
                    rules=(Excludes(["epsilon", "delta", "set", "neighbours"], _OWN_CLAIM),),
                ),
            ],
            required=True,
        ),
        Option(
            "program",
            "MECHANISM is a command line: it gets the data as JSON, and prints JSON",
            rules=(
                Excludes(["set"], "put parameters into the command"),
                Needs(["epsilon"], "what it claims"),
                Needs(["neighbours"], "the data that it is run on"),
            ),
        ),
        Option(
            "lines",
            "with --program: it is started once, and answers each line of JSON with a line",
            rules=(Needs(["program"], "what is started"),),
        ),
        Group(
            "the claim",
            "",
            [
                Option("epsilon", "claimed epsilon (default: the mechanism's)", "E"),
                Option("delta", "claimed delta (default: the mechanism's, or 0)", "D"),
                Option(
                    "set",
                    "a parameter of the mechanism, such as max_labels=3; may be repeated",
                    "NAME=VALUE",
                    repeats=True,
                    default=[],
                ),
            ],
        ),
        Group(
            "the runs",
            "",
            [
                Option(
                    "neighbours",
                    'file with pairs of data: [[ONE, OTHER], ...] or [["name", ONE, OTHER], ...]',
                    "JSON",
                ),
                Option("seconds", "time for everything (default: 60)", "S", decimal, default=60),
                Option(
                    "confidence",
                    "probability that a correct mechanism, or with --all any, is not refuted "
                    "(default: 0.999)",
                    "P",
                    decimal,
                    default=0.999,
                ),
                Option(
                    "layers",
                    f"which layers to try (default: {','.join(LAYERS)})",
                    "NAMES",
                    default=",".join(LAYERS),
                ),
            ],
        ),
        Option("report", "write a page with the curve and what was covered", "PAGE"),
        OVERWRITE,
        QUIET_OR_JSON,
    ],
    run=_audit,
    called={"words": "MECHANISM"},
)
