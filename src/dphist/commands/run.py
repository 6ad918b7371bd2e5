"""dphist run: all releases of a configuration file, each of them checked before the first."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from dphist import signals
from dphist.commands.configuration import (
    Configuration,
    Section,
    check_defaults,
    read_configuration,
    read_section,
)
from dphist.commands.ledger.options import Protected
from dphist.commands.options import OVERWRITE, QUIET, UsageError, argument
from dphist.commands.printing import complain, say
from dphist.commands.publishing import (
    check_not_read,
    check_paths,
    check_purpose,
    list_inputs,
    list_outputs,
)
from dphist.commands.resources import list_priced, run_command
from dphist.document.options import Command, OneOf, Option
from dphist.durable.address import is_address
from dphist.errors import BudgetError, DphistError, OutputFileError
from dphist.files import check_distinct


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A section with the options that it stands for."""

    section: Section
    options: argparse.Namespace

    @property
    def is_stream(self) -> bool:
        """Whether it is checked and added up, but not run: a stream goes on, a release ends."""
        return self.section.command == "stream"

    @property
    def where(self) -> str:
        """The file and the section, as errors name them."""
        return f"{self.options.config}: [{self.section.name}]"

    @property
    def not_run(self) -> str:
        """Why it was not run, of a stream."""
        path, name = self.options.config, self.section.name
        return (
            f"{self.where} was not run: a stream reads events from standard input, and would count "
            f"them again each time; run it by itself: dphist stream --config {path} --section "
            f"{name} < EVENTS"
        )


def _run(options: argparse.Namespace) -> None:
    found = read_configuration(options.config)
    check_defaults(found)
    chosen = _choose(found, options.section)
    prepared = [_Prepared(each, read_section(found, each, options)) for each in chosen]
    made = [each for each in prepared if options.dry_run or not each.is_stream]
    if not made or (options.section and len(made) < len(prepared)):
        raise UsageError(next(each for each in prepared if each.is_stream).not_run)
    _check_outputs(found, prepared)
    if not options.dry_run:
        for each in prepared:
            with _name_errors(each, options, []):
                _check(each)
        _check_sums(prepared, options)
    done: list[str] = []
    for each in made:
        if not (options.quiet or options.json):
            say(f"{'' if not done else chr(10)}[{each.section.name}]", flush=True)
        signals.handle_again()
        with _name_errors(each, options, done):
            run_command(each.options)
        options.ends_with = max(
            getattr(each.options, "ends_with", 0), getattr(options, "ends_with", 0)
        )
        done.append(each.section.name)
    for each in prepared:
        if each not in made:
            complain(f"dphist: {each.not_run}")


def _choose(found: Configuration, names: list[str] | None) -> list[Section]:
    if names is None:
        return list(found.sections)
    held = {each.name: each for each in found.sections}
    for name in names:
        if name not in held:
            raise UsageError(f"{found.path} has no section {name!r}; it has {', '.join(held)}")
    return [each for each in found.sections if each.name in names]


def _check(each: _Prepared) -> None:
    """Find what is wrong with a section: paths, options, mechanism. No data are read."""
    options = each.options
    if not each.is_stream:
        check_paths(options)
        check_purpose(options)
    options.checked = list_priced(options)


def _check_outputs(found: Configuration, prepared: list[_Prepared]) -> None:
    """Refuse two sections that write to one place, or one that writes to what another reads."""
    paths = [p for each in prepared for p in list_outputs(each.options).values()]
    read = [
        path
        for each in prepared
        for path in list_inputs(each.options, [each.options.state] if each.is_stream else None)
    ]
    try:
        for path in paths:
            check_not_read(path, read)
        check_distinct(paths)
    except (UsageError, OutputFileError) as error:
        raise UsageError(f"{found.path}: " + error.args[0]) from None


def _check_sums(prepared: list[_Prepared], options: argparse.Namespace) -> None:
    """Refuse, before the first charge, releases that do not fit a ledger together.

    Those that its keys have already cost nothing more.
    """
    _check_keys(prepared)
    together: dict[Any, list[tuple[_Prepared, Any, Protected, str]]] = {}
    for each in prepared:
        for place, mechanism, protected, key in each.options.checked:
            paid = (_whole(place), each.options.by, tuple(each.options.account or ()))
            together.setdefault(paid, []).append((each, mechanism, protected, key))
    for (place, by, accounts), asked in together.items():
        from dphist.commands.ledger.payment import is_paid, open_ledger  # slow to import
        from dphist.ledger import Deferred

        with open_ledger(asked[0][0].options, place) as ledger:
            new = []
            for one in asked:
                with _name_errors(one[0], options, []):
                    if not is_paid(ledger, one[3], again=one[0].is_stream):
                        new.append(one)
            data = [Deferred(lambda: None, *protected) for _, _, protected, _ in new]
            mechanisms = [mechanism for _, mechanism, _, _ in new]
            price = partial(ledger.plan, by=by, account=list(accounts) or None)
            for (each, mechanism, _, _), held in zip(new, data, strict=True):
                with _name_errors(each, options, []):  # such as of a unit that the ledger has not
                    price([mechanism], data=[held])
            plan = price(mechanisms, data=data)
        if not plan.affordable:
            unfit = "would not fit after the releases before it. Nothing was charged"
            raise BudgetError(f"{new[plan.paid][0].where} {unfit}")


def _check_keys(prepared: list[_Prepared]) -> None:
    """Refuse two sections with one key: the second would be refused, or be the first again."""
    held: dict[tuple[str, str], str] = {}
    for each in prepared:
        for place, _, _, key in each.options.checked:
            first = held.setdefault((_whole(place), key), each.section.name)
            if first != each.section.name:
                other = "give each release a key of its own"
                raise UsageError(f"{each.where} has the key {key!r} of [{first}]: {other}")


def _whole(place: str) -> str:
    """Return the same name for each way to write the place of a ledger."""
    return place if is_address(place) else os.path.realpath(place)


@contextmanager
def _name_errors(
    each: _Prepared, options: argparse.Namespace, done: Sequence[str]
) -> Iterator[None]:
    """Have an error name the section, its keys, and the releases that were made before it."""
    try:
        yield
    except DphistError as error:
        options.write = each.options.write
        made = f"; made before it: {', '.join(f'[{name}]' for name in done)}" if done else ""
        if not done and sys.stdout is not None:
            sys.stdout.flush()
        raise error.within(f"{each.where}: ", made) from None


COMMAND = Command(
    text="Make the releases that a configuration file asks for, in its order. All sections are "
    "checked before the first is run, and with a ledger, that all of them fit.",
    epilog="A section has a command (anonymize, ranges, labels, top or stream), FILE as file, and "
    "the options of that command by their long names. [defaults] holds what several share. Streams "
    "are checked and added up with the others, and run by themselves: 'dphist stream --config TOML "
    "< events'. Each release names the SHA-256 "
    "hash of the file. The guide is docs/guides/planning.md.",
    table=[
        argument("config", "the configuration", "TOML"),
        Option("section", "only this section; may be given several times", "NAME", repeats=True),
        Option("dry_run", "only print what each release costs; read no data"),
        OVERWRITE,
        OneOf([QUIET, Option("json", "print JSON, a line for each section")]),
    ],
    run=_run,
)
