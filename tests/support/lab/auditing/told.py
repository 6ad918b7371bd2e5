"""Results of audits of all sorts, whose golden files say what each surface tells of them."""

from collections.abc import Callable
from dataclasses import replace

from dphist.lab.auditing.result import AuditResult, LayerReport

NO_LAWS = "It takes no source of randomness: a parameter named source."
NO_NOISE = "No noise was asked of a sampler that it knows."
COUNTED = LayerReport("statistical", "not refuted", "836 runs on 4 of 16 pairs, in 2 rounds.")


def refuted() -> AuditResult:
    """Return what an audit says of a function that is far from private."""
    return AuditResult(
        name="noisy",
        refuted=True,
        epsilon=1.0,
        delta=0.0,
        epsilon_lower=2.3118,
        curve=((0.0, 2.3118), (1e-06, 2.31), (0.0001, 2.2), (0.01, 1.25)),
        event="the outcome is more than 1",
        neighbours="pair 1; the event is likelier on the second",
        hits=95,
        other_hits=0,
        runs=200,
        layer="statistical",
        samples=2802,
        confidence=0.999,
        power=0.4,
        covered="1 pair of neighbors in 1 round (pair 1).",
        stopped="the claim was refuted",
        seconds=0.04,
        layers=(
            LayerReport("exact", "does not apply", NO_LAWS),
            LayerReport("replay", "does not apply", NO_NOISE),
            LayerReport("statistical", "refuted", "2,802 runs on 1 pair, in 1 round."),
        ),
    )


def not_refuted() -> AuditResult:
    """Return what an audit says of a mechanism whose claim holds."""
    return replace(
        refuted(),
        name="ThresholdHistogram",
        refuted=False,
        epsilon=2.0,
        delta=0.05,
        epsilon_lower=1.25,
        curve=((0.0, 1.4), (0.05, 1.25)),
        power=2.6123,
        hits=30,
        other_hits=4,
        samples=836,
        covered="16 pairs of neighbors in 2 rounds (no records; and 15 more).",
        seconds=1234.5,
        layers=(
            LayerReport("replay", "holds", "48 replays of 16 of 16 pairs asked for the same."),
            COUNTED,
        ),
    )


def weak() -> AuditResult:
    """Return what an audit says that could not have refuted anything."""
    return replace(
        not_refuted(),
        name="rare",
        epsilon_lower=0.0,
        curve=(),
        event="",
        neighbours="",
        power=None,
        layers=(COUNTED,),
        warning="Runs in a row differ from runs apart: a state may be kept between them.",
    )


def certain() -> AuditResult:
    """Return what an audit says that follows from laws alone."""
    return replace(
        refuted(), name="SortedCounts", epsilon=0.9, epsilon_lower=1.0, curve=((0.0, 1.0),),
        layer="replay", layers=(LayerReport("replay", "refuted", "4 replays of 2 of 16 pairs."),),
    )  # fmt: skip


def objected() -> AuditResult:
    """Return what an audit says of noise that does not account for a claim."""
    return replace(
        not_refuted(),
        name="AdaptiveScan",
        layers=(LayerReport("replay", "objects", "The noise costs 1.5 on tie; the claim is 1."),),
    )


def hostile() -> AuditResult:
    """Return what an audit says of texts that try to be more than texts."""
    event = "the outcome is '<script>{0}\x1b[2J\u202e' " * 20
    return replace(refuted(), name="<b>mine</b> {label}", event=event)


TOLD: dict[str, Callable[[], list[AuditResult]]] = {
    "refuted": lambda: [refuted()],
    "not refuted": lambda: [not_refuted()],
    "weak": lambda: [weak()],
    "certain": lambda: [certain()],
    "objected": lambda: [objected()],
    "hostile": lambda: [hostile()],
    "several": lambda: [refuted(), not_refuted(), weak(), objected()],
    "several that hold": lambda: [not_refuted(), weak()],
}
