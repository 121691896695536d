"""Phrases that must not come back are found wherever a person may read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint import words
from tests.architecture.tree import ROOT

LISTED = words.phrases((ROOT / "lint" / "words.txt").read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The fault is said.", "is said"),
        ("# What stands\n    # before it is shown.", "stands before"),
        ("It is no recording.", "is no "),
        ("ANEW", "ANEW"),
    ],
)
def test_a_planted_phrase_is_found(text: str, found: str) -> None:
    assert [place.words for place in words.places(f"first line\n{text}", LISTED)] == [found]
    assert next(words.places(f"first line\n{text}", LISTED)).line == 2


@pytest.mark.parametrize("text", ["There is no step.", "It is no longer there.", "recommended"])
def test_plain_english_passes(text: str) -> None:
    assert list(words.places(text, LISTED)) == []


def test_a_file_with_a_phrase_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = tmp_path / "docs.md"
    planted.write_text("Whoever asks gets an answer.\n", "utf-8")
    assert words.main([str(planted)]) == 1
    assert "docs.md:1: 'Whoever': write the caller, anyone who" in capsys.readouterr().out
    planted.write_text("The caller gets an answer.\n", "utf-8")
    assert words.main([str(planted)]) == 0


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="lists files by git")
def test_no_text_of_the_repository_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main([]) == 0, capsys.readouterr().out
