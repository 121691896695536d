"""The answers that the pages ask for, under the names by which a report finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from stepscope import __version__
from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.needs import Unavailable
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.session import Session
from stepscope.surfaces.envelope import ProgressInfo, RunInfo, SessionInfo, columnar, tool_info

TIMELINE: Final = "trace_viewer"
LEFT_OUT: Final = Unavailable(
    "This report leaves the page out.", "Open the recording itself: stepscope serve PATH"
)


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """One answer: its name in the archive, and its JSON."""

    name: str
    body: Any


def session_answer(session: Session) -> SessionInfo:
    """What is served: one run. Where it lay on the sender's disk is nobody's business."""
    run: RunInfo = {
        "id": session.name,
        "name": session.name,
        "path": session.name,
        "hosts": list(session.hosts),
        "modified": "",
        "bytes": sum(file.size_bytes for file in session.files if file.size_bytes > 0),
        "tags": [],
        "note": "",
    }
    return {
        "version": __version__,
        "path": session.name,
        "runs": [run],
        "default_run": session.name,
        "files": [],
        "notes": [],
        "capture_allowed": False,
    }


def progress_answer() -> ProgressInfo:
    """Everything is there."""
    return {"state": "ready", "stage": "", "done": 0, "total": 0, "message": ""}


def tools_answer(session: Session, pages: tuple[str, ...]) -> dict[str, Any]:
    """All tools; those that the report leaves out say so."""
    found = []
    for tool in TOOLS:
        missing = session.available(tool.id)
        if missing is None and tool.id not in pages:
            missing = LEFT_OUT
        found.append(tool_info(tool, missing, session.opens(tool.id)))
    return {"tools": found}


def advice_answer(session: Session) -> dict[str, Any]:
    """All advice, as ``api/v1/advice`` gives it."""
    return {"session": session.name, "hosts": list(session.hosts), **session.advice().to_dict()}


def tool_answer(
    session: Session, tool: Tool, options: Mapping[str, str], rows: int
) -> ReportAnswer:
    """One tool's answer with tables of at most ``rows`` rows."""
    result = session.run_without_findings(tool.id, **options)
    return ReportAnswer(_name(f"tool/{tool.id}", options), columnar(result, rows, session.profile))


def variations(session: Session, pages: tuple[str, ...], rows: int) -> Iterator[ReportAnswer]:
    """Each page as it opens but for one of its options: what a reader can switch to."""
    for tool in (tool for tool in TOOLS if tool.id in pages and tool.id != TIMELINE):
        if session.available(tool.id) is not None:
            continue
        for option in tool.option_list():
            for choice in option.choices:
                try:
                    chosen = session.opens(tool.id) | {option.name: choice}
                    yield tool_answer(session, tool, chosen, rows)
                except StepscopeError:
                    continue  # this recording has nothing for that choice


def longest_table(body: Any) -> int:
    """Rows of the longest table in a columnar answer."""
    if isinstance(body, dict):
        if set(body) == {"rows", "columns"}:
            return int(body["rows"])
        return max((longest_table(value) for value in body.values()), default=0)
    return 0


def _name(path: str, options: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(sorted(options.items()))}" if options else path
