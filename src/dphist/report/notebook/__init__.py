"""What a notebook shows of a value: a card with what it is, the guarantee, a table, a figure.

A card of released values shows them. A card of data that are not released shows their public bounds
only, and says why. To show a class of yours, give it ``def _repr_html_(self): return
shown_by("html_of", self)`` (`dphist.shown`), and call `register_view` with a function that returns
a `Card` or a document of it.
"""

from dphist.document.of_value import Table
from dphist.render.card import Card
from dphist.report.notebook.views import html_of, register_view

__all__ = ["Card", "Table", "html_of", "register_view"]
