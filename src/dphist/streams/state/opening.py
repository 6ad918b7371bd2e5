"""Opening of a state: continued from its file or begun there, or taken over into memory."""

import logging
import os
from pathlib import Path

from dphist.errors import DphistError, ParameterError, StateError
from dphist.mechanism import check_unit
from dphist.privacy import ApproxDP, Target, delta_of
from dphist.release.maker import parameters_of
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import StreamState
from dphist.streams.state.stored import all_rows, read_state
from dphist.streams.store.store import Store

_LOG = logging.getLogger(__name__)


def open_state(
    path: str | Path,
    mechanism: ContinualMechanism | None,
    budget: ApproxDP | None,
    *,
    moved: bool,
) -> tuple[StreamState, Store]:
    """Continue the state in a file, or begin one there; see `ContinualHistogram.open`."""
    if mechanism is not None and budget is not None:  # before there is a file
        mechanism = _with_budget(mechanism, budget)
    new = not os.path.lexists(path)
    if new and mechanism is None:
        raise ParameterError(
            ("epsilon", "delta", "horizon"),
            f"must be given to begin a stream: there is no state at {path}",
        )
    store = Store.create(path) if new else Store.open(path, moved=moved)
    try:
        return _load_or_begin(store, mechanism, budget), store
    except BaseException:
        if new:  # nothing was counted, and no noise drawn
            store.discard()
        store.close()
        raise


def take_over(path: str | Path, *, moved: bool) -> StreamState:
    """Return the state in a file, which is wiped; see `ContinualHistogram.load`."""
    store = Store.open(path, moved=moved)
    try:
        state = _load_state(store)
        if state is None:
            raise StateError(f"{store.path} holds no stream yet: use open to begin one")
        store.take()
    finally:
        store.close()
    _LOG.warning("%s was taken over: it cannot be loaded again", store.path)
    return state


def _with_budget(mechanism: ContinualMechanism, budget: ApproxDP) -> ContinualMechanism:
    """Return the mechanism with `budget` as its target; its guarantee must be within the budget."""
    if not isinstance(budget, ApproxDP):
        raise ParameterError("budget", "must be an ApproxDP(epsilon, delta)")
    check_unit(budget, mechanism.guarantee.unit, "budget")
    try:
        return mechanism.calibrated_to(Target(budget))
    except ParameterError:
        pass
    raise ParameterError("budget", "must be at least what the stream costs: see to_approx_dp")


def _load_or_begin(
    store: Store, mechanism: ContinualMechanism | None, budget: ApproxDP | None = None
) -> StreamState:
    """Return the state in a store, or begin a new one; parameters given must match the state.

    Parameters
    ----------
    mechanism : the parameters, including the budget if both are given; None to use the state's own.
    budget : used without `mechanism`: the budget that the state in the store must be within.
    """
    state = _load_state(store)
    if state is not None and mechanism is None and budget is not None:
        mechanism = _with_budget(state.mechanism, budget)
    if state is None:
        if mechanism is None:
            raise ParameterError(
                ("epsilon", "delta", "horizon"),
                f"must be given: there is no stream yet at {store.path}",
            )
        state = StreamState(mechanism)
        store.commit(all_rows(state))
    elif mechanism is not None and (names := _different_parameters(mechanism, state.mechanism)):
        raise ParameterError(
            names,
            f"must be as the stream at {store.path} was made with",
            "leave out all parameters to continue it, or name another file",
        )
    return state


def _different_parameters(given: ContinualMechanism, kept: ContinualMechanism) -> tuple[str, ...]:
    """Return the names of parameters that differ; "budget" if both have targets and these do.

    A state of an earlier version has that version's default method, at the same cost. It continues
    with it where today's default is given.
    """
    targets = {
        (target.guarantee.epsilon, delta_of(target.guarantee), target.releases)
        for target in (given.target, kept.target)
        if target is not None
    }
    wanted, held = parameters_of(given), parameters_of(kept)
    if (wanted["method"], held["method"]) == ("toeplitz", "autoregressive"):
        wanted = {**wanted, "method": "autoregressive"}
    different = tuple(name for name in held if wanted[name] != held[name])
    return different or ("budget",) * (len(targets) > 1)


def _load_state(store: Store) -> StreamState | None:
    """Return the state in a store, or None if there is none."""
    try:
        return read_state(store)
    except DphistError:
        raise
    except Exception:  # noqa: S110 - its message could show content of the state
        pass
    raise StateError(f"{store.path} does not hold a stream that this version of dphist can read")
