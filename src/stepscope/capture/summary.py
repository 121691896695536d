"""A recording's summary: at most fifteen lines, for the terminal of the recorded program.

``stepscope show`` computes the diagnosis in a separate process, so the program's memory and threads
are not affected; an error there costs only the second half of the summary.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import Any, Final

from stepscope.capture.file.compact import child_environment
from stepscope.capture.result import Capture
from stepscope.quantities import size_words, time_words

MAX_LINES: Final = 15
_DIAGNOSIS_SECONDS: Final = 60.0
_WIDTH: Final = 100
_ACTIONS: Final = 3


def summary(capture: Capture, *, diagnose: bool = True, run: str = "") -> list[str]:
    """The lines: place, contents, warnings, and what limits the program.

    Args:
        capture: A finished recording.
        diagnose: Whether to have it analysed, which takes about a second.
        run: The folder to analyse, where the recording is one of several in it.
    """
    if not capture.path:
        return ["Stepscope kept no recording."]
    counts = ", ".join(f"{name} {events:,}" for name, events in capture.counts.items())
    lines = [
        f"Stepscope recorded {_time(capture.seconds)}: {capture.events:,} events, "
        f"{size_words(capture.bytes)}" + (f" ({counts})" if counts else ""),
        f"  {capture.path}",
    ]
    if capture.finished_by not in ("stop", "exit"):
        lines.append(f"  ended by: {capture.finished_by}")
    said = [note for note in capture.warnings if note.severity != "info"]
    lines += [f"  ! {note.message}" for note in said[:4]]
    if len(said) > 4:
        lines.append(f"  ! and {len(said) - 4} more (Capture.warnings)")
    found = _diagnosis(run or capture.path) if diagnose and capture.events else None
    if found is not None:
        lines += _told(found)
    lines.append(f"  stepscope serve {shlex.quote(_run_folder(capture.path))}")
    return [_cut(line) for line in lines[: MAX_LINES - 1]] + (
        [_cut(lines[-1])] if len(lines) >= MAX_LINES else []
    )


def print_summary(capture: Capture) -> None:
    """Print the lines, after an empty one, on stderr, apart from the program's output."""
    print("\n" + "\n".join(summary(capture)), file=sys.stderr, flush=True)


def _told(found: dict[str, Any]) -> list[str]:
    steps = found.get("steps") or {}
    time_ms = steps.get("time_ms") or {}
    lines = [f"  {found.get('headline', '')}"]
    count, mean = steps.get("count"), time_ms.get("mean")
    if count and mean is not None:
        lines.append(f"  {count} steps ({steps.get('source')}), {time_words(mean)} on average")
        parts = found.get("breakdown_ms") or {}
        largest = sorted(parts.items(), key=lambda part: -(part[1] or 0))[:3]
        shares = [
            f"{name.replace('_', ' ')} {value / mean:.0%}"
            for name, value in largest
            if value and mean
        ]
        if shares:
            lines.append(f"  of a step: {', '.join(shares)}")
    findings = found.get("findings") or []
    return lines + [f"  → {finding.get('message', '')}" for finding in findings[:_ACTIONS]]


def _diagnosis(path: str) -> dict[str, Any] | None:
    """The overview's JSON; None if it could not be computed."""
    if not sys.executable:
        return None
    command = [sys.executable, "-m", "stepscope", "show", "overview_page", path, "--format", "json"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            env=child_environment(),
            timeout=_DIAGNOSIS_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return found if done.returncode == 0 and isinstance(found, dict) else None


def _run_folder(path: str) -> str:
    """The log directory of a recording, which ``stepscope serve`` takes."""
    folder = path.replace(os.sep, "/").rsplit("/", 1)[0]
    head, mark, _ = folder.rpartition("/plugins/profile/")
    return head if mark else folder


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def _cut(line: str) -> str:
    # Paths and commands are to be copied: they stay whole.
    is_path = line.startswith(("  /", "  stepscope ")) or "://" in line
    return line if len(line) <= _WIDTH or is_path else line[: _WIDTH - 1] + "…"
