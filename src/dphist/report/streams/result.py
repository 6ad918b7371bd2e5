"""The result of running counts in one sentence for a manager."""

from dphist.release.release import Release
from dphist.report.nouns import Nouns, Verbatim, nouns_of
from dphist.report.streams.words import mechanism_of


def result_of(release: Release) -> list[str]:
    """Return the sentence in parts; the released label is `Verbatim`."""
    value, nouns = release.value, nouns_of(release)
    number = int(value.times[-1])
    start = f"After {nouns.several(number, _events(release, nouns))}, "
    labels = [label for label in value.latest.texts if label is not None]
    if not labels:
        return [f"{start}no {nouns.label[0]} is common enough to be named."]
    most = max(value.latest.counts.tolist())
    named = f"{nouns.several(len(labels), nouns.label)} {'is' if len(labels) == 1 else 'are'}"
    if mechanism_of(release).threshold is None:
        return [f"{start}{named} counted; ", Verbatim(labels[0]), f" about {most:,} times."]
    return [
        f"{start}{named} common enough to be named; ",
        Verbatim(labels[0]),
        f" has occurred about {most:,} times.",
    ]


def _events(release: Release, nouns: Nouns) -> tuple[str, str]:
    return ("event", "events") if release.presentation.record_name is None else nouns.record
