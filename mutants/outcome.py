"""A plugin of pytest that writes down which test failed first, and with what.

So that a mutant whose tests fail because it does not run is not taken for one that was caught.
"""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "DPHIST_MUTANT_OUTCOME"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
    """Write the first failure to the file that the environment names."""
    report: Any = yield
    path = Path(os.environ[VARIABLE])
    if report.failed and not path.exists():
        library: Any = sys.modules.get("dphist")
        error = call.excinfo
        outcome = {
            "test": item.nodeid,
            "error": error.typename,
            "raised_in": str(error.traceback[-1].path),
            "library": str(getattr(library, "__file__", "")),
        }
        path.write_text(json.dumps(outcome))
    return report
