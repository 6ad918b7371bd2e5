"""What people say of a release, in the places of a page where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass

from dphist.release.presentation import forms_of
from dphist.release.release import Release
from dphist.visible import harmless

_PAID = ("ledger", "account", "entry")
_LONGEST = 200  # letters of a ledger's name
_SHOWN = (
    ("dataset", "Data"),
    ("period", "Period"),
    ("owner", "Owner"),
    ("note", "Note"),
    ("date", "Date (UTC)"),
)


@dataclass(frozen=True, slots=True)
class About:
    """What people say of a release.

    Attributes
    ----------
    heads : what stands above the title: data and period.
    rows : everything, by name.
    cited : title, owner, data and day, for a citation; empty if none is given.
    date : UTC day of the release; None in files of earlier versions.
    """

    heads: list[str]
    rows: list[tuple[str, str]]
    cited: str
    date: str | None


def about_of(release: Release) -> About:
    """Return what people say of a release, and its day."""
    said = release.presentation.to_content()
    cited = [said[name] for name in ("owner", "title", "dataset", "date") if name in said]
    worded = any(name in said for name in ("owner", "title", "dataset"))
    return About(
        heads=[said[name] for name in ("dataset", "period") if name in said],
        rows=[(name, said[key]) for key, name in _SHOWN if key in said] + _words(release),
        cited=f"{', '.join(cited)}." if worded else "",
        date=said.get("date"),
    )


def _words(release: Release) -> list[tuple[str, str]]:
    """Say what the owner's words for users and records stand for: they promise nothing more."""
    given, who = release.presentation, release.guarantee.unit.who
    rows = []
    if given.unit is not None:
        word = forms_of(given.unit)[0]
        rows.append(("Words", f'"{word}" is the owner\'s word for one user of the data'))
    if given.record_name is not None:
        own = who if who in ("event", "row") else "record"
        alone = "; each is protected by itself" if who in ("record", "event", "row") else ""
        word = forms_of(given.record_name)[0]
        rows.append(("Words", f'"{word}" is the owner\'s word for one {own} of the data{alone}'))
    return rows


def paid_in_words(provenance: Mapping[str, str]) -> str | None:
    """Name the ledger, account and entry; None for a release without a ledger.

    >>> paid_in_words({"ledger": "clinic (5e1f)", "account": "main", "entry": "3"})
    'Entry 3 of the ledger clinic (5e1f), account main.'
    """
    if "ledger" not in provenance:
        return None
    ledger, account, entry = (harmless(provenance.get(name, "?"), _LONGEST) for name in _PAID)
    accounts = "accounts" if ", " in account else "account"
    return f"Entry {entry} of the ledger {ledger}, {accounts} {account}."


def paid_json(provenance: Mapping[str, str]) -> dict[str, str]:
    """Return ledger, account and entry for programs; empty for a release without a ledger."""
    return {name: provenance[name] for name in _PAID if name in provenance}
