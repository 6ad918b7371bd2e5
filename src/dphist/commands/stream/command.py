"""dphist stream: running counts of events, as they come on standard input."""

import argparse
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from dphist.commands.ledger.options import PAYMENT, find_place_to_pay
from dphist.commands.options import UsageError, dry_run, guess, outputs
from dphist.commands.presentation import (
    PRESENTATION,
    get_named_unit,
    read_presentation,
    unit_option,
)
from dphist.commands.printing import say
from dphist.commands.publishing import check_purpose
from dphist.commands.records import NAMES_USERS, read_known_labels, say_dry_run
from dphist.commands.stream.outputs import check_stream_paths, find_replaceable
from dphist.commands.stream.run import Run, remove_if_unused
from dphist.document.kind import DataFacts
from dphist.document.options import (
    HOLDS_LABELS,
    Command,
    Needs,
    OneOf,
    Option,
    decimal,
    make_options,
    read_given,
    whole,
)
from dphist.document.totals import find_total, in_all
from dphist.document.unit_words import how_many
from dphist.errors import ParameterError, join_arguments, phrase
from dphist.parameters import positive_delta, positive_number, probability
from dphist.privacy.calibration import calibrate
from dphist.privacy.unit import ONE_USER
from dphist.release.label_types import format_label
from dphist.signals import Stopping
from dphist.streams import ContinualHistogram, ContinualMechanism
from dphist.streams.events.forms import Form, Lines, Objects, Rows
from dphist.streams.kind import KIND

_EPILOG = (
    "Events are read from standard input, one per line, and counted as soon as their line is "
    "complete. The state keeps the counts, so that a stream can continue after any interruption, "
    "even a crash. --epsilon and --delta are totals for all readings of the whole stream. If the "
    "state exists already, it has the parameters, and they may be left out. "
    "Formats: in lines, a line is a label, or several with --separator, and an empty line is an "
    "event without a label. In ndjson, a line is an object with a label field: a label, a list of "
    "labels or null. In csv, the first line is the header, and an empty field is no label. "
    "Users are text in csv, and text or whole numbers in ndjson; all of a stream are of one type. "
    "When the input ends, even by Ctrl-C, SIGTERM or a malformed line, all earlier events are "
    "counted, the last reading is made, and the outputs are written. A new state in which no event "
    "was counted is removed. After as many readings as --readings allows, events are counted "
    "without further readings. The exit code is 0 only if the whole input was counted and the last "
    "reading was made."
)
NO_HORIZON = "none"
_NEW = ["epsilon", "delta", "horizon"]


def _horizon(text: str) -> int | str:
    """Read a whole number, or that there is no horizon."""
    return NO_HORIZON if text == NO_HORIZON else whole(text)


def _seconds(text: str) -> float:
    """Read a time above 0."""
    seconds = decimal(text)
    if not seconds > 0:
        raise ValueError("must be a number of seconds above 0")
    return seconds


_MECHANISM = make_options(
    ContinualMechanism,
    but=["windows"],
    epsilon={"meaning": "total epsilon of the stream, such as 1 or 0.1", "value": "E"},
    delta={
        "meaning": "total delta of the stream, such as 1e-6; 0 for a pure guarantee, with "
        "--known-labels (default with --method laplace: 0)",
        "value": "D",
    },
    horizon={
        "read": _horizon,
        "least": 1,
        "more": ', or "none" for a stream with noise that grows slowly with time; needs --readings',
    },
    max_labels={"more": ", chosen at random", "least": 1},
    method={
        "more": "; toeplitz has the lowest error (default: toeplitz, laplace with --delta 0, "
        "unbounded with --horizon none)"
    },
    labels={"name": "known_labels", "value": "FILE", "more": f": {HOLDS_LABELS}"},
    max_events_per_user={
        "more": "; users are protected instead of single events; needs --user",
        "least": 1,
        "rules": [Needs(["user"], "the column or field of users")],
    },
    readings={
        "more": ", including the last reading of each run; fewer make the threshold lower",
        "least": 1,
    },
    label_type={"more": " (default: that of the known labels, or text)"},
)


