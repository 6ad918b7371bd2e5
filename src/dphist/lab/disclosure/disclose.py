"""disclose: an entry for the public registry of deployments, of releases or of a ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.document.disclosure import Facts, facts_of_charge, find_facts, with_exchange
from dphist.document.errata import find_errata
from dphist.document.totals import state_account, state_releases
from dphist.errors import LedgerError, ParameterError, UnsupportedError
from dphist.lab.disclosure.about import read_about
from dphist.lab.disclosure.entry import Disclosed, RegistryEntry, make_content
from dphist.labels import PayWhatYouGet
from dphist.ledger import Ledger
from dphist.ledger import entries as actions
from dphist.ledger.history import AccountHistory, Payment, histories
from dphist.release.maker import Maker, find_target
from dphist.release.mechanisms import mechanisms_in
from dphist.release.presentation import Presentation
from dphist.release.release import FOR_TESTS, Release
from dphist.report import check_release, make_release_document

_ADDED = (
    "Releases compose sequentially: epsilons add up, or rhos where a release states its cost in "
    "rho, and deltas add up. The smallest total that is proved so is stated."
)
_FILTERED = (
    "A privacy filter adds up the costs of all releases of the account, epsilons or rhos, and "
    "deltas. It refuses a release that would exceed the budget, and holds for costs that are "
    "chosen after seeing earlier releases."
)
_RENEWED = (
    " The budget is renewed on the first day of each calendar month (UTC). What months promise "
    "adds up: the stated total is that of all months in which something was charged, and each "
    "further month adds as much as one of them."
)


def disclose(
    releases: Release | Sequence[Release] | Ledger,
    *,
    about: str | Path | Mapping[str, Any],
    account: str | None = None,
) -> RegistryEntry:
    """Draft an entry for the public registry of differential privacy deployments.

    Everything in it is a parameter, a released value, or what `about` says. Its status is Draft:
    people read it, complete it and hand it in.

    Parameters
    ----------
    releases : Release, sequence of Release, or Ledger
        What is disclosed. Several releases are taken to be of one data set, and their costs are
        added. Of a ledger, the budget of an account is stated, which holds for all its releases.
    about : path or mapping
        What only people know, as a TOML file: ``dphist disclose --template about.toml`` writes one
        to fill in. Or the same fields as a mapping.
    account : str, optional
        The account of the ledger (default: the only one).

    Returns
    -------
    RegistryEntry
        `to_yaml` and `save` write it. Its privacy parameters are rounded up.

    Raises
    ------
    ParameterError
        If `about` lacks fields, or has others; if releases protect different units, are of one
        stream, for tests, given twice, or made by a version with a known privacy fault.
    LedgerError
        If the account does not exist, or has paid for no release.
    """
    if isinstance(releases, Ledger):
        disclosed = _disclose_account(releases, account)
    else:
        if account is not None:
            raise ParameterError("account", "goes with a ledger", "omit it for releases")
        disclosed = _disclose_releases(
            [releases] if isinstance(releases, Release) else list(releases)
        )
    return RegistryEntry(make_content(disclosed, read_about(about)))


def _disclose_releases(releases: Sequence[Release]) -> Disclosed:
    if not releases:
        raise ParameterError("releases", "must name at least one release")
    for number, release in enumerate(releases, 1):
        _check(check_release(release), "the release" if len(releases) == 1 else f"release {number}")
    releases = [part for release in releases for part in release.parts]
    facts = [find_facts(release, make_release_document(release)) for release in releases]
    stream = any(each.own.continues for each in facts)
    _check_distinct(releases, facts)
    target = find_target(releases[0].mechanism)
    planned = target is not None and target.releases > len(releases)
    return Disclosed(
        facts,
        with_exchange(state_releases(releases), releases),
        many=stream or planned or len(releases) > 1,
        how_many=_describe_publishing(len(releases), stream=stream),
        composition=_ADDED if len(releases) > 1 else "",
        dynamic=stream,
    )


def _disclose_account(ledger: Ledger, account: str | None) -> Disclosed:
    name = ledger.balance(_find_only_account(ledger) if account is None else account).account
    entries = list(ledger.entries())
    history = next(each for each in histories(entries) if each.account.name == name)
    paid = [each for each in history.payments if each.state in (actions.CHARGED, actions.FINISHED)]
    if not paid:
        raise LedgerError(
            f"the account {name!r} has paid for no release; there is none to disclose"
        )
    facts = [
        fact
        for each in paid
        for fact in _collect_facts(ledger, each, entries[each.entry - 1].content, history)
    ]
    months = len(history.months) if history.account.renew else None
    guarantee = history.account.over_months(months or 1)
    if guarantee is None:
        raise LedgerError(
            f"the deltas of {months:,} months of the account {name!r} add up to 1 or more: all of "
            "them together promise nothing that could be disclosed"
        )
    return Disclosed(
        facts,
        state_account(guarantee, months=months),
        many=len(paid) > 1 or not history.account.closed,
        how_many=_describe_spent(history, len(paid)),
        composition=_FILTERED + (_RENEWED if history.account.renew else ""),
        dynamic=any(each.is_stream for each in paid),
        interactive=any(each.mechanism == PayWhatYouGet.__name__ for each in paid),
    )


def _find_only_account(ledger: Ledger) -> str:
    names = [each.name for each in ledger.accounts]
    if len(names) != 1:
        raise ParameterError("account", f"must be one of {', '.join(map(repr, names)) or 'none'}")
    return names[0]


def _collect_facts(
    ledger: Ledger, payment: Payment, content: Mapping[str, Any], history: AccountHistory
) -> list[Facts]:
    """Return the facts of a payment: of its releases, or of the mechanisms that it paid for."""
    groups = content["mechanism"].get("groups")
    if payment.state != actions.FINISHED:
        described = [content["mechanism"]] if groups is None else list(groups.values())
        unit = history.account.unit
        return [facts_of_charge(_make_mechanism(each, payment), unit) for each in described]
    if groups is None:
        releases = [ledger.stored(payment.key)]
    else:
        releases = list(ledger.stored_groups(payment.key).values())
    for release in releases:
        _check(release, f"the release of entry {payment.entry}")
    return [find_facts(release, make_release_document(release)) for release in releases]


def _make_mechanism(described: Mapping[str, Any], payment: Payment) -> Maker:
    """Return the mechanism that a ledger's entry describes."""
    known: dict[str, Any] = {**mechanisms_in(None), PayWhatYouGet.__name__: PayWhatYouGet}
    if described["name"] not in known or "parameters" not in described:
        raise LedgerError(
            f"entry {payment.entry} paid for {payment.mechanism}, which is not of dphist, and no "
            "release of it is stored: disclose the releases themselves"
        )
    mechanism: Maker = known[described["name"]](**described["parameters"])
    return mechanism


