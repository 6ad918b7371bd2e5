"""What the page of every kind holds."""

from dataclasses import dataclass

from dphist.document.mechanism_facts import Parameter


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the page: its title, what it shows in words, and the `<svg>` element."""

    title: str
    text: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page says about the release; each kind adds to it.

    Attributes
    ----------
    figures : in their order on the page.
    parameters : of the mechanism, with their meaning.
    noise : the noise on each number, if the mechanism states it.
    paper : where the mechanism comes from.
    limits : what the guarantee does not cover: (about, how).
    """

    figures: list[Figure]
    parameters: list[Parameter]
    noise: Parameter | None = None
    paper: str | None
    limits: list[tuple[str, str]]
