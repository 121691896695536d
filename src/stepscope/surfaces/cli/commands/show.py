"""``stepscope show TOOL PATH``: one command per tool, its flags made from the tool's options."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.registry import Option, Tool
from stepscope.result import Result
from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.damage import tell_damage
from stepscope.surfaces.cli.output import tell_written

if TYPE_CHECKING:
    from stepscope.session import Session
    from stepscope.surfaces.cli.pages.page import Page
    from stepscope.tables.core.profile import TimeBase

FORMATS: Final = ("table", "json", "csv", "md", "parquet")
_ROWS: Final = 20

_SHARED: Final[tuple[arguments.Decorator, ...]] = (
    arguments.path,
    arguments.run,
    arguments.host,
    arguments.selection,
    arguments.per,
    arguments.formats(
        *FORMATS,
        default=None,
        help="Output format; by default from the suffix of --output, else table.",
    ),
    arguments.rows(_ROWS),
    arguments.everything,
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        help="Cut csv and md to about this many tokens, between rows, and report what was cut.",
    ),
    click.option("--table", help="Table that csv and parquet write; by default the first."),
    arguments.output,
)


class ToolCommands(click.Group):
    """``stepscope show``: a command per tool; short names work, and help does not list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The ids of all tools."""
        return list(TOOLS.ids)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the tools with whole sentences: click would cut them at the line's end."""
        with formatter.section("Commands"):
            formatter.write_dl([(tool.id, tool.summary) for tool in TOOLS])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of the tool of this id or short name; the other tools stay unread."""
        try:
            return tool_command(TOOLS.find(name))
        except UsageError:
            return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first argument.

        Raises:
            UsageError: There is no such tool; the error names the nearest one.
        """
        if not ctx.resilient_parsing and not args[0].startswith("-"):
            TOOLS.find(args[0])
        return super().resolve_command(ctx, args)


COMMAND = ToolCommands("show", help="Show the answer of one tool.")


def tool_command(tool: Tool) -> click.Command:
    """The command of a tool: the shared options and its own."""
    own = {option.name: option for option in tool.option_list()}

    def command(path: str, **given: Any) -> None:
        options = {name: _flag_text(given.pop(name)) for name in own if given.get(name) is not None}
        for name in own:
            given.pop(name, None)
        print_tool(tool.id, path, options, **given)

    for decorate in reversed([*map(_flag, own.values()), *_SHARED]):
        command = decorate(command)
    return click.command(tool.id, help=tool.summary)(command)


def _flag(option: Option) -> arguments.Decorator:
    """A tool's option as a flag. Values stay text: the registry's parser is the only one."""
    flag = "--" + option.name.rstrip("_").replace("_", "-")
    default = (
        f" [default: {_flag_text(option.default)}]" if option.default not in (None, "") else ""
    )
    if option.type is bool:
        return click.option(
            f"{flag}/--no-{flag[2:]}", option.name, default=None, help=option.help + default
        )
    metavar = "|".join(option.choices) or _type_name(option.type).upper()
    return click.option(flag, option.name, metavar=metavar, help=option.help + default)


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
    steps: str = "",
    range: str = "",
    device: str = "",
    per: TimeBase | None = None,
    format: str | None = None,
    top: int | None = None,
    table: str | None = None,
    output: str | None = None,
    max_tokens: int | None = None,
) -> None:
    """Run one tool on a path and print or write its answer."""
    from stepscope.session import open
    from stepscope.surfaces.cli.pages.page import prints_everything
    from stepscope.surfaces.cli.progress import ProgressLine

    tool = TOOLS.find(tool_name)
    tool.parse_options(options)  # a wrong flag should not cost a decode
    target = Path(output).expanduser() if output else None
    chosen = format or _format_of(target)
    with (
        ProgressLine() as waiting,
        open(path, run=run, host=host, progress=waiting.update) as session,
    ):
        part = session.select(steps=steps, range=range, device=device)
        chosen_base = part if per is None else part.per(per)
        result = chosen_base.run(tool.id, **options)
        waiting.stop()
        if chosen != "table" or output:
            tell_damage(session)  # the page on the terminal says it itself
        rows = None if prints_everything() else arguments.shown_rows(top, chosen, _ROWS)
        if max_tokens is not None:
            if chosen not in ("csv", "md"):
                raise UsageError("--max-tokens needs --format csv or md.", hint="Add --format csv.")
            _write(_within(tool, result, chosen, table, rows, max_tokens), target)
            return
        if chosen == "table" and target is None:
            from stepscope.surfaces.cli.pages.page import Page

            page = Page.of_terminal(next=next_command(part, tool), paths=(path,))
            if top is not None:
                page.height = None
            write_page(page, part, tool, result, rows)
            page.print()
            return
        if chosen == "table":
            page = Page()
            write_page(page, part, tool, result, rows)
            text = io.StringIO()
            page.print(text)
            _write(text.getvalue().encode(), target)
            return
        _write(_rendered(tool, result, chosen, rows, table, to_file=target is not None), target)


