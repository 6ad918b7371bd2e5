"""What a stream would promise and be worth, from its parameters alone."""

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from dphist.commands.ledger.quoting import quote
from dphist.commands.printing import say
from dphist.commands.publishing import Protected, in_the_way, say_in_the_way
from dphist.commands.stream.unit import unit_of_stream
from dphist.commands.user_unit import user_unit
from dphist.document.delta_words import Number
from dphist.document.guarantee_words import plural_of
from dphist.document.totals import in_all, total_in_words, total_json, total_of, warnings_of
from dphist.privacy import PureDP
from dphist.privacy.as_text import float_up, plain, up
from dphist.report.streams import words as streams_words
from dphist.streams import ContinualMechanism

_USUAL_EVENTS = 10**6


def print_dry_run(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """State guarantee, threshold and error; nothing is read or made."""
    total = total_of(mechanism)
    unit = unit_of_stream(mechanism, options)
    named = None if options.unit is None else user_unit(options)
    quoted = quote(mechanism, options, Protected(named, None))
    threshold, guess = mechanism.threshold, options.expect_events
    # Without a horizon errors grow with time: stated for the number expected, or a usual one.
    until = mechanism.stated_until(guess or _USUAL_EVENTS)
    if threshold is not None and until is not None:
        threshold = mechanism.threshold_at(until)
    said = {"unit": unit}
    number = Number(noun=plural_of(unit))
    if mechanism.max_events_per_user is None:
        number = Number(guess or mechanism.horizon, "events")
    likely = None if threshold is None else streams_words.likely_count(mechanism, until)
    if options.quiet:
        return
    goes_on = Path(options.state).exists()  # with outputs that it may replace
    if options.json:
        shown: dict[str, Any] = {
            "guarantee": total_json(total, unit),
            "warnings": warnings_of(mechanism, number),
            "zcdp": str(mechanism.guarantee),
            "method": mechanism.method,
            "horizon": mechanism.horizon,
            "threshold": None if threshold is None else float_up(threshold),
            "standard_error": mechanism.standard_error
            if until is None
            else mechanism.standard_error_at(until),
            "noise_bytes_per_label": 8 * mechanism.counter.width,
            "released_with_chance": {} if likely is None else {"0.95": likely},
            **quoted.shown,
            "refused_outputs": [] if goes_on else in_the_way(options),
        }
        if guess is not None and likely is not None:
            shown["shares"] = {"0.95": likely / guess}
        say(json.dumps(shown))
        return
    say(f"Guarantee: {in_all(total)}, for {unit}.")
    say(total_in_words(total, unit, number, mechanism.guarantee))
    say(streams_words.coverage_in_words(mechanism))
    if not isinstance(mechanism.guarantee, PureDP):
        say(f"In zCDP: {mechanism.guarantee}.")
    for line in streams_words.bounding_in_words(mechanism, said):
        say(line)
    say(mechanism.description)
    say(streams_words.threshold_in_words(mechanism, until))
    if guess is not None and likely is not None:
        share = plain(up(Fraction(100 * likely, guess), 2))
        say(f"  {likely:,} of {guess:,} events are {share} % of them.")
    error = streams_words.error_text(mechanism, until)
    width = streams_words.half_width(mechanism, until)
    when = "at most" if until is None else f"after {until:,} events"
    say(f"Standard error of a count: {when} {error}, so ± {width:,} with probability 95 %.")
    width = mechanism.counter.width
    say(f"Noise kept for a label: {width:,} numbers, {8 * width:,} bytes.")
    for line in quoted.said:
        say(line)
    if not goes_on:
        say_in_the_way(options)
    say("No input was read, and no state was made.")
