"""The spine: path → runs → hosts → profile → results → findings. It holds no logic of its own."""

from __future__ import annotations

import dataclasses
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from stepscope import store
from stepscope.advice import advise
from stepscope.analysis import TOOLS
from stepscope.errors import NothingToShow, UsageError
from stepscope.needs import Unavailable, lacking
from stepscope.quantities import count_words
from stepscope.registry import Rule, Tool
from stepscope.result import Advice, Diagnostic, Finding, Result
from stepscope.session._tools import ToolMethods
from stepscope.session.decoded_run import DecodedRun, FileReport, StageProgress
from stepscope.session.pick import passed_over, pick_hosts, pick_run
from stepscope.session.rules import all_rules, tools_read
from stepscope.session.together import TooManyTogether, check_together
from stepscope.store import Found, Run
from stepscope.tables.core.profile import Host, Profile, TimeBase
from stepscope.tables.steps.time_base import base_of, said, with_times_of
from stepscope.timeline.selection import Selection, selected

if TYPE_CHECKING:
    import polars as pl

    from stepscope.pod.report import Pod
    from stepscope.redaction import Redaction
    from stepscope.sql.database import ProfileDatabase
    from stepscope.store.kept import KeptWhere

T = TypeVar("T")
# Each holds a copy of the events that are in it.
_MOST_SELECTIONS: Final = 8


def open(  # `stepscope.open` is the published name
    path: str | os.PathLike[str],
    *,
    run: str | None = None,
    host: str | None = None,
    redact: Redaction | None = None,
    private: bool = False,
    progress: StageProgress | None = None,
) -> Session:
    """Open a profile: a file, a run directory, a log directory or a URL.

    Nothing is decoded until a result is asked for.

    Args:
        path: Where to look.
        run: Which run, where there are several; the newest with events by default.
        host: Only this host, or several with commas between; all hosts by default.
        redact: What to take out of the recording before anything is computed; nothing by default.
        private: Keep hosts, users, command lines, environments, folders; left out by default.
        progress: Called with (stage, done bytes, total bytes) while files are read and decoded.

    Raises:
        StoreError: Nothing there can be opened; the message says where it looked.
        UsageError: There is no such run or host.
    """
    found = store.find(path)
    chosen = pick_run(found, run)
    passed = () if run is not None or redact is not None else passed_over(found, chosen)
    if redact is not None:
        from stepscope.session.redacted import anonymous

        named = chosen.hosts
        found, chosen = anonymous(found, chosen)
        if host in named:
            host = chosen.hosts[named.index(host)]
    recording = DecodedRun(chosen, redact, private=private)
    return Session(found, recording, host=host, progress=progress, notes=passed)


