"""Run a notebook in a real kernel: ``python kernel.py NOTEBOOK CODE``; prints it with its outputs.

CODE starts the kernel. A process of its own, as the client leaves sockets to be found by Python.
"""

import sys


def execute(path: str, start: str) -> str:
    """Return the notebook, as JSON, after all its cells have run."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class OneKernel(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            command = [sys.executable, "-c", start, "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name=kernel_name, language="python")

    notebook = nbformat.read(path, as_version=4)
    probe = "import importlib.util; print(importlib.util.find_spec('ipywidgets') is not None)"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(probe))
    manager = AsyncKernelManager(kernel_name="tested", kernel_spec_manager=OneKernel())
    NotebookClient(notebook, km=manager, timeout=None, startup_timeout=600).execute()
    return nbformat.writes(notebook)


if __name__ == "__main__":
    print(execute(*sys.argv[1:]))
