"""The JSON API, version 1: runs, tools, answers, downloads, progress."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from werkzeug.wrappers import Request, Response

from stepscope import __version__
from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.needs import Unavailable
from stepscope.registry import RESERVED_OPTIONS
from stepscope.result import Result
from stepscope.session import Session, pick_run
from stepscope.session.together import TooManyTogether
from stepscope.session.workspace import Workspace
from stepscope.store.notes import NO_NOTE
from stepscope.surfaces import export
from stepscope.surfaces.envelope import (
    ProgressInfo,
    SessionInfo,
    ToolsInfo,
    coded,
    columnar,
    file_info,
    run_info,
    tool_info,
)
from stepscope.surfaces.http import comparison, pods, queries, timeline
from stepscope.surfaces.http.answers import compressed, download, json_answer
from stepscope.surfaces.http.capturing import CaptureDesk
from stepscope.surfaces.http.runs import RunList
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile
from stepscope.timeline.selection import SELECTING
from stepscope.utf8 import shown

if TYPE_CHECKING:
    from stepscope.tables.core.profile import TimeBase

_LONGEST_NUMBER = 10
_LAYOUTS = ("rows", "columns", "coded")
_FORMATS: dict[str, tuple[str, Callable[[Result, str], bytes]]] = {
    "csv": (
        "text/csv",
        lambda result, table: export.csv_text(export.main_table(result, table)[1]).encode(),
    ),
    "json": (
        "application/json",
        lambda result, table: export.table_json(export.main_table(result, table)[1]).encode(),
    ),
    "parquet": (
        "application/vnd.apache.parquet",
        lambda result, table: export.parquet_bytes(export.main_table(result, table)[1]),
    ),
}


class Api:
    """Answers below ``api/v1/``."""

    def __init__(self, workspace: Workspace, allow_capture: bool = False, source: str = "") -> None:
        self.workspace, self._source = workspace, source
        self.captures = CaptureDesk(workspace, allow_capture)
        self._comparisons = comparison.Comparisons(workspace)
        self._pods = pods.Pods(workspace)
        self._runs = RunList(workspace)

    def session(self, request: Request) -> Response:
        """What is served, runs recorded since the last look included."""
        found = self.workspace.follow()
        notes = self._runs.notes()
        body: SessionInfo = {
            "version": __version__,
            "path": shown(found.root),
            "runs": [run_info(run, notes.get(run.id, NO_NOTE)) for run in found.runs],
            "default_run": pick_run(found, None).id if found.runs else "",
            "files": [file_info(report) for report in self.workspace.files],
            "notes": list(found.notes),
            "capture_allowed": self.captures.allowed,
        }
        return json_answer(request, body)

    def tools(self, request: Request) -> Response:
        """Every tool, and what this run lacks for it."""
        try:
            session = self._session(request)
        except TooManyTogether as error:  # then the pod is what there is to look at
            lacking = Unavailable(error.what, error.hint)
            tools = [tool_info(tool, lacking) for tool in TOOLS]
            return json_answer(request, {"tools": [*tools, self._pods.info(2, 0)]})
        tools = [
            tool_info(tool, session.available(tool.id), session.opens(tool.id)) for tool in TOOLS
        ]
        pod = self._pods.info(len(session.hosts), _device_count(session.profile))
        body: ToolsInfo = {"tools": [*tools, pod, self._comparisons.info(session.name)]}
        return json_answer(request, body)

    def tool(self, request: Request, tool: str) -> Response:
        """One tool's answer; ``layout`` gives tables as rows or columns, ``top`` cuts them.

        The pages ask for ``coded`` columns: names of kernels repeat row by row.
        """
        layout = request.args.get("layout", "rows")
        if layout not in _LAYOUTS:
            hint = f"One of {', '.join(_LAYOUTS)}."
            raise UsageError(f"layout cannot be {layout!r}.", hint=hint)
        top = _top(request.args.get("top"))
        if tool == pods.ID and layout != "rows" and top is None:
            return self._pods.page(request)
        if layout == "rows":
            return json_answer(request, self._result(request, tool).to_dict(top))
        # Pages ask for the advice by itself, so that it does not delay them.
        result = self._result(request, tool, with_findings=False)
        # Comparisons and pods are about more recordings than are open.
        is_of_one = tool not in (comparison.ID, pods.ID)
        profile = self._session(request).profile if is_of_one else None
        body = columnar(result, top, profile)
        return json_answer(request, body if layout == "columns" else coded(body, result))

    def advice(self, request: Request) -> Response:
        """All advice; every tool is run for it, so that pages ask for it beside their own."""
        session = self._session(request)
        body = {"session": session.name, "hosts": list(session.hosts), **session.advice().to_dict()}
        return json_answer(request, body)

    def things(self, request: Request) -> Response:
        """What a text (``q``) names in a run: findings, steps, ops, kernels, modules, functions."""
        from stepscope.session.things import things

        named = things(self._session(request), request.args.get("q", ""))
        return json_answer(request, {"things": [asdict(thing) for thing in named]})

    def about(self, request: Request) -> Response:
        """The answers about a thing (``name``, ``file``, ``line``) or a ``step`` of a run.

        With ``compared`` only how it differs from the run before; that run may have to be read.
        """
        from stepscope.session.about import about, about_step

        session, args = self._session(request), request.args
        name, line = args.get("name", ""), args.get("line", "")
        if args.get("compared"):
            answer = self._comparisons.about(request, session, name)
            return json_answer(request, {"answers": [] if answer is None else [asdict(answer)]})
        step = args.get("step", "")
        if step:
            return json_answer(request, asdict(about_step(session, _number(step))))
        found = about(session, name, args.get("file", ""), _number(line), self._source)
        return json_answer(request, asdict(found))

    def table(self, request: Request, tool: str, table: str, format: str) -> Response:
        """One table of an answer as a file to save."""
        if format not in _FORMATS:
            raise UsageError(
                f"There is no format {format!r}.", hint=f"One of {', '.join(_FORMATS)}."
            )
        result = self._result(request, tool)
        mimetype, write = _FORMATS[format]
        name = f"{result.session}-{type(result).tool}-{table}.{format}"
        return compressed(request, download(write(result, table), mimetype, name))

    def report(self, request: Request) -> Response:
        """The pages of a run as one file to save; arguments as for the command.

        With ``preview`` the texts that would leave, as text.
        """
        from stepscope.redaction import Redaction, level_of
        from stepscope.surfaces.report import Choice, make_report

        level, events = request.args.get("redact"), request.args.get("events") or "all"
        redaction = Redaction(level_of(level)) if level else None
        notes = (redaction.said,) if redaction else ()
        with contextlib.ExitStack() as stack:
            if redaction is None:
                session = self._session(request)
            else:
                redacted = self.workspace.redacted(request.args.get("run") or None, redaction)
                session = stack.enter_context(redacted)
            if request.args.get("preview"):
                from stepscope.redaction.preview import preview_text

                spaces = [host.space for host in session.profile.hosts]
                return Response(preview_text(spaces, "".join(notes)), mimetype="text/plain")
            made = make_report(session, Choice(events=events, notes=notes))
        return download(made.html, "text/html", session.name.rsplit("/", 1)[-1] + ".html")

    def pod_cells(self, request: Request) -> Response:
        """One colour of the map of a pod."""
        return self._pods.cells(request)

    def timeline(self, request: Request, part: str) -> Response:
        """One part of the timeline, such as its tracks, a tile or a search."""
        return timeline.answer(request, self._session(request), part, self.workspace.load)

    def sql(self, request: Request) -> Response:
        """The answer to a query."""
        return queries.answer(request, self._session(request))

    def sql_tables(self, request: Request) -> Response:
        """The tables that queries may name."""
        return queries.tables(request)

    def sql_lanes(self, request: Request) -> Response:
        """The answer to a query as a track of the timeline."""
        return queries.lanes(request, self._session(request))

    def sql_file(self, request: Request, format: str) -> Response:
        """The answer to a query as a file to save."""
        return queries.saved(request, self._session(request), format)

    def progress(self, request: Request) -> Response:
        """How far the opening of a run is."""
        progress = self.workspace.progress(request.args.get("run"))
        body: ProgressInfo = {
            "state": progress.state,
            "stage": progress.stage,
            "done": progress.done,
            "total": progress.total,
            "message": progress.message,
        }
        return json_answer(request, body)

    def run_facts(self, request: Request) -> Response:
        """What a list of runs says about one."""
        return self._runs.facts(request)

    def run_note(self, request: Request) -> Response:
        """Keep tags and a note on a run."""
        return self._runs.note(request)

    def capture(self, request: Request) -> Response:
        """Recording from outside: how it goes, or the start of one."""
        return self.captures.answer(request)

    def capture_check(self, request: Request) -> Response:
        """Whether the workers of a recording can record now."""
        return self.captures.check(request)

    def capture_stop(self, request: Request) -> Response:
        """Give up what has not arrived of the recording under way."""
        return self.captures.stop(request)

    def _session(self, request: Request) -> Session:
        session = self.workspace.load(
            request.args.get("run") or None, request.args.get("host") or None
        )
        session = session.select(**{name: request.args.get(name, "") for name in SELECTING})
        base = request.args.get("per")
        return session.per(cast("TimeBase", base)) if base else session

    def _result(self, request: Request, tool: str, *, with_findings: bool = True) -> Result:
        if tool == comparison.ID:
            return self._comparisons.answer(request)
        if tool == pods.ID:
            return self._pods.answer(request)
        options: dict[str, Any] = {
            name: value for name, value in request.args.items() if name not in RESERVED_OPTIONS
        }
        found = TOOLS.find(tool)
        found.parse_options(options)  # a wrong option should not cost a decode
        session = self._session(request)
        run = session.run if with_findings else session.run_without_findings
        return run(found.id, **options)


def _device_count(profile: Profile) -> int:
    return sum(one.has_events for host in profile.hosts for one in devices(host))


def _top(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"top cannot be {text!r}.", hint="Give a number of rows.")
    return int(text)


def _number(text: str) -> int:
    """Return a number of a request; 0 where it is none."""
    return int(text) if text.isdecimal() and len(text) < _LONGEST_NUMBER else 0
