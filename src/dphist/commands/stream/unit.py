"""What a user of a stream is called, in what a run says and writes."""

import argparse
from dataclasses import replace
from typing import Any

from dphist.commands.user_unit import user_unit
from dphist.privacy import PrivacyUnit
from dphist.release.release import Release


def unit_of_stream(stream: Any, options: argparse.Namespace) -> PrivacyUnit:
    """Return what a stream, or its mechanism, protects, with the name that --unit gives a user."""
    unit: PrivacyUnit = stream.unit
    if options.unit is None or unit.who != "user":
        return unit
    return replace(user_unit(options), events=unit.events)


def named(release: Release, options: argparse.Namespace) -> Release:
    """Return a release of a stream with the name that --unit gives to a user."""
    if options.unit is None:
        return release
    unit = unit_of_stream(release.mechanism, options)
    return replace(release, provenance={**release.provenance, "unit": unit})
