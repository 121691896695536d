"""Answer the same questions about any thing of a recording: an op, kernel, line or module.

How long, how often, where from, launched by, could be, memory, compared with another run: each
answer is a sentence with links, so that every page shows the same details beside its rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.comparison import Comparison
from stepscope.quantities import count_words, percent, size_words, time_change, time_words
from stepscope.records import dataclass, field, replace
from stepscope.schema.sources import source_hash
from stepscope.session.session import Session
from stepscope.tables.core.op_name import parse_op_name
from stepscope.tables.device.short_names import called
from stepscope.tables.recording.environment import source_files
from stepscope.tables.steps.attribution import found_steps
from stepscope.tables.sums.work import UNNAMED, WorkGroup, WorkSide, work_runs
from stepscope.timeline import Timeline, timeline
from stepscope.timeline.details import distribution
from stepscope.timeline.flows import launches
from stepscope.timeline.model import F64
from stepscope.timeline.places import EventPlace, parent_of, place
from stepscope.timeline.ranges import NameTotals, range_totals
from stepscope.timeline.search import search

MAX_STEPS: Final = 400
"""Steps whose times are listed; of more, evenly spaced ones."""
SLOW: Final = 1.5
"""A step is slow from this multiple of the median on."""
AROUND: Final = 3
"""Lines of source before and after the named one."""
_LINKED: Final = 3
_NO_EVENT: Final = "No event of this name is on the timeline."
# Changes of a step below this share of the largest are not listed.
_SHOWN_FRAC: Final = 0.1
_LONGEST_NAME: Final = 300
_READABLE: Final = 4 << 20
_OF_LINE: Final = re.compile(r"(?P<file>.+):(?P<line>\d+)(?: (?P<function>.*))?")
_PYTHON: Final = frozenset({".py", ".pyx"})


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """Where an answer leads: rows of a page, an event of the timeline, or a selection.

    Attributes:
        label: Its text.
        tool: The page; "" for a selection.
        what: A table of the page, as `stepscope.result.Ref` names it.
        rows: Names of rows there; on the timeline, of the events to light.
        event: An event of the timeline; None without one.
        from_ms, to_ms: The event's begin and end.
        part, value: The selection, such as "steps" and "12".
        options: Options of the page with which it shows the rows.
    """

    label: str
    tool: str = ""
    what: str = ""
    rows: tuple[str, ...] = ()
    event: int | None = None
    from_ms: float | None = None
    to_ms: float | None = None
    part: str = ""
    value: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question about a thing with its answer in a sentence, or why there is none."""

    question: str
    text: str
    links: tuple[AnswerLink, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """All answers about a thing.

    Attributes:
        name: Its name.
        answers: The answers, in the order of the questions.
        step_num, step_ms: Steps and the thing's time in each; empty if it is not in steps.
        bin_edge_ms, bin_count: Distribution of its durations; empty without events.
        file, lines: The source around its line, (number, text); empty if it is not readable.
        line: The line.
        changed: Said of a file that is not the one that was recorded.
    """

    name: str
    answers: tuple[Answer, ...]
    step_num: tuple[int, ...] = ()
    step_ms: tuple[float, ...] = ()
    bin_edge_ms: tuple[float, ...] = ()
    bin_count: tuple[int, ...] = ()
    file: str = ""
    line: int = 0
    lines: tuple[tuple[int, str], ...] = ()
    changed: str = ""


def about(session: Session, name: str, file: str = "", line: int = 0, root: str = "") -> About:
    """Return the answers about a thing within the session's selection.

    Args:
        session: The recording, or a part of it.
        name: Full name of an op, kernel, instruction, module or function.
        file: Where it is in the program, if known.
        line: The same.
        root: Folder of the program's files; without it, source is shown of the files that the
            recorder hashed, if they are unchanged and below the working folder.
    """
    thing = _Thing(session, name, file, line)
    at, within = thing.site, thing.in_steps
    chosen = np.unique(np.linspace(0, max(len(within.number) - 1, 0), MAX_STEPS).astype(int))
    chosen = chosen[: len(within.number)]
    edges, counts = np.zeros(0), np.zeros(0, np.int64)
    if thing.runs:
        edges, counts = distribution(np.concatenate([one.duration_ps for one in thing.runs]))
    asked = (_how_long, _how_often, _where_from, _launched_by, _could_be, _memory)
    lines, changed = _source(session, root, at) if at.line else ((), "")
    return About(
        name,
        tuple(answer(thing) for answer in asked),
        tuple(within.number[chosen].tolist()),
        tuple(within.time_ms[chosen].tolist()),
        tuple((edges / 1e9).tolist()),
        tuple(counts.tolist()),
        at.file,
        at.line,
        lines,
        changed,
    )


def about_step(session: Session, number: int) -> About:
    """Return the length of a step, and its differences from a typical one.

    Typical is the counted step that is nearest to their median.
    """
    name, longest = f"Step {number}", None
    for host_number, host in enumerate(session.profile.hosts):
        found = found_steps(host)
        if found is None or found.markers.is_window or not found.timed.any():
            continue
        for row in np.flatnonzero(found.markers.num == number).tolist():
            length = int(found.duration_ps[row])
            if longest is None or length > longest[0]:
                longest = (length, host_number, found, row)
    if longest is None:
        return About(name, (Answer("How long", "No step has this number."),))
    length, host_number, found, row = longest
    timed = np.flatnonzero(found.timed)
    median = float(np.median(found.duration_ps[timed]))
    # Its neighbours in length are compared with another step than itself.
    others = timed[timed != row] if len(timed) > 1 else timed
    typical = int(others[np.argmin(np.abs(found.duration_ps[others] - median))])
    line = timeline(session.profile)
    shift = line.axis.shift_ps[host_number]

    def totals(at: int) -> NameTotals:
        begin, end = int(found.start_ps[at]) + shift, int(found.end_ps[at]) + shift
        return range_totals(line, begin, end).names

    said = f"{time_words(length / 1e9)}; the median step takes {time_words(median / 1e9)}."
    answers = (
        Answer("How long", said),
        _differs(session, totals(row), totals(typical), int(found.markers.num[typical])),
    )
    begin = (int(found.start_ps[row]) + shift) / 1e9
    link = AnswerLink("Show in timeline", "trace_viewer", from_ms=begin, to_ms=begin + length / 1e9)
    return About(name, (replace(answers[0], links=(link,)), answers[1]))


def _differs(session: Session, own: NameTotals, usual: NameTotals, typical: int) -> Answer:
    """Return the names with the most more and less time by themselves than in a typical step."""
    question, line = "Differs", timeline(session.profile)
    change = dict(zip(own.name.tolist(), own.self_ps.tolist(), strict=True))
    for name, time in zip(usual.name.tolist(), usual.self_ps.tolist(), strict=True):
        change[name] = change.get(name, 0) - time
    ordered = sorted(change, key=lambda name: -abs(change[name]))
    most = abs(change[ordered[0]]) if ordered else 0
    shown = [name for name in ordered if abs(change[name]) >= _SHOWN_FRAC * most > 0][:_LINKED]
    if not shown:
        return Answer(question, f"Nothing recorded differs from step {typical}.")
    titles = called(session.profile)
    texts = [
        f"{titles.get(line.names[name], line.names[name])} {time_change(change[name] / 1e9)}"
        for name in shown
    ]
    examples = dict(zip(own.name.tolist(), own.example.tolist(), strict=True))
    links = [
        AnswerLink(
            f"Show {titles.get(line.names[name], line.names[name])}",
            "trace_viewer",
            event=event,
            from_ms=found.begin_ps / 1e9,
            to_ms=found.end_ps / 1e9,
        )
        for name in shown
        if (event := examples.get(name)) is not None
        for found in (place(line, event),)
    ]
    text = f"{', '.join(texts)}, than in step {typical}. Times are without nested events."
    return Answer(question, text, tuple(links[:1]))


def _source(session: Session, root: str, at: _Site) -> tuple[tuple[tuple[int, str], ...], str]:
    """Lines around a place, and a warning if their file is not the one that was recorded.

    A recording may name any path. Without a chosen folder a file is shown only if it has the hash
    that the recorder stored: who wrote the recording knew its content.
    """
    recorded: dict[str, tuple[int, str]] = {}
    for host in session.profile.hosts:
        recorded |= source_files(host)
    file = Path(at.file)
    known = [digest for name, digest in recorded.items() if _is_end(file.parts, Path(name).parts)]
    hashed = known[0] if len(known) == 1 else None
    if not root and hashed is None:
        return (), ""
    path = file if file.is_absolute() and not root else _below(root or ".", at.file)
    content = _read(path) if path else None
    if content is None:
        return (), ""
    lines = tuple(_around(content, at.line, AROUND))
    if hashed in (None, (len(content), source_hash(content))):
        return lines, ""
    changed = f"{file.name} has changed since the recording"
    return (lines, f"{changed}.") if root else ((), f"{changed}: its lines are not shown.")


def source_lines(root: str, file: str, line: int, around: int) -> Iterator[tuple[int, str]]:
    """Yield numbers and texts of the lines around one, of a source file below a chosen folder.

    A recording may name any path: only what lies below the folder is read.
    """
    path = _below(root, file)
    content = _read(path) if path else None
    if content is not None:
        yield from _around(content, line, around)


def _is_end(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the parts of one path, from the last on, are all those of the other."""
    count = min(len(one), len(other))
    return count > 0 and one[-count:] == other[-count:]


def _below(root: str, file: str) -> Path | None:
    """The file below a folder that a recorded path ends with."""
    if not root or not file:
        return None
    folder = Path(root).resolve()
    parts = Path(file.replace("\\", "/")).parts
    paths = (folder.joinpath(*parts[begin:]).resolve() for begin in range(len(parts)))
    return next((one for one in paths if one.is_relative_to(folder) and one.is_file()), None)


def _read(path: Path) -> bytes | None:
    """Content of a regular file with Python source; None for all else, and links."""
    if path.suffix not in _PYTHON:
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as source:
            about = os.fstat(source.fileno())
            if not S_ISREG(about.st_mode) or about.st_size > _READABLE:
                return None
            return source.read(_READABLE)
    except OSError:
        return None


def _around(content: bytes, line: int, around: int) -> Iterator[tuple[int, str]]:
    lines = content.decode("utf-8", "replace").splitlines()
    for number in range(max(line - around, 1), min(line + around, len(lines)) + 1):
        yield number, lines[number - 1].expandtabs().rstrip()


@dataclass(frozen=True, slots=True)
class _Site:
    """A line of the program with its caller; "" and 0 where they are unknown."""

    file: str = ""
    line: int = 0
    function: str = ""
    caller: str = ""
    within: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class _Runs:
    """Events of one host, by id, with their starts on its own clock."""

    host: int
    event: I64
    start_ps: I64
    duration_ps: I64


@dataclass(frozen=True, eq=False, slots=True)
class _InSteps:
    """Numbers of steps, the time of a thing in each, and how often it runs there."""

    number: I64
    time_ms: F64
    count: I64


class _Thing:
    """A thing with the rows and events that are its own, each looked up once."""

    def __init__(self, session: Session, name: str, file: str, line: int) -> None:
        self.session, self.name, self.file, self.line = session, name, file, line
        self.has_events = False  # of its own name, once `runs` were looked for

    @cached_property
    def work(self) -> tuple[WorkGroup, list[Any]]:
        """Its rows of Work, one per side, that of devices first, and what their grouping is."""
        base = _base(self.file)
        at = f"{base}:{self.line}"
        names: list[tuple[WorkGroup, tuple[str, ...]]] = [
            ("line", (f"{at} {self.name}", at) if base and self.line else ()),
            ("kernel", (self.name,)),
            ("op", (self.name,)),
            ("module", (self.name,)),
        ]
        for by, wanted in names:
            for name in wanted:
                rows = self._rows("work_table", "groups", "name", group_by=by).get(name)
                if rows and name != UNNAMED[by]:
                    return by, sorted(rows, key=lambda row: row.host_or_device)
        return "op", []

    def mostly(self, by: WorkGroup) -> str:
        """Return the group of another kind with most of its time; "" if that is not known."""
        own, rows = self.work
        known = self._rows("work_table", "groups", "name", group_by=by).keys() - {UNNAMED[by]}
        if not rows or not known:
            return ""
        within = f"{own}={rows[0].name}"
        found = self._rows("work_table", "groups", "name", group_by=by, within=within)
        return next((name for name in found if name != UNNAMED[by]), "")

    def row(self, tool: str, table: str, column: str, *names: str) -> Any:
        """Return the first row of a table with one of these names; None without one."""
        for name in (self.name, *names):
            rows = self._rows(tool, table, column).get(name) if name else None
            if rows:
                return rows[0]
        return None

    def _rows(self, tool: str, table: str, column: str, **options: str) -> dict[str, list[Any]]:
        if self.session.available(tool) is not None:
            return {}

        def grouped() -> dict[str, list[Any]]:
            found: dict[str, list[Any]] = {}
            result: Any = self.session.run_without_findings(tool, **options)
            for row in getattr(result, table).records():
                found.setdefault(getattr(row, column), []).append(row)
            return found

        return self.session._once(("about", tool, table, column, *options.items()), grouped)

    def blocks(self, *ops: str) -> list[Any]:
        """Return what these ops hold at the peak; an allocator may name the type of an op, too."""
        named = self._rows("memory_profile", "breakdown", "op_name")
        return [
            row
            for name, rows in named.items()
            if name and (name in ops or parse_op_name(name).name in ops)
            for row in rows
        ]

    @property
    def line_of_work(self) -> str:
        """The row of Work that its line has; "" without one."""
        at = f"{_base(self.site.file)}:{self.site.line}"
        rows = self._rows("work_table", "groups", "name", group_by="line")
        return next((name for name in rows if name == at or name.startswith(f"{at} ")), "")

    @cached_property
    def line_of_time(self) -> Timeline:
        return timeline(self.session.profile)

    def title(self, event: EventPlace) -> str:
        """Return what pages call an event."""
        name = self.line_of_time.names[event.name]
        return called(self.session.profile).get(name, name)

    @cached_property
    def op(self) -> Any:
        """Its framework op: itself, or the op that a kernel runs for."""
        of_kernel = self.kernel_ops[0] if len(self.kernel_ops) == 1 else ""
        return self.row("framework_op_stats", "ops", "operation", of_kernel)

    @cached_property
    def kernel_ops(self) -> list[str]:
        """The ops that a kernel runs for, that with most of its time first."""
        rows = self._rows("kernel_stats", "kernels", "name").get(self.name, [])
        rows = sorted(rows, key=lambda row: -row.total_duration_us)
        return list(dict.fromkeys(row.op_name for row in rows if row.op_name))

    @cached_property
    def instruction(self) -> Any:
        return self.row("hlo_stats", "ops", "hlo_op")

    @cached_property
    def module(self) -> Any:
        return self.row("module_tree", "modules", "path")

    @cached_property
    def function(self) -> Any:
        rows = self._rows("host_activity", "python", "function").get(self.name, [])
        return next((row for row in rows if self.file in ("", row.file)), None)

    @cached_property
    def runs(self) -> list[_Runs]:
        """Its events: those of devices if there are any, as launches may have a kernel's name."""
        by, rows = self.work
        exact = [] if by == "line" and rows else self._named(_exactly(self.name))
        self.has_events = bool(exact)
        return (
            exact
            or self._worked("Device")
            or next(filter(None, map(self._named, self._patterns())), [])
            or self._worked("Host")
        )

    def _named(self, text: str) -> list[_Runs]:
        """Return the events whose names match."""
        line = self.line_of_time
        kinds = [line.sections[track.section].kind for track in line.tracks]
        on_devices = [track.id for track in line.tracks if kinds[track.id] == "device"]
        for tracks in (on_devices, None) if self.name else ():
            hits = search(line, text, mode="regex", tracks=tracks).tracks
            found = [(line.tracks[one.track], one.event) for one in hits]
            # Lines that were derived repeat what is on others.
            found = [one for one in found if not one[0].derived] or found
            if found:
                return [
                    _Runs(
                        track.host,
                        event,
                        track.start_ps[event - track.first_event],
                        np.maximum(track.duration_ps[event - track.first_event], 0),
                    )
                    for track, event in found
                ]
        return []

    def _patterns(self) -> Iterator[str]:
        if self.op is not None and self.op.type:  # TensorFlow's on a host: "dense/MatMul:MatMul"
            yield _exactly(f"{self.op.operation}:{self.op.type}")
        if self.function is not None:  # calls of Python: "$train.py:12 step", "train.py(12): step"
            base = re.escape(_base(self.function.file))
            yield rf"{base}[:(]\d+\)?:? {re.escape(self.name)}$"

    def _worked(self, side: WorkSide) -> list[_Runs]:
        """Return the runs that Work sums up as this thing."""
        by, rows = self.work
        if not any(row.host_or_device == side for row in rows):
            return []
        first = self.line_of_time.first_event
        found = work_runs(self.session.profile, side, (by, rows[0].name))
        return [
            _Runs(number, events + first[number], start_ps, self_ps)
            for number, (events, start_ps, self_ps) in enumerate(found)
            if len(events)
        ]

    @cached_property
    def first(self) -> EventPlace | None:
        events = [(int(one.start_ps.min()), int(one.event[0])) for one in self.runs]
        return place(self.line_of_time, min(events)[1]) if events else None

    @cached_property
    def in_steps(self) -> _InSteps:
        """Its runs in the counted steps, over all devices."""
        sums: dict[int, tuple[float, int]] = {}
        for one in self.runs:
            found = found_steps(self.session.profile.hosts[one.host])
            if found is None or found.markers.is_window or not len(found):
                continue
            at = np.searchsorted(found.start_ps, one.start_ps, side="right") - 1
            is_in = (at >= 0) & (one.start_ps < found.end_ps[at])
            weights = one.duration_ps[is_in]
            times = np.bincount(at[is_in], weights=weights, minlength=len(found)) / 1e9
            counts = np.bincount(at[is_in], minlength=len(found))
            for row in np.flatnonzero(found.timed).tolist():
                number = int(found.markers.num[row])
                time, count = sums.get(number, (0.0, 0))
                sums[number] = time + float(times[row]), count + int(counts[row])
        order = sorted(sums)
        values = [sums[number] for number in order]
        return _InSteps(
            np.asarray(order, np.int64),
            np.asarray([time for time, _ in values], np.float64),
            np.asarray([count for _, count in values], np.int64),
        )

    @cached_property
    def site(self) -> _Site:
        """The line that it comes from: that of its row in Work, where it has one."""
        found, row = self._owner_site, _OF_LINE.fullmatch(self.mostly("line"))
        if row is None or self.work[0] == "line":
            return found
        if (_base(found.file), found.line) == (row["file"], int(row["line"])):
            return found
        return _Site(row["file"], int(row["line"]), row["function"] or "", within=found.within)

    @cached_property
    def _owner_site(self) -> _Site:
        if self.function is not None:
            own = self.function
            return _Site(own.file, own.line or 0, own.function, "", "")
        names = [self.op.operation] if self.op is not None else []
        owner = self.row("step_account", "owners", "name", *names)
        within = owner.within if owner is not None else ""
        if owner is not None and owner.file:
            return _Site(owner.file, owner.line or 0, owner.function, owner.caller, within)
        source = self.instruction.source if self.instruction is not None else ""
        file, _, number = source.rpartition(":")
        if file and number.isdecimal():
            stack = self.instruction.source_stack.splitlines()
            return _Site(file, int(number), "", stack[1].strip() if len(stack) > 1 else "", within)
        return _Site(self.file, self.line, within=within)


def _base(file: str) -> str:
    """Return the name of a file without its folders."""
    return re.split(r"[\\/]", file)[-1]


def _exactly(name: str) -> str:
    return f"^{re.escape(name)}$" if len(name) <= _LONGEST_NAME else f"^{re.escape(name[:300])}"


def _event(label: str, found: EventPlace, thing: _Thing) -> AnswerLink:
    return AnswerLink(
        label,
        "trace_viewer",
        rows=(thing.name,) if thing.has_events else (),
        event=found.event,
        from_ms=found.begin_ps / 1e9,
        to_ms=found.end_ps / 1e9,
    )


def _in_work(label: str, by: WorkGroup, name: str = "", within: str = "") -> AnswerLink:
    """Return the link to a row of Work, or to all that lies within a group."""
    options = {"group_by": by, "where": "both"} | ({"within": within} if within else {})
    return AnswerLink(label, "work_table", "groups", (name,) if name else (), options=options)


def _how_long(thing: _Thing) -> Answer:
    question, first = "How long", thing.first
    if first is None:
        for row, time in (
            (thing.op, "self_time_us"),
            (thing.instruction, "self_time_us"),
            (thing.module, "device_ms"),
            (thing.function, "self_ms"),
        ):
            if row is not None:
                total = getattr(row, time) / (1e3 if time.endswith("_us") else 1.0)
                return Answer(question, f"{time_words(total)} by itself.")
        return Answer(question, _NO_EVENT)
    lengths = np.concatenate([one.duration_ps for one in thing.runs])
    events = np.concatenate([one.event for one in thing.runs])
    median, p95, most = (np.quantile(lengths, [0.5, 0.95, 1]) / 1e9).tolist()
    text = f"{time_words(int(lengths.sum()) / 1e9)} in {count_words(len(lengths), 'run')}"
    if len(lengths) > 1:
        text += f": median {time_words(median)}, 95th percentile {time_words(p95)}, "
        text += f"longest {time_words(most)}"
    longest = place(thing.line_of_time, int(events[np.argmax(lengths)]))
    links = [_event("Show in timeline", first, thing)]
    if longest.event != first.event:
        links.append(_event("Longest run", longest, thing))
    by, rows = thing.work
    if rows and by in ("line", "module"):
        links.append(_in_work("Its ops", "op", within=f"{by}={rows[0].name}"))
    return Answer(question, f"{text}.", tuple(links))


def _how_often(thing: _Thing) -> Answer:
    question, found = "How often", thing.in_steps
    if not thing.runs:
        return Answer(question, _NO_EVENT)
    present = found.count > 0
    steps = count_words(len(present), "step")
    if not len(present):
        return Answer(question, "Its runs lie in no known step.")
    if not present.any():
        return Answer(question, f"In none of {steps}.")
    typical = float(np.median(found.time_ms[present]))
    count = float(np.median(found.count[present]))
    runs = f"{count:.3g} run{'' if count == 1 else 's'}"
    where = f"{int(present.sum()):,} of {steps}"
    if present.all():
        where = f"each of {steps}" if len(present) > 1 else "the only step"
    slow = np.flatnonzero(found.time_ms > SLOW * typical)
    slow = slow[np.argsort(-found.time_ms[slow], kind="stable")]
    told = (
        f"{SLOW}× or more in {count_words(len(slow), 'step')}" if len(slow) else "slow in no step"
    )
    links = [
        AnswerLink(f"Step {number}: {time_words(time)}", part="steps", value=str(number))
        for number, time in zip(
            found.number[slow[:_LINKED]].tolist(),
            found.time_ms[slow[:_LINKED]].tolist(),
            strict=True,
        )
    ]
    return Answer(question, f"{runs}, {time_words(typical)} in {where}; {told}.", tuple(links))


def _where_from(thing: _Thing) -> Answer:
    site, links = thing.site, []
    said = []
    if site.file:
        base = _base(site.file)
        at = f"{base}:{site.line}" if site.line else base
        said.append(f"{at} {site.function}".strip())
        row = thing.line_of_work
        if row and thing.work[0] == "line":
            pass  # the row that is open
        elif row:
            links.append(_in_work(at, "line", row))
        elif thing.session.available("step_account") is None and site.line:
            links.append(AnswerLink(at, "step_account", f"owners.line={site.line}", (site.file,)))
    if site.caller:
        said.append(f"called from {site.caller}")
    if site.within:
        said.append(f"within {site.within}")
    is_of_one = thing.work[0] != "module" and len(thing.kernel_ops) < 2
    module = thing.mostly("module") if is_of_one else ""
    if module:
        said.append(f"module {module}")
        links.append(_in_work("Its module", "module", module))
    if len(thing.kernel_ops) == 1:
        said.append(f"of op {thing.kernel_ops[0]}")
    elif thing.kernel_ops:
        said.append(f"of {len(thing.kernel_ops):,} ops, most time in {thing.kernel_ops[0]}")
        links.append(_in_work("Its ops", "op", within=f"kernel={thing.name}"))
    if thing.instruction is not None and thing.instruction.framework_op:
        said.append(f"of op {thing.instruction.framework_op}")
    if thing.module is not None and not module:
        said.append(f"module {thing.module.module}")
    if not said:
        return Answer("Where from", "Source line not recorded.")
    return Answer("Where from", f"{', '.join(said)}.", tuple(links))


def _launched_by(thing: _Thing) -> Answer:
    question = "Launched by"
    first, line = thing.first, thing.line_of_time
    links = []
    said = []
    if thing.op is not None and thing.op.operation != thing.name:
        said.append(f"op {thing.op.operation}")
        links.append(_in_work("Its op", "op", thing.op.operation))
    if first is not None:
        arrows = launches(thing.session.profile)
        calls = [int(arrows.source[row]) for row in arrows.into(first.event)]
        begun = [int(arrows.target[row]) for row in arrows.out_of(first.event)]
        for event in calls[:1]:
            call = place(line, event)
            said.append(thing.title(call))
            links.append(_event("The launch", call, thing))
            outer = parent_of(line, call)
            if outer is not None:
                said.append(f"within {thing.title(outer)}")
        if begun:
            child = place(line, begun[0])
            said.append(f"itself launches {thing.title(child)}")
            links.append(_event("What it launches", child, thing))
        outer = None if calls or begun else parent_of(line, first)
        if outer is not None:
            said.append(f"within {thing.title(outer)}")
            links.append(_event("The event around it", outer, thing))
    if not said:
        return Answer(question, "No launch was recorded.")
    return Answer(question, f"{', '.join(said)}.", tuple(links))


def _could_be(thing: _Thing) -> Answer:
    question = "Could be"
    name = thing.op.operation if thing.op is not None else ""
    roof = thing.row("roofline_model", "ops", "operation", name)
    if roof is not None and roof.roofline_efficiency_frac > 0:
        reached = roof.roofline_efficiency_frac
        text = f"{percent(reached)} of its roof ({roof.bound_by}): "
        text += f"{time_words(roof.avg_time_us * min(reached, 1.0) / 1e3)} a run at the roof "
        text += f"instead of {time_words(roof.avg_time_us / 1e3)}."
        link = AnswerLink("Roofline", "roofline_model", "ops", (roof.operation,))
        return Answer(question, text, (link,))
    kind = thing.op.type if thing.op is not None else ""
    cost = thing.row("model_flops", "ops", "op", kind)
    if cost is not None and cost.possible_us > 0 and cost.calls:
        text = f"{time_words(cost.possible_us / 1e3)} per call instead of "
        text += f"{time_words(cost.avg_time_us / 1e3)} ({cost.bound_by})."
        return Answer(question, text, (AnswerLink("Its cost", "model_flops", "ops", (cost.op,)),))
    reached = next((row.roof_frac for row in thing.work[1] if row.roof_frac > 0), None)
    if reached is not None:
        return Answer(question, f"{percent(reached)} of its roof, while its costs are known.")
    return Answer(question, "Its FLOP and bytes were not recorded.")


def _memory(thing: _Thing) -> Answer:
    question = "Memory"
    own, rows = thing.work
    held = next((row.peak_bytes for row in rows if row.peak_bytes >= 0), None)
    name = thing.op.operation if thing.op is not None else ""
    blocks = thing.blocks(thing.name, name)
    if blocks and not held:
        held = sum(block.allocation_bytes for block in blocks)
    if held:
        whose = "Its op holds " if own == "kernel" and blocks else ""
        text = f"{whose}{size_words(held)} at the peak{_held(blocks)}."
        names = tuple(dict.fromkeys(block.op_name for block in blocks))
        return Answer(
            question, text, (AnswerLink("At the peak", "memory_profile", "breakdown", names),)
        )
    buffer = thing.row("memory_viewer", "buffers", "instruction")
    if buffer is not None:
        span = f"from instruction {buffer.first_step} to {buffer.last_step} of its program"
        span = span if buffer.first_step >= 0 else "all along"
        text = f"A buffer of {size_words(buffer.size_bytes)}, in use {span}."
        link = AnswerLink("Its buffer", "memory_viewer", "buffers", (buffer.instruction,))
        return Answer(question, text, (link,))
    if thing.session.available("memory_profile") is not None:
        return Answer(question, "Allocations were not recorded.")
    if own == "kernel" and len(thing.kernel_ops) > 1:
        link = _in_work("Its ops", "op", within=f"kernel={thing.name}")
        return Answer(question, "Ops hold memory, and several run this kernel.", (link,))
    if rows and held is None:
        return Answer(question, f"Allocations name no {own}.")
    return Answer(question, "It holds nothing at the peak.")


def _held(blocks: Sequence[Any]) -> str:
    """Return from when to when blocks are held, as far as it is known."""
    begins = [block.first_ms for block in blocks if _is_known(block.first_ms)]
    if not begins:
        return ""
    ends = [block.freed_ms for block in blocks]
    until = f"until {time_words(max(ends))}" if all(map(_is_known, ends)) else "and never freed"
    return f", held from {time_words(min(begins))} {until}"


def _is_known(time_ms: float | None) -> bool:
    return time_ms is not None and isfinite(time_ms)


# Tables of a comparison, their columns of names, and the kind of their rows.
_CHANGES: Final = (
    ("parts", "name", "op"),
    ("kernels", "name", "kernel"),
    ("modules", "name", "module"),
    ("lines", "function", "function"),
)


def compared(found: Comparison, names: Sequence[str]) -> Answer:
    """Return how a thing differs from the other run.

    Args:
        found: The comparison.
        names: Names of the thing, the most exact first.
    """
    other = found.baseline.name
    link = AnswerLink(f"Compare with {other}", "compare")
    if any(row.property == "devices" and row.status == "differs" for row in found.parity.records()):
        return Answer("Compared", f"The run before, {other}, used other hardware.", (link,))
    for name in names:
        for table, column, kind in _CHANGES:
            rows = getattr(found, table).records()
            row = next((row for row in rows if name and getattr(row, column) == name), None)
            if row is not None:
                text = f"{time_change(row.delta_ms)} per step against {other}: "
                text += f"{time_words(row.before_ms)} before, {time_words(row.after_ms)} now."
                return Answer(
                    "Compared", text, (AnswerLink(f"Its {kind}", "compare", table, (name,)),)
                )
    return Answer("Compared", f"No difference from {other} is listed for it.", (link,))


def names_of(session: Session, name: str) -> tuple[str, ...]:
    """Return the names by which a comparison may list a thing: its own, and its op's."""
    op = _Thing(session, name, "", 0).op
    return (name,) if op is None else (name, op.operation, op.type)


__all__ = [
    "About",
    "Answer",
    "AnswerLink",
    "about",
    "about_step",
    "compared",
    "names_of",
    "source_lines",
]
