"""dphist ledger plan: whether releases would fit, before anything runs."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.commands.ledger.payment import open_ledger
from dphist.commands.options import JSON, UsageError
from dphist.commands.printing import say
from dphist.document.options import Option, whole
from dphist.errors import BudgetError, phrase
from dphist.ledger.document import document_of_plan
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.render.text import content, text

_MOST = 10_000


class _Asked(argparse._AppendAction):
    """Collects releases: --epsilon and --rho begin one, --delta and --times belong to the last."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: Any,
        option: str | None = None,
    ) -> None:
        asked = list(getattr(namespace, "asked", ()))
        if self.dest in ("epsilon", "rho"):
            asked.append({self.dest: value})
        elif not asked or self.dest in asked[-1]:
            raise UsageError(f"{option} must follow --epsilon or --rho of its release, once each")
        else:
            asked[-1] = {**asked[-1], self.dest: value}
        namespace.asked = asked


@dataclass(frozen=True, slots=True)
class _Release:
    """A release of which only the cost is known."""

    guarantee: Guarantee


def _plan(options: argparse.Namespace) -> None:
    asked = getattr(options, "asked", ())
    if not asked:
        raise UsageError(phrase("{epsilon} or {rho} must be given: what a release would cost"))
    with open_ledger(options) as ledger:
        balance = ledger.balance(options.account)
        (unit,) = [each.unit for each in ledger.accounts if each.name == balance.account]
        releases = _make_releases(asked, unit)
        found = ledger.plan(releases, by=options.by, account=balance.account)
        guarantees = [release.guarantee for release in releases]
        document = document_of_plan(ledger.name, balance, guarantees, found)
    say(json.dumps(content(document)) if options.json else text(document).rstrip())
    if not found.affordable:
        raise BudgetError(
            f"{len(releases) - found.paid:,} of {len(releases):,} releases would be refused, from "
            f"number {found.paid + 1:,} on. Nothing was charged"
        )


def _make_releases(asked: Sequence[dict[str, Any]], unit: PrivacyUnit) -> list[_Release]:
    releases: list[_Release] = []
    for each in asked:
        times = each.get("times", 1)
        if not 1 <= times <= _MOST - len(releases):
            raise UsageError(f"--times must be at least 1, and {_MOST:,} releases are the most")
        releases += [_Release(_read_guarantee(each, unit))] * times
    return releases


def _read_guarantee(asked: dict[str, Any], unit: PrivacyUnit) -> Guarantee:
    delta = asked.get("delta")
    if "rho" in asked:
        rho = asked["rho"]
        return ZCDP(rho, unit) if delta is None else ApproxZCDP(rho, delta, unit)
    epsilon = asked["epsilon"]
    return PureDP(epsilon, unit) if delta is None else ApproxDP(epsilon, delta, unit)


PLAN = (
    "whether releases would fit, before anything runs",
    _plan,
    "Name releases in their order: --epsilon 0.5 --times 3 --rho 0.01 --delta 1e-8 are four. The "
    "exit code is 3 if not all fit. For the price of a particular release use its command with "
    "--ledger and --dry-run: a mechanism's own price may be lower than what its epsilon and delta "
    "say.",
    [
        Option("epsilon", "a release of this epsilon", "E", collect=_Asked),
        Option("rho", "a release of this rho, in zCDP", "R", collect=_Asked),
        Option("delta", "the delta of the release before it", "D", collect=_Asked),
        Option("times", "how many of the release before it", "N", whole, collect=_Asked),
        Option("account", "the account (default: the only one)", "NAME"),
        Option("by", "who would pay: a cap of theirs holds as well", "NAME"),
        JSON,
    ],
)
