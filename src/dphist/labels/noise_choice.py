"""What is said of the noise that was chosen, and of the others at the same total."""

from collections.abc import Mapping

from dphist.labels.mechanism import LEVEL
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.privacy.as_text import plain, up
from dphist.privacy.guarantees import find_rho
from dphist.sentence import Sentence


def list_others(
    mechanism: ThresholdHistogram, found: Mapping[str, ThresholdHistogram] | None = None
) -> list[str]:
    """Return what the other noises would do at the same total; `found` is `compare_noises`.

    >>> from dphist import calibrate
    >>> given = {"epsilon": "0.1", "delta": "1e-6", "max_labels": 1, "noise": "best"}
    >>> list_others(calibrate(ThresholdHistogram, **given))
    ['truncated 133', 'laplace 156', 'gaussian 234']
    """
    return [f"{noise} {_worth(other)}" for noise, other in _find_others(mechanism, found)]


def _find_others(
    mechanism: ThresholdHistogram, found: Mapping[str, ThresholdHistogram] | None
) -> list[tuple[str, ThresholdHistogram]]:
    return [
        (noise, other)
        for noise, other in (found or mechanism.compare_noises()).items()
        if noise != mechanism.noise and (other.threshold is not None or not other.largest_error)
    ]


def noise_in_words(mechanism: ThresholdHistogram) -> Sentence:
    """Say why this noise was chosen, and what it costs where rhos add up, as in a ledger."""
    if mechanism.threshold is None:
        form = (
            "--noise best took {noise} noise: the standard deviation of the noise of {what} is "
            "{worth} {records} ({rho}){others}."
        )
    else:
        form = (
            "--noise best took {noise} noise: with it {a_label} is released with a chance of 95 % "
            "from a count of {worth} on ({rho}){others}."
        )
    number = mechanism.sums_of
    others = ", ".join(
        f"{noise} {_worth(other)} ({_rho(other)})" for noise, other in _find_others(mechanism, None)
    )
    given = {
        "noise": mechanism.noise,
        "worth": _worth(mechanism),
        "rho": _rho(mechanism),
        "what": "a count" if number == 1 else f"a sum of {number:,} counts",
        "others": others and f"; with the others: {others}",
    }
    return Sentence(form, **given)


def _rho(mechanism: ThresholdHistogram) -> str:
    return f"ρ = {plain(up(find_rho(mechanism.guarantee), 4))}"


def _worth(mechanism: ThresholdHistogram) -> str:
    if mechanism.threshold is None:
        return plain(up(mechanism.spread, 3))
    return f"{mechanism.likely_count(LEVEL):,}"
