"""Notes on runs: kept beside the logs, read from files that anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepscope.errors import StoreError, UsageError
from stepscope.store import find
from stepscope.store.notes import LONGEST_TEXT, NAME, RunNote, read_notes, write_note
from tests.profiles import worked_example


def test_notes_are_kept_replaced_and_forgotten(tmp_path: Path) -> None:
    root = str(tmp_path)
    write_note(root, "a", RunNote(("slow", "ü"), "before the fix"))
    write_note(root, "b", RunNote((), "after"))
    assert read_notes(root) == {
        "a": RunNote(("slow", "ü"), "before the fix"),
        "b": RunNote((), "after"),
    }
    write_note(root, "a", RunNote())
    assert list(read_notes(root)) == ["b"]


def test_the_file_lies_beside_a_file_that_was_opened_and_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(worked_example())
    write_note(str(file), "a", RunNote((), "x"))
    assert (tmp_path / NAME).is_file()
    found = find(tmp_path)
    assert len(found.runs) == 1 and found.misses == ()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"runs": 3}',
        b'{"runs": {"a": 7}}',
        b"[" * 100_000,
        b'{"runs": {"a": {"tags": {"x": 1}, "note": [1]}}}',
    ],
)
def test_a_file_that_is_none_of_ours_has_no_notes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    assert set(read_notes(str(tmp_path)).values()) <= {RunNote()}


def test_what_is_too_long_is_cut_or_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(
        json.dumps({"runs": {"a": {"tags": ["t" * 999] * 99, "note": "n" * 99_999}}})
    )
    [note] = read_notes(str(tmp_path)).values()
    assert (len(note.tags), len(note.tags[0]), len(note.text)) == (20, 40, LONGEST_TEXT)
    for wrong in (RunNote((), "n" * (LONGEST_TEXT + 1)), RunNote(("",)), RunNote(("t" * 41,))):
        with pytest.raises(UsageError):
            write_note(str(tmp_path), "a", wrong)


def test_logs_behind_a_url_have_none_and_say_why() -> None:
    assert read_notes("gs://bucket/logs") == {}
    with pytest.raises(StoreError, match="cannot be kept"):
        write_note("gs://bucket/logs", "a", RunNote((), "x"))
