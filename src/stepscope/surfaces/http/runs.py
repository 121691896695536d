"""``api/v1/runs…``: the facts of each run in a list, and notes on runs."""

from __future__ import annotations

import json
from collections import OrderedDict
from math import isfinite
from threading import Lock
from typing import Any, Final

from werkzeug.wrappers import Request, Response

from stepscope.analysis.overview_page import OverviewPage
from stepscope.errors import StepscopeError, UsageError
from stepscope.session.workspace import Workspace
from stepscope.store import Run
from stepscope.store.notes import RunNote, read_notes, write_note
from stepscope.surfaces.envelope import RunFactsInfo
from stepscope.surfaces.http.answers import json_answer
from stepscope.tables.steps.found import WINDOW

_KEPT: Final = 1024
_LARGEST_ORDER_BYTES: Final = 256 << 10


class RunList:
    """Facts about runs, each read once for as long as its files are the same."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._reading = Lock()  # one run at a time: what the pages look at comes first
        self._known: OrderedDict[Run, RunFactsInfo] = OrderedDict()
        self._writing = Lock()

    def facts(self, request: Request) -> Response:
        """Step time, verdict and devices of one run."""
        run = self._run(request.args.get("run", ""))
        with self._lock:
            known = self._known.get(run)
        if known is None:
            with self._reading:
                known = self._read(run)
            with self._lock:
                self._known[run] = known
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return json_answer(request, known)

    def note(self, request: Request) -> Response:
        """Keep tags and a note: ``{"run": …, "tags": […], "note": …}``."""
        run, note = _note_of(request)
        self._run(run)
        with self._writing:
            write_note(self._workspace.found.root, run, note)
        return json_answer(request, {"run": run, "tags": list(note.tags), "note": note.text})

    def notes(self) -> dict[str, RunNote]:
        """Notes by id of the run."""
        return read_notes(self._workspace.found.root)

    def _run(self, name: str) -> Run:
        for run in self._workspace.runs:
            if run.id == name:
                return run
        raise UsageError(f"There is no run {name!r}.", slug="no-such-run")

    def _read(self, run: Run) -> RunFactsInfo:
        """The facts; of a run that does not open, why."""
        try:
            with self._workspace.aside(run.id) as session:
                found = session.run_without_findings("overview_page")
        except StepscopeError as error:
            return _facts(run.id, problem=error.what)
        assert isinstance(found, OverviewPage)
        where, time = found.environment, found.steps.time_ms.mean
        has_steps = found.steps.source != WINDOW and isfinite(time)
        count = f"{where.device_count} × " if where.device_count else ""
        device = f"{count}{where.device_type}"
        return _facts(
            run.id,
            headline=found.headline,
            bound_by=found.bound_by,
            step_time_ms=time if has_steps else None,
            steps=found.steps.count if has_steps else 0,
            device=device,
        )


def _facts(run: str, **found: Any) -> RunFactsInfo:
    blank: RunFactsInfo = {
        "run": run,
        "headline": "",
        "bound_by": "",
        "step_time_ms": None,
        "steps": 0,
        "device": "",
        "problem": "",
    }
    return {**blank, **found}  # type: ignore[typeddict-item]  # keys of this file only


def _note_of(request: Request) -> tuple[str, RunNote]:
    wrong = UsageError(
        "This is not a note.", hint='Send JSON: {"run": "id", "tags": ["a"], "note": "text"}.'
    )
    if request.mimetype != "application/json":
        raise wrong
    if (request.content_length or 0) > _LARGEST_ORDER_BYTES:
        raise wrong
    try:
        order = json.loads(request.get_data(cache=False))
    except (ValueError, RecursionError) as error:
        raise wrong from error
    if not isinstance(order, dict):
        raise wrong
    run, tags, text = order.get("run"), order.get("tags", []), order.get("note", "")
    if not (isinstance(run, str) and isinstance(text, str) and isinstance(tags, list)):
        raise wrong
    if not all(isinstance(tag, str) for tag in tags):
        raise wrong
    return run, RunNote(tuple(dict.fromkeys(tag.strip() for tag in tags)), text.strip())
