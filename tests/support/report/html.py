"""A parsed page, and the checks that every page must pass."""

import re
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Text, ids and attributes of a page whose tags must balance."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        self._note(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "action", "srcset", "data", "background", "poster"):
                self.references.append(value or "")
            assert not name.startswith("on")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def check_alone(self, source: str) -> None:
        """Fail if the page asks for anything that is not in it."""
        assert "://" not in source
        assert {"script", "link", "img", "image", "iframe", "object"}.isdisjoint(self.tags)
        assert len(self.ids) == len(set(self.ids))
        wanted = [target.removeprefix("#") for target in self.references]
        wanted += re.findall(r"url\(#([^)]*)\)", source)
        assert set(wanted) <= set(self.ids)

    @property
    def text(self) -> str:
        plain = " ".join(" ".join(self.words).split())
        return plain.replace("\u00a0", " ").replace("\u2019", "'")