class Session(ToolMethods):
    """One run, opened: its hosts, its results, its tables.

    Every tool is a method (``session.overview_page()``); results are computed once. A session
    is safe to use from several threads.
    """

    def __init__(
        self,
        found: Found,
        recording: DecodedRun,
        *,
        host: str | None = None,
        progress: StageProgress | None = None,
        notes: tuple[Diagnostic, ...] = (),
    ) -> None:
        self._found = found
        self._notes = notes
        self._recording = recording
        self._names = pick_hosts(found, recording.run, host)
        self._progress = progress
        self._times_of: TimeBase | None = None
        self._plain = self
        self._by_base: dict[TimeBase, Session] = {}
        self._whole = self
        self._selection = Selection()
        self._selected: OrderedDict[Selection, Session] = OrderedDict()
        self._lock = RLock()
        self._profile: Profile | None = None
        self._database: ProfileDatabase | None = None
        self._answers: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, RLock] = {}

    @property
    def name(self) -> str:
        """Name of the run."""
        return self._recording.run.id

    @property
    def root(self) -> str:
        """What was searched for runs: a file, a folder or a URL."""
        return self._found.root

    @property
    def recording(self) -> DecodedRun:
        """The run's hosts, as far as they are decoded; sessions that share it share them."""
        return self._recording

    @property
    def path(self) -> str:
        """Folder of the run."""
        return self._recording.run.path

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs found at the path, newest first."""
        return self._found.runs

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts this session is over."""
        return tuple(host.name for host in self.profile.hosts) if self.selection else self._names

    @property
    def selection(self) -> Selection:
        """The part of the recording that this session is over."""
        return self._plain._selection

    @property
    def files(self) -> tuple[FileReport, ...]:
        """Every file that was looked at with a reason: this run's, and the near misses."""
        misses = tuple(FileReport.from_miss(miss) for miss in self._found.misses)
        return self._recording.reports + misses

    @property
    def files_used(self) -> tuple[str, ...]:
        """Names of the files that the numbers are from: those of its hosts that were opened."""
        return self._recording.opened(self._names)

    @property
    def profile(self) -> Profile:
        """The decoded hosts; reading and decoding happen here, once."""
        decoded = self._profile
        if decoded is not None:
            return decoded  # without the lock: a tile need not wait until a tool has finished
        with self._lock:
            if self._profile is None:
                if self._times_of is not None:
                    self._profile = with_times_of(self._plain.profile, self._times_of)
                elif self._whole is not self:
                    self._profile = selected(self._whole.profile, self._selection)
                else:
                    self._profile = self._decoded()
            return self._profile

    def _decoded(self) -> Profile:
        check_together(self._recording.run, self._names)
        hosts = self._recording.hosts(self._names, self._progress)
        notes = self._notes + self._recording.diagnostics(self._names)
        return Profile(self.name, hosts, notes, beside=self._beside)

    def _beside(self) -> tuple[Host, ...]:
        """Hosts of other windows; none where names are taken out, which theirs are not."""
        if self._recording.redaction is not None:
            return ()
        from stepscope.session.decoded_run import hosts_beside

        run = self._recording.run
        return self._once(("beside",), lambda: hosts_beside(self._found, run))

    def per(self, base: TimeBase) -> Session:
        """This session with all times per "step", or all of the whole "recording".

        By themselves accounts of steps are per step, and sums over events of the recording; tools
        that can give only one of them do not change. What the times are of, ``Result.times`` says.

        Raises:
            UsageError: ``base`` is neither.
        """
        if base not in get_args(TimeBase):
            raise UsageError(
                f"Times cannot be per {base!r}.", hint=f"One of {', '.join(get_args(TimeBase))}."
            )
        plain = self._plain
        with plain._lock:
            if base not in plain._by_base:
                made = plain._derived()
                made._times_of, made._plain = base, plain
                plain._by_base[base] = made
            return plain._by_base[base]

    def select(self, *, steps: str | int = "", range: str = "", device: str | int = "") -> Session:
        """This recording as if only a part of it had been recorded; every tool answers for it.

        Durations are clipped at the edges, and an event that crosses one is one event. Each call
        selects from the whole recording, and ``Result.selection`` states the part in words.

        Args:
            steps: Numbers as the framework counts, both ends included: ``"10-20"``, ``12``.
            range: Begin and end on the timeline: ``"1.2s-1.4s"``; plain numbers are ms.
            device: Devices or ranks: ``3``, ``"GPU:0,GPU:1"``, ``"rank 5"``, ``"2-4"``.

        Raises:
            UsageError: The selection cannot be read, or nothing recorded is in it.
        """
        chosen = Selection.from_texts({"steps": str(steps), "range": range, "device": str(device)})
        return self._select(chosen)

    def _select(self, chosen: Selection) -> Session:
        whole = self._plain._whole
        if not chosen:
            found = whole
        else:
            with whole._lock:
                found = whole._selected.get(chosen) or whole._derived()
                found._whole, found._selection = whole, chosen
                whole._selected[chosen] = found
                whole._selected.move_to_end(chosen)
                if len(whole._selected) > _MOST_SELECTIONS:
                    whole._selected.popitem(last=False)
            _ = found.profile  # what cannot be selected is reported here
        return found if self._times_of is None else found.per(self._times_of)

    def _derived(self) -> Session:
        """Another session over the same decoded hosts."""
        made = Session(self._found, self._recording, progress=self._progress)
        made._names = self._names
        return made

    def available(self, tool: str) -> Unavailable | None:
        """None if this tool has something to show here, else what is missing."""
        return self._lacking(TOOLS.id_of(tool))

    def _lacking(self, tool: str) -> Unavailable | None:
        """What is missing for a tool, looked for once: some needs read many events' names."""
        found: tuple[Unavailable | None] = self._once(
            ("available", tool), lambda: (lacking(tool, self.profile),)
        )
        return found[0]

    def opens(self, tool: str) -> dict[str, str]:
        """The options that the page of a tool opens with, where nobody chose."""
        if self.available(tool) is not None:
            return {}
        found = TOOLS.find(tool)
        return self._once(("opens", found.id), lambda: dict(found.opens(self.profile)))

    def run(self, tool: str, **options: Any) -> Result:
        """The result of a tool, by id or short name; the same call again costs nothing.

        Raises:
            UsageError: No such tool or option.
            NothingToShow: The profile lacks what the tool needs; ``why`` and ``hint`` say what.
        """
        found = TOOLS.find(tool)
        if self._times_of is not None and self._times_of not in found.times_of:
            return self._plain.run(found.id, **options)
        parsed = found.parse_options(_texts(options))
        result = self._run_plain(found, parsed)
        if not any(f.name == "findings" for f in dataclasses.fields(found.result)):
            return result

        def with_findings() -> Result:
            added: dict[str, Any] = {"findings": self.findings()}
            return dataclasses.replace(result, **added)

        return self._once(("findings", found.id, parsed), with_findings)

    def run_without_findings(self, tool: str, **options: Any) -> Result:
        """Return the result of a tool before any rule has run: all rules read many tools.

        Raises:
            UsageError: No such tool or option.
            NothingToShow: The profile lacks what the tool needs.
        """
        found = TOOLS.find(tool)
        if self._times_of is not None and self._times_of not in found.times_of:
            return self._plain.run_without_findings(found.id, **options)
        return self._run_plain(found, found.parse_options(_texts(options)))

    def findings(self) -> tuple[Finding, ...]:
        """What to change in this program, most useful first."""
        return self.advice().findings

    def advice(self) -> Advice:
        """The findings, and every rule that was checked with the reason why it is silent.

        Every tool that a rule reads is run, so that this takes longer than any one tool.
        """
        return self._once(("advice",), lambda: self._advise(all_rules()))

    def _advise(self, rules: Sequence[Rule]) -> Advice:
        if self._times_of == "step":
            return self._plain._advise(rules)  # rules take sums to be of the recording
        results, missing = self.read_by(rules)
        return advise(results, rules, missing)

    def read_by(self, rules: Sequence[Rule]) -> tuple[dict[str, Result], dict[str, str]]:
        """Return the results that these rules read, and what is missing for others, by id."""
        wanted = tools_read(rules)
        try:
            found = {name: self._read(name) for name in sorted(wanted)}
        except TooManyTogether as error:  # then there is the pod alone
            found = dict.fromkeys(wanted, error.what)
            if "pod" in wanted:
                found["pod"] = self._once(("pod",), self.pod)
        missing = {name: one for name, one in found.items() if isinstance(one, str)}
        return {name: one for name, one in found.items() if isinstance(one, Result)}, missing

    def _read(self, name: str) -> Result | str:
        """A result, or what is missing for it."""
        if name == "pod":
            from stepscope.pod.decoded import pod_of_profile

            return pod_of_profile(self.profile)
        unavailable = self.available(name)
        if unavailable is not None:
            return unavailable.missing
        tool = TOOLS.find(name)
        return self._run_plain(tool, tool.options())

    def pod(
        self,
        *,
        engine: str = "auto",
        memory_bytes: int = 0,
        keep: KeptWhere = "cache",
        progress: StageProgress | None = None,
    ) -> Pod:
        """Say which host, device or link makes the others wait, what it costs, and why.

        Recordings are summarised one by one, so a run of any number of hosts can be asked.

        Args:
            engine: "here", "pool" (processes of this machine), "ray" or "auto".
            memory_bytes: What reading may need at once; 0 for no limit.
            keep: Where summaries are kept: "cache", "beside" the recordings, or "no".
            progress: Called with (stage, done bytes, total bytes).
        """
        from stepscope.pod.decoded import pod_of_hosts
        from stepscope.session.pod import pod_of

        # Summaries on disk are of whole recordings, and hold names that redaction takes out.
        if self._recording.redaction is not None or self.selection:
            return pod_of_hosts(self.profile)
        run, chosen = self._recording.run, set(self._names)
        sources = tuple(source for source in run.sources if source.host in chosen)
        return pod_of(
            dataclasses.replace(run, sources=sources),
            engine=engine,
            memory_bytes=memory_bytes,
            keep=keep,
            progress=progress or self._progress,
        )

    def sql(
        self,
        query: str,
        *,
        trusted: bool = False,
        max_rows: int = 1_000_000,
        timeout_s: float = 30.0,
    ) -> pl.DataFrame:
        """Run SQL over the recording's tables (``docs/sql.md``); only those it names are built.

        The query may come from a stranger: it runs in a process that can read nothing but the
        tables.

        Args:
            query: One statement.
            trusted: The query is your own: it runs here, without limits, and may read files.
            max_rows: A larger answer is an error.
            timeout_s: Longer than this and the query is given up.

        Raises:
            UsageError: The query is wrong, refused, or passes a limit; the message says which.
        """
        from stepscope.sql.database import QueryLimits
        from stepscope.sql.door import refusal
        from stepscope.sql.run import run_query

        if trusted:
            return run_query(self.profile, query)
        found = self.database.ask(query, QueryLimits(max_rows, timeout_s))
        if found.cut:
            hint = "Add LIMIT, group the rows, or raise max_rows."
            raise refusal(query, f"Its answer has more than {max_rows:,} rows.", hint)
        return found.frame

    @property
    def database(self) -> ProfileDatabase:
        """The recording's tables behind the closed door, for surfaces that pass queries on."""
        with self._lock:
            if self._database is None:
                from stepscope.sql.database import ProfileDatabase

                self._database = ProfileDatabase(self.profile)
            return self._database

    def events(
        self,
        from_: str | float | None = None,
        to: str | float | None = None,
        *,
        track: str = "",
        find: str = "",
        regex: bool = False,
    ) -> pl.DataFrame:
        """The recorded events that touch a stretch of time, one row each, by start.

        Args:
            from_: Its begin, as ``stepscope show trace_viewer --from`` takes it: ``"1.5s"``,
                ``"20ms"``, ``"7us"`` or a number of ms; the trace's begin by default.
            to: Its end, in the same form; the trace's end by default.
            track: Only tracks whose section or name contains this text.
            find: Only events whose name contains this text, in any case.
            regex: Whether ``find`` is a regular expression.

        Raises:
            UsageError: A time cannot be read, the range is empty, or the expression is none.
        """
        from stepscope.analysis.trace_viewer import listed_events

        texts = ("" if time is None else str(time) for time in (from_, to))
        return listed_events(self.profile, *texts, track=track, find=find, regex=regex)

    @property
    def steps(self) -> pl.DataFrame:
        """One row per step."""
        return self._frame("steps")

    @property
    def ops(self) -> pl.DataFrame:
        """One row per framework op."""
        return self._frame("ops")

    def close(self) -> None:
        """Let go of the decoded columns, the results and the files."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None
            self._profile = None
            self._answers.clear()
            for one in (*self._by_base.values(), *self._selected.values()):
                one.close()
            self._by_base.clear()
            self._selected.clear()
            self._recording.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        hosts = ", ".join(self._names[:3]) + (", …" if len(self._names) > 3 else "")
        state = "decoded" if self._profile is not None else "not decoded yet"
        other = len(self.runs) - 1
        others = f"; {count_words(other, 'other run')} in .runs" if other > 0 else ""
        over = f"{count_words(len(self._names), 'host')} ({hosts})"
        return f"<stepscope session {self.name!r}: {over}, {state}{others}>"

    def _repr_html_(self) -> str:
        import html  # for notebooks only; its table of entities takes a millisecond

        rows = "".join(
            f"<tr><td>{html.escape(tool.title)}</td><td><code>.{tool.id}()</code></td>"
            f"<td>{html.escape(tool.summary)}</td></tr>"
            for tool in TOOLS
        )
        return (
            f"<div><b>{html.escape(self.name)}</b> · {html.escape(', '.join(self._names))}"
            f"<table>{rows}</table></div>"
        )

    def _run_plain(self, tool: Tool, options: Any) -> Result:
        """A tool's result without what only the session can add, memoised by its options."""

        def run() -> Result:
            missing = self._lacking(tool.id)
            if missing is not None:
                raise NothingToShow(
                    f"{tool.title} has nothing to show for this profile.",
                    where=self.name,
                    why=missing.missing,
                    hint=missing.record,
                )
            result = tool.run(self.profile, options)
            return dataclasses.replace(
                result,
                session=self.name,
                hosts=tuple(host.name for host in self.profile.hosts),
                diagnostics=tuple(dict.fromkeys((*self.profile.diagnostics, *result.diagnostics))),
                files_used=self.files_used,
                times=said(self.profile, tool.times_of[0], tool.steps_of) if tool.times_of else "",
                times_of=(tool.times_of and base_of(self.profile, tool.times_of[0])) or "",
                selection=self.profile.selection,
            )

        return self._once((tool.id, options), run)

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once; who wants another answer does not wait for it."""
        found: T | None = self._answers.get(key)
        if found is None:
            with self._locks.setdefault(key, RLock()):
                found = self._answers.get(key)
                if found is None:
                    found = self._answers[key] = make()
        return found

    def _frame(self, name: str) -> pl.DataFrame:
        from stepscope.sql.run import table_frame

        return table_frame(self.profile, name)


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in options.items() if value is not None}


def _text(value: Any) -> str:
    """An option as a flag would spell it, so Python, CLI and HTTP share one parser."""
    return str(value).lower() if isinstance(value, bool) else str(value)
