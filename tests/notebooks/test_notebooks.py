"""A notebook that reads data in every way runs in real kernels, silently.

In a notebook DuckDB shows progress with ipywidgets, and where that is missing refuses to have the
settings of its progress bar changed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
KERNEL = "from ipykernel import kernelapp; kernelapp.launch_new_instance()"
WITHOUT = "import sys; sys.modules['ipywidgets'] = None; "


@pytest.mark.verify
@pytest.mark.parametrize(("start", "there"), [(KERNEL, True), (WITHOUT + KERNEL, False)])
def test_every_data_path_in_a_kernel(start: str, there: bool) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "kernel.py", FOLDER / "data_paths.ipynb", start],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cells = [cell for cell in json.loads(done.stdout)["cells"] if cell["cell_type"] == "code"]
    said = []
    for cell in cells:
        # One line, which a kernel may send in parts: no bar, no widget, no warning.
        kinds = {(output["output_type"], output.get("name")) for output in cell["outputs"]}
        assert kinds == {("stream", "stdout")}
        (line,) = "".join(t for output in cell["outputs"] for t in output["text"]).splitlines()
        said.append(line.split()[0])
    assert said == [
        str(there), "ready", "defined", "CSV", "Parquet", "pandas", "Polars", "Polars,", "Arrow",
        "DuckDB", "profile", "stream", "written", "progress",
    ]  # fmt: skip
