"""What each setting of a plan is worth: every number is one that a mechanism of it states."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dphist.anonymized import AdaptiveScan
from dphist.errors import Argument, ParameterError
from dphist.labels.noise_choice import threshold_histogram
from dphist.labels.threshold.known_labels import number_of
from dphist.parameters import (
    Exact,
    optional_whole,
    positive_delta,
    privacy_parameter,
    probability,
    whole_number,
)
from dphist.planning.odds import guessed_right
from dphist.privacy.calibration import calibrate
from dphist.privacy.delta_worth import advised_delta
from dphist.ranges import AdaptiveTree
from dphist.streams import ContinualMechanism

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "4")
USUAL_DELTA = "0.000001"
_USUAL_LABELS = (1, 3, 10, 30)
_MOST_SETTINGS = 1000

Row = dict[str, Any]


def labels_settings(
    *,
    epsilon: Any = EPSILONS,
    delta: Any = None,
    max_labels: Any = _USUAL_LABELS,
    max_count: Any = 1,
    users: int | None = None,
    noise: Any = "auto",
    labels: int | Sequence[Any] | None = None,
    correlated: bool = False,
    sums_of: int | None = None,
) -> Iterator[Row]:
    """Return what labels cost and are worth; see `dphist.plan`."""
    guess = optional_whole(users, "users", 1)
    listed = _listed(labels, correlated, sums_of)
    grid = _grid(
        max_labels=(max_labels, _whole),
        max_count=(max_count, _whole),
        delta=(_delta_or_advised(delta, guess), _delta if labels is None else probability),
        epsilon=(epsilon, privacy_parameter),
    )
    for setting in grid:
        made = threshold_histogram(noise=noise, **setting, **listed)
        row = {**setting, "noise": made.noise}
        if correlated:
            row["correlated"] = made.correlated
        row |= _worth_of_labels(made, setting, guess)
        if sums_of is not None:
            row["sum_error"] = made.spread
        yield row


def _listed(
    labels: int | Sequence[Any] | None, correlated: bool, sums_of: int | None
) -> dict[str, Any]:
    """Return what a threshold histogram takes of a public list; only its length matters."""
    if not isinstance(correlated, bool):
        raise ParameterError("correlated", "must be True or False")
    if labels is None:
        if correlated or sums_of is not None:
            name = "correlated" if correlated else "sums_of"
            raise ParameterError(
                name, "needs " + Argument("labels") + ": a public list, or how many labels it has"
            )
        return {}
    found: dict[str, Any] = {"labels": range(number_of(labels))}
    if correlated:
        found["correlated"] = "auto"
    if sums_of is not None:
        found["sums_of"] = sums_of
    return found


def stream_settings(
    *,
    horizon: int,
    epsilon: Any = EPSILONS,
    delta: Any = None,
    max_labels: Any = 1,
    max_events: Any = None,
    readings: int | None = None,
    users: int | None = None,
) -> Iterator[Row]:
    """Return what the running counts of a stream cost and are worth; see `dphist.plan`."""
    events = whole_number(horizon, "horizon", 1)
    guess = optional_whole(users, "users", 1)
    more = {} if readings is None else {"readings": readings}
    grid = _grid(
        max_labels=(max_labels, _whole),
        max_events=(max_events, lambda value, name: optional_whole(value, name, 1)),
        delta=(_delta_or_advised(delta, guess or events), _delta),
        epsilon=(epsilon, privacy_parameter),
    )
    for setting in grid:
        parameters = {**setting, "horizon": events, **more}
        parameters["max_events_per_user"] = parameters.pop("max_events")
        made = calibrate(ContinualMechanism, **parameters)
        yield {**setting, **_worth_of_labels(made, setting, guess)}


def ranges_settings(
    *,
    bins: Any,
    total: int,
    epsilon: Any = EPSILONS,
    sensitivity: Any = 1,
    workload: Any = "ranges",
) -> Iterator[Row]:
    """Return what ranges cost and are worth; see `dphist.plan`."""
    records = whole_number(total, "total", 1)
    prefixes = workload == "prefix"
    name = "prefix_error" if prefixes else "range_error"
    made = [
        (AdaptiveTree(bins=bins, workload=workload, expected_total=records, **setting), setting)
        for setting in _records_grid(epsilon, sensitivity)
    ]
    told = any(tree.follows_total for tree, _ in made)
    for tree, setting in made:
        row = {**setting, "total_given": tree.follows_total} if told else setting
        yield _worth_of_records(row, name, tree.expected_error(records, prefixes=prefixes), records)


def anonymized_settings(
    *,
    total: int,
    epsilon: Any = EPSILONS,
    sensitivity: Any = 1,
    shape: Exact = 1,
) -> Iterator[Row]:
    """Return what anonymized histograms cost and are worth; see `dphist.plan`."""
    records = whole_number(total, "total", 1)
    for setting in _records_grid(epsilon, sensitivity):
        error = AdaptiveScan(**setting).expected_error(records, shape)
        yield _worth_of_records(setting, "profile_error", error, records)


SETTINGS: dict[str, Callable[..., Iterator[Row]]] = {
    "labels": labels_settings,
    "ranges": ranges_settings,
    "anonymized": anonymized_settings,
    "stream": stream_settings,
}


def _worth_of_labels(made: Any, setting: Row, users: int | None) -> Row:
    expected = made.expected_error()
    worth: Row = {"half_width": expected.half_width}
    if expected.appears_from is not None:  # listed labels are all released
        worth = {"appears_from": expected.appears_from, **worth}
        if users is not None:
            worth["share_of_users"] = expected.appears_from / users
    if users is not None:
        worth["delta_times_users"] = setting["delta"] * users
    return {**worth, "guessed_right": guessed_right(setting["epsilon"], setting["delta"])}


def _worth_of_records(setting: Row, name: str, error: float, total: int) -> Row:
    return {
        **setting,
        name: error,
        "relative_error": error / total,
        "guessed_right": guessed_right(setting["epsilon"]),
    }


def _records_grid(epsilon: Any, sensitivity: Any) -> Iterator[Row]:
    return _grid(sensitivity=(sensitivity, _whole), epsilon=(epsilon, privacy_parameter))


def _delta_or_advised(delta: Any, users: int | None) -> Any:
    """Return the deltas that were asked for, or one that is small for the number of users."""
    if delta is not None:
        return delta
    return USUAL_DELTA if users is None else advised_delta(users)


def _grid(**asked: tuple[Any, Callable[[Any, str], Any]]) -> Iterator[Row]:
    """Return each combination of the values asked for; the last one varies fastest."""
    checked = {
        name: [check(each, name) for each in _several(values, name)]
        for name, (values, check) in asked.items()
    }
    for name, values in checked.items():
        if len(set(values)) < len(values):
            raise ParameterError(name, "must have each value once")
    combined = list(product(*checked.values()))
    if len(combined) > _MOST_SETTINGS:
        raise ParameterError(
            tuple(checked),
            f"must make at most {_MOST_SETTINGS:,} settings together",
            "give fewer values of one of them",
        )
    return (dict(zip(checked, values, strict=True)) for values in combined)


def _several(values: Any, name: str) -> Sequence[Any]:
    """Return the values asked for: one, or several in a list."""
    if not isinstance(values, list | tuple | range):
        return [values]
    if not values:
        raise ParameterError(name, "must have at least one value")
    return list(values)


def _whole(value: Any, name: str) -> int:
    return whole_number(value, name, 1)


def _delta(value: Any, _name: str) -> Fraction:
    return positive_delta(value, "labels come from the data")
