"""Tags and notes on runs, in one file beside the logs, so that copying the logs copies both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stepscope.errors import StoreError, UsageError
from stepscope.records import dataclass
from stepscope.store.atomic import write_atomic
from stepscope.urls import is_url
from stepscope.utf8 import shown

NAME: Final = "stepscope-notes.json"
LONGEST_TEXT: Final = 10_000
MOST_TAGS: Final = 20
LONGEST_TAG: Final = 40
_LARGEST_FILE_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class RunNote:
    """What people wrote about a run."""

    tags: tuple[str, ...] = ()
    text: str = ""


NO_NOTE: Final = RunNote()


def read_notes(root: str) -> dict[str, RunNote]:
    """Notes by id of the run; none where there is no file, or none that can be read."""
    path = _file(root)
    if path is None:
        return {}
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    runs = found.get("runs") if isinstance(found, dict) else None
    if not isinstance(runs, dict):
        return {}
    return {run: _read(one) for run, one in runs.items() if isinstance(one, dict)}


def write_note(root: str, run: str, note: RunNote) -> None:
    """Keep a run's note; an empty one is forgotten.

    Raises:
        StoreError: The place cannot be written to.
        UsageError: The note is too long.
    """
    path = _file(root)
    if path is None:
        raise StoreError(
            "Notes cannot be kept there.",
            where=root,
            why="They are kept in a file beside the logs, and this is a URL.",
            hint="Copy the logs to this machine.",
            slug="cannot-write",
        )
    if len(note.text) > LONGEST_TEXT or len(note.tags) > MOST_TAGS:
        raise UsageError(
            "The note is too long.",
            hint=f"At most {LONGEST_TEXT:,} characters and {MOST_TAGS} tags.",
        )
    if any(not 0 < len(tag.strip()) <= LONGEST_TAG for tag in note.tags):
        raise UsageError("A tag is empty or too long.", hint=f"1 to {LONGEST_TAG} characters.")
    notes = {**read_notes(root), run: note}
    kept = {name: one for name, one in sorted(notes.items()) if one != NO_NOTE}
    body = {
        "version": 1,
        "runs": {name: {"tags": one.tags, "note": one.text} for name, one in kept.items()},
    }
    write_atomic(path, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode())


def _file(root: str) -> Path | None:
    """Where the notes of what was found at a place are; None where that is not a local folder."""
    if is_url(root):
        return None
    path = Path(root)
    return (path if path.is_dir() else path.parent) / NAME


def _read(found: Mapping[str, Any]) -> RunNote:
    """A note of a file that anybody may have written."""
    tags, text = found.get("tags"), found.get("note")
    listed = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return RunNote(
        tuple(shown(tag)[:LONGEST_TAG] for tag in listed[:MOST_TAGS]),
        shown(text)[:LONGEST_TEXT] if isinstance(text, str) else "",
    )
