"""``stepscope advise``: recommended changes, and the outcome of every rule."""

from __future__ import annotations

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.damage import tell_damage


@click.command()
@arguments.path
@arguments.run
@arguments.host
@arguments.selection
@arguments.formats("table", "json", "md")
@arguments.everything
@click.option("--checks", is_flag=True, help="Also list why each other rule did not fire (table).")
def advise(
    path: str,
    run: str | None,
    host: str | None,
    steps: str,
    range: str,
    device: str,
    format: str,
    checks: bool,
) -> None:
    """Recommend changes, largest saving first."""
    from stepscope.session import open
    from stepscope.surfaces.cli.pages.advice import advice_json, advice_markdown, advice_page
    from stepscope.surfaces.cli.pages.page import (
        prints_everything,
        terminal_height,
        terminal_width,
    )
    from stepscope.surfaces.cli.progress import ProgressLine

    with (
        ProgressLine() as waiting,
        open(path, run=run, host=host, progress=waiting.update) as session,
    ):
        part = session.select(steps=steps, range=range, device=device)
        advice = part.advice()
        waiting.stop()
        tell_damage(session)
        if format == "json":
            from stepscope.surfaces.format import json_of

            body = advice_json(session.name, part.hosts, advice, session.files_used)
            print(json_of(body, indent=2))
        elif format == "md":
            print(advice_markdown(session.name, advice))
        else:
            is_whole = checks or prints_everything()
            page = advice_page(
                session.name,
                advice,
                terminal_width(),
                height=None if is_whole else terminal_height(),
                next="explain finding:1" if advice.findings else "doctor",
                paths=(path,),
                part=part.profile.selection if steps or range or device else "",
                with_checks=checks,
            )
            page.print()


COMMAND = advise
