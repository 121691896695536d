"""Every tool, flag and error a person can meet is explained in ``docs/``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from stepscope.analysis import TOOLS
from stepscope.registry import Tool
from stepscope.result import Row, columns_of
from stepscope.store.identify import BY_NAME
from stepscope.surfaces.cli.group import build
from stepscope.surfaces.fields import described, own_fields, records_in, row_of
from tests.architecture.tree import PACKAGE, ROOT, modules

DOCS = ROOT / "docs"


@pytest.mark.parametrize("tool", [tool.id for tool in TOOLS])
def test_every_tool_has_its_page(tool: str) -> None:
    page = (DOCS / "tools" / f"{tool}.md").read_text("utf-8")
    assert f"stepscope show {tool}" in page


def flags() -> Iterator[tuple[str, str]]:
    """(command, flag) of everything the command line accepts."""

    def walk(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
        for parameter in command.params:
            for spelling in [*parameter.opts, *parameter.secondary_opts]:
                if spelling.startswith("-"):
                    yield path, spelling
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None, name
                yield from walk(child, f"{path} {name}")

    yield from walk(build(), "stepscope")


def test_every_flag_is_explained() -> None:
    known = set(flags())
    assert len(known) > 10
    text = (DOCS / "cli.md").read_text("utf-8")
    missing = {(command, flag) for command, flag in known if f"`{flag}`" not in text}
    assert missing == set()


def slugs_in(path: Path) -> Iterator[str]:
    """String literals given as an error's slug in one module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "slug":
            yield from _literals(node.value)
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "slug":
            yield from _literals(node.value or ast.Constant(""))
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "slug":
            yield from _literals(node.value)
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "_refusal"
            and len(node.args) > 2
        ):
            yield from _literals(node.args[2])


def _literals(node: ast.expr) -> Iterator[str]:
    branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    for branch in branches:
        if isinstance(branch, ast.Constant) and isinstance(branch.value, str) and branch.value:
            yield branch.value


def error_slugs() -> set[str]:
    """Every slug that ``StepscopeError.anchor``, a near miss or an HTTP refusal can have."""
    # Findings and diagnostics have slugs too; those belong to their tool's page.
    homes = [
        path
        for path in modules()
        if not {"tables", "analysis", "advice"} & set(path.relative_to(PACKAGE).parts)
    ]
    return {slug for path in homes for slug in slugs_in(path)} | {kind.slug for kind in BY_NAME}


def test_every_error_has_its_heading() -> None:
    slugs = error_slugs()
    assert {"malformed-xspace", "no-recording", "token"} <= slugs
    page = (DOCS / "errors.md").read_text("utf-8")
    headings = set(re.findall(r"^#+ +`?([\w-]+)`?\s*$", page, re.MULTILINE))
    assert slugs - headings == set()


def test_links_between_documents_lead_somewhere() -> None:
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md"]
    broken = [
        (page.relative_to(ROOT).as_posix(), link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """What a link can point at in a page: its headings, as GitHub writes them in addresses."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in heads)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in plain}


def test_links_to_a_heading_lead_to_one() -> None:
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md"]
    links = [
        (page, target, anchor)
        for page in pages
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text("utf-8"))
        if "://" not in target
    ]
    assert len(links) > 50
    broken = [
        (page.relative_to(ROOT).as_posix(), f"{target}#{anchor}")
        for page, target, anchor in links
        if anchor not in anchors((page.parent / target).resolve() if target else page)
    ]
    assert broken == []


def test_the_python_of_the_readme_runs() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    block = next(
        found
        for found in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if "import stepscope" in found
    )
    said: list[str] = []
    scope = {"print": lambda *words: said.append(" ".join(map(str, words)))}
    exec(block.replace("LOGDIR", (PACKAGE / "surfaces" / "sample").as_posix()), scope)
    assert "Input-bound" in said[0]


def test_architecture_is_read_in_one_sitting() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 12_000


def test_every_decision_is_listed_and_complete() -> None:
    folder = DOCS / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    files = sorted(folder.glob("[0-9]*.md"))
    assert 30 <= len(files) <= 40, "merge related decisions; drop those that are obsolete"
    listed = re.findall(r"^\| (\d+) \| \[(.*)\]\((.*)\) \| (\S+) \|$", index, re.MULTILINE)
    assert [name for _, _, name, _ in listed] == [path.name for path in files]
    for number, title, name, date in listed:
        assert int(name.partition("-")[0]) == int(number)
        text = (folder / name).read_text("utf-8")
        assert text.startswith(f"# {title}\n\n{date}\n\n## Choice\n"), name
        assert re.findall("^## (.*)", text, re.MULTILINE)[1:] == ["Why", "Reconsider if"]


def records_of(cls: type) -> Iterator[type]:
    """A result class and the records and rows in it."""
    yield cls
    for hint in own_fields(cls).values():
        row = row_of(hint)
        if row is not None:
            yield row
        for record in records_in(hint):
            yield from records_of(record)


# The account's fields are being replaced.
@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.id != "step_account"])
def test_no_two_fields_of_a_record_have_one_meaning(tool: Tool) -> None:
    for record in records_of(tool.result):
        if issubclass(record, Row):
            texts = [f"{column.label}: {column.help}" for _, column in columns_of(record).values()]
        else:
            texts = list(described(record).values())
        assert sorted(set(texts)) == sorted(texts), record
