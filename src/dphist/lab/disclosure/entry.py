"""RegistryEntry: a draft for the public registry, and its fields from facts and from `about`."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from dphist.document.disclosure import (
    CHOSEN_BEFORE,
    NOT_PROTECTED,
    POST_PROCESSING,
    RANDOMNESS,
    Facts,
)
from dphist.document.mechanism_facts import count_records
from dphist.document.totals import Stated
from dphist.errors import DphistError, ParameterError
from dphist.files import write_text
from dphist.lab.disclosure.about import TIER_3
from dphist.privacy.as_text import short_exact
from dphist.release.release import VERSION

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


def make_slug(name: str, curators: list[str], published: str) -> str:
    """Return the end of an entry's address: name, curators and year.

    >>> make_slug("Drugs, 2026", ["County Hospital"], "2026-11-30")
    'drugs-2026-county-hospital-2026'
    """
    parts = (name, "-".join(curators), published.partition("-")[0])
    return "-".join(re.sub(r"\W+", "-", part.lower()).replace("_", "-") for part in parts)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which keep their line breaks."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


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


_MOST_LISTED = 30


@dataclass(frozen=True, slots=True)
class Disclosed:
    """What is disclosed together: one release, several, or an account of a ledger.

    Attributes
    ----------
    facts : one for each release.
    stated : the guarantee of all of them.
    many : whether there is more than one release, or will be.
    how_many : what is published how often, in sentences.
    composition : how the costs of several releases add up; empty for one.
    dynamic : whether events come in over time.
    interactive : whether analysts ask queries, in a session that a ledger paid for.
    """

    facts: Sequence[Facts]
    stated: Stated
    many: bool
    how_many: str
    composition: str = ""
    dynamic: bool = False
    interactive: bool = False


def make_content(disclosed: Disclosed, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an entry.

    Parameters
    ----------
    about : the checked fields of `about.toml`.
    """
    stated, facts = disclosed.stated, disclosed.facts
    basic = ("name", "data_curators", "intended_use", "data_product_type", "data_product_region",
             "description", "publication_date", "data_product_sector")  # fmt: skip
    product = {"data_product_type": "Summary statistics", **about}
    return {
        "url_slug": make_slug(about["name"], about["data_curators"], about["publication_date"]),
        "status": "Draft",
        "tier": 3 if all(name in about for name in TIER_3) else 2,
        "deployment": {
            "basic": {name: product[name] for name in basic},
            "dp_variant": _list_given(
                variant_name=stated.variant,
                data_domain=about.get("data_domain"),
                unprotected_quantities=_list(
                    [
                        *(_plain(line) for each in facts for line in each.public),
                        CHOSEN_BEFORE,
                    ]
                ),
            ),
            "privacy_loss": {
                "privacy_unit": _plain(str(stated.unit)),
                "privacy_unit_details": _list(_plain(each.neighbors) for each in facts),
                "privacy_parameters": stated.rounded,
                "privacy_parameters_details": _list([_write_exactly(stated), *stated.details]),
            },
            "deployment_model": _model(disclosed, about),
            "accounting": {
                "post_processing": POST_PROCESSING,
                "composition": _list([_WITHIN, disclosed.composition]),
            },
            "implementation": _list_given(
                preprocessing_and_hyperparameter_tuning=_list(
                    [
                        *_list_said(about, "preprocessing"),
                        *(_plain(step) for each in facts for step in each.steps),
                        "dphist takes no parameter from the data. What was chosen after looking at "
                        "them is not accounted for.",
                    ]
                ),
                mechanisms=_mechanisms(facts, about),
                justification=about.get("justification"),
            ),
            "administrative": {
                "sources": about["sources"],
                "notes": _list(
                    [
                        *_list_said(about, "notes"),
                        f"Drafted by dphist {VERSION} in the fields of {REGISTRY}.",
                    ]
                ),
                "registry_authors": about["registry_authors"],
            },
        },
    }