def _stream(options: argparse.Namespace) -> None:
    _check_options(options)
    new = not Path(options.state).exists()
    if (new or options.dry_run) and options.user and options.max_events_per_user is None:
        needed = "{user} needs {max_events_per_user}: how many events of each are counted"
        raise UsageError(phrase(needed))
    if options.dry_run:
        _say_dry_run(_make_mechanism(options), options)
        return
    check_purpose(options)
    if options.quiet and options.top is not None:
        raise UsageError(phrase("{top} is for what is printed: leave it or {quiet} out"))
    place = find_place_to_pay(options)
    if sys.stdin is None:
        raise UsageError("standard input is closed; events are read from it")
    check_stream_paths(options, new=new)
    mechanism = None if options.epsilon is None and not new else _make_mechanism(options)
    if place is not None and options.reserve:
        from dphist.commands.ledger.payment import reserve  # slow to import
        from dphist.ledger import Deferred

        data = Deferred(lambda: None, get_named_unit(options))
        reserve(mechanism or _make_mechanism(options), options, place, data)
        return
    # A state that was paid for is kept, also an unused one: it is the only one of its key.
    unpaid = new and place is None
    stopping = Stopping()
    with (
        stopping.handled(),
        _open_stream(options, mechanism, place) as stream,
        remove_if_unused(stream, options.state, unpaid),
    ):
        _check_same(stream.mechanism, options)
        _check_users(stream, options)
        replaced = find_replaceable(stream, options)
        form = _make_form(options, stream)
        _announce(stream, options)
        skip = stream.time if options.resume else 0
        Run(stream, form, options, skip, stopping, unpaid, replaced).run(sys.stdin.fileno())


