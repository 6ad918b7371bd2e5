"""dphist ledger plan: whether releases would fit, before anything runs."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.price import ONLY_RHO, left_json
from dphist.commands.options import JSON, UsageError
from dphist.commands.printing import say
from dphist.document.options import Option, whole
from dphist.errors import BudgetError
from dphist.ledger import Ledger
from dphist.ledger.charging import left_in_words
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.render.text import beside, left, right

_MOST = 10_000
_GAUSSIAN = (
    "A release of an epsilon with a delta is taken to state that epsilon. One with Gaussian noise, "
    "which labels, top and stream may choose, states a rho instead, and from then on epsilons are "
    "not added up any more. The command itself says with --dry-run what it costs."
)


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
        name = self.metavar_name
        if name in ("epsilon", "rho"):
            asked.append({name: value})
        elif not asked or name in asked[-1]:
            raise UsageError(f"--{name} must follow --epsilon or --rho of its release, once each")
        else:
            asked[-1] = {**asked[-1], name: value}
        namespace.asked = asked

    @property
    def metavar_name(self) -> str:
        return self.option_strings[0].removeprefix("--")


@dataclass(frozen=True, slots=True)
class _Release:
    """A release of which only the cost is known."""

    guarantee: Guarantee


def _plan(options: argparse.Namespace) -> None:
    asked = getattr(options, "asked", ())
    if not asked:
        raise UsageError("--epsilon or --rho must be given: what a release would cost")
    with opened(options) as ledger:
        name = ledger.balance(options.account).account
        (unit,) = [account.unit for account in ledger.accounts if account.name == name]
        releases = _releases(asked, unit)
        found = ledger.plan(releases, by=options.by, account=name)
        rows = _rows(ledger, name, releases, found.prices)
    if options.json:
        shown = [{"fits": at < found.paid, **row} for at, row in enumerate(rows)]
        said = {"affordable": found.affordable, "ends_epsilons": found.ends_epsilons}
        say(json.dumps({"account": name, **said, "releases": shown}))
    else:
        _print(rows, found.paid)
        if found.ends_epsilons is not None:
            say(f"Release {found.ends_epsilons + 1:,}: {ONLY_RHO}")
        elif any(isinstance(release.guarantee, ApproxDP) for release in releases):
            say(_GAUSSIAN)
    if not found.affordable:
        raise BudgetError(
            f"{len(releases) - found.paid:,} of {len(releases):,} releases would be refused, from "
            f"number {found.paid + 1:,} on. Nothing was charged"
        )


def _releases(asked: Sequence[dict[str, Any]], unit: PrivacyUnit) -> list[_Release]:
    releases: list[_Release] = []
    for each in asked:
        times = each.get("times", 1)
        if not 1 <= times <= _MOST - len(releases):
            raise UsageError(f"--times must be at least 1, and {_MOST:,} releases are the most")
        releases += [_Release(_guarantee(each, unit))] * times
    return releases


def _guarantee(asked: dict[str, Any], unit: PrivacyUnit) -> Guarantee:
    delta = asked.get("delta")
    if "rho" in asked:
        rho = asked["rho"]
        return ZCDP(rho, unit) if delta is None else ApproxZCDP(rho, delta, unit)
    epsilon = asked["epsilon"]
    return PureDP(epsilon, unit) if delta is None else ApproxDP(epsilon, delta, unit)


def _rows(
    ledger: Ledger, name: str, releases: Sequence[_Release], prices: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return cost and rest of each release in turn, as if all before it were paid."""
    balance = ledger.balance(name)
    totals, rows = balance.totals, []
    for release, (price,) in zip(releases, prices, strict=True):
        totals = totals.plus(price.cost)
        rows.append(
            {
                "cost": str(release.guarantee),
                "left_after": left_json(balance.budget, totals),
                "words": left_in_words(balance.budget, totals),
            }
        )
    return rows


def _print(rows: Sequence[dict[str, Any]], paid: int) -> None:
    fits = [at < paid for at in range(len(rows))]
    lines = beside(
        right(["release", *(f"{at:,}" for at in range(1, len(rows) + 1))]),
        left(["cost", *(row["cost"] for row in rows)]),
        left(["fits", *("yes" if fit else "no" for fit in fits)]),
        left(["left", *(row["words"] if fit else "" for row, fit in zip(rows, fits, strict=True))]),
        width=None,
    )
    say("\n".join(lines))


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
