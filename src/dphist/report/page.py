"""A figure of a page that is no document yet."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the page: its title, what it shows in words, and the `<svg>` element."""

    title: str
    text: str
    svg: str
