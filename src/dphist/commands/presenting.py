"""Options that give the words in which a release is shown."""

import argparse
from collections.abc import Sequence
from typing import Any

from dphist.release.presentation import WORDS, Presentation, forms_of
from dphist.release.release import Release

_HELP = {
    "title": "heading of the page",
    "label_name": 'what a label is, such as "gene", or "taxon/taxa" with its plural',
    "record_name": 'what a record is, such as "visit"',
    "dataset": "name of the data",
    "period": 'time that the data are of, such as "2019 to 2024"',
    "owner": "who answers for the release",
    "note": "the purpose, or any other note; also kept by a ledger",
}


class _Unit(argparse.Action):
    """Keep "person/people" as the words of pages, and its singular as the unit of the data."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: "str | Sequence[Any] | None",
        option_string: str | None = None,
    ) -> None:
        text = str(values)
        namespace.unit_word = text
        namespace.unit = text.partition("/")[0].strip() if text.count("/") == 1 else text


def add_unit_option(command: argparse.ArgumentParser, more: str = ' (default: "user")') -> None:
    """Add the option that says what a user is."""
    command.set_defaults(unit=None, unit_word=None)
    command.add_argument(
        "--unit",
        metavar="TEXT",
        action=_Unit,
        help=f'what a user is, such as "patient", or "person/people" with its plural{more}',
    )


def add_presentation(command: argparse.ArgumentParser) -> None:
    """Add the options of words that a release carries; `--unit` comes with the unit of the data."""
    group = command.add_argument_group(
        "presentation",
        "Words for page, pictures and summary. They are saved in the release and published with "
        "it: take none from the data.",
    )
    for name, text in _HELP.items():
        group.add_argument(f"--{name.replace('_', '-')}", metavar="TEXT", help=text)


def check_presentation(options: argparse.Namespace) -> None:
    """Refuse words that cannot be shown, before data are read.

    Raises
    ------
    ParameterError
    """
    Presentation(**_words_of(options))


def presentation_of(options: argparse.Namespace) -> Presentation:
    """Return the words that were given, and today's date."""
    return Presentation(**_words_of(options))


def presented(release: Release, options: argparse.Namespace) -> Release:
    """Return a release with the words that the options give, and what asked for it."""
    words = _words_of(options)
    release = release.present(**words) if words else release
    configuration = getattr(options, "configuration", None)
    if configuration is None or "entry" in release.provenance:  # a ledger states it itself
        return release
    return release.configured(configuration)


def _words_of(options: argparse.Namespace) -> Any:
    """Return the words that were given, by field."""
    given = {name: getattr(options, name, None) for name in WORDS if name != "unit"}
    word = getattr(options, "unit_word", None)
    # A single form is in the unit of the data already, except where a release is only shown.
    if word is not None and (forms_of(word)[0] != word or getattr(options, "only_shown", False)):
        given["unit"] = word
    return {name: value for name, value in given.items() if value is not None}
