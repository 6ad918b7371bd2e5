"""Sentences: the owner's words fill slots, and nothing else is touched."""

import copy

import pytest

from dphist.sentence import Noun, Sentence, as_sentence, fill, join_sentences, many, map_slots

WORDS = map_slots(label=("gene", "genes"), user=("owner", "owners"), record=("{x}", "{}"))


def test_a_sentence_is_its_text_in_plain_words() -> None:
    said = Sentence("{Labels} of {a_user}: {n:,} {records}", n=1200)
    assert said == "Labels of a user: 1,200 records"
    assert said.fill(WORDS) == "Genes of an owner: 1,200 {}"
    assert said.fill({}) == said


def test_words_of_an_owner_are_no_templates() -> None:
    """Braces and percent signs of a word stay as they are."""
    outer = Sentence("{inner} and {records}", inner=Sentence("{a_record}"))
    assert outer.fill(WORDS) == "a {x} and {}"


def test_values_are_shown_as_they_are() -> None:
    label = "labels of a {user}"
    assert Sentence("{Label} {value}.", value=label).fill(WORDS) == f"Gene {label}."
    assert fill(label, WORDS) == label
    assert Sentence("{value}", value="label").fill(WORDS) == "label"


def test_a_unit_has_a_name_of_its_own_until_its_owner_gives_one() -> None:
    said = Sentence("one {who}", who=Noun("patient", "user"))
    assert (str(said), said.fill({}), said.fill(WORDS)) == (
        "one patient",
        "one patient",
        "one owner",
    )


def test_sentences_in_a_row_keep_their_slots() -> None:
    said = join_sentences([Sentence("A {label}."), "", many(2, "label"), "B."])
    assert said == "A label. 2 labels B."
    assert said.fill(WORDS) == "A gene. 2 genes B."


@pytest.mark.parametrize("text", ["{labels} are left out", "labels are left out"])
def test_notes_become_sentences(text: str) -> None:
    assert (
        as_sentence(Sentence(text))
        == as_sentence(text.strip("{}").replace("}", ""))
        == ("Labels are left out.")
    )


def test_a_copy_keeps_its_slots() -> None:
    said = Sentence("{labels} of {who}", who="all")
    assert copy.deepcopy(said).fill(WORDS) == "genes of all"
