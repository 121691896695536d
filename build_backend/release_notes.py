"""Puts the fragments of ``changes/`` into ``CHANGELOG.md``: ``release_notes.py 0.2.0 2026-12-01``.

Numbers that changed come first: anyone who compares a figure with last month's must find out here.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "<!-- releases -->\n"
HEADINGS = {
    "numbers": "Numbers changed",
    "added": "Added",
    "fixed": "Fixed",
    "removed": "Removed",
}


def fragments(root: Path) -> dict[str, list[Path]]:
    """The fragments by kind; an error for a file that is none."""
    found: dict[str, list[Path]] = {kind: [] for kind in HEADINGS}
    for path in sorted((root / "changes").glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.suffixes[0][1:] if len(path.suffixes) == 2 else ""
        if kind not in HEADINGS or not path.read_text("utf-8").strip():
            raise SystemExit(f"{path}: call it NAME.KIND.md, KIND one of {', '.join(HEADINGS)}.")
        found[kind].append(path)
    return found


def notes(version: str, day: str, found: dict[str, list[Path]]) -> str:
    """The section of a release."""
    lines = [f"## {version} ({day})", ""]
    for kind, paths in found.items():
        if paths:
            lines += [f"### {HEADINGS[kind]}", ""]
            lines += [f"- {' '.join(path.read_text('utf-8').split())}" for path in paths]
            lines.append("")
    return "\n".join(lines) + "\n"


def release(root: Path, version: str, day: str) -> None:
    """Write the section and remove its fragments."""
    found = fragments(root)
    log = root / "CHANGELOG.md"
    before, mark, after = log.read_text("utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{log}: the line {MARK.strip()!r} is gone.")
    log.write_text(f"{before}{mark}\n{notes(version, day, found)}{after.lstrip()}", "utf-8")
    for paths in found.values():
        for path in paths:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: release_notes.py VERSION YYYY-MM-DD")
    release(ROOT, sys.argv[1], sys.argv[2])
