"""What a user is, as an option says it: one patient, one account."""

import argparse

from dphist.commands.options import UsageError
from dphist.commands.presenting import unit_name
from dphist.errors import Argument, ParameterError
from dphist.privacy.unit import ONE_USER, PrivacyUnit


def user_unit(options: argparse.Namespace) -> PrivacyUnit:
    """Return what a user is; UsageError if its name is not a line of text."""
    return ONE_USER if options.unit is None else unit_of(unit_name(options) or "")


def unit_of(text: str) -> PrivacyUnit:
    """Return a unit that was named by an option; UsageError if it is not a line of text."""
    try:
        return PrivacyUnit(text)
    except ParameterError:
        raise UsageError(
            Argument("unit") + " must be one line of at most 200 characters, such as 'one patient'"
        ) from None
