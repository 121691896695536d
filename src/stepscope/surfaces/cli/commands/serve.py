"""``stepscope serve``: the pages of all runs at a path."""

from __future__ import annotations

import click

from stepscope.surfaces.cli import arguments


@click.command()
@arguments.path
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to bind. Anything but loopback requires the token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 picks a free one. By default 8790, or the next free one.",
)
@click.option(
    "--token/--no-token",
    default=True,
    help="Ask for the token of the printed URL; --no-token works on loopback only.",
)
@click.option(
    "--path-prefix", metavar="/PREFIX", default="", help="Serve below this path, behind a proxy."
)
@click.option(
    "--allow-host",
    metavar="NAME",
    multiple=True,
    help="Accept this Host header too (a proxy's name); may be repeated.",
)
@click.option(
    "--allow-capture", is_flag=True, help="Let the pages record programs on other machines."
)
@click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False),
    help="Show source lines from this folder.",
)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def serve(
    path: str,
    host: str,
    port: int | None,
    token: bool,
    path_prefix: str,
    allow_host: tuple[str, ...],
    allow_capture: bool,
    source: str | None,
    browser: bool,
) -> None:
    """Serve the pages of all runs at a path, on this machine."""
    from stepscope.surfaces.http import Settings, serve_forever

    settings = Settings(
        address=host,
        port=port,
        token_required=token,
        prefix=path_prefix,
        extra_hosts=allow_host,
        allow_capture=allow_capture,
        source=source or "",
    )
    serve_forever(path, settings, browser=browser)


COMMAND = serve