def _say_dry_run(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Print guarantee, threshold and error; nothing is read or made."""
    data = DataFacts(
        unit=mechanism.make_unit(get_named_unit(options) or ONE_USER),
        presentation=read_presentation(options),
        guesses=() if options.expect_events is None else (options.expect_events,),
    )
    document, protected = KIND.document(mechanism, data, None), (get_named_unit(options), None)
    unread = "No input was read, and no state was made."
    say_dry_run(document, mechanism, options, protected, unread=unread)


def _open_stream(
    options: argparse.Namespace, mechanism: ContinualMechanism | None, place: str | None
) -> AbstractContextManager[ContinualHistogram]:
    """Open the stream, charged to a ledger if there is one."""
    if place is not None:
        from dphist.commands.ledger.payment import open_paid_stream  # slow to import

        return open_paid_stream(mechanism, options, place)
    return ContinualHistogram.open(options.state, moved=options.moved, mechanism=mechanism)


def _check_options(options: argparse.Namespace) -> None:
    if options.method == "laplace" and options.epsilon is not None and options.delta is None:
        options.delta = "0"
    missing = [name for name in _NEW if getattr(options, name) is None]
    if missing and len(missing) < len(_NEW):
        needed = join_arguments(missing) + f" {'is' if len(missing) == 1 else 'are'} needed too: "
        raise UsageError(needed + join_arguments(_NEW) + " go together")
    if options.format == "lines" and (options.label or options.user):
        needed = "{label} and {user} need {format} or ndjson, which has names"
        raise UsageError(phrase(needed, format="csv"))
    if options.format == "ndjson" and options.separator is not None:
        other = "{separator} is for lines and csv; in ndjson several labels are a list"
        raise UsageError(phrase(other))
    if options.separator == "" or "\n" in (options.separator or ""):
        raise UsageError(phrase("{separator} must be text within a line"))
    if options.user is not None and options.user == _find_label(options):
        raise UsageError(phrase("{user} and {label} must be different columns"))
    get_named_unit(options)
    read_presentation(options)


def _make_mechanism(options: argparse.Namespace) -> ContinualMechanism:
    """Return the parameters of a stream that costs what the options say."""
    if options.epsilon is None:
        what = "a dry run" if options.dry_run else "a new stream"
        such = phrase("{epsilon}, {delta} and {horizon}", epsilon=1, delta="1e-6", horizon=1000000)
        raise UsageError(join_arguments(_NEW) + f" are needed for {what}, such as " + such)
    epsilon = positive_number(options.epsilon, "epsilon")
    horizon = None if options.horizon == NO_HORIZON else options.horizon
    if horizon is None and options.readings is None:
        needed = "{horizon} needs {readings}: how often the stream is read at most"
        raise UsageError(phrase(needed, horizon=None))
    given = {"horizon": horizon, **_read_given(options)}
    delta: Any = 0
    if _is_pure(options):
        given["method"] = "laplace"
    else:
        delta = positive_delta(options.delta, "the noise is Gaussian")
    made: ContinualMechanism = calibrate(ContinualMechanism, epsilon=epsilon, delta=delta, **given)
    return made


def _is_pure(options: argparse.Namespace) -> bool:
    """Whether the stream is to have no delta: a delta of 0, or the method that needs none."""
    zero = probability(options.delta, "delta") == 0
    fault = ""
    if zero and options.known_labels is None:
        fault = (
            "{delta} and {method} need {known_labels}: labels from the events need a delta above 0"
        )
    elif zero and options.method not in (None, "laplace"):
        fault = "{delta} needs {method}: the noise of the others is Gaussian"
    elif not zero and options.method == "laplace":
        fault = "{method} needs {delta}: its guarantee is pure"
    if fault:
        raise UsageError(phrase(fault, delta=0, method="laplace"))
    return zero


def _read_given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given beside the cost and the horizon."""
    given = read_given(options, _MECHANISM, ContinualMechanism)
    if options.known_labels is not None:
        given["labels"] = read_known_labels(options.known_labels, options.label)
    return {name: value for name, value in given.items() if name not in _NEW}


def _check_same(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Refuse parameters that are not those of the state, and a state above a description."""
    for name, most in getattr(options, "largest", {}).items():
        held = getattr(mechanism, name)
        if held is not None and held > most:
            less = f"must be at most {most}, as {options.dataset_file} says, and is {held} in "
            raise ParameterError(name, f"{less}{options.state}", "begin another stream")
    for name, value in _read_given(options).items():
        if name in getattr(options, "filled", ()):
            continue
        if name == "labels":
            value = tuple(format_label(label, mechanism.label_type) for label in value)
        if getattr(mechanism, name) != value:
            same = f"must be as the stream at {options.state} was made with"
            raise ParameterError(name, same, "leave it out to go on")


def _check_users(stream: ContinualHistogram, options: argparse.Namespace) -> None:
    """Refuse other users than those of the state: none, some, of another column or unit."""
    bounded = stream.mechanism.max_events_per_user is not None
    if bounded and options.user is None:
        raise UsageError(phrase("{user} is needed: the state bounds the events of each user"))
    if not bounded and options.user is not None:
        needed = "{user} needs {max_events_per_user}, which the state was made without"
        raise UsageError(phrase(needed))
    if not bounded:
        return
    if stream.time and stream.named_users is None:
        # A state of an earlier version, or of a program: its users may be others.
        call = f"stream.name_users({options.user!r})"
        raise UsageError(
            f"{options.state} does not say who its users are: begin another stream; or, if they "
            f"are of the column {options.user!r}, say so once in Python, {call}"
        )
    stream.name_users(options.user, get_named_unit(options))


def _announce(stream: ContinualHistogram, options: argparse.Namespace) -> None:
    """Print what is promised, before anything is released."""
    if options.quiet or options.json:
        return
    mechanism = stream.mechanism
    say(f"Guarantee: {in_all(find_total(mechanism))}, for {stream.unit}.")
    if stream.time:
        say(f"Continuing from a state with {how_many(stream.time, 'event')}.")
    say(flush=True)


def _make_form(options: argparse.Namespace, stream: ContinualHistogram) -> Form:
    kind, users = stream.mechanism.label_type, stream.user_type
    if users is None and stream.time:  # an earlier version, which made text of all users
        users = "text"
    if options.format == "lines":
        return Lines(options.separator, kind)
    if options.format == "csv":
        return Rows(_find_label(options), options.user, options.separator, kind, users)
    return Objects(_find_label(options), options.user, kind, users)


def _find_label(options: argparse.Namespace) -> str:
    return "label" if options.label is None else str(options.label)


COMMAND = Command(
    text="Count the labels of events as they arrive, and release the running counts of the common "
    "labels as often as needed, under one guarantee for the whole stream.",
    epilog=_EPILOG,
    table=[
        Option(
            "state", "the state of the stream; created if it does not exist", "FILE", required=True
        ),
        Option(
            "moved", "accept a state that was copied here; its original must never be used again"
        ),
        *_MECHANISM,
        Option("user", "column or field of users", "NAME"),
        unit_option(' (default: "user")', NAMES_USERS),
        OneOf(
            [
                Option(
                    "every",
                    "make a reading after every N events of the stream",
                    "N",
                    whole,
                    least=1,
                ),
                Option("every_seconds", "make a reading every S seconds", "S", _seconds),
            ]
        ),
        Option(
            "format",
            "format of the input (default: lines)",
            choices=("lines", "ndjson", "csv"),
            default="lines",
        ),
        Option("label", "column or field of labels (default: label)", "NAME"),
        Option("separator", "separator of several labels in a line or column", "S"),
        Option(
            "resume",
            "the input has the stream from its first event: skip the events that the state has "
            "counted already",
        ),
        Option("top", "maximum number of labels printed per reading", "K", whole, least=1),
        *dry_run(
            "guarantee, threshold and error",
            guess("expect_events", "the number of events, for a dry run", parameter="time"),
            output="of all readings ",
        ),
        PRESENTATION,
        PAYMENT,
        *outputs(
            "time,label,count,low,high",
            more="; outputs of the same stream are always replaced",
            json="print each reading as a JSON object on a line",
            forms=False,
        ),
    ],
    run=_stream,
)
