"""Entry point: runs a command and returns one of the published exit codes.

0 ok · 1 a limit is exceeded (check), or a bug in Stepscope · 2 usage · 3 nothing to show ·
4 unreadable input or unwritable output · 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from stepscope.errors import SlowKernelsWarning, StepscopeError, StoreError, UsageError, nearest
from stepscope.surfaces.cli.commands import COMMANDS

_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_FORMAT_WARNING: Final = warnings.formatwarning

BUG = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    from stepscope.surfaces.cli.group import build

    warnings.formatwarning = _warning_line
    if arguments in ([], ["show"]):
        arguments = [*arguments, "--help"]
    try:
        code = build()(args=arguments, prog_name="stepscope", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return fail(_usage(error), arguments)
    except StepscopeError as error:
        return fail(error, arguments)
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) has enough; click turns that into an exit of its own. It is not
        # a failure, but Python would complain when it flushes at exit.
        _forget_output()
        return 0
    except Exception as error:
        # Files that are written say themselves what refused: this is standard output.
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            _forget_output()
            return fail(_output_full(error), ())
        import traceback

        traceback.print_exc()
        bug = StepscopeError(
            "This is a bug in Stepscope.",
            why=f"{type(error).__name__}: {error}",
            hint="Please report it with the traceback above and `stepscope version -v`.",
            slug="bug",
        )
        fail(bug, arguments)
        return BUG


def _warning_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Return our own warnings without the place in the code that Python adds."""
    if issubclass(category, SlowKernelsWarning):
        return f"note: {message}\n"
    return _FORMAT_WARNING(message, category, filename, lineno, line)


def _forget_output() -> None:
    """Send what is still to be flushed nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _output_full(error: OSError) -> StoreError:
    return StoreError(
        "The output cannot be written.",
        where="standard output",
        why=f"The system says: {error.strerror}.",
        hint="Make room on the disk it goes to, or send it elsewhere.",
        slug="cannot-write",
    )


def fail(error: StepscopeError, arguments: Sequence[str]) -> int:
    """Tell the person (stderr) and, where JSON was asked for, the script (stdout)."""
    from stepscope.surfaces.format import clean, json_of

    if wants_json(arguments):
        try:
            print(json_of(error.to_dict()), flush=True)
        except BrokenPipeError:
            _forget_output()  # the reader has enough; the exit code still says what happened
    lines = str(error).split("\n")
    print("\n".join(["error: " + clean(lines[0]), *map(clean, lines[1:])]), file=sys.stderr)
    return type(error).exit_code


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, readable even when it does not parse."""
    return any(
        argument == "--format=json"
        or (argument in ("--format", "-f") and list(arguments[at + 1 : at + 2]) == ["json"])
        for at, argument in enumerate(arguments)
    )


def _usage(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "stepscope")
    group = getattr(context, "command", None)
    hint = f"See: {command} --help"
    unknown = re.search(r"No such command '(.+)'", error.format_message())
    if context is not None and isinstance(group, click.Group):
        if unknown is not None and (meant := _meant(unknown[1], context)):
            hint = f"Did you mean {meant}? {hint}"
        else:
            hint = f"Known: {', '.join(group.list_commands(context))}. {hint}"
    return UsageError(error.format_message() or "Something is missing.", hint=hint)


def _meant(name: str, context: click.Context) -> str:
    """Return the command line that an unknown top-level command stands for; "" if none is near."""
    from stepscope.analysis import TOOLS

    command = context.command_path
    if Path(name).exists():
        return f"{command} show overview_page {shlex.quote(name)}"
    tools = (*TOOLS.ids, *(tool.short for tool in TOOLS))
    near = nearest(name, (*COMMANDS, *tools))
    if near and near not in COMMANDS:
        near = f"show {near}"
    return near and f"{command} {near}"
