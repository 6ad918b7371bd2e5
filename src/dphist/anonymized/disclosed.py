"""What is disclosed of anonymized histograms."""

from typing import Any

from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.document.disclosed import Disclosed
from dphist.document.mechanism_facts import parameters, public_parameters


def disclosed(mechanism: AnonymizedMechanism, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism."""
    values = {each.name: each.value for each in parameters(mechanism)}
    public = [
        f"The parameter {name} = {values[name]}, which was given as public knowledge."
        for name in public_parameters(mechanism)
    ]
    return Disclosed(public=public)