def _within(
    tool: Tool, result: Result, format: str, table: str | None, rows: int | None, budget: int
) -> bytes:
    """The answer with as many rows as a budget of tokens holds, and what it leaves out."""
    from stepscope.result import tables_of
    from stepscope.surfaces.agent.reply import tokens_of

    def text(count: int) -> str:
        return _rendered(tool, result, format, count, table, to_file=True).decode()

    sizes = {name: len(one) for name, one in tables_of(result).items()}
    most = sizes.get(table, 0) if table else max(sizes.values(), default=0)
    low, high = 0, most if rows is None else min(rows, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_of(text(middle)) <= budget else (low, middle - 1)
    made = text(low)
    if low < most:
        cut = f"CUT: tables show {low} of up to {most} rows; more with a larger --max-tokens."
        print(cut, file=sys.stderr)
        made += f"\n{cut}\n" if format == "md" else ""  # CSV is data alone
    return made.encode()


def _format_of(target: Path | None) -> str:
    if target is None:
        return "table"
    known = {f".{name}": name for name in FORMATS} | {".txt": "table"}
    found = known.get(target.suffix.lower())
    if found is None:
        raise UsageError(
            f"--output {target.name} has no known extension.",
            hint="Add --format json, csv, md, parquet or table.",
        )
    return found


def _rendered(
    tool: Tool,
    result: Result,
    format: str,
    rows: int | None,
    table: str | None,
    *,
    to_file: bool,
) -> bytes:
    """The answer as bytes to write."""
    from stepscope.surfaces import export

    if format == "json":
        return (export.json_text(result, rows) + "\n").encode()
    if format == "md":
        return export.markdown_text(result, tool.title, rows).encode()
    if format == "csv":
        return export.csv_text(export.main_table(result, table)[1], rows).encode()
    if not to_file and sys.stdout.isatty():
        raise UsageError(
            "Parquet is binary.", hint="Add --output FILE.parquet, or redirect the output."
        )
    return export.parquet_bytes(export.main_table(result, table)[1], rows)


def write_page(page: Page, session: Session, tool: Tool, result: Result, rows: int | None) -> None:
    """Write a tool's answer for a session on a page."""
    from stepscope.surfaces.cli.pages.result import write_result
    from stepscope.tables.device.short_names import called

    page.short_names = called(session.profile)
    write_result(page, result, tool.title, rows)


# The next question after an answer: where its time is explained, or its cause.
_NEXT: Final = {
    "overview_page": "advise",
    "step_account": "show host_activity",
    "host_activity": "show step_account",
    "kernel_stats": "explain kernel:1",
    "framework_op_stats": "explain op:1",
    "hlo_stats": "show op_profile",
    "op_profile": "show roofline_model",
    "roofline_model": "show op_profile",
    "device_idle": "show host_activity",
    "input_pipeline_analyzer": "show tf_data_bottleneck_analysis",
    "memory_profile": "show memory_viewer",
    "pod_viewer": "show collectives",
    "trace_viewer": "show step_account",
}


def next_command(session: Session, tool: Tool) -> str:
    """The command that answers the question after this one."""
    then = _NEXT.get(tool.id, "advise")
    verb, _, following = then.partition(" ")
    if verb == "show" and session.available(following) is not None:
        then = "advise"
    return then


def _write(data: bytes, target: Path | None) -> None:
    if target is not None:
        from stepscope.store.atomic import write_atomic

        write_atomic(target, data)
        tell_written(target)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(data.decode())
