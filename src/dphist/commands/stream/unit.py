"""What a user of a stream is called, in what a run says and writes."""

import argparse
from dataclasses import replace
from typing import Any

from dphist.commands.user_unit import user_unit
from dphist.release.release import Release


def unit_in_words(stream: Any, options: argparse.Namespace) -> str:
    """Return what a stream, or its mechanism, protects, with the name that --unit gives a user."""
    text = str(stream.unit)
    return text if options.unit is None else text.replace("one user", user_unit(options))


def named(release: Release, options: argparse.Namespace) -> Release:
    """Return a release of a stream with the name that --unit gives to a user."""
    if options.unit is None:
        return release
    unit = unit_in_words(release.mechanism, options)
    return replace(release, provenance={**release.provenance, "unit": unit})
