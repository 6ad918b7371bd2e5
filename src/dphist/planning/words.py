"""What a plan says, in sentences."""

import math
import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dphist.planning.cells import many
from dphist.planning.plan import Plan
from dphist.privacy.as_text import short_exact
from dphist.privacy.delta_worth import MENTIONED, advised_delta
from dphist.privacy.rounding import readable

TITLES = {
    "labels": "Labels and their counts",
    "ranges": "Records in ranges",
    "anonymized": "How many labels have each count",
    "stream": "Running counts of a stream",
}
_GUESSES = {
    "labels": "labels in a public list",
    "users": "{many}",
    "total": "records",
    "horizon": "events of the stream at most",
    "readings": "readings at most",
    "bins": "bins",
}
_COMMANDS = {
    "labels": "dphist labels FILE --label COLUMN --user COLUMN",
    "ranges": "dphist ranges FILE --column COLUMN --edges EDGES",
    "anonymized": "dphist anonymize FILE --label COLUMN",
    "stream": "dphist stream --state STATE",
}


def guesses(plan: Plan) -> list[str]:
    """Say what the plan was computed for.

    >>> from dphist.planning.make import plan
    >>> guesses(plan("labels", epsilon=1, max_labels=3, users=9000, unit="one patient"))
    ['9,000 patients']
    """
    return [
        f"{_number(plan.asked[name])} {text.format(many=many(plan))}"
        for name, text in _GUESSES.items()
        if plan.asked.get(name) is not None
    ]


def odds(plan: Plan) -> str:
    """Say in words what each epsilon means.

    >>> from dphist.planning.make import plan
    >>> odds(plan("anonymized", epsilon=["0.1", 1], total=100))
    ... # doctest: +NORMALIZE_WHITESPACE
    'Of 100 people who look at the release, at most this many guess right, on average, whether one
    record is in it: 53 at ε = 0.1, 74 at ε = 1.'
    """
    found = dict(zip(plan.column("epsilon"), plan.column("guessed_right"), strict=True))
    each = [f"{right} at ε = {short_exact(epsilon)}" for epsilon, right in sorted(found.items())]
    return (
        "Of 100 people who look at the release, at most this many guess right, on average, "
        f"whether {plan.unit} is in it: {', '.join(each)}."
    )


def warnings(plan: Plan) -> list[str]:
    """Name the deltas that are too large for the guessed number of users.

    >>> from dphist.planning.make import plan
    >>> warnings(plan("labels", epsilon=1, max_labels=3, users=50_000, delta=["1e-4", "1e-7"]))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['δ = 1e-4 is too large for 50,000 users: times their number it should be at most 0.01, as with
    2e-7. With probability δ a release may show something that ε does not cover.']
    """
    users = plan.asked.get("users")
    if users is None:
        return []
    large = sorted({row["delta"] for row in plan if row["delta_times_users"] > MENTIONED})
    return [
        f"δ = {_exact(delta)} is too large for {users:,} {many(plan)}: times their number it "
        f"should be at most 0.01, as with {_exact(advised_delta(users))}. With probability δ a "
        "release may show something that ε does not cover."
        for delta in large
    ]


CONDITION = (
    "Each of the 100 knows all other data and thinks both cases equally likely beforehand, so 50 "
    "of them guess right without the release."
)

LIMITS = {
    "labels": (
        "What is cut",
        "A user who has more labels than are kept counts with some of them only, so counts are too "
        "small even without noise. A plan does not know how many users have more.",
    ),
    "ranges": (
        "Other shapes",
        "The error is that of public histograms of this size, in uneven parts. "
        "On 9 real histograms it was 0.2 to 1 times that, on 5 maps 0.4 to 2.2 times.",
    ),
    "anonymized": (
        "Other shapes",
        "The error is that of a sample from a public power law of this "
        "size. On 13 real profiles it was 0.2 to 1.6 times that.",
    ),
    "stream": (
        "What is cut",
        "An event with more labels than are kept, or events of a user beyond "
        "the bound, are missing from the counts even without noise.",
    ),
}


_LISTED = (
    "What is not listed",
    "Labels that are not in the list are ignored, and a user who has more of "
    "them than are kept counts with some of them only. All listed labels are released, also those "
    "that do not occur.",
)


def limit_of(plan: Plan) -> tuple[str, str]:
    """Say what a plan of this kind does not know: what it is about, and how."""
    return _LISTED if plan.asked.get("labels") is not None else LIMITS[plan.kind]


def example_of(plan: Plan) -> Mapping[str, Any]:
    """Return a setting to show as a command: the middle one of those with an ε nearest to 1."""

    def far(row: Mapping[str, Any]) -> float:
        epsilon: Fraction = row["epsilon"]
        return abs(math.log(epsilon.numerator) - math.log(epsilon.denominator))

    nearest = min(map(far, plan))
    near = [row for row in plan if far(row) == nearest]
    return near[len(near) // 2]


def command_of(plan: Plan, row: Mapping[str, Any]) -> str:
    """Return the command of a setting, to be completed."""
    options = [_COMMANDS[plan.kind], f"--epsilon {short_exact(row['epsilon'])}"]
    if row.get("delta"):
        options.append(f"--delta {_exact(row['delta'])}")
    if plan.asked.get("labels") is not None:
        options.append("--known-labels LIST")
        if plan.asked.get("correlated"):
            options.append(f"--correlated --sums-of {plan.asked.get('sums_of') or 1}")
    if plan.asked.get("workload") == "prefix":
        options.append("--workload prefix")
    if row.get("total_given"):
        options.append(f"--expected-total {plan.asked['total']}")
    if plan.kind == "stream":
        options.append(f"--horizon {plan.asked['horizon']}")
    for name in ("max_labels", "max_count"):
        if row.get(name, 1) != 1 or (name == "max_labels" and plan.kind == "labels"):
            options.append(f"--{name.replace('_', '-')} {row[name]}")
    of_users = plan.kind == "labels"
    if row.get("sensitivity", 1) != 1:
        options.append(f"--user COLUMN --max-records {row['sensitivity']}")
        of_users = True
    if row.get("max_events") is not None:
        options.append(f"--format csv --user COLUMN --max-events-per-user {row['max_events']}")
        of_users = True
    who = plan.unit.name
    if of_users and who != "user":
        options.append(f"--unit {shlex.quote(who)}")
    return " ".join([*options, "--output release.json --report page.html"])


def _exact(number: Fraction) -> str:
    """Write a delta as a table does where that is exact: 2e-6."""
    short = readable(number)
    return short if Fraction(short) == number else short_exact(number)


def _number(value: Any) -> str:
    if isinstance(value, list):
        return " by ".join(_number(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
