"""What only people know of a data product: `about.toml`, its fields and a template of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dphist.errors import InputFileError, ParameterError
from dphist.foreign import read_toml
from dphist.release.presentation import Presentation

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
SOURCES = ("Static", "Dynamic")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of `about.toml`.

    Attributes
    ----------
    name : as in the file.
    meaning : what belongs there, to follow a colon.
    example : a value as TOML.
    form : "text", "texts" (a list), "date", or "choice".
    choices : the values of a choice.
    """

    name: str
    meaning: str
    example: str
    form: str = "text"
    choices: tuple[str, ...] = ()

    @property
    def empty(self) -> str:
        """An empty value as TOML."""
        return "[]" if self.form == "texts" else '""'

    @property
    def told(self) -> str:
        """What belongs there, with the choices."""
        return f"{self.meaning}: {', '.join(self.choices)}" if self.choices else self.meaning

    def read(self, value: object) -> Any:
        """Return the value for an entry; ValueError that says what it must be instead."""
        return _READERS[self.form](value, self)


ASKED = (
    Field("name", "the name of the data product", '"Drugs dispensed in 2026"'),
    Field("data_curators", "who publishes it, one or several", '["County Hospital"]', "texts"),
    Field("intended_use", "what it is for", '"Planning the stock of the pharmacies."'),
    Field("description", "what it holds, briefly", '"How many patients got each drug."'),
    Field("publication_date", "first day of publication", '"2026-11-30"', "date"),
    Field("data_product_region", "what region the data describe", '"Example County"'),
    Field("data_product_sector", "one of", '"Healthcare"', "choice", SECTORS),
    Field("sources", "documents about it, or where to get it", '"https://hospital.example/drugs"'),
    Field("registry_authors", "who fills in this entry", '["Ana Example"]', "texts"),
)
"""The fields that must be filled in."""

OPTIONAL = (
    Field("data_product_type", "one of", '"Summary statistics"', "choice", PRODUCTS),
    Field("data_source_type", "whether new data come in over time", '"Static"', "choice", SOURCES),
    Field("data_domain", "which data could have been in the product", '"All visits of 2026."'),
    Field("actors", "who sees what, and who is trusted with it", '"The pharmacy, the public."'),
    Field("preprocessing", "what was done to the data before dphist read them", '"None."'),
    Field("justification", "why these parameters were chosen", '"Set by the review board."'),
    Field("access_controls", "who could reach the data", '"Two named persons."'),
    Field("plans", "further releases of the same data", '"None are planned."'),
    Field("notes", "anything else", '"Contact: privacy@hospital.example"'),
)
"""The fields that may be filled in."""

TIER_3 = ("data_domain", "actors", "preprocessing", "justification")
"""The optional fields without which an entry is of tier 2."""


def read_about(about: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `about.toml`, or of a mapping with the same names, checked.

    Raises
    ------
    InputFileError
        If the file cannot be read or is not TOML.
    ParameterError
        If fields are missing, unknown or of another form: all of them are named.
    """
    given = about if isinstance(about, Mapping) else _load(Path(about))
    found: dict[str, Any] = {}
    wrong: list[str] = []
    missing: list[Field] = []
    for field in (*ASKED, *OPTIONAL):
        value = given.get(field.name)
        if _is_empty(value):
            missing += [field] if field in ASKED else []
            continue
        try:
            found[field.name] = field.read(value)
        except ValueError as problem:
            wrong.append(f"{field.name} must be {problem}")
    known = [field.name for field in (*ASKED, *OPTIONAL)]
    wrong += [_unknown(str(key), known) for key in given if key not in known]
    if missing or wrong:
        raise _refusal(missing, wrong)
    return found


def template(shown: Presentation | None = None) -> str:
    """Return an `about.toml` to fill in.

    Parameters
    ----------
    shown : the words of a release, which fill in title, owner and day.
    """
    held = {} if shown is None else _fill(shown)
    lines = [
        "# What only you know of this data product, for 'dphist disclose --about about.toml'.",
        f'# Fill in all {len(ASKED)} fields. Texts may be Markdown; """ begins and ends several',
        "# lines. What you write here is published.",
    ]
    for field in ASKED:
        lines += ["", *_comment(field), f"{field.name} = {held.get(field.name, field.empty)}"]
    lines += [
        "",
        "# Optional: remove the # before a field. For an entry of the third tier, fill in",
        f"# {', '.join(TIER_3[:-1])} and {TIER_3[-1]}.",
    ]
    for field in OPTIONAL:
        lines += ["", *_comment(field), f"# {field.name} = {field.empty}"]
    return "\n".join(lines) + "\n"


