"""How much one user may add, and when that is bounded. A row is [user, label]."""

from collections import Counter
from fractions import Fraction

from dphist.lab.auditing.suite.entry import entry, geometric
from dphist.lab.auditing.suite.labels import LINE, above

Rows = list[list[str]]

ROWS = (
    ([["u", "a"]] * 2, [["v", "b"], ["v", "c"], ["u", "a"], ["u", "a"]]),
    ([["u", "a"]] * 3, [["u", "a"]] * 3 + [["v", "a"]] * 6),
    ([["u", "a"], ["w", "b"], ["x", "c"]], [["v", "c"], ["u", "a"], ["w", "b"], ["x", "c"]]),
)
KNOWN = ("a", "b", "c")


def _noisy(counted: Counter[str], epsilon: Fraction | int = 1) -> dict[str, int]:
    return {label: counted[label] + geometric(epsilon) for label in KNOWN}


@entry(ROWS, faulty=False, truth="1", source="R. Wilson et al. PoPETs 2020.")
def a_bound_on_each_user(rows: Rows) -> dict[str, int]:
    """The first row of each user counts."""
    return _noisy(Counter(label for label in dict(reversed(rows)).values()))


@entry(ROWS, faulty=True, truth="infinite", source="A cap on rows in place of one on users.")
def a_bound_on_all_rows(rows: Rows) -> dict[str, int]:
    """The first rows that come count, whoever's they are: a user pushes others out."""
    return _noisy(Counter(label for _, label in rows[:3]))


@entry(ROWS, faulty=True, truth="3", source="Users are bounded before a join that repeats rows.")
def a_bound_before_a_join(rows: Rows) -> dict[str, int]:
    """One row of each user, which is then joined with a table of three rows a label."""
    return _noisy(Counter(label for label in dict(reversed(rows)).values() for _ in range(3)))


@entry(ROWS, faulty=False, truth="1", source="The twin: bounded after the join.")
def a_bound_after_a_join(rows: Rows) -> dict[str, int]:
    """Rows are joined, and then one of each user counts."""
    joined = [[user, label] for user, label in rows for _ in range(3)]
    return _noisy(Counter(label for label in dict(reversed(joined)).values()))


def _first(rows: Rows) -> Rows:
    """Return the first row of each user."""
    return [[user, label] for user, label in dict(reversed(rows)).items()]


EIGHT = [[f"u{k}", f"label {k}"] for k in range(8)]
PARTNER = [["v", label] for _, label in EIGHT]


def _with_a_partner(rows: Rows) -> Rows:
    """Join rows with those of other users that have the same label."""
    return [
        [user, label]
        for user, label in rows
        for other, same in rows
        if label == same and user != other
    ]


@entry(
    ((EIGHT, EIGHT + PARTNER),),
    faulty=True,
    truth="9: one user gives a partner to eight others",
    source="Users are bounded after rows of two users are joined.",
)
def a_bound_after_a_join_of_users(rows: Rows) -> int:
    """How many users share a label with another user; each counts once, after the join."""
    return len(_first(_with_a_partner(rows))) + geometric(1)


@entry(
    ((EIGHT, EIGHT + PARTNER),),
    faulty=False,
    truth="1",
    source="The twin: bounded before the join; a user then changes the count by 2 at most.",
)
def a_bound_before_a_join_of_users(rows: Rows) -> int:
    """How many users share their first label with another user."""
    return len(_first(_with_a_partner(_first(rows)))) + geometric(Fraction(1, 2))


# --- Which of a user's labels are kept, and how many

BOTH = [[f"u{k}", label] for k in range(8) for label in ("a", "b")]


@entry(
    ((BOTH, [["v", "b"], *BOTH]),),
    faulty=True,
    truth="infinite: one row moves the labels of all",
    source="max_labels by first come: the order of labels is that of the whole table.",
    delta="0.05",
)
def the_label_that_came_first(rows: Rows) -> dict[str, int]:
    """Each user keeps one label: whichever of theirs the table has first."""
    place = {label: k for k, label in reversed(list(enumerate(label for _, label in rows)))}
    return above(dict(Counter(dict(sorted(rows, key=lambda r: -place[r[1]])).values())), LINE)


@entry(
    ((BOTH, [["v", "b"], *BOTH]),),
    faulty=False,
    truth="(1, .04)",
    source="The twin: the order is that of the user's own rows.",
    delta="0.05",
)
def the_first_label_of_each_user(rows: Rows) -> dict[str, int]:
    """Each user keeps one label: the first of their own rows."""
    return above(dict(Counter(label for _, label in _first(rows))), LINE)


MANY = [["v", label] for label in "abcdefgh"]
PIPELINE_DP = "PipelineDP's AggregateParams(perform_cross_partition_contribution_bounding=False)"


@entry(
    (([], MANY), (BOTH, BOTH + MANY)),
    faulty=True,
    truth="(8, .28) for users of 8 labels; no bound for more",
    source=f"{PIPELINE_DP}, whose warning is not heeded.",
    delta="0.05",
)
def labels_without_a_bound(rows: Rows) -> dict[str, int]:
    """A user counts once for each label, and the threshold is made for users of one label."""
    distinct = {(user, label) for user, label in rows}
    return above(dict(Counter(label for _, label in distinct)), LINE)


@entry(
    (([], MANY), (BOTH, BOTH + MANY)),
    faulty=False,
    truth="(1, .04)",
    source="The twin: users are bounded to one label.",
    delta="0.05",
)
def labels_with_a_bound(rows: Rows) -> dict[str, int]:
    """A user counts once, for the first label."""
    return above(dict(Counter(label for _, label in _first(rows))), LINE)
