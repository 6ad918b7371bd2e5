"""What a plan of running counts compares, and what a reading of them shows."""

from collections.abc import Iterator
from typing import Any

from dphist.document import planning
from dphist.document.options import Table, make_option
from dphist.document.planning import Asked, Column, Planning, Row
from dphist.parameters import optional_whole, privacy_parameter, whole_number
from dphist.privacy import PrivacyUnit
from dphist.privacy.calibration import calibrate
from dphist.privacy.unit import ONE_EVENT, ONE_USER
from dphist.streams.mechanism import ContinualMechanism

_MAX_EVENTS = Column(
    "max_events",
    "Events kept",
    "Events of one user that count at most.",
    role="bound",
    counted=("event", "events"),
    not_given="any",
)
_LIMIT = (
    "What is cut",
    "An event with more labels than are kept, or events of a user beyond the bound, are missing "
    "from the counts even without noise.",
)


def settings(
    *,
    horizon: int,
    epsilon: Any = planning.EPSILONS,
    delta: Any = None,
    max_labels: Any = 1,
    max_events: Any = None,
    readings: int | None = None,
    users: int | None = None,
) -> Iterator[Row]:
    """Yield what the running counts of a stream cost and are worth; see `dphist.plan`."""
    events = whole_number(horizon, "horizon", 1)
    guess = optional_whole(users, "users", 1)
    more = {} if readings is None else {"readings": readings}
    asked = planning.grid(
        max_labels=(max_labels, planning.one_or_more),
        max_events=(max_events, lambda value, name: optional_whole(value, name, 1)),
        delta=(planning.delta_or_advised(delta, guess or events), planning.delta_of_labels),
        epsilon=(epsilon, privacy_parameter),
    )
    for setting in asked:
        parameters = {**setting, "horizon": events, **more}
        parameters["max_events_per_user"] = parameters.pop("max_events")
        made = calibrate(ContinualMechanism, **parameters)
        yield {**setting, **planning.worth_of_labels(made, setting, guess)}


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist stream --state STATE", f"--horizon {asked['horizon']}"]
    if asked.get("readings") is not None:
        typed.append(f"--readings {asked['readings']}")
    if row["max_labels"] != 1:
        typed.append(f"--max-labels {row['max_labels']}")
    if row["max_events"] is not None:
        bound = f"--format csv --user COLUMN --max-events-per-user {row['max_events']}"
        typed += [bound, *planning.make_unit_option(unit)]
    return typed


def _options() -> Table:
    return [
        make_option(ContinualMechanism, "horizon", required=True),
        planning.make_compared_option(ContinualMechanism, "max_labels"),
        planning.make_compared_option(
            ContinualMechanism,
            "max_events_per_user",
            " (default: single events)",
            parameter="max_events",
        ),
        make_option(ContinualMechanism, "readings"),
        planning.DELTA_OPTION,
        planning.USERS_OPTION,
    ]


PLANNING = Planning(
    title="Running counts of a stream",
    question="running counts of a stream of events",
    settings=settings,
    columns=[planning.MAX_LABELS, _MAX_EVENTS, *planning.WORTH_OF_LABELS],
    unit=lambda asked: ONE_EVENT if asked.get("max_events") is None else ONE_USER,
    guesses={
        "users": "{many}",
        "horizon": "events of the stream at most",
        "readings": "readings at most",
    },
    limit=lambda _asked: _LIMIT,
    quantities=planning.quantities_of_labels(lambda release: release.value.latest),
    command=_command,
    options=_options,
)
