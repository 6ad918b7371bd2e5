"""How Sphinx builds the site: `make docs`."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "ext"), str(HERE.parent / "src"), str(HERE.parent)]

import dphist  # noqa: E402 - found beside this file, also where it is not installed

project = "dphist"
author = "The dphist maintainers"
project_copyright = "The dphist maintainers, Apache-2.0"
version = release = dphist.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "docstrings",
    "planted_bugs",  # before `outside`, which looks at its links
    "outside",
    "contents",
    "command_line",
    "phone",
    "excerpts",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "ext", "templates"]
templates_path = ["templates"]
smartquotes_action = "qe"  # quotes and ellipses; two hyphens begin an option
default_role = "code"  # a name between single backticks in a docstring

# The pages are plain Markdown, as a repository host shows them: no extension of MyST is needed.
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types in words, with shapes and units
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # templates/autosummary/class.rst lists them
python_maximum_signature_line_length = 80

html_theme = "pydata_sphinx_theme"
html_title = "dphist"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(HERE / "ext" / "scorer.js")
html_sidebars: dict[str, list[str]] = {"index": []}
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