def _model(disclosed: Disclosed, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return who had the data, and how often and how they are released."""
    return _list_given(
        model_name="Central",
        model_name_details="Whoever ran dphist had the data as collected; noise was added before "
        "publication.",
        actors=about.get("actors"),
        release_type="Many releases" if disclosed.many else "One release",
        release_type_details=_list([disclosed.how_many, *_list_said(about, "plans")]),
        data_source_type=about.get("data_source_type", "Dynamic" if disclosed.dynamic else None),
        access_type="Interactive" if disclosed.interactive else "Non-interactive",
        access_type_details=_INTERACTIVE if disclosed.interactive else None,
    )


_WITHIN = (
    "The guarantee of a release accounts for all of its noisy numbers together: see the method "
    "named under the mechanism."
)
_INTERACTIVE = (
    "Analysts ask queries in sessions. A session is paid for as a whole before its first query, "
    "from the account whose budget is stated here; the budget is for all analysts together, who "
    "may share what they see."
)


def _write_exactly(stated: Stated) -> str:
    numbers = ", ".join(f"{name} = {short_exact(n)}" for name, n in stated.exact.items())
    return f"Privacy parameters are rounded up. More exactly: {numbers}."


def _mechanisms(facts: Sequence[Facts], about: Mapping[str, Any]) -> str:
    """Return mechanisms, library, exactness, side channels and access, as the registry asks."""
    keys = [(each.name, each.parameters, each.noise, each.own.threshold) for each in facts]
    found, held = Counter(keys), dict(zip(keys, facts, strict=True))
    lines = [_mechanism(held[key], number) for key, number in found.most_common(_MOST_LISTED)]
    if len(found) > _MOST_LISTED:
        lines.append(f"{len(found) - _MOST_LISTED:,} further settings of these mechanisms.")
    versions = sorted({_plain(each.version) for each in facts if each.version})
    made = f"dphist {', '.join(versions)}" if versions else "dphist"
    access = _list_said(about, "access_controls") or ["No information on who could reach the data."]
    return _list(
        [
            *lines,
            f"Library: {made} (Apache-2.0). The guarantees of its mechanisms have proofs, "
            "whose lemmas name the tests that guard them.",
            *(f"Floating point: {text}" for text in {each.noise.exactness: 0 for each in facts}),
            f"Platform: {RANDOMNESS}",
            *NOT_PROTECTED,
            f"Access: {access[0]}" if "access_controls" in about else access[0],
        ]
    )


def _mechanism(facts: Facts, number: int) -> str:
    given = ", ".join(f"{each.name} = {each.value}" for each in facts.parameters)
    noise, threshold, mechanism = facts.noise, facts.own.threshold, facts.mechanism
    scale = f" of scale {count_records(noise.scale)}" if noise.scale else ""
    released = f" {threshold}" if threshold else ""
    times = "" if number == 1 else f" ({number:,} releases)"
    return (
        f"{_code(facts.name)}{times}: {_plain(mechanism.description)} Parameters: "
        f"{_code(given)}. Noise: {_plain(noise.law)}{scale}.{released} Method: "
        f"{_plain(mechanism.reference)}"
    )


def _list_given(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _list_said(about: Mapping[str, Any], name: str) -> list[str]:
    """Return what people said, as one item of a list."""
    return [about[name].replace("\n", "\n  ")] if name in about else []


def _list(lines: Iterable[str]) -> str:
    """Return distinct sentences as a Markdown list, or as one paragraph where there is only one."""
    distinct = list(dict.fromkeys(line for line in lines if line))
    return distinct[0] if len(distinct) == 1 else "\n".join(f"- {line}" for line in distinct)


def _plain(text: str) -> str:
    """Keep words that others chose on one line, and from being markup."""
    return " ".join(text.split()).replace("<", "&lt;").replace("\\", "/")


def _code(text: str) -> str:
    return f"`{_plain(text).replace('`', chr(39))}`"
