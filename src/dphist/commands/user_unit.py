"""What a user is, as an option says it: one patient, one account."""

import argparse

from dphist.commands.options import UsageError
from dphist.errors import ParameterError
from dphist.privacy.unit import ONE_USER, PrivacyUnit


def user_unit(options: argparse.Namespace) -> PrivacyUnit:
    """Return what a user is.

    Raises
    ------
    UsageError
        If it is named without a column of users, or is not a line of text.
    """
    if options.unit is None:
        return ONE_USER
    if options.user is None:
        raise UsageError("--unit needs --user: it says what the users of that column are")
    return unit_of(options.unit)


def unit_of(text: str) -> PrivacyUnit:
    """Return a unit that was named by an option; UsageError if it is not a line of text."""
    try:
        return PrivacyUnit(text)
    except ParameterError:
        raise UsageError(
            "--unit must be one line of at most 200 characters, such as 'one patient'"
        ) from None
