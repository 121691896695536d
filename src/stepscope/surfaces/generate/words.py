"""The words that redaction leaves standing: those by which our own code knows recordings.

A name that a reader of recordings looks for is a framework's or a library's, never a user's.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

# Where names of recordings are looked for.
_READERS = ("schema", "tables", "formats", "timeline", "advice/evidence", "comparison")
# Sentences are ours, not names in a recording; lists of file names are.
_MOST_SPACES = 3
_LIST = re.compile(r"[a-z0-9_]+( [a-z0-9_]+)* ?")
_RUN = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_source(package: Path) -> str:
    """``redaction/words.py``."""
    found = sorted({word for text in _literals(package) for word in _words(text)})
    block = textwrap.fill(" ".join(found), 98, break_long_words=False, break_on_hyphens=False)
    return (
        '"""Words that no redaction replaces (python -m stepscope.surfaces.generate)."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        "from stepscope.redaction.op_words import OP_WORDS\n\n"
        f'_WORDS: Final = """\n{block}\n"""\n'
        "WORDS: Final = OP_WORDS | frozenset(_WORDS.split())\n"
    )


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        yield from (word.lower() for word in _WORD.findall(run) if len(word) > 1)


def _literals(package: Path) -> Iterator[str]:
    """Texts in the code of what reads recordings, docstrings and sentences aside."""
    for folder in _READERS:
        for path in sorted((package / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            documents = {id(node) for node in _docstrings(tree)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                    continue
                text = node.value
                is_name = text.count(" ") <= _MOST_SPACES or _LIST.fullmatch(text)
                if id(node) not in documents and is_name:
                    yield text


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value
