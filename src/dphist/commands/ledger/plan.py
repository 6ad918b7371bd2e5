"""dphist ledger plan: whether releases would fit, before anything runs."""

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dphist.commands.configuration import (
    check_defaults,
    read_command_line,
    read_configuration,
    read_section,
)
from dphist.commands.ledger.payment import is_paid, open_ledger
from dphist.commands.options import JSON, UsageError
from dphist.commands.printing import say
from dphist.commands.registry import list_releasing
from dphist.commands.resources import list_priced
from dphist.document.options import Option, whole
from dphist.errors import BudgetError, phrase
from dphist.ledger import Deferred, Ledger
from dphist.ledger.document import document_of_plan
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.render.text import content, text

_MOST = 10_000


class _Asked(argparse._AppendAction):
    """Collects releases: each of `_BEGIN` begins one, --delta and --times belong to the last."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: Any,
        option: str | None = None,
    ) -> None:
        asked = list(getattr(namespace, "asked", ()))
        last = asked[-1] if asked else {}
        if self.dest in _BEGIN:
            asked.append({self.dest: value})
        elif not last or self.dest in last or (self.dest == "delta" and not {*_COSTS} & {*last}):
            before = _COSTS if self.dest == "delta" else _BEGIN
            named = " or ".join(f"--{name}" for name in before)
            raise UsageError(f"{option} must follow {named} of its release, once each")
        else:
            asked[-1] = {**asked[-1], self.dest: value}
        namespace.asked = asked


_COSTS = ("epsilon", "rho")
_BEGIN = (*_COSTS, "release", "config")


@dataclass(frozen=True, slots=True)
class _Release:
    """A release of which only the cost is known."""

    guarantee: Guarantee


def _plan(options: argparse.Namespace) -> None:
    asked = getattr(options, "asked", ())
    if not asked:
        raise UsageError(
            phrase(
                "a release must be named: its command with {release}, those of a configuration "
                "with {config}, or its cost with {epsilon} or {rho}"
            )
        )
    with open_ledger(options) as ledger:
        balance = ledger.balance(options.account)
        (unit,) = [each.unit for each in ledger.accounts if each.name == balance.account]
        releases = list(_list_releases(asked, unit, options, ledger))
        mechanisms, data = [each for each, _ in releases], [each for _, each in releases]
        found = ledger.plan(mechanisms, by=options.by, account=balance.account, data=data)
        guarantees = [price.guarantee for (price,) in found.prices]
        bare = any({*_COSTS} & {*each} for each in asked)
        document = document_of_plan(ledger.name, balance, guarantees, found, bare=bare)
    say(json.dumps(content(document)) if options.json else text(document).rstrip())
    if not found.affordable:
        raise BudgetError(
            f"{len(releases) - found.paid:,} of {len(releases):,} releases would be refused, from "
            f"number {found.paid + 1:,} on. Nothing was charged"
            + (
                "; a command may cost less than its guarantee: name it with --release"
                if bare
                else ""
            )
        )


def _list_releases(
    asked: Sequence[dict[str, Any]],
    unit: PrivacyUnit,
    options: argparse.Namespace,
    ledger: Ledger,
) -> Iterator[tuple[Any, Any]]:
    """Yield the releases that are asked for, each with its data, of which only the unit is known.

    What a command would release is priced as the command itself prices it. What its key has paid
    already, and a stream that has begun, cost nothing more and are left out.
    """
    many = 0
    for each in asked:
        found: list[tuple[Any, Any]] = []
        if {*_COSTS} & {*each}:
            found = [(_Release(_read_guarantee(each, unit)), None)]
        for command in _read_commands(each):
            goes_on = hasattr(command, "state")
            if command.key is not None and is_paid(ledger, command.key, again=goes_on):
                continue
            command.ledger, command.key = ledger.place, command.key or "planned"
            command.by = command.by or options.by or "planned"
            for _, mechanism, protected, _ in list_priced(command):
                found.append((mechanism, Deferred(lambda: None, *protected)))
        times = each.get("times", 1)
        many += len(found) * times
        if times < 1 or many > _MOST:
            raise UsageError(
                f"--times must be at least 1, and a plan has at most {_MOST:,} releases"
            )
        yield from found * times


def _read_commands(asked: dict[str, Any]) -> Iterator[argparse.Namespace]:
    """Yield the options of a command that is typed in quotes, or of those of a configuration."""
    if "release" in asked:
        try:
            words = shlex.split(asked["release"])
        except ValueError:
            words = []
        words = words[1:] if words[:1] == ["dphist"] else words
        if not words or words[0] not in list_releasing() or {"-h", "--help"} & {*words}:
            one = ", ".join(list_releasing())
            raise UsageError(
                f"--release must be a command in quotes, with its options: one of {one}"
            )
        yield read_command_line(words)
    if "config" in asked:
        found = read_configuration(asked["config"])
        check_defaults(found)
        run = argparse.Namespace(dry_run=True, overwrite=False, quiet=True, json=False)
        for section in found.sections:
            yield read_section(found, section, run)


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
    "Name releases in their order: --release 'labels FILE --label item --user who --epsilon 1 "
    "--delta 1e-6' --times 3 --epsilon 0.5 are four. A command costs what it would be charged, "
    "which may be less than its epsilon and delta say; no data are read. --epsilon and --rho price "
    "the guarantee alone, of no particular mechanism. The exit code is 3 if not all fit.",
    [
        Option("release", "the command of a release, in quotes", "COMMAND", collect=_Asked),
        Option("config", "all releases of a configuration file", "TOML", collect=_Asked),
        Option("epsilon", "a release of this epsilon", "E", collect=_Asked),
        Option("rho", "a release of this rho, in zCDP", "R", collect=_Asked),
        Option("delta", "the delta of the release before it", "D", collect=_Asked),
        Option("times", "how many of the release before it", "N", whole, collect=_Asked),
        Option("account", "the account (default: the only one)", "NAME"),
        Option("by", "who would pay: a cap of theirs holds as well", "NAME"),
        JSON,
    ],
)
