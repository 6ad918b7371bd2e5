"""What pages, terminals, JSON and CSV say of sums and means of labels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dphist.arrays import FloatArray
from dphist.document.blocks import (
    EVERYWHERE,
    ON_JSON,
    Block,
    Column,
    Fact,
    Section,
    Table,
)
from dphist.document.estimates import INTERVAL_OF_MEANS, make_columns
from dphist.document.kind import DataFacts
from dphist.document.unit_words import nouns_of_unit
from dphist.labels.auto.mechanism import AutoThreshold
from dphist.labels.bounding import find_unit
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.sums import SumAnswers
from dphist.labels.total_words import blocks_of_totals, describe_totals
from dphist.privacy.as_text import plain, up
from dphist.release.interval_estimate import name_columns
from dphist.release.label_table import LabelTable
from dphist.release.maker import Maker
from dphist.release.users_by_total import UsersByTotal
from dphist.sentence import Quoted, Sentence, join_sentences
from dphist.visible import harmless

USERS_OF_A_MEAN = 100
"""Users of the label whose mean a dry run states the error of."""
_HALF_OF_MEAN = f"half_width_of_mean_of_{USERS_OF_A_MEAN}"

_AT_MOST = "; where {a_user} counts for {most:,} {labels}; less where fewer are found"
_LEVEL = 0.95
_LONGEST = 60


def sums_section(
    mechanism: Maker,
    data: DataFacts,
    table: LabelTable | None = None,
    totals: Mapping[str, UsersByTotal] | None = None,
) -> list[Section]:
    """Return what is said of sums and means, if there are any; a dry run has no table.

    `totals` say how many users have which total, if a release does.
    """
    if not isinstance(mechanism, LabelsMechanism) or not mechanism.sum_answers:
        return []
    held = {name: _describe(answers) for name, answers in mechanism.sum_answers.items()}
    outside = totals or {}
    for name, users in outside.items():
        held[name] |= describe_totals(users)
    found = isinstance(mechanism, AutoThreshold)
    most = mechanism.max_labels if found else None
    blocks: list[Block] = [_errors(name, each, data, most) for name, each in held.items()]
    blocks.append(Fact("", "", "sums", held, on=ON_JSON))
    if table is not None:
        tables = (_make_table(*each, table) for each in mechanism.sum_answers.items())
        blocks += [_leave_out_small(each, table, data.below) for each in tables]
    for name, users in outside.items():
        blocks += blocks_of_totals(name, users, data.below)
    blocks.append(Fact("Clamping", _clamping_in_words(mechanism, data)))
    if any(answers.has_means for answers in mechanism.sum_answers.values()):
        blocks.append(Fact("Means", _means_in_words(data)))
    return [Section("sums", "Sums and means", blocks, EVERYWHERE, wide=table is not None)]


def _describe(answers: SumAnswers) -> dict[str, Any]:
    """Return the clamp of a column, and within what noise stays, for programs."""
    names = ("low", "high", "step")
    held: dict[str, Any] = dict(zip(names, answers.clamp.to_content(), strict=True))
    held["half_width_of_sum"] = answers.sum_reach(_LEVEL)
    if answers.has_means:
        held[_HALF_OF_MEAN] = answers.mean_reach(USERS_OF_A_MEAN, _LEVEL)
    return held


def _errors(name: str, held: dict[str, Any], data: DataFacts, most: int | None) -> Fact:
    """Return within what the noise of a sum, and of a mean, stays.

    Where the number of labels of a user is to be found, that is for the `most` there may be.
    """
    _, several, a_user = nouns_of_unit(find_unit(data))
    said = [Sentence("± {width}", width=plain(up(held["half_width_of_sum"], 3)))]
    if _HALF_OF_MEAN in held:
        mean = Sentence(
            "of a mean over {users} {several} ± {width} or less",
            width=plain(up(held[_HALF_OF_MEAN], 3)),
            users=USERS_OF_A_MEAN,
            several=several,
        )
        said.append(mean)
    note = Sentence(
        "with probability 95 %, for each {label} by itself; {name} is clamped from {low} to {high},"
        " in steps of {step}" + _AT_MOST * (most is not None),
        name=Quoted(harmless(name, _LONGEST)),
        low=held["low"],
        high=held["high"],
        step=held["step"],
        a_user=a_user,
        most=most,
    )
    return Fact("Error of sums", join_sentences(said, "; "), note=note)


def _make_table(name: str, answers: SumAnswers, table: LabelTable) -> Table:
    """Return the released sums and means of a column, in the order of the labels."""
    texts = [text for text in table.texts if text is not None]
    columns = [Column(Sentence("{Label}"), texts, released=True)]
    over = harmless(name, _LONGEST)
    columns += make_columns("Sum (clamped)", table.estimates(name, _LEVEL), over)
    if answers.has_means:
        columns += make_columns("Mean (clamped)", table.estimates(name, _LEVEL, means=True), over)
    caption = (
        Sentence("All sums of {name}", name=Quoted(over)),
        Sentence("The first sums of {name}", name=Quoted(over)),
        "Sums",
    )
    return Table(columns, caption, Sentence("No {label} was released."), number="Rank")


def _leave_out_small(sums: Table, table: LabelTable, below: int | None) -> Table:
    """Return a table without the sums and means of labels with a count below a number."""
    if below is None or table.counts is None:
        return sums
    labels, *others = sums.columns
    small = table.counts < below
    return replace(sums, columns=[labels, *(each.leave_out(small) for each in others)])


def _clamping_in_words(mechanism: LabelsMechanism, data: DataFacts) -> Sentence:
    """Say what clamping is, and whether anything is known of what it changed."""
    who, several, a_user = nouns_of_unit(find_unit(data))
    known = "Nothing is known of how many totals were outside"
    if getattr(mechanism, "users_by_totals", False):
        known = "A release states how many {several} have a total outside"
    text = (
        "Sums are of the totals of each {who} and {label}, each clamped to the bounds. "
        f"{known}: intervals cover the noise, not what clamping or other bounds changed."
    )
    center = (
        ""
        if mechanism.max_count == 1
        else " There are no means: {a_user} counts up to {most:,} times for a {label}."
    )
    most = mechanism.max_count
    return Sentence(text + center, who=who, several=several, a_user=a_user, most=most)


def _means_in_words(data: DataFacts) -> Sentence:
    """Say what a mean and its interval are."""
    who, several, _ = nouns_of_unit(find_unit(data))
    return Sentence(
        "A mean is over the {several} that count for a {label} after bounding, of one clamped "
        f"total each. {INTERVAL_OF_MEANS}",
        several=several,
        who=who,
    )


def sum_columns(mechanism: Maker, table: LabelTable) -> dict[str, FloatArray]:
    """Return columns by name: each sum and mean with both ends of its interval.

    An unknown mean is NaN.
    """
    found: dict[str, FloatArray] = {}
    if not isinstance(mechanism, LabelsMechanism):
        return found
    for name, answers in mechanism.sum_answers.items():
        for what in ("sum", "mean") if answers.has_means else ("sum",):
            rows = table.estimates(name, _LEVEL, means=what == "mean").T
            found.update(zip(name_columns(f"{name}_{what}"), rows, strict=True))
    return found
