"""dphist stream: running counts of events, as they come on standard input."""

import argparse
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from dphist.commands.labels.known_labels import known_labels
from dphist.commands.ledger.options import PAYMENT, place_to_pay
from dphist.commands.options import UsageError, dry_run, guess, outputs
from dphist.commands.presenting import (
    PRESENTATION,
    check_presentation,
    presentation_of,
    unit_option,
)
from dphist.commands.printing import say
from dphist.commands.publishing import Protected, check_purpose
from dphist.commands.records import NAMES_USERS, say_dry_run
from dphist.commands.stream.outputs import check_new_outputs, check_stream_paths, replaceable
from dphist.commands.stream.paying import open_paid_stream, reserve_stream
from dphist.commands.stream.run import Run
from dphist.commands.stream.state import removed_if_unused
from dphist.commands.stream.stop import Stopping
from dphist.commands.stream.unit import unit_of_stream
from dphist.commands.user_unit import user_unit
from dphist.document.kind import DataFacts
from dphist.document.options import (
    HOLDS_LABELS,
    Command,
    Needs,
    OneOf,
    Option,
    decimal,
    given_parameters,
    options_of,
    whole,
)
from dphist.document.totals import in_all, total_of
from dphist.document.unit_words import how_many
from dphist.errors import Argument, ParameterError, join_arguments
from dphist.parameters import positive_delta, positive_number, probability
from dphist.privacy.calibration import calibrate
from dphist.release.label_types import text_of
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


