"""Statements that are merged into one write and answer what each does by itself."""

from dphist.ledger.stores.merging import merge_questions, merge_writes, split_answers
from dphist.ledger.stores.roundtrip import Statement

SUM = (
    "INSERT INTO dphist_totals (account, holder, entries) VALUES (?, ?, ?) "
    "ON CONFLICT (account, holder) DO UPDATE SET entries = excluded.entries"
)
HEAD = "UPDATE dphist_ledger SET entries = ?"
ENTRY = "INSERT INTO dphist_entries (number, time) VALUES (?, ?)"
MOVE = "INSERT INTO dphist_caps SELECT * FROM dphist_limits"


def texts(*statements: Statement) -> list[str]:
    return [text for text, _ in merge_writes(statements)]


def test_rows_of_several_tables_are_written_by_one_statement() -> None:
    (merged,) = merge_writes(
        [(SUM, ("a", "", 1)), (SUM, ("a", "ana", 1)), (ENTRY, (3, "t")), (HEAD, (3,))]
    )
    text, values = merged
    assert values == ["a", "", 1, "a", "ana", 1, 3, "t", 3]
    assert text == f"WITH part0 AS ({SUM}), part1 AS ({SUM}), part2 AS ({ENTRY}) {HEAD}"


def test_a_row_is_written_once_by_a_statement() -> None:
    first, second = (SUM, ("a", "", 1)), (SUM, ("a", "", 2))
    assert merge_writes([first, second]) == [first, second]
    assert merge_writes([(HEAD, (3,)), (HEAD, (4,))]) == [(HEAD, (3,)), (HEAD, (4,))]
    any_row = ("DELETE FROM dphist_totals WHERE account = ?", ("a",))
    assert merge_writes([first, any_row, first]) == [first, any_row, first]
    assert texts(first, (HEAD, (3,)), second, (ENTRY, (4, "t"))) == [
        f"WITH part0 AS ({SUM}) {HEAD}",
        f"WITH part0 AS ({SUM}) {ENTRY}",
    ]


def test_what_reads_or_is_not_ours_stays_by_itself_and_in_order() -> None:
    others = ["SELECT 1", "COMMIT", MOVE, "CREATE TABLE dphist_caps (a TEXT)", "INSERT INTO x (a)"]
    for other in others:
        assert texts((HEAD, (3,)), (other, ()), (ENTRY, (3, "t"))) == [HEAD, other, ENTRY]
    assert merge_writes([]) == []


def test_questions_are_asked_and_answered_together() -> None:
    asked: list[Statement] = [
        ("SELECT name, entry, noted FROM dphist_charges WHERE name = ?", ("k",)),
        ("SELECT account, content FROM dphist_caps WHERE account IN (?, ?)", ("a", "b")),
        ("SELECT name, closed FROM dphist_accounts", ()),
    ]
    text, values = merge_questions(asked)
    assert values == ["k", "a", "b"]
    assert text == (
        "SELECT 0, CAST(name AS TEXT), CAST(entry AS TEXT), CAST(noted AS TEXT) "
        "FROM dphist_charges WHERE name = ? UNION ALL "
        "SELECT 1, CAST(account AS TEXT), CAST(content AS TEXT), CAST(NULL AS TEXT) "
        "FROM dphist_caps WHERE account IN (?, ?) UNION ALL "
        "SELECT 2, CAST(name AS TEXT), CAST(closed AS TEXT), CAST(NULL AS TEXT) "
        "FROM dphist_accounts"
    )
    rows = [
        (2, "a", "1", None),
        (0, "5", "7", None),
        (2, "7", "x", None),
    ]
    assert split_answers(asked, rows) == [[("5", 7, None)], [], [("a", 1), ("7", "x")]]
