"""The card of a ledger: budgets, what is left, and the last payments."""

from dphist.ledger.charging import left_in_words
from dphist.ledger.history import AccountHistory, histories
from dphist.ledger.ledger import Ledger
from dphist.render.card import HEAD, Card, Prose, Table
from dphist.report.ledger.amounts import plain_text, spent_parts
from dphist.report.ledger.rows import payment_rows, words


def card_of_ledger(ledger: Ledger) -> Card:
    """Return the card of a ledger."""
    found = histories(list(ledger.entries()))
    accounts = Table(
        ["account", "protects", "budget", "spent", "left"],
        [_account(history) for history in found[:HEAD]],
        len(found),
    )
    payments = [payment for history in found for payment in payment_rows(history, HEAD)]
    payments.sort(key=lambda row: row.entry, reverse=True)
    many = sum(len(history.payments) for history in found)
    last = Table(
        ["date", "by", "key", "mechanism", "cost"],
        [
            [
                row.date,
                row.by,
                row.key,
                row.mechanism,
                Prose(", ".join(filter(None, [*row.cost, row.state]))),
            ]
            for row in payments[:HEAD]
        ],
        many,
        caption=f"The last {HEAD} of {many:,} releases." if many > HEAD else "",
    )
    facts = [("Place", str(ledger.place)), ("Releases", f"{many:,}")]
    return Card(
        f"Privacy ledger: {words(ledger.name)}",
        facts,
        tables=[accounts, last] if payments else [accounts],
    )


def _account(history: AccountHistory) -> list[Prose]:
    account, budget = history.account, history.account.budget
    texts = [
        words(account.name),
        words(str(account.unit)),
        str(budget),
        plain_text(spent_parts(history.totals, budget)) if history.totals.entries else "nothing",
        "closed" if account.closed else left_in_words(budget, history.totals),
    ]
    return list(map(Prose, texts))
