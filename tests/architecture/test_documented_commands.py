"""Every command in the documents is one that Stepscope takes: its name, options and values."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

import dev
from stepscope.surfaces.cli.group import build
from tests.architecture.tree import PACKAGE, ROOT

PAGES = [
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("*.md"),
    ROOT / "examples" / "README.md",
    PACKAGE / "surfaces" / "agent" / "SKILL.md",
]
_BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
_IN_BLOCK = re.compile(r"^\s*(?:\$ |- |RUN )?(?:python3? -m )?stepscope (.*)$", re.MULTILINE)
_INLINE = re.compile(r"`stepscope ([a-z-][^`\n]*)`")
_SCRIPT = re.compile(r"\bpython3? ([\w/]+\.py)\b")
_DEV = re.compile(r"\bdev\.py ([a-z]+)\b")
_SHELLS = ("sh", "bash", "console", "yaml", "text", "")


def written(page: Path) -> list[tuple[str, bool]]:
    """The arguments of each command of a page, and whether it is in a block, and so is whole."""
    text = page.read_text("utf-8")
    found = [(each, False) for each in _INLINE.findall(text)]
    for language, block in _BLOCK.findall(text):
        if language in _SHELLS:
            lines = block.replace("\\\n", " ")
            found += [(each, True) for each in _IN_BLOCK.findall(lines)]
    return found


def refusal(arguments: str, is_whole: bool) -> str:
    """Why Stepscope does not take a command; "" if it does. In a sentence values may be missing."""
    words = shlex.split(arguments, comments=True)
    if ">" in words:  # a shell's, not ours
        words = words[: words.index(">")]
    top = build()
    context = click.Context(top)
    if words[0].startswith("-"):
        return "" if words[0] in ("--version", "--help") else f"no option {words[0]}"
    command = top.get_command(context, words[0])
    if command is None:
        return f"no command {words[0]}"
    try:
        command.make_context(words[0], words[1:], parent=context)
    except click.NoSuchOption as error:
        return error.format_message()
    except (click.MissingParameter, click.BadOptionUsage, click.exceptions.NoArgsIsHelpError):
        return "incomplete" if is_whole else ""
    except click.UsageError as error:
        return error.format_message()
    except click.exceptions.Exit:  # --help
        return ""
    return ""


def test_every_command_of_the_documents_is_taken() -> None:
    commands = [(page, *each) for page in PAGES for each in written(page)]
    assert len(commands) > 150
    wrong = [
        (page.relative_to(ROOT).as_posix(), arguments, why)
        for page, arguments, is_whole in commands
        if (why := refusal(arguments, is_whole))
    ]
    assert wrong == []


def test_scripts_of_the_documents_are_there() -> None:
    texts = {page: page.read_text("utf-8") for page in PAGES}
    scripts = {one for text in texts.values() for one in _SCRIPT.findall(text)}
    assert {"dev.py", "lint/links.py", "examples/slow_input_cnn.py"} <= scripts
    assert {one for one in scripts if not (ROOT / one).is_file()} <= {"train.py"}  # the reader's


def test_commands_of_dev_py_are_taken() -> None:
    """Its first word; the flags of ``bench`` and ``fuzz`` are read by what they start."""
    texts = [page.read_text("utf-8") for page in (*PAGES, ROOT / "fuzz" / "README.md")]
    names = {name for text in texts for name in _DEV.findall(text)}
    assert {"demo", "test", "check", "fuzz"} <= names
    for name in names:
        assert dev.parser().parse_args([name]).command == name


def test_the_image_runs_a_command_that_is_taken() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    entry, command = (
        json.loads(found[1])
        for word in ("ENTRYPOINT", "CMD")
        if (found := re.search(rf"^{word} (\[.*\])$", text, re.MULTILINE))
    )
    assert entry == ["stepscope"]
    assert refusal(shlex.join(command), True) == ""
    # A stranger's image must not be root's, and its context must not hold the history.
    assert re.search(r"^USER \d+$", text, re.MULTILINE)
    assert ".git" in (ROOT / ".dockerignore").read_text("utf-8").split()


@pytest.mark.parametrize(
    ("arguments", "is_whole", "why"),
    [
        ("nonsense logs", True, "no command nonsense"),
        ("check logs --max-stp-time 5", False, "No such option"),
        ("report logs --events some", False, "is not one of"),
        ("advise", True, "incomplete"),
        ("advise", False, ""),
        ("advise logs  # what to change", True, ""),
    ],
)
def test_what_is_not_taken_is_noticed(arguments: str, is_whole: bool, why: str) -> None:
    told = refusal(arguments, is_whole)
    assert why in told and bool(why) is bool(told)