def _fill(shown: Presentation) -> dict[str, str]:
    """Return the fields that the words of a release fill in, as TOML."""
    found = {"name": shown.title, "publication_date": shown.date}
    filled = {name: json.dumps(text) for name, text in found.items() if text is not None}
    return filled | ({} if shown.owner is None else {"data_curators": json.dumps([shown.owner])})


def _comment(field: Field) -> list[str]:
    text = f"{field.told[0].upper()}{field.told[1:]}"
    date_form = " (year-month-day)" if field.form == "date" else ""
    if field.choices:
        return [f"# {text}"]
    return [f"# {text}{date_form}, such as {field.example}"]


def _refusal(missing: Sequence[Field], wrong: Sequence[str]) -> ParameterError:
    """Return the error that names all fields that are missing or wrong."""
    fault = "has wrong fields:"
    if missing:
        names = [field.name for field in missing]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        fault = f"lacks what only you know: {listed}. Add, for example:"
    examples = [f"  {field.name} = {field.example}  # {field.told}" for field in missing]
    faults = [f"  {each}" for each in wrong]
    last = "'dphist disclose --template about.toml' writes a file with all fields."
    return ParameterError("about", fault, more=(*examples, *faults, last))


def _unknown(key: str, known: Sequence[str]) -> str:
    close = get_close_matches(key, known, 1)
    return f"there is no field {key!r}{f': did you mean {close[0]}?' if close else ''}"


def _load(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path.read_bytes())
    except ValueError as error:
        problem = f"is not valid TOML: {error}"
    except OSError:
        problem = f"cannot be read; 'dphist disclose --template {path}' writes one to fill in"
    raise InputFileError(f"{path} {problem}")


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, list | tuple) and all(map(_is_empty, value)))


def _clean(text: str) -> str:
    """Drop spaces at the ends of lines, which YAML could not show as they are."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _read_text(value: object, _: Field) -> str:
    if not isinstance(value, str):
        raise ValueError('text, such as "..."')
    text = _clean(value)
    if not text.replace("\n", "").replace("\t", "").isprintable():
        raise ValueError("text without control characters")
    return text


def _read_texts(value: object, field: Field) -> list[str]:
    held = [value] if isinstance(value, str) else value
    if not isinstance(held, list | tuple) or not all(isinstance(each, str) for each in held):
        raise ValueError(f"a list of texts, such as {field.example}")
    texts = [_clean(each) for each in held if each.strip()]
    if not all(each.isprintable() for each in texts):
        raise ValueError(f"a list of single lines, such as {field.example}")
    return texts


def _read_date(value: object, field: Field) -> str:
    if type(value) is date:
        return value.isoformat()
    try:
        return date.fromisoformat(value.strip() if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise ValueError(f"a day as year-month-day, such as {field.example}") from None


def _read_choice(value: object, field: Field) -> str:
    said = value.strip().lower() if isinstance(value, str) else ""
    for each in field.choices:
        if each.lower() == said:
            return each
    raise ValueError(f"one of {', '.join(field.choices)}")


_READERS: dict[str, Callable[[object, Field], Any]] = {
    "text": _read_text,
    "texts": _read_texts,
    "date": _read_date,
    "choice": _read_choice,
}
