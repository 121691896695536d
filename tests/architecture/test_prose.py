"""The rules of style notice what they forbid, and leave plain English alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

pytest.importorskip("proselint", reason="proselint is not installed")

from lint import prose


def rules(words: str) -> list[str]:
    return [fault.rule for fault in prose.faults(prose.Text("documents", "a.md", 1, words))]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("Of a sparse matrix rows are found at once.", "F1 fronted"),
        ("What surrounds it goes too.", "F2 what"),
        ("It keeps so many rows.", "F4 so many"),
        ("The name alone is kept.", "F5 alone"),
        ("The op takes 12.3 of each 17 ms.", "F6 verb"),
        ("It is told that ops are missing.", "F8 told"),
        ("A row; a column; a cell.", "F10 semicolons"),
        ("The runtime hands work over to a device.", "F12 term"),
        ("The number of different ops is small.", "proselint redundancy"),
        (
            f"{' '.join(ascii_lowercase)}.",
            "long sentence",
        ),
    ],
)
def test_planted_fault_is_found(words: str, rule: str) -> None:
    assert rules(words) == [rule]


@pytest.mark.parametrize(
    "words",
    [
        "What limits the step? Ask the overview.",
        "So far, 12.3 ms of 17.0 ms per step are idle.",
        "The model is a stand-alone program; its step takes longer.",
        "From Python 3.12 on, it lasts so long that a test fails.",
    ],
)
def test_plain_english_passes(words: str) -> None:
    assert rules(words) == []


def test_texts_of_a_document_are_its_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text(
        "# Title\n\nText with `code` and\na [link](b.md).\n\n```sh\nls so many\n```\n\n"
        "| a | b c |\n\n* one\n* two\n\n"
        "<!-- generated: begin -->\nnot read\n<!-- generated: end -->\n"
    )
    found = [(text.line, text.words) for text in prose.documents("a.md") if text.words]
    assert found == [
        (1, "Title"),
        (3, "Text with X and a link."),
        (10, "a"),
        (10, "b c"),
        (12, "one"),
        (13, "two"),
    ]


def test_texts_of_a_module_have_their_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(
        '"""A module."""\n\n# Why it\n# is so.\n'
        'raise UsageError(f"No run {name}.", hint="Give one.")\n'
        'option("--top", help="Rows per table.")\n'
    )
    found = {(text.scope, text.words) for text in prose.source_texts("src/a.py")}
    assert found == {
        ("docstrings", "A module."),
        ("comments", "Why it is so."),
        ("errors", "No run X."),
        ("errors", "Give one."),
        ("help", "Rows per table."),
    }


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A count of one fronted sentence, and a repository with as many as a test says."""
    counts = tmp_path / "prose.toml"
    counts.write_text('[documents]\n"F1 fronted" = 1\n')
    monkeypatch.setattr(prose, "COUNTS", counts)
    yield counts


@pytest.mark.parametrize(("number", "code"), [(0, 0), (1, 0), (2, 1)])
def test_counts_may_only_fall(
    counted: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    found = [prose.Text("documents", "a.md", at, "Of rows.") for at in range(number)]
    monkeypatch.setattr(prose, "texts", lambda: iter(found))
    assert prose.main([]) == code
    assert prose.main(["--lower"]) == code
    assert prose.allowed()["documents", "F1 fronted"] == min(number, 1)
