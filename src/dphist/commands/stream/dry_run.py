"""What a stream would promise and be worth, from its parameters alone."""

import argparse
import json
from pathlib import Path

from dphist.commands.ledger.quoting import quote
from dphist.commands.presenting import presentation_of
from dphist.commands.printing import say
from dphist.commands.publishing import Protected, in_the_way, refusal
from dphist.commands.stream.unit import unit_of_stream
from dphist.commands.user_unit import user_unit
from dphist.document.blocks import JSON, Fact, Note, Section
from dphist.document.kind import DataFacts
from dphist.render.as_json import content
from dphist.render.text import text
from dphist.streams import ContinualMechanism
from dphist.streams.kind import KIND


def say_dry_run(mechanism: ContinualMechanism, options: argparse.Namespace) -> None:
    """Print guarantee, threshold and error; nothing is read or made."""
    named = None if options.unit is None else user_unit(options)
    quoted = quote(mechanism, options, Protected(named, None))
    if options.quiet:
        return
    data = DataFacts(
        unit=unit_of_stream(mechanism, options),
        presentation=presentation_of(options),
        guesses=() if options.expect_events is None else (options.expect_events,),
    )
    goes_on = Path(options.state).exists()  # with outputs that it may replace
    there = [] if goes_on else in_the_way(options)
    refused = [f"It would be refused: {refusal(there)}."] if there else []
    said = [*quoted.said, *refused, "No input was read, and no state was made."]
    shown = {**quoted.shown, "refused_outputs": there}
    facts = [Fact("", "", key, value, on=frozenset({JSON})) for key, value in shown.items()]
    run = Section("run", "", [*map(Note, said), *facts])
    document = KIND.document(mechanism, data, None).with_section(run)
    say(json.dumps(content(document)) if options.json else text(document).rstrip())
