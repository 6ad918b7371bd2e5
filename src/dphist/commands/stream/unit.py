"""What a user of a stream is called, in what a run says and writes."""

import argparse
from dataclasses import replace
from typing import Any

from dphist.commands.user_unit import user_unit
from dphist.release.release import Release


def unit_in_words(mechanism: Any, options: argparse.Namespace) -> str:
    """Return what a stream protects, with the name that --unit gives to a user."""
    text = str(mechanism.unit)
    return text if options.unit is None else text.replace("one user", user_unit(options))


def named(release: Release, options: argparse.Namespace) -> Release:
    """Return a release of a stream with the name that --unit gives to a user."""
    if options.unit is None:
        return release
    unit = unit_in_words(release.mechanism, options)
    return replace(release, provenance={**release.provenance, "unit": unit})
