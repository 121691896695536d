"""``stepscope show TOOL PATH``: one command per tool, its flags made from the tool's options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.registry import Option, Tool
from stepscope.result import Result
from stepscope.surfaces.cli.app import HostName, PathArgument, Runs


class Format(str, Enum):
    """How a result is printed or written."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"
    parquet = "parquet"


DEFAULT_ROWS = 20

_SHARED: dict[str, tuple[Any, Any]] = {
    "path": (PathArgument, inspect.Parameter.empty),
    "run": (Runs, None),
    "host": (HostName, None),
    "format": (
        Annotated[
            Format | None,
            typer.Option(
                "--format",
                "-f",
                help="How to print; from --output's name, or table, by default.",
                show_default=False,
            ),
        ],
        None,
    ),
    "top": (
        Annotated[
            int | None,
            typer.Option(
                "--top",
                min=0,
                help=f"Rows per table; {DEFAULT_ROWS} for table, all for the rest; 0 for all.",
                show_default=False,
            ),
        ],
        None,
    ),
    "table": (
        Annotated[
            str | None,
            typer.Option(
                "--table",
                help="Which table csv and parquet write; the first by default.",
                show_default=False,
            ),
        ],
        None,
    ),
    "output": (
        Annotated[
            str | None,
            typer.Option(
                "--output", "-o", metavar="FILE", help="Write to this file.", show_default=False
            ),
        ],
        None,
    ),
}


def add_tools(app: typer.Typer, only: str = "") -> None:
    """Add a command per tool, and one per short name that help does not list.

    ``only`` is the tool the command line names, if it is one's id: the others need not be read.
    """
    for tool in [TOOLS.find(only)] if only in TOOLS.ids else TOOLS:
        command = tool_command(tool)
        app.command(tool.id, help=tool.summary)(command)
        if tool.short != tool.id:
            app.command(tool.short, help=tool.summary, hidden=True)(command)


def tool_command(tool: Tool) -> Callable[..., None]:
    """A function whose signature, which Typer reads, is the shared options and the tool's own."""
    own = {option.name: option for option in tool.option_list()}

    def command(**given: Any) -> None:
        options = {name: _flag_text(given.pop(name)) for name in own if given.get(name) is not None}
        for name in own:
            given.pop(name, None)
        print_tool(tool.id, given.pop("path"), options, **given)

    parameters = {name: _parameter(option) for name, option in own.items()}
    for name, (hint, default) in _SHARED.items():
        parameters[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
        )
    command.__name__ = tool.id
    command.__doc__ = tool.summary
    command.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]  # inspect honours it, typeshed lacks it
    return command


def _parameter(option: Option) -> inspect.Parameter:
    """A tool's option as a flag. Values stay text: the registry's parser is the only one."""
    flag = "--" + option.name.rstrip("_").replace("_", "-")
    default = (
        f" [default: {_flag_text(option.default)}]" if option.default not in (None, "") else ""
    )
    if option.type is bool:
        hint: Any = Annotated[
            bool | None,
            typer.Option(f"{flag}/--no-{flag[2:]}", help=option.help + default, show_default=False),
        ]
    else:
        metavar = "|".join(option.choices) or _type_name(option.type).upper()
        hint = Annotated[
            str | None,
            typer.Option(flag, metavar=metavar, help=option.help + default, show_default=False),
        ]
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint
    )


def _type_name(hint: Any) -> str:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    name: str = kinds[0].__name__
    return {"str": "text"}.get(name, name)


def _flag_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def print_tool(
    tool_name: str,
    path: str,
    options: dict[str, str],
    *,
    run: str | None = None,
    host: str | None = None,
    format: Format | None = None,
    top: int | None = None,
    table: str | None = None,
    output: str | None = None,
) -> None:
    """Run one tool on a path and print or write its answer."""
    from stepscope.session import open
    from stepscope.surfaces.cli.progress import Waiting

    tool = TOOLS.find(tool_name)
    tool.parse_options(options)  # a wrong flag should not cost a decode
    target = Path(output).expanduser() if output else None
    chosen = format or _format_of(target)
    with Waiting() as waiting, open(path, run=run, host=host, progress=waiting.update) as session:
        result = session.run(tool.id, **options)
        waiting.stop()
        rows = DEFAULT_ROWS if top is None and chosen is Format.table else top or None
        _write(_rendered(tool, result, chosen, rows, table, to_file=target is not None), target)


def _format_of(target: Path | None) -> Format:
    if target is None:
        return Format.table
    known = {f".{one.value}": one for one in Format} | {".txt": Format.table}
    found = known.get(target.suffix.lower())
    if found is None:
        raise UsageError(
            f"--output {target.name} does not say which format.",
            hint="Add --format json, csv, md, parquet or table.",
        )
    return found


def _rendered(
    tool: Tool,
    result: Result,
    format: Format,
    rows: int | None,
    table: str | None,
    *,
    to_file: bool,
) -> bytes | None:
    """The answer as bytes to write; None where the page printed itself."""
    from stepscope.surfaces import export

    if format is Format.json:
        return (export.json_text(result, rows) + "\n").encode()
    if format is Format.md:
        return export.markdown_text(result, tool.title, rows).encode()
    if format is Format.csv:
        return export.csv_text(export.main_table(result, table)[1], rows).encode()
    if format is Format.parquet:
        if not to_file and sys.stdout.isatty():
            raise UsageError(
                "Parquet is binary.", hint="Add --output FILE.parquet, or redirect the output."
            )
        return export.parquet_bytes(export.main_table(result, table)[1], rows)
    return _page(tool, result, rows, to_file=to_file)


def _page(tool: Tool, result: Result, rows: int | None, *, to_file: bool) -> bytes | None:
    import io

    from stepscope.surfaces.cli.page import Page, terminal_width
    from stepscope.surfaces.cli.render import write_result

    page = Page(None if to_file else terminal_width(sys.stdout))
    write_result(page, result, tool.title, rows)
    if not to_file:
        page.print()
        return None
    text = io.StringIO()
    page.print(text)
    return text.getvalue().encode()


def _write(data: bytes | None, target: Path | None) -> None:
    if data is None:
        return
    if target is not None:
        from stepscope.store import write_atomic

        write_atomic(target, data)
        print(f"wrote {target}", file=sys.stderr)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(data.decode())
