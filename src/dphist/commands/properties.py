"""dphist properties: what a histogram says about the population behind it."""

import argparse
import json
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dphist.commands.options import JSON, UsageError
from dphist.commands.printing import say
from dphist.commands.publishing import check_inputs
from dphist.data.profile import Profile
from dphist.document.kind import find_kind
from dphist.document.options import Command, Option, split_parts, whole
from dphist.document.reading_options import DELIMITER
from dphist.document.totals import for_tests_json
from dphist.errors import phrase
from dphist.parameters import Exact
from dphist.properties.estimate import Source, get_histogram
from dphist.properties.overview import (
    Property,
    estimate_properties,
    format_interval,
    format_value,
    group_notes,
    name_item,
)
from dphist.properties.resampling import RESAMPLES
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import FOR_TESTS, Release
from dphist.render.text import WIDTH, beside, pad_right, right
from dphist.report import make_json, make_release_document


def _properties(options: argparse.Namespace) -> None:
    source = _read(options.file, options.delimiter)
    found = estimate_properties(
        source,
        labels=options.labels,
        p_min=options.p_min,
        extra=_read_extra(options.extra),
        base=math.e if options.base == "e" else options.base,
        resamples=options.resamples,
    )
    say(json.dumps(_as_json(source, found)) if options.json else _text(source, found, options))


def _read(name: str, delimiter: str | None) -> Source:
    """Read a release or a profile; as everywhere, the name says which of them a file is."""
    check_inputs([name])
    if Path(name).suffix.lower() != ".json":
        return Profile.read(name, delimiter=delimiter)
    release = Release.load(name)
    if not isinstance(release.value, AnonymizedHistogram):
        raise UsageError(
            f"{name} is a release of kind '{find_kind(release).name}'; properties are estimated "
            "from an anonymized histogram, which 'dphist anonymize' makes"
        )
    return release


def _read_extra(text: str | None) -> list[Exact] | None:
    parts: list[Exact] | None = None if text is None else [*split_parts(text)]
    if parts is not None and "" in parts:
        needed = "{extra} needs numbers with commas between them, such as 1/2,1,2"
        raise UsageError(phrase(needed))
    return parts


def _as_json(source: Source, found: Sequence[Property]) -> dict[str, Any]:
    """Return everything; null where a number is missing or infinite."""
    histogram = get_histogram(source)
    release = source if isinstance(source, Release) else None
    return {
        "private": release is not None and not release.for_tests,
        "guarantee": None if release is None else make_json(release)["guarantee"],
        **({} if release is None else for_tests_json(release)),
        "records": histogram.total,
        "labels": histogram.labels,
        "properties": [
            {
                "property": item.function,
                "name": item.name,
                "parameters": item.parameters,
                "value": _finite(item.estimate.value),
                "standard_error": _finite(item.estimate.standard_error),
                "interval": (
                    None
                    if item.estimate.interval is None
                    else [_finite(end) for end in item.estimate.interval]
                ),
                "unit": item.estimate.unit,
                "method": item.estimate.method,
                "notes": list(item.estimate.notes),
                "source": item.estimate.source,
            }
            for item in found
        ],
    }


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else number


def _text(source: Source, found: Sequence[Property], options: argparse.Namespace) -> str:
    histogram, (made, noise) = get_histogram(source), _describe(source, options.resamples)
    rows = [("property", "estimate", "95 % interval, or ±")]
    rows += [
        (name_item(item), format_value(item.estimate), format_interval(item.estimate))
        for item in found
    ]
    names, values, intervals = zip(*rows, strict=True)
    covered = f"Intervals are for the records as a sample of the population{noise}."
    lines = [
        "Properties of the population behind a histogram",
        "",
        *_wrap(f"{options.file}: {made}", "  Source          "),
        f"  Records (n)     {histogram.total:,}",
        f"  Labels          {histogram.labels:,}",
        "",
        *_say_too_few(options.labels, histogram.labels),
        *beside(pad_right(names), right(values), right(intervals), gap="  ", width=None),
        "",
        *_wrap(f"{covered} ± stands for half of a 95 % interval.", "  "),
        "",
        "What the estimates rest on",
    ]
    for name, text in group_notes(found):
        lines += _wrap(f"{name}: {text}", "  ", "    ")
    return "\n".join(lines)


def _say_too_few(given: int | None, found: int) -> list[str]:
    """Say what estimates are worth where --labels is less than the labels of the histogram."""
    if given is None or given >= found:
        return []
    said = (
        f"The histogram has more labels than --labels {given}. Unless noise made the others, that "
        "is too few, and the entropy, the distance to uniform and their ± are wrong."
    )
    return [*_wrap(said, "  "), ""]


def _describe(source: Source, resamples: int) -> tuple[str, str]:
    """Return how a histogram came to be, and what intervals say of the noise of a release."""
    if not isinstance(source, Release):
        return "computed from the data themselves, so what is printed is not private", ""
    guarantee = make_release_document(source).fact("guarantee").text
    tests = f"; {FOR_TESTS}" if source.for_tests else ""
    on_top = "; the noise of the release comes on top"
    noise = ", and for the noise of the release" if resamples else on_top
    return f"released under {guarantee}{tests}", noise


def _wrap(text: str, first: str, other: str = "") -> list[str]:
    others = other or " " * len(first)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others)


COMMAND = Command(
    text="Estimate properties of the population behind an anonymized histogram: entropy, the "
    "number of labels, the number of new labels in further records, and the share of records that "
    "an attacker guesses. For a release, this costs no further privacy.",
    epilog="FILE is an anonymized release (JSON), or a profile with columns count,prevalence (CSV, "
    "TSV, Parquet). What is printed about a profile is not private.",
    table=[
        Option("file", "a release, or a profile", typed="FILE", positional=True, required=True),
        DELIMITER,
        Option(
            "labels",
            "number of labels in the population, unseen ones included, if it is known",
            "K",
            whole,
        ),
        Option(
            "p_min", "minimum probability of a label, if it is known, such as 1e-6 or 1/5000", "P"
        ),
        Option(
            "extra",
            "number of further records to predict for, as multiples of the total (default: 1,2)",
            "T,...",
        ),
        Option(
            "base", "base of the logarithms, a number or e (default: 2, for bits)", "B", default="2"
        ),
        Option(
            "resamples",
            "number of samples, drawn from the released histogram, on which the mechanism runs "
            "again to estimate the effect of its noise on errors and intervals (default: "
            f"{RESAMPLES}); 0 is fast and ignores the noise",
            "N",
            whole,
            default=RESAMPLES,
        ),
        JSON,
    ],
    run=_properties,
)
