"""The page of `dphist form`: one HTML file with one script of its own, which loads nothing."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from dphist.render.html import make_environment

_SCRIPTS = ("form_preview.js", "form_spending.js", "form.js")  # one script of the page


def form_page(**told: Any) -> str:
    """Return the page.

    The policy of the page names the script by its hash, so that no other runs, and forbids all
    addresses.

    Parameters
    ----------
    told : what the template shows; `kinds` and `numbers` are also what the script reads.
    """
    place = files("dphist.render")
    parts = [place.joinpath(name).read_text("utf-8") for name in _SCRIPTS]
    script = "\n".join(['\n"use strict";', *parts])
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = make_environment()
    environment.filters["in_words"] = _in_words
    data = {"kinds": {each["name"]: each for each in told["kinds"]}, "numbers": told["numbers"]}
    return environment.get_template("form.html.j2").render(
        **told,
        script=Markup(script),  # noqa: S704 - our own file
        digest=digest,
        data=Markup(_as_json(data)),  # noqa: S704 - escaped for a script
    )


def _as_json(data: Mapping[str, Any]) -> str:
    """Write data for a script's element, which ends at the first `</script`."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _in_words(text: str) -> Markup:
    """Escape a meaning, as a sentence, with places for what one user is called, and several."""
    said = str(escape(text[:1].upper() + text[1:] + "." * (not text.endswith("."))))
    for place, word in (("one", "user"), ("many", "users")):
        said = said.replace(f"{{{place}}}", f'<span class="{place}">{word}</span>')
    return Markup(said)  # noqa: S704 - escaped above
