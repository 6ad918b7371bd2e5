"""What the kind of a mechanism declares for audits, and data that are opened for it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dphist.data.label_counts import LabelCounts
from dphist.data.open_data import open_labels, open_listed, open_profile
from dphist.data.profile import Profile
from dphist.document.audited import AuditedClass, Auditing, OpenLabels, Setup, Statement
from dphist.document.kinds import kind_of_mechanism, kinds
from dphist.release.release import Release


def auditing_of(mechanism: Any) -> Auditing | None:
    """Return what is declared for a mechanism; None for a callable, and where nothing is."""
    kind = None if mechanism is None else kind_of_mechanism(mechanism)
    return None if kind is None else kind.auditing


def audited_classes() -> dict[type[Any], AuditedClass]:
    """Return the classes of mechanisms that kinds name, in the order of kinds."""
    found: dict[type[Any], AuditedClass] = {}
    for kind in kinds():
        if kind.auditing is not None:
            found = {**found, **kind.auditing.mechanisms, **found}  # others replace none of ours
    return found


def setup_of(mechanism: Any) -> Setup:
    """Return how a mechanism, or a callable, is replayed on data as they are."""
    declared = auditing_of(mechanism)
    if declared is None:
        return Setup()
    setup = declared.setup_of(mechanism)
    return replace(
        setup,
        told={number: _opening(tell) for number, tell in setup.told.items()},
        is_meant=_opening(setup.is_meant),
    )


def statement_of(mechanism: Any) -> Statement | None:
    """Return where the releases of a mechanism state their noisy numbers; None if nowhere."""
    declared = auditing_of(mechanism)
    audited = None if declared is None else declared.mechanisms.get(type(mechanism))
    return None if audited is None else audited.statement


def stated(mechanism: Any, release: Any, data: Any) -> tuple[int, ...] | None:
    """Return the noisy numbers that a release of data states; None if it states none."""
    statement = statement_of(mechanism)
    if statement is None or not isinstance(release, Release):
        return None
    numbers = statement.read(mechanism, release, _opened(data))
    return None if numbers is None else tuple(numbers)


def _opening(asked: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *data: asked(*map(_opened, data))


def _opened(data: Any) -> Any:
    """Return data with their contents, as the declarations of kinds read them."""
    if isinstance(data, Profile):
        return open_profile(data)
    if isinstance(data, LabelCounts):
        met = open_labels(data)
        counts = np.asarray(met.column("count"), np.int64)
        return OpenLabels(met.column("label").to_pylist(), counts, partial(open_listed, data))
    return data
