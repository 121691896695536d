"""Which files are generated, whether they are fresh, and writing them."""

from __future__ import annotations

from pathlib import Path

from stepscope.advice import RULES
from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.sql.examples import EXAMPLES
from stepscope.sql.tables import TABLES
from stepscope.store import write_atomic
from stepscope.surfaces.agent.guide import skill
from stepscope.surfaces.generate.advice_docs import advice_page
from stepscope.surfaces.generate.command_docs import command_docs
from stepscope.surfaces.generate.methods import methods_source
from stepscope.surfaces.generate.results import facts_source, results_source
from stepscope.surfaces.generate.sql_docs import sql_page
from stepscope.surfaces.generate.tool_docs import index_page, tool_page
from stepscope.surfaces.generate.typescript import types_source
from stepscope.surfaces.generate.words import words_source

BEGIN = "<!-- generated: begin (python -m stepscope.surfaces.generate) -->"
END = "<!-- generated: end -->"


def repository() -> Path:
    """The source checkout this package is run from."""
    root = Path(__file__).resolve().parents[4]
    if not (root / "ARCHITECTURE.md").is_file():
        raise UsageError(
            "This is not a source checkout.",
            where=str(root),
            hint="Generated files belong to the repository; run this in a clone.",
            slug="no-checkout",
        )
    return root


def outputs(root: Path) -> dict[Path, str]:
    """Every generated file with the text it should have. Documents keep what is written by hand."""
    files = {
        root / "src/stepscope/session/_tools.py": methods_source(TOOLS),
        root / "src/stepscope/advice/results.py": results_source(TOOLS),
        root / "src/stepscope/advice/facts.py": facts_source([rule.facts for rule in RULES]),
        root / "src/stepscope/redaction/words.py": words_source(root / "src" / "stepscope"),
        root / "src/stepscope/surfaces/agent/SKILL.md": skill(),
        root / "web/src/api/types.gen.ts": types_source(TOOLS),
        root / "docs/cli.md": command_docs(TOOLS),
        root / "docs/tools/README.md": index_page(TOOLS),
    }
    advice = root / "docs/advice.md"
    files[advice] = _between_marks(advice, advice_page(RULES))
    queries = root / "docs/sql.md"
    files[queries] = _between_marks(queries, sql_page(TABLES.values(), EXAMPLES))
    for tool in TOOLS:
        page = root / f"docs/tools/{tool.id}.md"
        files[page] = _between_marks(page, tool_page(tool))
    return files


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


def stale(root: Path) -> list[str]:
    """Generated files that are missing or differ from what would be written."""
    return [
        str(path.relative_to(root))
        for path, text in outputs(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[str]:
    """Write the stale files; returns their names."""
    old = stale(root)
    for path, text in outputs(root).items():
        if str(path.relative_to(root)) in old:
            write_atomic(path, text.encode())
    return old
