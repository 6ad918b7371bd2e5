"""What a release states of its data: units, bounds and words, checked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dphist.data.label_counts import LabelCounts
from dphist.errors import ParameterError, phrase
from dphist.parameters import decimal_text, exact_number
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import find_forms
from dphist.privacy.unit import as_unit


def check_users(release: Any, users: Any) -> None:
    """Refuse to let a release carry one that is not of its users.

    Raises
    ------
    ParameterError
    """
    bound = release.provenance.get("max_records")
    if bound is None or release.users is not None:
        raise ParameterError(
            "release", "must be of data bounded by max_records, and carry no release of users yet"
        )
    if not users.counts_users:
        raise ParameterError("users", "must be a release of what count_user_records counted")
    if users.guarantee.unit != release.guarantee.unit:
        raise ParameterError(
            "users", f"must protect {release.guarantee.unit.single}, as the release does"
        )
    if not int(bound) < users.value.edges[0][-2]:
        raise ParameterError(
            "users", f"must have cells above {int(bound):,} records", "count them with most="
        )


def name_unit(own: PrivacyUnit, provenance: Mapping[str, Any]) -> PrivacyUnit:
    """Return the privacy unit of a mechanism, under the name that the provenance gives it.

    Where users are counted, each once, none is bounded.
    """
    if "unit" not in provenance:
        return own
    unit = own.named(provenance["unit"])
    return replace(unit, bounds=()) if provenance.get("counted") == "users" else unit


def refuse_exchanged(own: PrivacyUnit, said: PrivacyUnit | str | None) -> None:
    """Refuse a release that says nothing of a unit that is added or removed.

    What a release costs an exchange stands beside its guarantee, and pages say both.

    Parameters
    ----------
    own, said : the unit of the guarantee, and that of the provenance.
    """
    for name, unit in ("guarantee", own), ("provenance", said):
        if unit is not None and as_unit(unit).exchanged:
            raise ParameterError(
                name,
                "must be for a unit that is added or removed, not exchanged",
                "state what an exchange costs as `exchanged` of the mechanism",
            )


def check_unit_word(word: str, unit: PrivacyUnit) -> None:
    """Refuse a word that would promise more than the guarantee: it names a user, nothing else."""
    if unit.who not in ("user", find_forms(word)[0]):
        raise ParameterError(
            "unit",
            f"must be left out: the release protects {unit.single}, which another word does not "
            "change",
            phrase("name records with {record_name}"),
        )


def read_stated(key: str, said: Any) -> Any:
    if key == "unit":
        return PrivacyUnit.from_content(said)
    return (
        decimal_text(exact_number(read_text(said), key)) if key == "added_to" else read_text(said)
    )


def read_text(said: Any) -> str:
    if not isinstance(said, str):
        raise TypeError("what is stated is text")
    return said


def read_line(said: Any) -> str:
    if not read_text(said).isprintable():
        raise ValueError("a version is one line of text")
    return str(said)


def make_provenance(counts: LabelCounts) -> dict[str, Any]:
    """Return the provenance that a release states about its labels."""
    known = {name: getattr(counts, name) for name in ("unit", "null_users", "null_labels")}
    provenance = {name: said for name, said in known.items() if said is not None}
    return provenance | counts.bounds_in_text()
