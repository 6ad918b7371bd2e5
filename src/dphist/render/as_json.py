"""A document for programs: the values of its facts."""

from typing import Any

from dphist.document.blocks import JSON, Document, Fact


def content(document: Document) -> dict[str, Any]:
    """Return the values of facts by their keys, in the library's own words."""
    facts = (block for block in document.blocks(JSON) if isinstance(block, Fact))
    return {fact.key: fact.value for fact in facts if fact.key}
