"""The trusted base: the files that a guarantee rests on, and their lines. `make base`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.size import SOURCE, count_lines

LIST = Path(__file__).with_name("base.toml")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the base.

    Attributes
    ----------
    name : what the part is.
    files : its files in the order of reading, relative to src/dphist.
    """

    name: str
    files: tuple[Path, ...]

    @property
    def lines(self) -> int:
        """The number of lines of all files."""
        return sum(count_lines(SOURCE / file) for file in self.files)


def read_parts() -> list[Part]:
    """Return the parts in the order of reading."""
    listed = tomllib.loads(LIST.read_text())["part"]
    return [Part(each["name"], _files_of_part(**each)) for each in listed]


def modules_of_base() -> frozenset[str]:
    """Return the names of all modules of the base, such as `dphist.noise.lazy`."""
    return frozenset(name_module(file) for part in read_parts() for file in part.files)


def name_module(file: Path) -> str:
    """Return the name of a module by its file, relative to src/dphist."""
    return ".".join(["dphist", *file.with_suffix("").parts]).removesuffix(".__init__")


def _files_of_part(
    name: str, modules: list[str], without: tuple[str, ...] = ()
) -> tuple[Path, ...]:
    left_out = {file for module in without for file in _files_of(module)}
    found = [file for module in modules for file in _files_of(module) if file not in left_out]
    if len(set(found)) < len(found):
        raise ValueError(f"{LIST.name}: a file of part {name!r} is listed twice")
    return tuple(found)


def _files_of(module: str) -> list[Path]:
    """Return the file of a module, or all files of a folder."""
    if (SOURCE / f"{module}.py").is_file():
        return [Path(f"{module}.py")]
    if not (SOURCE / module).is_dir():
        raise ValueError(f"{LIST.name}: there is no module {module}")
    return [path.relative_to(SOURCE) for path in sorted((SOURCE / module).rglob("*.py"))]


def main() -> None:
    """Print the lines of each file and part; the last line is the total."""
    parts = read_parts()
    for part in parts:
        print(f"{part.lines:7} {part.name}, {len(part.files)} files")
        for file in part.files:
            print(f"{count_lines(SOURCE / file):12} {file}")
    print(f"total {sum(part.lines for part in parts)} lines")


if __name__ == "__main__":
    main()
