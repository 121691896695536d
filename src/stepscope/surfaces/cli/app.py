"""The commands. What is heavy is imported inside a command, so that help is quick."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Annotated

import typer

from stepscope.surfaces.cli.capture import capture, monitor
from stepscope.surfaces.cli.comparison_commands import check, compare
from stepscope.surfaces.cli.doctor import doctor
from stepscope.surfaces.cli.record_commands import RecordCommand, record, repair

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A file, a run directory, a log directory or a URL.",
        show_default=False,
    ),
]
Runs = Annotated[
    str | None, typer.Option("--run", help="Which run; the newest by default.", show_default=False)
]
HostName = Annotated[
    str | None, typer.Option("--host", help="Only this host; all by default.", show_default=False)
]


class ListFormat(str, Enum):
    """How a listing is printed."""

    table = "table"
    json = "json"


class AdviceFormat(str, Enum):
    """How advice is printed."""

    table = "table"
    json = "json"
    md = "md"


class RecordingFormatName(str, Enum):
    """What a recording can be written as."""

    perfetto = "perfetto"
    chrome = "chrome"
    chrome_json = "chrome-json"
    xspace = "xspace"


_CONTEXT = {"help_option_names": ["-h", "--help"]}
# What stands behind the name of a program to run is the program's, options included.
_PASSING_ON = {**_CONTEXT, "allow_interspersed_args": False}


def build(arguments: list[str]) -> typer.Typer:
    """The command line for these arguments.

    The commands of ``show`` are made from the list of tools, which costs importing NumPy; they
    are made only when the arguments are about ``show``.
    """
    app = typer.Typer(
        help="Where every training or inference step goes, why, and what to change.",
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_CONTEXT,
    )
    show = typer.Typer(
        help="Show the answer of one tool.",
        rich_markup_mode=None,
        context_settings=_CONTEXT,
    )
    words = [argument for argument in arguments if not argument.startswith("-")]
    if words[:1] in ([], ["show"]) or "_STEPSCOPE_COMPLETE" in os.environ:
        from stepscope.surfaces.cli.show import add_tools

        add_tools(show, only="".join(words[1:2]))
    app.add_typer(show, name="show")
    for name, command in COMMANDS.items():
        if command is record:
            app.command(name, cls=RecordCommand, context_settings=_PASSING_ON)(command)
        else:
            app.command(name)(command)
    return app


def list_runs(
    path: PathArgument,
    check: Annotated[
        bool, typer.Option("--check", help="Decode every file and say which are whole.")
    ] = False,
    format: Annotated[
        ListFormat, typer.Option("--format", "-f", help="How to print.")
    ] = ListFormat.table,
) -> None:
    """List what is at a path: runs, hosts, files, and why a file does not open."""
    from stepscope.surfaces.cli.listing import print_listing

    print_listing(path, check=check, as_json=format is ListFormat.json)


def advise(
    path: PathArgument,
    run: Runs = None,
    host: HostName = None,
    format: Annotated[
        AdviceFormat, typer.Option("--format", "-f", help="How to print.")
    ] = AdviceFormat.table,
) -> None:
    """Say what to change, ordered by what it saves."""
    from stepscope.surfaces.cli.advice import print_advice

    print_advice(path, run=run, host=host, format=format)


def serve(
    path: PathArgument,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to bind; other than loopback, the token is required."),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            help="Port; 0 takes a free one. 8790, or the next free one, by default.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        bool,
        typer.Option(
            "--token/--no-token",
            help="Ask for the token of the printed URL; --no-token only on loopback.",
        ),
    ] = True,
    path_prefix: Annotated[
        str,
        typer.Option(
            "--path-prefix", metavar="/PREFIX", help="Serve below this path, behind a proxy."
        ),
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Accept this Host header too (a proxy's name); may be repeated.",
        ),
    ] = None,
    allow_capture: Annotated[
        bool,
        typer.Option("--allow-capture", help="Let the pages record programs that run elsewhere."),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Serve the pages of all runs at a path on this machine."""
    from stepscope.surfaces.http import Settings, serve_forever

    settings = Settings(
        address=host,
        port=port,
        token_required=token,
        prefix=path_prefix,
        extra_hosts=tuple(allow_host or ()),
        allow_capture=allow_capture,
    )
    serve_forever(path, settings, browser=browser)


def demo(
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the pages after the diagnosis.")
    ] = True,
    port: Annotated[
        int | None,
        typer.Option("--port", help="Port to serve on.", min=0, max=65535, show_default=False),
    ] = None,
) -> None:
    """Show the diagnosis of a bundled recording, then serve its pages."""
    from stepscope.surfaces.cli.sample import find_sample
    from stepscope.surfaces.cli.show import print_tool
    from stepscope.surfaces.http import Settings, serve_forever

    sample = find_sample()
    print_tool("overview_page", str(sample), {})
    if serve:
        serve_forever(str(sample), Settings(port=port), browser=True)


def export(
    path: PathArgument,
    format: Annotated[
        RecordingFormatName,
        typer.Option(
            "--format", "-f", help="perfetto, chrome (gzipped JSON), chrome-json, or xspace."
        ),
    ] = RecordingFormatName.perfetto,
    begin: Annotated[
        str, typer.Option("--from", help="Begin: 1.5s, 20ms, 7us; the trace's begin by default.")
    ] = "",
    end: Annotated[
        str, typer.Option("--to", help="End, likewise; the trace's end by default.")
    ] = "",
    run: Runs = None,
    host: HostName = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a recording, or a range of it, for other viewers."""
    from stepscope.surfaces.cli.export import export_recording

    export_recording(path, format.value, begin=begin, end=end, run=run, host=host, output=output)


def version(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also what it runs on.")] = False,
) -> None:
    """Print the version."""
    from stepscope.surfaces.cli.versions import version_lines

    for line in version_lines(verbose=verbose):
        print(line)


COMMANDS: dict[str, Callable[..., int | None]] = {
    "capture": capture,
    "monitor": monitor,
    "doctor": doctor,
    "ls": list_runs,
    "advise": advise,
    "compare": compare,
    "check": check,
    "serve": serve,
    "demo": demo,
    "export": export,
    "record": record,
    "repair": repair,
    "version": version,
}