def _check(release: Release, name: str) -> None:
    """Refuse a release whose guarantee does not hold."""
    if release.for_tests:
        raise UnsupportedError(
            f"{name} protects nobody: {FOR_TESTS}. Release again without source="
        )
    for erratum in find_errata(release):
        raise UnsupportedError(
            f"{name} was made by dphist {release.version}, which has a known privacy fault: "
            f"{erratum.fault} {erratum.remedy}"
        )


def _check_distinct(releases: Sequence[Release], facts: Sequence[Facts]) -> None:
    """Refuse what would count twice: the same release, or two readings of one stream."""
    plain = Presentation(date=None)  # other words do not make it another release
    texts = [replace(release, presentation=plain).to_json() for release in releases]
    for number, text in enumerate(texts):
        if text in texts[:number]:
            raise ParameterError(
                "releases",
                f"must not repeat: number {number + 1} is the same as number "
                f"{texts.index(text) + 1}",
                "name it once",
            )
    pairs = zip(releases, facts, strict=True)
    streams = [release.mechanism for release, said in pairs if said.own.continues]
    if len(streams) != len(set(streams)):
        raise ParameterError(
            "releases",
            "must not hold two of streams with the same parameters. If they are of one stream, "
            "name "
            "the last one: it has all readings, and its guarantee is for all of them. Streams that "
            "differ are disclosed one by one, or as an account of a ledger",
        )


def _describe_publishing(number: int, *, stream: bool) -> str:
    if stream and number == 1:
        return "Readings of one stream; the guarantee is for all of them together."
    if number == 1:
        return "Published once."
    return f"{number:,} releases are disclosed together."


def _describe_spent(history: AccountHistory, paid: int) -> str:
    many = "1 release" if paid == 1 else f"{paid:,} releases"
    state = "closed: nothing more is released from it" if history.account.closed else "open"
    renewed = "which is never renewed"
    if history.account.renew:
        budget, months = history.account.budget, len(history.months)
        charged = "1 month has" if months == 1 else f"{months:,} months have"
        renewed = (
            f"which is {budget} in each calendar month (UTC). {charged} been charged so far; 12 "
            "months cost 12 times as much as one"
        )
    return (
        f"{many} charged to the account so far. Each is charged before data are read, and "
        f"refused if it does not fit the budget, {renewed}. The account is {state}."
    )
