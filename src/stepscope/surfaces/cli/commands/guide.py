"""``stepscope guide``: how programs ask, as text; and the same as a skill file."""

from __future__ import annotations

from pathlib import Path

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import tell_written

#: Generated from the questions and the tools; it comes with the package.
SKILL = Path(__file__).parents[2] / "agent" / "SKILL.md"


@click.command()
@arguments.argument(
    "topic",
    metavar="[TOPIC]",
    required=False,
    default="start",
    help="start, diagnose, questions, tools or sql.",
)
@click.option("--skill", metavar="FOLDER", help="Write the guide as FOLDER/stepscope/SKILL.md.")
def guide(topic: str, skill: str | None) -> None:
    """Print instructions for agents: the order of questions, units and outcomes."""
    from stepscope.store.atomic import write_atomic
    from stepscope.surfaces.agent.guide import guide as page

    if skill is None:
        print(page(topic), end="")
        return
    target = Path(skill).expanduser() / "stepscope" / "SKILL.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, SKILL.read_bytes())
    tell_written(target)


COMMAND = guide
