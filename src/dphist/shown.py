"""How values are plotted, shown in notebooks and written: by layers above, found when asked.

A value knows neither plots nor pages, so `import dphist` and a release that nobody looks at load
neither. As with the mechanisms of a saved release, the name is all that is known here.
"""

from importlib import import_module
from typing import Any

_FUNCTIONS = {
    "plot": "dphist.report",
    "plot_value": "dphist.report",
    "draw_vega": "dphist.report",
    "html_of": "dphist.report.notebook",
    "format_text": "dphist.report.notebook",
    "write_page": "dphist.report.notebook",
    "table_csv": "dphist.report",
    "table_file": "dphist.report.table_files",
}


def show_by(function: str, value: Any, **options: Any) -> Any:
    """Return what a function of `dphist.report` makes of a value.

    Parameters
    ----------
    function : one of those above.
    """
    return getattr(import_module(_FUNCTIONS[function]), function)(value, **options)
