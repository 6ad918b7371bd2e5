"""RegistryEntry: a draft for the public registry of differential privacy deployments."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from dphist.atomic_files import write_text
from dphist.errors import DphistError, ParameterError

try:
    import jsonschema
    import yaml
except ImportError:
    raise DphistError(
        "entries need PyYAML and jsonschema: pip install 'dphist[disclose]'"
    ) from None

REGISTRY = (
    "schemas/deployments-schema.yaml of opendp/deployments-registry-data at commit 3e9c812 "
    "(2026-07-15)"
)
"""Where the fields are defined that entries have."""

SCHEMA: dict[str, Any] = json.loads(
    (files("dphist.lab.disclosure") / "registry.schema.json").read_text(encoding="utf-8")
)
"""The JSON Schema that an entry satisfies before it is written."""

_ASKED_AS = {
    "preprocessing_and_hyperparameter_tuning": "preprocessing",
    "release_type_details": "plans",
}
_FORMULA = r"\\\\[^()]"


@dataclass(frozen=True, slots=True, repr=False)
class RegistryEntry:
    """A draft of an entry for the registry, checked against the package's schema of it.

    Attributes
    ----------
    content : the fields, as nested dicts, lists, texts and numbers.
    """

    content: dict[str, Any]

    def __post_init__(self) -> None:
        _check(self.content)

    def __repr__(self) -> str:
        return f"RegistryEntry({self.content['url_slug']!r}, {self.content['status']})"

    def to_yaml(self) -> str:
        """Return the entry as YAML, as the registry's own tools read it."""
        text: str = yaml.dump(
            self.content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6
        )
        if yaml.safe_load(text) != self.content or not text.startswith(
            f"url_slug: {self.content['url_slug']}\n"
        ):
            raise ParameterError("name", "must have letters, from which an address can be made")
        return text

    def save(self, path: str | Path) -> None:
        """Write the entry as YAML, whole or not at all.

        Raises
        ------
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        write_text(path, self.to_yaml())


def slug_of(name: str, curators: list[str], published: str) -> str:
    """Return the end of an entry's address: name, curators and year.

    >>> slug_of("Drugs, 2026", ["County Hospital"], "2026-11-30")
    'drugs-2026-county-hospital-2026'
    """
    parts = (name, "-".join(curators), published.partition("-")[0])
    return "-".join(re.sub(r"\W+", "-", part.lower()).replace("_", "-") for part in parts)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which keep their line breaks."""


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represented)


def _check(content: Mapping[str, Any]) -> None:
    """Refuse what the schema does not allow; the message names the field."""
    problems = jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)
    for problem in problems:
        path = [str(part) for part in problem.absolute_path]
        names = [part for part in path if not part.isdecimal()]
        name = _ASKED_AS.get(names[-1], names[-1]) if names else "the entry"
        if isinstance(problem.instance, str) and re.search(_FORMULA, problem.instance):
            raise ParameterError(
                "about",
                f"has two backslashes that begin no formula in {name}; the registry takes \\\\( "
                "and \\\\) alone",
            )
        where = ".".join(path) or "the entry"
        raise ParameterError(
            "about",
            f"does not fit the registry in {name} ({where}, {problem.validator}); see "
            "registry.schema.json in the package",
        )
