"""A look at how many records users have, which a command pays for before it counts records."""

import argparse
import copy
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.commands.options import UsageError
from dphist.commands.presentation import get_unit_name
from dphist.counting.engine.progress import Report
from dphist.data.binned_counts import BinnedCounts
from dphist.data.user_records import MOST, count_user_records, list_cells
from dphist.document.blocks import JSON, Block, Fact, Note
from dphist.document.guarantee_words import error_in_short, guarantee_in_short
from dphist.document.options import Excludes, Needs, Option, whole
from dphist.document.reading_options import get_files
from dphist.errors import phrase
from dphist.parameters import privacy_parameter
from dphist.planning.max_records import bound_mechanism, choose_max_records
from dphist.privacy import Guarantee, PureDP, with_implied_rho
from dphist.ranges import LeafCounts
from dphist.release.release import Release
from dphist.sentence import Sentence

AUTO = "auto"
SHARE = Fraction(1, 20)
"""Share of the budget that the look costs."""

_SHOWN = (1, 10, 100)  # bounds of which a dry run states the expected error

USERS_BY_RECORDS = Option(
    "users_by_records",
    "also release how many users have how many records, K or more together, for 1/20 of the "
    "budget: it tells how much too low counts are because of --max-records (default: 1000 where "
    "that number is found)",
    "K",
    whole,
    least=2,
    rules=(
        Needs(["user"], "it is users that are counted"),
        Excludes(["reserve"], "what two releases cost is not set aside together"),
    ),
)


def read_whole_or_auto(text: str) -> int | str:
    """Read a whole number, or the word for a number that is found."""
    try:
        return AUTO if text == AUTO else whole(text)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None


@dataclass(frozen=True, slots=True)
class _AtAnyBound:
    """A release of which the cost is known, and not yet the bound."""

    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class UsersLook:
    """What is released before the records are counted, and what follows from it.

    Attributes
    ----------
    mechanism : releases how many users have how many records.
    most : where the last cell of numbers of records starts.
    bound : maximum number of records of a user; None if it is found.
    read : counts the users, told what reports progress.
    count : counts the records with a bound, told what reports progress.
    """

    mechanism: LeafCounts
    most: int
    bound: int | None
    read: Callable[[Report | None], BinnedCounts]
    count: Callable[[Report | None, int], Any]

    @property
    def largest(self) -> int:
        """The largest bound that there may be."""
        return self.most - 1 if self.bound is None else self.bound

    def follow(self, users: Release, mechanism: Any) -> Any:
        """Return the mechanism with the bound that follows from released numbers of users."""
        if self.bound is not None:
            return bound_mechanism(mechanism, self.bound)
        return choose_max_records(users, mechanism).mechanism

    def price(self, mechanism: Any) -> Any:
        """Return what costs as much as the mechanism at each bound that may be found.

        The rho of pure noise depends on the bound, and the one that its epsilon implies does not.
        """
        guarantee = mechanism.guarantee
        if self.bound is not None or not isinstance(guarantee, PureDP):
            return mechanism
        return _AtAnyBound(with_implied_rho(guarantee))

    def describe(self, mechanism: Any, guess: int) -> list[Block]:
        """Return what a dry run says of the look and of what follows.

        Parameters
        ----------
        guess : public number of records, for the errors to expect.
        """
        said = Sentence(
            "Of the budget, {own} is for the counts, and {look} for how many {users} have how many "
            "{records}, up to {most:,}, which is released first.",
            own=guarantee_in_short(mechanism.guarantee),
            look=guarantee_in_short(self.mechanism.guarantee),
            most=self.most,
        )
        blocks: list[Block] = [Note(said)]
        if self.bound is None:
            found = (
                "The number of {records} of each {user} that count, at most {most:,}, is the one "
            )
            found += "with the smallest expected error by what is released first, of bounding and "
            found += "noise together. The noise alone, of {guess:,} {records}: {errors}."
            bounds = [bound for bound in (*_SHOWN, self.largest) if bound <= self.largest]
            errors = "; ".join(
                f"--max-records {bound:,}: "
                f"{error_in_short(bound_mechanism(mechanism, bound).quick_error(guess))}"
                for bound in bounds
            )
            blocks.append(Note(Sentence(found, most=self.largest, guess=guess, errors=errors)))
        as_json = {
            "share_of_budget": str(SHARE),
            "guarantee": str(self.mechanism.guarantee),
            "most": self.most,
            "max_records": self.bound or AUTO,
        }
        return [*blocks, Fact("", "", "users_by_records", as_json, on=frozenset({JSON}))]


def is_found(options: argparse.Namespace) -> bool:
    """Whether the number of records of a user is found; the options alone decide it."""
    return options.user is not None and options.max_records in (None, AUTO)


def check_found(options: argparse.Namespace) -> None:
    """Refuse to find a number of records without users, or to set aside what it costs."""
    if options.max_records == AUTO and options.user is None:
        needed = "{max_records} auto needs {user}: it finds how many records of each user count"
        raise UsageError(phrase(needed))
    if is_found(options) and options.reserve:
        raise UsageError(
            phrase("{reserve} with {user} needs {max_records}: it sets aside one release only")
        )


def make_users_look(
    options: argparse.Namespace,
    count: Callable[[Report | None, int], Any],
    *,
    column: str | None = None,
) -> tuple[UsersLook | None, dict[str, Fraction]]:
    """Return the look that the options ask for, and the budget that is left for the counts.

    Parameters
    ----------
    count : counts the records with a bound.
    column : of counts, if a row stands for several records.
    """
    name = "epsilon" if getattr(options, "rho", None) is None else "rho"
    budget = privacy_parameter(getattr(options, name), name)
    budget = budget / 2 if options.exchanged else budget  # proofs/exchanged.md, Lemma 2
    if not is_found(options) and options.users_by_records is None:
        return None, {name: budget}
    if options.null_users == "separate":
        told = "separate rows are no users: give {max_records}, and leave out {users_by_records}"
        raise UsageError(phrase("{null_users} " + told))
    most = MOST if options.users_by_records is None else options.users_by_records
    bound = None if is_found(options) else int(options.max_records)
    if bound is not None and most <= bound:
        raise UsageError(phrase("{users_by_records} must be above {max_records}"))

    def read(progress: Report | None) -> BinnedCounts:
        return count_user_records(
            get_files(options),
            user=options.user,
            count=column,
            most=most,
            max_records=bound,
            null_users=options.null_users or "refuse",
            progress=progress,
            delimiter=options.delimiter,
            unit=get_unit_name(options),
        )

    cells = len(list_cells(most, bound))
    law: dict[str, Any] = {name: budget * SHARE}
    mechanism = LeafCounts(**law, bins=cells)
    return UsersLook(mechanism, most, bound, read, count), {name: budget * (1 - SHARE)}


def with_key_of_users(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options with the key of the look, which is a release of its own."""
    own = copy.copy(options)
    own.key = None if options.key is None else f"{options.key}, users by records"
    return own