_MECHANISM = options_of(
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
_TABLE = [
    Option(
        "state",
        "the state of the stream; created if it does not exist",
        "FILE",
        required=True,
    ),
    Option("moved", "accept a state that was copied here; its original must never be used again"),
    *_MECHANISM,
    Option("user", "column or field of users", "NAME"),
    unit_option(' (default: "user")', NAMES_USERS),
    OneOf(
        [
            Option(
                "every", "make a reading after every N events of the stream", "N", whole, least=1
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
        "the input has the stream from its first event: skip the events that the state has counted "
        "already",
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
        "time,label,count",
        more="; outputs of the same stream are always replaced",
        json="print each reading as a JSON object on a line",
    ),
]


def _stream(options: argparse.Namespace) -> None:
    _check_options(options)
    if options.dry_run:
        _say_dry_run(_made(options), options)
        return
    place = place_to_pay(options)
    if sys.stdin is None:
        raise UsageError("standard input is closed; events are read from it")
    check_stream_paths(options)
    new = not Path(options.state).exists()
    if new:
        check_new_outputs(options)
    if new and options.user is not None and options.max_events_per_user is None:
        needed = Argument("user") + " needs " + Argument("max_events_per_user")
        raise UsageError(needed + ": how many events of each are counted")
    mechanism = None if options.epsilon is None and not new else _made(options)
    if place is not None and options.reserve:
        reserve_stream(mechanism or _made(options), options, place)
        return
    # A state that was paid for is kept, also an unused one: it is the only one of its key.
    unpaid = new and place is None
    stopping = Stopping()
    with (
        stopping.handled(),
        _opened(options, mechanism, place) as stream,
        removed_if_unused(stream, options.state, unpaid),
    ):
        _check_same(stream.mechanism, options)
        _check_users(stream.mechanism, options)
        replaced = replaceable(stream, options)
        form = _form(options, stream)
        _announce(stream, options)
        skip = stream.time if options.resume else 0
        Run(stream, form, options, skip, stopping, unpaid, replaced).run(sys.stdin.fileno())


def _say_dry_run(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Print guarantee, threshold and error; nothing is read or made."""
    named = None if options.unit is None else user_unit(options)
    data = DataFacts(
        unit=unit_of_stream(mechanism, options),
        presentation=presentation_of(options),
        guesses=() if options.expect_events is None else (options.expect_events,),
    )
    unread = "No input was read, and no state was made."
    document = KIND.document(mechanism, data, None)
    say_dry_run(document, mechanism, options, Protected(named, None), unread)


def _opened(
    options: argparse.Namespace, mechanism: ContinualMechanism | None, place: str | None
) -> AbstractContextManager[ContinualHistogram]:
    """Open the stream, charged to a ledger if there is one."""
    if place is not None:
        return open_paid_stream(mechanism, options, place)
    return ContinualHistogram.open(options.state, moved=options.moved, mechanism=mechanism)


def _check_options(options: argparse.Namespace) -> None:
    if options.method == "laplace" and options.epsilon is not None and options.delta is None:
        options.delta = "0"
    missing = [name for name in _NEW if getattr(options, name) is None]
    if missing and len(missing) < len(_NEW):
        needed = join_arguments(missing) + " needed too: "
        raise UsageError(needed + join_arguments(_NEW) + " go together")
    if options.format == "lines" and (options.label or options.user):
        needed = join_arguments(["label", "user"]) + " need " + Argument("format", "csv")
        raise UsageError(needed + " or ndjson, which has names")
    if options.format == "ndjson" and options.separator is not None:
        other = " is for lines and csv; in ndjson several labels are a list"
        raise UsageError(Argument("separator") + other)
    if options.separator == "" or "\n" in (options.separator or ""):
        raise UsageError(Argument("separator") + " must be text within a line")
    if options.user is not None and options.user == _label(options):
        raise UsageError(join_arguments(["user", "label"]) + " must be different columns")
    user_unit(options)
    check_presentation(options)
    if options.dry_run:
        return
    check_purpose(options)
    if options.quiet and options.top is not None:
        raise UsageError("--top is for what is printed: leave it or --quiet out")


def _made(options: argparse.Namespace) -> ContinualMechanism:
    """Return the parameters of a stream that costs what the options say."""
    made: ContinualMechanism
    if options.epsilon is None:
        what = "a dry run" if options.dry_run else "a new stream"
        raise UsageError(
            join_arguments(_NEW)
            + f" are needed for {what}, such as --epsilon 1 --delta 1e-6 --horizon 1000000"
        )
    epsilon = positive_number(options.epsilon, "epsilon")
    horizon = None if options.horizon == NO_HORIZON else options.horizon
    shared = {"horizon": horizon, **_given(options)}
    if horizon is None and options.readings is None:
        needed = Argument("horizon", None) + " needs " + Argument("readings")
        raise UsageError(needed + ": how often the stream is read at most")
    if _is_pure(options):
        made = calibrate(
            ContinualMechanism, epsilon=epsilon, delta=0, **{**shared, "method": "laplace"}
        )
        return made
    delta = positive_delta(options.delta, "the noise is Gaussian")
    made = calibrate(ContinualMechanism, epsilon=epsilon, delta=delta, **shared)
    return made


def _is_pure(options: argparse.Namespace) -> bool:
    """Whether the stream is to have no delta: a delta of 0, or the method that needs none."""
    zero = probability(options.delta, "delta") == 0
    no_delta, laplace = Argument("delta", 0), Argument("method", "laplace")
    if zero and options.known_labels is None:
        needed = no_delta + " and " + laplace + " need " + Argument("known_labels")
        raise UsageError(needed + ": labels from the events need a delta above 0")
    if zero and options.method not in (None, "laplace"):
        raise UsageError(no_delta + " needs " + laplace + ": the noise of the others is Gaussian")
    if options.method == "laplace" and not zero:
        raise UsageError(laplace + " needs " + no_delta + ": its guarantee is pure")
    return zero


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given beside the cost and the horizon."""
    given = given_parameters(options, _MECHANISM, ContinualMechanism)
    if options.known_labels is not None:
        given["labels"] = known_labels(options.known_labels)
    return {name: value for name, value in given.items() if name not in _NEW}


def _check_same(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Refuse parameters that are not those of the state."""
    for name, value in _given(options).items():
        if name == "labels":
            value = tuple(text_of(label, mechanism.label_type) for label in value)
        if getattr(mechanism, name) != value:
            raise ParameterError(
                name,
                f"must be as the stream at {options.state} was made with",
                "leave it out to go on",
            )


def _check_users(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Refuse input without users where the state bounds them, and users where it does not."""
    bounded = mechanism.max_events_per_user is not None
    if bounded and options.user is None:
        raise UsageError(Argument("user") + " is needed: the state bounds the events of each user")
    if not bounded and options.user is not None:
        needed = Argument("user") + " needs " + Argument("max_events_per_user")
        raise UsageError(needed + ", which the state was made without")


def _announce(stream: ContinualHistogram, options: argparse.Namespace) -> None:
    """Print what is promised, before anything is released."""
    if options.quiet or options.json:
        return
    mechanism = stream.mechanism
    unit = unit_of_stream(stream, options)
    say(f"Guarantee: {in_all(total_of(mechanism))}, for {unit}.")
    if stream.time:
        say(f"Continuing from a state with {how_many(stream.time, 'event')}.")
    say(flush=True)


def _form(options: argparse.Namespace, stream: ContinualHistogram) -> Form:
    kind, users = stream.mechanism.label_type, stream.user_type
    if users is None and stream.time:  # an earlier version, which made text of all users
        users = "text"
    if options.format == "lines":
        return Lines(options.separator, kind)
    if options.format == "csv":
        return Rows(_label(options), options.user, options.separator, kind, users)
    return Objects(_label(options), options.user, kind, users)


def _label(options: argparse.Namespace) -> str:
    return "label" if options.label is None else str(options.label)


COMMAND = Command(
    text="Count the labels of events as they arrive, and release the running counts of the common "
    "labels as often as needed, under one guarantee for the whole stream.",
    epilog=_EPILOG,
    table=_TABLE,
    run=_stream,
)
