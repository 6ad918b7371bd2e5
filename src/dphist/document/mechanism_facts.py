"""A mechanism described for readers: its parameters with their meaning, its noise, its paper."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.mechanism import read_meanings
from dphist.noise.law import NoiseLaw
from dphist.parameters import decimal_text
from dphist.privacy.as_text import down, plain, short_exact
from dphist.release.maker import Maker, find_target, read_parameters
from dphist.release.mechanisms import find_package
from dphist.sentence import Sentence
from dphist.visible import harmless

_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a mechanism, as text."""

    name: str
    value: str
    meaning: str


def parameters(mechanism: Maker) -> list[Parameter]:
    """Return all parameters of a mechanism with their meanings, in their own order."""
    known = read_meanings(mechanism)
    found = []
    for name, value in read_parameters(mechanism).items():
        told = known[name]
        meaning = told.get("meaning", "")
        if value is None:
            meaning = told.get("not_given", meaning)
        shown = "not given" if value is None else _readable(value)
        if value is not None and "shown" in told:
            shown = _readable(tuple(told["shown"](mechanism)), "; ")
        elif isinstance(value, Fraction):
            shown = short_exact(value)
        found.append(Parameter(name, shown, meaning))
    return found + targets(mechanism)


def targets(mechanism: Maker) -> list[Parameter]:
    """Return what a mechanism was calibrated to cost, as one more parameter; nothing otherwise."""
    target = find_target(mechanism)
    if target is None:
        return []
    meaning = "What the mechanism was asked to cost at most; the parameters follow from it."
    return [Parameter("target", str(target), meaning)]


def noise_in_words(mechanism: Maker) -> Sentence | None:
    """Name the noise on each number that is measured; None for mechanisms of somebody else.

    >>> from dphist.anonymized import RankSplit
    >>> noise_in_words(RankSplit(epsilon=1))
    'two-sided geometric (integer Laplace), of scale 1.02564 and standard deviation 1.39 records'
    """
    law: NoiseLaw | None = getattr(mechanism, "law", None)
    if law is None or find_package(type(mechanism)) is not None:
        return None
    if law.scale is None:
        return Sentence(str(law))
    measures = {"scale": down(law.scale)}
    if law.distribution == "Gaussian":
        measures = {"standard deviation": down(law.scale)}
    elif law.distribution == "two-sided geometric":
        measures["standard deviation"] = down(law.standard_deviation, 3)
    *others, (name, last) = [(name, plain(number)) for name, number in measures.items()]
    of = " and ".join([*(" ".join(other) for other in others), f"{name} "])
    return Sentence("{law}, of {of}{last}", law=law, of=of, last=count_records(last))


def count_records(number: str) -> Sentence:
    """Say a number of records, of which 1 is one."""
    form = "{number} {record}" if number == "1" else "{number} {records}"
    return Sentence(form, number=number)


def public_parameters(mechanism: Maker) -> tuple[str, ...]:
    """Name the parameters that the giver says are public knowledge."""
    given = read_parameters(mechanism)
    return tuple(
        name
        for name, told in read_meanings(mechanism).items()
        if told.get("public") and given[name] is not None
    )


def call(mechanism: Maker) -> str:
    """Write the mechanism as Python that makes it again.

    >>> from dphist.anonymized import RankSplit
    >>> call(RankSplit(epsilon="1/3"))
    "RankSplit(epsilon='1/3', total=None, sensitivity=1)"
    """
    arguments = [f"{name}={_python(value)}" for name, value in read_parameters(mechanism).items()]
    return f"{type(mechanism).__name__}({', '.join(arguments)})"


def _python(value: Any) -> str:
    if isinstance(value, tuple):
        shown = [*map(_python, value[:_MOST_LISTED]), *(["..."] if _too_many(value) else [])]
        return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"
    text = _readable(value)
    if isinstance(value, str) or (isinstance(value, Fraction) and "/" in text):
        return repr(text)
    return repr(value) if isinstance(value, int) else text


def _too_many(value: tuple[Any, ...]) -> bool:
    return len(value) > _MOST_LISTED


def _readable(value: Any, between: str = ", ") -> str:
    if isinstance(value, tuple):
        shown = between.join(_readable(part) for part in value[:_MOST_LISTED])
        return f"{shown}{between}... ({len(value):,} in all)" if _too_many(value) else shown
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return harmless(str(value), 60)


_UNKNOWN = (
    "The noise is that of another package. dphist has not checked its law, or how exactly it is "
    "drawn."
)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a mechanism, in words.

    Attributes
    ----------
    law : name of the distribution.
    scale : the scale in records, rounded down; empty if there is no noise on counts.
    exactness : what was done against errors of floating point, and what that assumes.
    """

    law: str
    scale: str
    exactness: str


def describe_noise(mechanism: Maker) -> Noise:
    """Describe the noise of a mechanism.

    >>> from dphist.ranges import LeafCounts
    >>> mechanisms = LeafCounts(epsilon="0.1", bins=8), LeafCounts(rho=1, bins=8)
    >>> [describe_noise(mechanism).law for mechanism in mechanisms]
    ['two-sided geometric (integer Laplace)', 'Gaussian, rounded to integers']
    """
    package = find_package(type(mechanism))
    if package is not None:
        return Noise(f"of the package {harmless(package, 60)}", "", _UNKNOWN)
    law = mechanism.law  # type: ignore[attr-defined]
    return Noise(str(law), "" if law.scale is None else plain(down(law.scale)), law.drawing.value)
