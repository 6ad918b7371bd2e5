"""What is known of a release by what `dphist.Mechanism` says of its mechanism, in sentences."""

from dphist.document.guarantee_words import limits_in_words
from dphist.errors import UnsupportedError
from dphist.mechanism import ExpectedError
from dphist.privacy.as_text import plain, up
from dphist.release.release import Release
from dphist.report.plain.rows import counts_of


def expected_of(release: Release) -> ExpectedError:
    """Return the error that the mechanism expects."""
    found = release.mechanism.expected_error()
    if not isinstance(found, ExpectedError):
        raise UnsupportedError(
            f"expected_error of {type(release.mechanism).__name__} must return a "
            f"dphist.mechanism.ExpectedError for values of type {type(release.value).__name__}"
        )
    return found


def neighbors_of(release: Release) -> str:
    """State which data are neighbors."""
    unit = release.guarantee.unit
    bounds = [f"{name} {most:,}" for name, most in unit.bounds if most is not None]
    stated = f" Bounds on {unit}: {', '.join(bounds)}." if bounds else ""
    return f"D and D′ are neighbors if adding or removing {unit} turns one into the other.{stated}"


def appearance_in_words(release: Release) -> str:
    """Say which labels are released."""
    expected = expected_of(release)
    if expected.appears_from is None:
        return "All listed labels are released."
    return (
        f"From a count of {expected.appears_from:,} on, a label is released with a chance of "
        f"{100 * expected.level:g} %; of a mechanism that looks at the largest counts only, from "
        "that many above the next count."
    )


def error_in_words(release: Release) -> str:
    """Say how far a released count may be off."""
    expected = expected_of(release)
    scale = f"The noise has scale {plain(up(expected.noise_scale))}."
    if counts_of(release) is None or expected.half_width is None:
        return scale
    return (
        f"{scale} It stays within ± {expected.half_width:,} with probability "
        f"{100 * expected.level:g} %, for each label by itself."
    )


def limits_of(release: Release) -> list[tuple[str, str]]:
    """Say what the release leaves out and the guarantee does not cover."""
    limits = limits_in_words(release.guarantee.unit)
    if expected_of(release).appears_from is None:
        return limits
    missing = "A missing label need not be rare: noise may have hidden it."
    return [("Labels that are missing.", missing), *limits]
