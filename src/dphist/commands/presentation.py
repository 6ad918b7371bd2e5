"""Options that give the words in which a release is shown, and what a user is called."""

import argparse
from typing import Any

from dphist.commands.options import UsageError
from dphist.document.options import Group, Needs, Option
from dphist.errors import ParameterError, phrase
from dphist.privacy.as_text import find_forms
from dphist.privacy.unit import PrivacyUnit, as_unit
from dphist.release.presentation import WORDS, Presentation
from dphist.release.release import Release

_MEANINGS = {
    "title": "heading of the page",
    "label_name": 'what a label is, such as "gene", or "taxon/taxa" with its plural',
    "record_name": 'what a record is, such as "visit"',
    "dataset_name": "name of the data",
    "period": 'time that the data are of, such as "2019 to 2024"',
    "owner": "who answers for the release",
    "note": "the purpose, or any other note; also kept by a ledger",
}


PRESENTATION = Group(
    "presentation",
    "Words for page, pictures and summary. They are saved in the release and published with it: "
    "take none from the data.",
    [
        Option(name, meaning, "TEXT", parameter="dataset" if name == "dataset_name" else "")
        for name, meaning in _MEANINGS.items()
    ],
)


def unit_option(more: str = ' (default: "user")', *rules: Needs) -> Option:
    """Return the option that says what a user is: a noun for pages, and for the unit of data."""
    meaning = f'what a user is, such as "patient", or "person/people" with its plural{more}'
    return Option("unit", meaning, "TEXT", rules=rules)


def get_unit_name(options: argparse.Namespace) -> str | None:
    """Return what --unit calls one user, without the plural; None without --unit."""
    text: str | None = getattr(options, "unit", None)
    return text.partition("/")[0].strip() if text and text.count("/") == 1 else text


def read_presentation(options: argparse.Namespace) -> Presentation:
    """Return the words that were given; ParameterError if they cannot be shown."""
    return Presentation(**_read_words(options))


def present_release(release: Release, options: argparse.Namespace) -> Release:
    """Return a release with the words that the options give, and what asked for it."""
    words = _read_words(options)
    release = release.present(**words) if words else release
    # What a ledger keeps is returned as it was made; of a stream it keeps none.
    if "entry" in release.provenance and not hasattr(options, "state"):
        return release
    configuration = getattr(options, "configuration", None)
    return release.configured(configuration, description=getattr(options, "described", None))


def _read_words(options: argparse.Namespace) -> Any:
    """Return the words that were given, by field."""
    given = {name: getattr(options, name, None) for name in WORDS if name != "unit"}
    given["dataset"] = getattr(options, "dataset_name", None)
    word = getattr(options, "unit", None)
    # A single form is in the unit of the data already, except where a release is only shown.
    if word is not None and (find_forms(word)[0] != word or getattr(options, "only_shown", False)):
        given["unit"] = word
    return {name: value for name, value in given.items() if value is not None}


def get_named_unit(options: argparse.Namespace) -> PrivacyUnit | None:
    """Return what --unit says a user is; None without it."""
    return None if options.unit is None else read_unit(get_unit_name(options) or "")


def read_unit(text: str) -> PrivacyUnit:
    """Return the unit that an option names; UsageError if it is not a line of text."""
    try:
        return as_unit(text)
    except ParameterError:
        line = "{unit} must be one line of at most 200 characters, such as 'one patient'"
        raise UsageError(phrase(line)) from None
