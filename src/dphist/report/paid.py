"""Which entry of a ledger paid for a release, as page, summary and JSON say it."""

from collections.abc import Mapping

from dphist.report.labels_shown import harmless

_NAMES = ("ledger", "account", "entry")
_LONGEST = 200


def paid_in_words(provenance: Mapping[str, str]) -> str | None:
    """Name the ledger, account and entry; None for a release without a ledger.

    >>> paid_in_words({"ledger": "clinic (5e1f)", "account": "main", "entry": "3"})
    'Entry 3 of the ledger clinic (5e1f), account main.'
    """
    if "ledger" not in provenance:
        return None
    ledger, account, entry = (harmless(provenance.get(name, "?"), _LONGEST) for name in _NAMES)
    accounts = "accounts" if ", " in account else "account"
    return f"Entry {entry} of the ledger {ledger}, {accounts} {account}."


def paid_json(provenance: Mapping[str, str]) -> dict[str, str]:
    """Return ledger, account and entry for programs; empty for a release without a ledger."""
    return {name: provenance[name] for name in _NAMES if name in provenance}
