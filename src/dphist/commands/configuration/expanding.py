"""`--config FILE` on a command line, replaced by the options that the file holds."""

from collections.abc import Sequence

from dphist.commands.options import Parser, UsageError
from dphist.commands.registry import RELEASING

_FLAGS = ("dry-run", "overwrite", "quiet", "json")


class Expanded(list[str]):
    """Arguments that come from a configuration.

    Attributes
    ----------
    configuration : hash of the file; None where there is none.
    path : of the file.
    """

    configuration: str | None = None
    path: str | None = None


def expanded(given: Sequence[str]) -> Expanded:
    """Return the arguments, those of a configuration in the place of ``--config``.

    Raises
    ------
    UsageError
        If the file cannot be read, or options stand beside ``--config``.
    """
    named = any(word == "--config" or word.startswith("--config=") for word in given)
    if not named or not given or given[0] not in RELEASING:
        return Expanded(given)
    command = given[0]
    parser = Parser(prog=f"dphist {command}", allow_abbrev=False, add_help=False)
    parser.add_argument("--config", required=True)
    parser.add_argument("--section")
    for flag in _FLAGS:
        parser.add_argument(f"--{flag}", action="store_true")
    options, others = parser.parse_known_args(list(given[1:]))
    if others:
        raise UsageError(
            f"{others[0]} does not go with --config, which holds the whole command; only "
            f"--section, {', '.join(f'--{flag}' for flag in _FLAGS)} do"
        )
    from dphist.commands.configuration.arguments import arguments_of, check_defaults
    from dphist.commands.configuration.reading import read_configuration

    found = read_configuration(options.config)
    check_defaults(found.path, found.sections)
    section = found.section(options.section, command)
    arguments = arguments_of(found.path, section, dry_run=options.dry_run)
    flags = [f"--{flag}" for flag in _FLAGS if getattr(options, flag.replace("-", "_"))]
    made = Expanded([arguments[0], *flags, *arguments[1:]])
    made.configuration, made.path = found.digest, found.path
    return made
