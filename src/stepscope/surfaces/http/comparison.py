"""Two runs of one workspace compared, as a page among those of the tools.

The page is listed, asked for and exported like a tool's, though it is over several runs: its option
``baseline`` names the second, ``between`` adds those recorded between the two; ``starts`` and
``baseline_starts`` name further starts of the program of either side.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

from werkzeug.wrappers import Request

from stepscope.errors import StepscopeError, UsageError
from stepscope.registry import Option, parse_flag
from stepscope.result import Diagnostic
from stepscope.session import Session
from stepscope.session.workspace import Workspace
from stepscope.store import Run
from stepscope.surfaces.envelope import (
    ToolInfo,
    column_infos,
    field_labels,
    field_words,
    option_info,
)
from stepscope.surfaces.http.leaving import check_of
from stepscope.timeline.cancellation import CancellationCheck

if TYPE_CHECKING:
    from stepscope.comparison import Comparison, Side
    from stepscope.session.about import Answer

ID: Final = "compare"
_KEPT: Final = 4
# The details of a row read the run before by themselves up to this size.
_READ_AT_ONCE_BYTES: Final = 64 << 20
# Runs between two others are kept in short: the times of their steps and the parts of one.
_KEPT_BETWEEN: Final = 256
# So often one who waits for the runs of another page is asked whether it is still there.
_ASKED_SECONDS: Final = 0.5


_OPTIONS: Final = (
    Option("between", bool, False, (), "Also the runs that were recorded between the two."),
    Option("starts", str, "", (), "Runs that are further starts of the same program, by commas."),
    Option(
        "baseline_starts", str, "", (), "Runs that are further starts of the baseline, by commas."
    ),
)

# The host; starts of the baseline, the runs between, and starts of the other side.
_Asked = tuple[str, tuple[Run, ...], tuple[Run, ...], tuple[Run, ...]]


class Comparisons:
    """The comparisons of a workspace, the latest of them kept."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._reading = Lock()  # of runs between others: one page's at a time
        self._known: OrderedDict[_Asked, Comparison] = OrderedDict()
        self._short: OrderedDict[tuple[str, Run], Side | Diagnostic] = OrderedDict()

    def info(self, run: str) -> ToolInfo:
        """The page as a tool: available where there is another run to compare with."""
        from stepscope.comparison import Comparison
        from stepscope.surfaces.fields import table_fields

        runs = self._workspace.runs
        others = [one.id for one in runs if one.id != run]
        before = self._before(run, runs).id if others else None
        baseline = Option("baseline", str, before, tuple(others), "The run to compare with.")
        return {
            "id": ID,
            "short": ID,
            "title": "Compare runs",
            "tab": "Two runs",
            "summary": "What changed between two runs, in parts that sum to the change.",
            "available": bool(others),
            "missing": "" if others else "There is only one run here to look at.",
            "record": ""
            if others
            else "Record a second run into the same log directory, or compare any two with\n"
            "stepscope compare BASELINE NEW",
            "options": [option_info(one) for one in (baseline, *_OPTIONS)],
            "tables": {name: column_infos(row) for name, row in table_fields(Comparison).items()},
            "labels": field_labels(Comparison),
            "words": field_words(Comparison),
            "times_of": ["step"],
            "opens": {},
            "page": [],
        }

    def answer(self, request: Request) -> Comparison:
        """The comparison a request asks for: ``run`` with ``baseline``, by default the run before.

        Raises:
            UsageError: There is no second run.
            GivenUp: The client has gone while runs between the two were read.
        """
        load = self._workspace.load
        host = request.args.get("host", "")
        session = load(request.args.get("run") or None, host or None)
        wanted = request.args.get("baseline") or self._before(session.name, self._workspace.runs).id
        before = load(wanted)
        if host and session.hosts[0] in before.hosts:
            before = load(before.name, session.hosts[0])
        wants_all = parse_flag(request.args.get("between", ""), "compare: between")
        sides = tuple(
            [load(one) for one in _listed(request.args.get(name, ""))]
            for name in ("baseline_starts", "starts")
        )
        has_starts = any(sides)
        between = [] if has_starts or not wants_all else self._between(before.name, session.name)
        # The runs as they were opened: meanwhile they may have been overwritten, or be gone.
        starts = [tuple(one.recording.run for one in side) for side in sides]
        key = (
            host,
            (before.recording.run, *starts[0]),
            tuple(between),
            (session.recording.run, *starts[1]),
        )
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        if has_starts:
            from stepscope.session.compare import compare

            found = compare(session, *sides[1], baselines=(before, *sides[0]))
        else:
            found = self._compared(before, between, session, host, check_of(request))
        with self._lock:
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def about(self, request: Request, session: Session, name: str) -> Answer | None:
        """How a thing differs from the run before; None where there is no other run.

        A run that is large and not open is not read for it: the answer then leads to the page.
        """
        from stepscope.session.about import Answer, AnswerLink, compared, names_of

        runs = self._workspace.runs
        if not any(run.id != session.name for run in runs):
            return None
        before = self._before(session.name, runs)
        if before.size_bytes > _READ_AT_ONCE_BYTES and not self._workspace.is_open(before.id):
            link = AnswerLink(f"Compare with {before.id}", "compare")
            return Answer("Compared", f"{before.id} is not open yet.", (link,))
        try:
            return compared(self.answer(request), names_of(session, name))
        except StepscopeError as error:  # such as runs without steps
            return Answer("Compared", f"{error.what}")

    def _compared(
        self,
        before: Session,
        between: list[Run],
        session: Session,
        host: str,
        check: CancellationCheck,
    ) -> Comparison:
        """Compute the comparison; other pages are answered meanwhile."""
        from stepscope.comparison import compare
        from stepscope.session.compare import comparable

        course: list[Side | Diagnostic] = []
        if between:
            while not self._reading.acquire(timeout=_ASKED_SECONDS):
                check()
            try:
                course = self._read(between, session, host, check)
            finally:
                self._reading.release()
        first, last = comparable([before, session])
        notes = [one for one in course if isinstance(one, Diagnostic)]
        middle = [one for one in course if not isinstance(one, Diagnostic)]
        return compare([first, *middle, last], notes)

    def _read(
        self, runs: list[Run], session: Session, host: str, check: CancellationCheck
    ) -> list[Side | Diagnostic]:
        """The runs between, each read and let go of; the page sees how far this is."""
        from stepscope.session.compare import left_out, run_between

        progress = self._workspace.progress(session.name)
        found: list[Side | Diagnostic] = []
        try:
            for place, run in enumerate(runs, start=1):
                check()

                def report(stage: str, done: int, total: int, place: int = place) -> None:
                    progress.update(f"run {place} of {len(runs)}: {stage}", done, total)

                key = host, run
                if key not in self._short:
                    progress.state = "opening"
                    only = host if host in run.hosts else None
                    try:
                        with self._workspace.aside(run.id, only, report) as one:
                            self._short[key] = run_between(run.id, one)
                    except StepscopeError as error:  # it has gone since the runs were listed
                        found.append(left_out(run.id, error))
                        continue
                found.append(self._short[key])
        finally:
            progress.state, progress.stage = "ready", ""
        while len(self._short) > _KEPT_BETWEEN:
            self._short.popitem(last=False)
        return found

    def _between(self, first: str, last: str) -> list[Run]:
        """The runs recorded between two others, on the way from the first to the last.

        None where one of the two has gone.
        """
        runs = self._workspace.runs
        ends = [place for place, one in enumerate(runs) if one.id in (first, last)]
        if len(ends) < 2:
            return []
        between = list(runs[ends[0] + 1 : ends[1]])
        return between if runs[ends[0]].id == first else between[::-1]

    def _before(self, run: str, runs: tuple[Run, ...]) -> Run:
        """The run before this one in time, else the one after it; the newest if this one has gone.

        Args:
            run: Id of this one.
            runs: All there are, newest first.
        """
        others = [one for one in runs if one.id != run]
        if not others:
            raise UsageError(
                "A comparison needs two runs.",
                where=self._workspace.found.root,
                hint="Record a second run into the same log directory.",
                slug="one-run",
            )
        place = next((at for at, one in enumerate(runs) if one.id == run), 0)
        return others[min(place, len(others) - 1)]


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
