"""Answers in the cells of a notebook, as on the terminal, in text and HTML.

IPython asks its formatters for types by name, so nothing of Stepscope is imported before there is
an answer to draw.
"""

from __future__ import annotations

import pkgutil
import shlex
import sys
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepscope.surfaces.cli.pages.page import Page

_ROWS: Final = 15
_COLUMNS: Final = 132
_MORE: Final = "the table itself has all: .to_polars(), .to_pandas()"
# Readable on white and on black.
_STYLES: Final = {
    "bold": "font-weight:600",
    "dim": "opacity:.65",
    "red": "color:#d2453d",
    "green": "color:#2d9a58",
    "yellow": "color:#b07d10",
    "blue": "color:#4c7fd8",
    "magenta": "color:#ab5cc0",
    "cyan": "color:#1d97a3",
}


def register() -> None:
    """Have answers drawn where an IPython shell runs (Jupyter, Colab, VS Code, a terminal).

    Elsewhere nothing happens.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    for home, name, write in (*_DRAWN, *_results()):
        formatter.formatters["text/html"].for_type_by_name(home, name, _html_formatter(write))
        formatter.formatters["text/plain"].for_type_by_name(home, name, _text_formatter(write))


def load_ipython_extension(shell: Any) -> None:
    """Draw answers in cells and add the line magic ``%stepscope PATH [TOOL]``.

    Args:
        shell: The IPython shell; IPython calls this for ``%load_ext stepscope``.
    """
    from stepscope.surfaces.notebook.frame import show

    register()
    shell.register_magic_function(lambda line: show(*shlex.split(line)), magic_name="stepscope")


def html_of(page: Page) -> str:
    """A page as HTML; whatever it holds is text."""
    lines = ("".join(_piece(text, style) for text, style in line) for line in page.lines)
    body = "\n".join(lines)
    return f'<pre style="overflow-x:auto;white-space:pre;line-height:1.35">{body}</pre>'


def _piece(text: str, style: str) -> str:
    css = ";".join(_STYLES[word] for word in style.split())
    return f'<span style="{css}">{escape(text)}</span>' if css and text else escape(text)


def _write_result(page: Page, value: Any) -> None:
    from stepscope.comparison import Comparison
    from stepscope.field_names import label_of
    from stepscope.surfaces.cli.pages.comparison import write_comparison
    from stepscope.surfaces.cli.pages.result import write_result

    if isinstance(value, Comparison):
        write_comparison(page, value, _ROWS)
    else:
        from stepscope.analysis import TOOLS

        known = value.tool in TOOLS.ids
        title = TOOLS.find(value.tool).title if known else label_of(value.tool)
        write_result(page, value, title, _ROWS)


def _write_table(page: Page, value: Any) -> None:
    page.table(value, _ROWS)


def _write_advice(page: Page, value: Any) -> None:
    from stepscope.surfaces.cli.pages.advice import write_advice

    write_advice(page, value)


_Write = Callable[["Page", Any], None]


def _results() -> Iterator[tuple[str, str, _Write]]:
    """The result types of tools, which are named after their files, and those of comparisons."""
    folder = Path(__file__).parents[2] / "analysis"
    for tool in pkgutil.iter_modules([str(folder)]):
        name = "".join(word.capitalize() for word in tool.name.split("_"))
        yield f"stepscope.analysis.{tool.name}", name, _write_result
    yield "stepscope.comparison.comparison", "Comparison", _write_result
    yield "stepscope.comparison.gate", "Check", _write_result


# Types, by name, and what draws them. For HTML IPython looks at the bases of a type, too; for text
# it takes a dataclass's own ``repr`` first, hence ``_results``.
_DRAWN: Final[tuple[tuple[str, str, _Write], ...]] = (
    ("stepscope.result", "Result", _write_result),
    ("stepscope.result", "Table", _write_table),
    ("stepscope.result", "Advice", _write_advice),
)


def _drawn(write: _Write, value: Any, columns: int) -> Page:
    from stepscope.surfaces.cli.pages.page import Page

    page = Page(columns, more=_MORE)
    write(page, value)
    return page


def _html_formatter(write: _Write) -> Callable[[Any], str]:
    return lambda value: html_of(_drawn(write, value, _COLUMNS))


def _text_formatter(write: _Write) -> Callable[[Any, Any, bool], None]:
    """For IPython's printer, which gives itself and whether the value holds itself."""

    def draw(value: Any, printer: Any, cycle: bool) -> None:
        page = _drawn(write, value, printer.max_width)
        printer.text("\n".join("".join(text for text, _ in line) for line in page.lines))

    return draw
