"""Installing a package of the examples into a folder, offline."""

import hashlib
import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path


def install(project: Path, target: Path, scratch: Path) -> None:
    """Install a project with pip, without its dependencies and without a network.

    Its build backend makes the wheel where it is installed here; otherwise `_wheel` does.
    """
    built = importlib.util.find_spec("hatchling") is not None
    what = project if built else _wheel(project, scratch)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *options, str(what)], check=True, capture_output=True, text=True)


def _wheel(project: Path, folder: Path) -> Path:
    """Write the wheel of a pure Python project, as its pyproject.toml describes it."""
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    about = settings["project"]
    module = about["name"].replace("-", "_")
    info = f"{module}-{about['version']}.dist-info"
    points = [
        f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in named.items())
        for group, named in about["entry-points"].items()
    ]
    content = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {about['name']}\n"
        f"Version: {about['version']}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(points),
        f"{info}/top_level.txt": f"{module}\n",
    }
    for package in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        root = project / package
        for path in sorted(root.rglob("*.py")):
            content[path.relative_to(root.parent).as_posix()] = path.read_text()
    record = "".join(f"{name},sha256={_digest(text)},\n" for name, text in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    wheel = folder / f"{module}-{about['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name, text in content.items():
            file.writestr(name, text)
    return wheel


def _digest(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
