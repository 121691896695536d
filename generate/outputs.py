"""Which files are generated, whether they are fresh, and writing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from generate.advice_docs import advice_page
from generate.catalogue import catalogue_source
from generate.command_docs import command_docs
from generate.methods import methods_source
from generate.results import results_source
from generate.tool_docs import index_page, tool_page
from generate.typescript import types_source
from generate.words import words_source
from stepscope.advice import RULES
from stepscope.analysis import TOOLS
from stepscope.sql.examples import EXAMPLES, Example
from stepscope.sql.tables import TABLES, QueryTable
from stepscope.store.atomic import write_atomic
from stepscope.surfaces.agent.guide import skill

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "<!-- generated: begin (python -m generate) -->"
END = "<!-- generated: end -->"


def outputs() -> dict[Path, str]:
    """Every generated file with the text it should have. Documents keep what is written by hand."""
    files = {
        ROOT / "src/stepscope/session/_tools.py": methods_source(TOOLS),
        ROOT / "src/stepscope/advice/results.py": results_source(TOOLS, RULES.facts),
        ROOT / "src/stepscope/redaction/words.py": words_source(ROOT / "src" / "stepscope"),
        ROOT / "src/stepscope/surfaces/agent/SKILL.md": skill(),
        ROOT / "web/src/api/types.gen.ts": types_source(TOOLS, _pages()),
        ROOT / "docs/cli.md": command_docs(TOOLS),
        ROOT / "docs/tools/README.md": index_page(TOOLS),
    }
    path, text = catalogue()
    files[path] = text
    advice = ROOT / "docs/advice.md"
    files[advice] = _between_marks(advice, advice_page(RULES))
    queries = ROOT / "docs/sql.md"
    files[queries] = _between_marks(queries, _sql_page(TABLES.values(), EXAMPLES))
    for tool in TOOLS:
        page = ROOT / f"docs/tools/{tool.id}.md"
        files[page] = _between_marks(page, tool_page(tool))
    return files


def _pages() -> Iterator[str]:
    """The sources of the pages, without the types that are generated for them."""
    for path in sorted((ROOT / "web/src").rglob("*.ts*")):
        if path.name != "types.gen.ts":
            yield path.read_text("utf-8")


def _sql_page(tables: Iterable[QueryTable], examples: Iterable[Example]) -> str:
    """The generated part of ``docs/sql.md``: a section per table with its columns, and examples."""
    lines = ["## Tables", ""]
    for table in tables:
        lines += [f"### {table.name}", "", table.meaning, ""]
        lines += ["| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{one.name}` | {one.type} | {one.meaning} |" for one in table.columns]
        lines.append("")
    lines += ["## Examples", ""]
    for example in examples:
        lines += [example.question, "", "```sql", example.query, "```", ""]
    return "\n".join(lines)


def _between_marks(page: Path, generated: str) -> str:
    """A page with its generated part replaced; the rest is kept."""
    block = f"{BEGIN}\n{generated.rstrip()}\n{END}\n"
    if not page.is_file():
        return block
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return f"{block}\n{text}"
    return f"{before}{block}{after.lstrip(chr(10)) and chr(10) + after.lstrip(chr(10))}"


def catalogue() -> tuple[Path, str]:
    """Return the file that the package itself reads, and so all other outputs, and its text."""
    folder = ROOT / "src/stepscope/advice/catalogue"
    return folder / "catalogue.json", catalogue_source(folder)


def stale() -> list[str]:
    """Generated files that are missing or differ from what would be written."""
    return [
        str(path.relative_to(ROOT))
        for path, text in outputs().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def write() -> list[str]:
    """Write the stale files; returns their names."""
    path, text = catalogue()
    first = [] if path.is_file() and path.read_text(encoding="utf-8") == text else [path]
    if first:
        write_atomic(path, text.encode())
    old = [*(str(one.relative_to(ROOT)) for one in first), *stale()]
    for path, text in outputs().items():
        if str(path.relative_to(ROOT)) in old:
            write_atomic(path, text.encode())
    return old
