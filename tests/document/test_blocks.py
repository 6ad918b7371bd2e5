"""Documents: every number has its error, and each surface gets the blocks that name it."""

import pytest

from dphist.document.blocks import (
    CARD,
    JSON,
    PAGE,
    TERMINAL,
    Between,
    Block,
    Column,
    Document,
    Fact,
    NoError,
    Note,
    PlusMinus,
    Section,
    Table,
)


def document(*sections: Section, **more: object) -> Document:
    of = {"kind": "a", "title": "T", "made": "made", "version": "1", "slots": {}, "headline": "h"}
    return Document(**of, sections=sections, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [3, 0.5])
def test_a_number_without_an_error_is_no_fact(number: object) -> None:
    with pytest.raises(TypeError, match="its error is not stated"):
        Fact("Records", "3", value=number)
    for error in (PlusMinus(1), Between(1, 4), NoError("none is known")):
        assert Fact("Records", "3", value=number, error=error).value is number


def test_whether_something_holds_is_no_number() -> None:
    assert Fact("Refuted", "no", value=False).error is None


def test_an_error_says_what_it_is() -> None:
    errors = (PlusMinus(12.1), Between(0, 7), NoError("none is known"), None)
    assert [Fact("A", "3", error=error).uncertainty for error in errors] == [
        "± 13 (95 %)",
        "95 % interval 0 to 7",
        "none is known",
        "",
    ]
    assert PlusMinus(12.1).around(5) == [0, 18]


def test_each_surface_has_its_blocks() -> None:
    on = {surface: Note(surface.value, on=frozenset({surface})) for surface in (PAGE, TERMINAL)}
    blocks: list[Block] = [*on.values(), Fact("A", "text", "key", "value", on=frozenset({JSON}))]
    found = document(Section("one", "One", blocks))
    assert list(found.blocks(PAGE)) == [on[PAGE]]
    assert list(found.blocks(CARD)) == []
    assert found.fact("key").value == "value"
    with pytest.raises(KeyError):
        found.fact("other")


def test_blocks_that_take_time_are_made_for_their_surface_alone() -> None:
    made = []

    def blocks() -> list[Note]:
        made.append(1)
        return [Note("slow")]

    found = document(Section("slow", "Slow", blocks, frozenset({PAGE})))
    assert list(found.blocks(TERMINAL)) == []
    with pytest.raises(KeyError):
        found.fact("key")
    assert made == []
    assert list(found.blocks(PAGE)) == [Note("slow")]


@pytest.mark.parametrize(("rows", "head", "tail"), [(0, 0, 0), (20, 20, 0), (21, 10, 10)])
def test_tables_show_both_ends(rows: int, head: int, tail: int) -> None:
    table = Table([Column("A", [str(row) for row in range(rows)])])
    first, last = table.ends(10)
    assert (len(first), len(last)) == (head, tail)
    assert not tail or last[-1] == rows - 1
