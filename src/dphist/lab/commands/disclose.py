"""dphist disclose: an entry for the public registry of deployments, from releases or a ledger."""

import argparse
import os
import re
from pathlib import Path

from dphist.commands.ledger.options import LEDGER, check_exists
from dphist.commands.options import OVERWRITE, UsageError, argument
from dphist.commands.printing import say
from dphist.commands.publishing import check_inputs, check_outputs
from dphist.document.options import Command, Excludes, OneOf, Option
from dphist.files import stage_outputs
from dphist.lab.disclosure.about import template
from dphist.release.release import Release

_FILE_NAME = re.compile(r"[a-z0-9_]+\.yaml")


def _disclose(options: argparse.Namespace) -> None:
    if options.template is not None:
        _write_template(options)
        return
    check_inputs(options.releases)
    place = _find_ledger(options)
    inputs = [*options.releases, place, options.about]
    check_outputs([options.output], inputs, overwrite=options.overwrite)
    text = _draft_entry(options, place)
    if options.output is None:
        say(text, end="")
        return
    _write(options, options.output, text)
    say(f"wrote {options.output} (a draft: read it, complete it, and hand it in)")
    if not _FILE_NAME.fullmatch(Path(options.output).name):
        say("The registry takes names of a-z, 0-9 and _ only, such as county_drugs_2026.yaml.")


def _draft_entry(options: argparse.Namespace, place: str | None) -> str:
    from dphist.lab.disclosure.disclose import disclose  # needs the extra `disclose`

    if place is None:
        releases = [Release.load(path) for path in options.releases]
        return disclose(releases, about=options.about).to_yaml()
    from dphist.commands.ledger.payment import open_ledger

    with open_ledger(options, place) as ledger:
        return disclose(ledger, about=options.about, account=options.account).to_yaml()


def _find_ledger(options: argparse.Namespace) -> str | None:
    """Return the ledger that is disclosed; None for releases."""
    if options.releases:
        if options.ledger is not None or options.account is not None:
            raise UsageError("name releases, or --ledger and --account: not both")
        return None
    place = options.ledger or os.environ.get(LEDGER)
    if not place:
        raise UsageError(f"name what is disclosed: RELEASE, or --ledger (or {LEDGER})")
    return check_exists(place)


def _write_template(options: argparse.Namespace) -> None:
    if len(options.releases) > 1:
        raise UsageError("--template takes one RELEASE at most")
    check_inputs(options.releases)
    check_outputs([options.template], options.releases, overwrite=options.overwrite)
    shown = [Release.load(path).presentation for path in options.releases]
    _write(options, options.template, template(*shown))
    say(f"wrote {options.template}: fill it in, then name it with --about")


def _write(options: argparse.Namespace, path: str, text: str) -> None:
    with stage_outputs() as staged:
        staged.write(path, text, replace=options.overwrite)


COMMAND = Command(
    text="Draft an entry (YAML) for the public registry of differential privacy deployments. "
    "Several releases are taken to be of one data set, and their costs are added. Of a ledger, the "
    "budget of an account is stated.",
    table=[
        argument(
            "releases", "releases that dphist wrote (JSON)", "RELEASE", required=False, repeats=True
        ),
        Option(
            "ledger",
            f"or a ledger that paid for the releases (default: ${LEDGER})",
            "FILE|URL",
            parameter="place",
        ),
        Option("account", "account of the ledger (default: the only one)", "NAME"),
        OneOf(
            [
                Option("about", "what only you know of the data product", "TOML"),
                Option(
                    "template",
                    "write such a file here, to fill in; title, owner and day are those of a "
                    "RELEASE",
                    "TOML",
                    rules=(Excludes(["output", "ledger"], "what only you know is in neither"),),
                ),
            ],
            required=True,
        ),
        Option("output", "write the entry here (default: print it)", "YAML"),
        OVERWRITE,
    ],
    run=_disclose,
)
