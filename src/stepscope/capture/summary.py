"""A recording's summary: at most fifteen lines, for the terminal of the recorded program.

``stepscope show`` computes the diagnosis in a process of its own, so the program's memory and
threads are not affected; an error there costs only its lines.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from stepscope.capture.file.compact import child_environment
from stepscope.capture.result import Capture
from stepscope.quantities import share_words, size_words, time_words

MAX_LINES: Final = 15
#: The diagnosis may take this long; the program has ended, or waits.
DIAGNOSIS_SECONDS: Final = 60.0
_WIDTH: Final = 100
_FINDINGS: Final = 3
# An undisturbed step is shown if it is shorter than this share of the recorded one.
_UNDISTURBED_FRAC: Final = 0.95
# The end of a sentence that another one follows; the number of a finding ends none.
_SENTENCE: Final = re.compile(r"(?<!^  \d)[.!?](?= )")


def summary(capture: Capture) -> list[str]:
    """The lines: place, contents, warnings, what limits the program, and what to change first.

    Args:
        capture: A finished recording.
    """
    lines = contents(capture)
    overview = _overview(capture.path) if capture.path and capture.events else {}
    return lines + diagnosis(capture, overview, MAX_LINES - len(lines))


def contents(capture: Capture) -> list[str]:
    """What was recorded, and where it is."""
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
    return [_cut(line) for line in lines]


def diagnosis(
    capture: Capture, overview: Mapping[str, Any], room: int = MAX_LINES - 2
) -> list[str]:
    """What limits the program, what to change first, and how to go on.

    Args:
        capture: A finished recording.
        overview: The result of ``overview_page`` as JSON; empty if there is none.
        room: The most lines.
    """
    if not capture.path:
        return []
    findings = _first_findings(overview)
    folder = shlex.quote(_run_folder(capture.path))
    more = [f"  stepscope advise {folder}"] if findings else []
    more.append(f"  stepscope serve {folder}")
    lines = [*_limit(overview), *findings][: room - len(more)]
    return [_cut(line) for line in lines + more]


def print_summary(capture: Capture) -> None:
    """Print the lines, after an empty one, on stderr, apart from the program's output."""
    print("\n" + "\n".join(summary(capture)), file=sys.stderr, flush=True)


def _limit(overview: Mapping[str, Any]) -> list[str]:
    """What limits the steps; none where that is not known."""
    if "headline" not in overview:
        return []
    steps = overview.get("steps") or {}
    time_ms = steps.get("time_ms") or {}
    lines = [f"  {overview['headline']}"]
    count, mean = steps.get("count"), time_ms.get("mean")
    if steps.get("source") == "window":
        lines.append("  no steps found: mark them with stepscope.step(number)")
    elif count and mean is not None:
        lines.append(f"  {count} steps ({steps.get('source')}), {time_words(mean)} on average")
        parts = overview.get("breakdown_ms") or {}
        largest = sorted(parts.items(), key=lambda part: -(part[1] or 0))[:3]
        shares = [
            f"{name.replace('_', ' ')} {share_words(value / mean)}"
            for name, value in largest
            if value and mean
        ]
        if shares:
            lines.append(f"  of a step: {', '.join(shares)}")
        lines += _price(steps, mean)
    return lines


def _price(steps: dict[str, Any], mean_ms: float) -> list[str]:
    """What was recorded at what cost, and the step without it; none where that is not stated."""
    cost, undisturbed = steps.get("recording_cost_frac"), steps.get("undisturbed_ms")
    if cost is None:
        return []
    recorded = share_words(steps.get("recorded_frac", 1.0))
    text = f"  recorded {recorded} of the time, at a cost of {share_words(cost)}"
    if undisturbed and undisturbed < _UNDISTURBED_FRAC * mean_ms:
        text += f"; undisturbed, a step takes {time_words(undisturbed)}"
    return [text]


def _first_findings(overview: Mapping[str, Any]) -> list[str]:
    """What to change first: the findings that ``stepscope advise`` begins with."""
    listed = (overview.get("findings") or [])[:_FINDINGS]
    return [
        f"  {number}. {one.get('title') or one.get('message', '')}"
        for number, one in enumerate(listed, 1)
    ]


def _overview(path: str) -> dict[str, Any]:
    """The overview as JSON; {} if computing it failed, or took too long."""
    if not sys.executable:
        return {}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "stepscope", "show", "overview_page", path, "--format", "json"],
            capture_output=True,
            env=child_environment(),
            timeout=DIAGNOSIS_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return found if done.returncode == 0 and isinstance(found, dict) else {}


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
    if len(line) <= _WIDTH or is_path:
        return line
    ends = [found.end() for found in _SENTENCE.finditer(line, 0, _WIDTH + 1)]
    if ends:
        return line[: ends[-1]]
    words = line[: _WIDTH - 1].rpartition(" ")[0]
    # A word that is most of the line has to be cut.
    return f"{words} …" if len(words) > _WIDTH / 2 else line[: _WIDTH - 1] + "…"
