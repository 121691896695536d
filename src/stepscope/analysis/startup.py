"""Startup: where the time from a program's exec to its first and its steady step goes."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Annotated, Any, Final

from stepscope.formats.python_frames import short_path
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass, replace
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.start import GAP, Start, StartPart, start
from stepscope.tables.steps.markers import has_steps

_WORDS: Final = {
    "interpreter": "starting Python",
    "recorder": "starting Stepscope",
    "import": "importing {name}",
    "device": "initialising {name}",
    "tracing": "tracing {name}",
    "compilation": "compiling {name}",
    "autotuning": "autotuning ({name})",
    "reading": "reading in {name}",
    "look-up": "{name}",
    "processes": "waiting for another process in {name}",
    "network": "waiting for the network in {name}",
    "lock": "waiting for a lock in {name}",
    "sleep": "sleeping in {name}",
    "launched": "waiting in {name} for processes that it has started",
    "steps": "warm-up steps",
    "program": "running {name}",
    GAP: "unexplained waits in {name}",
}
_NAMED: Final = 3
_BACKSLASH: Final = "\\"
_LEAST_FRAC: Final = 0.05
# How a launcher's main thread waits for the processes that it has started.
_WAITS: Final = ("network", "lock", "processes", "sleep", "threads")
# Below this share of attributed time the account is not to be relied on.
_ATTRIBUTED_FRAC: Final = 0.98


class PhaseRow(Row):
    """All parts of a kind."""

    kind: Annotated[str, Column("Kind", kind="category")]
    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time", sort="desc")]
    frac: Annotated[float, Column("Share", unit="%", kind="ratio", help="Share of the start.")]
    cpu_ms: Annotated[
        float,
        Column("Processor", unit="ms", kind="time", help="Processor time of the main thread."),
    ]
    queue_ms: Annotated[
        float,
        Column("Queued", unit="ms", kind="time", help="Time in the queue for a processor."),
    ]
    wait_ms: Annotated[float, Column("Waiting", unit="ms", kind="time")]


class PartRow(Row):
    """One owner of time: each moment of the start has exactly one."""

    kind: Annotated[
        str,
        Column("Kind", kind="category", help="A gap is a wait whose reason is not known."),
    ]
    name: Annotated[str, Column("Name", kind="name", help="Package, function, file or host.")]
    what: Annotated[str, Column("What", kind="text", help="Kind and name in words.")]
    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    time_ms: Annotated[
        float,
        Column("Time", unit="ms", kind="time", sort="desc", help="Without parts within it."),
    ]
    frac: Annotated[float, Column("Share", unit="%", kind="ratio", help="Share of the start.")]
    cpu_ms: Annotated[
        float,
        Column("Processor", unit="ms", kind="time", help="Processor time of the main thread."),
    ]
    queue_ms: Annotated[
        float,
        Column("Queued", unit="ms", kind="time", help="Time in the queue for a processor."),
    ]
    wait_ms: Annotated[float, Column("Waiting", unit="ms", kind="time")]
    waits_for: Annotated[str, Column("Waits for", kind="category", help="Its longest wait.")]
    read_bytes: Annotated[
        float,
        Column("Read", unit="B", kind="bytes", help="Bytes that the process read meanwhile."),
    ]
    read_mbps: Annotated[float, Column("Read rate", unit="MB/s", kind="rate")]
    count: Annotated[
        int, Column("Count", kind="count", help="Imports, traces or calls; 0 if only sampled.")
    ]
    cache: Annotated[
        str, Column("Cache", kind="text", help="Hits and misses of a cache of compiled code.")
    ]
    place: Annotated[str, Column("Place", kind="name", help="Line of the program.")]


class ImportRow(Row):
    """The imports of one top-level package."""

    package: Annotated[str, Column("Package", kind="name")]
    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    self_ms: Annotated[
        float,
        Column("Self", unit="ms", kind="time", help="Without imports of other packages within."),
    ]
    total_ms: Annotated[float, Column("Total", unit="ms", kind="time", sort="desc")]
    frac: Annotated[float, Column("Share", unit="%", kind="ratio", help="Total by the start.")]
    place: Annotated[str, Column("Imported at", kind="name")]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


@dataclass(frozen=True, kw_only=True)
class Startup(Result):
    """Account of the time from exec to the first step and to steady steps.

    Attributes:
        headline: The answer in one sentence.
        until: End of the account: steady step, first step, or end of recording.
        step_source: Source of the steps; "" if no step was seen.
        first_step_ms: From exec to the end of the first step; NaN without one.
        steady_ms: From exec to the first steady step; NaN without one.
        start_ms: Length of the account; the parts sum to it.
        attributed_frac: Share of the account that is not a gap.
        phases: One row per kind of part.
        parts: All parts.
        imports: Imports by package.
    """

    tool = "startup"
    headline: str
    until: str
    step_source: str
    first_step_ms: float
    steady_ms: float
    start_ms: float
    attributed_frac: float
    phases: Table[PhaseRow]
    parts: Table[PartRow]
    imports: Table[ImportRow]


def startup(profile: Profile, options: Options = Options()) -> Startup:
    """Return the account; its figures are of the host that started last.

    A process without a step, where another one has them, is its launcher: it waits for that.
    """
    known = [(host, found) for host in profile.hosts if (found := start(host)) is not None]
    stepping = [found for _, found in known if found.first_step]
    if stepping or any(map(has_steps, profile.hosts)):
        known = [(host, one if one.first_step else _launcher(one)) for host, one in known]
    slowest = max(stepping or [one for _, one in known], key=lambda one: one.end - one.begin)
    begin, first, steady = slowest.begin, slowest.first_step, slowest.steady
    return Startup(
        headline=_headline(slowest),
        until="steady step" if first and steady and steady >= first[1] else slowest.until,
        step_source=slowest.step_source,
        first_step_ms=ms(first[1] - begin) if first else nan,
        steady_ms=ms(steady - begin) if steady is not None else nan,
        start_ms=ms(slowest.end - begin),
        attributed_frac=slowest.attributed,
        phases=_table(PhaseRow, [row for one in known for row in _phase_rows(*one)]),
        parts=_table(PartRow, [row for one in known for row in _part_rows(*one)]),
        imports=_table(ImportRow, [row for one in known for row in _import_rows(*one)]),
        diagnostics=tuple(_diagnostics(slowest)),
    )


def _launcher(found: Start) -> Start:
    return replace(
        found,
        parts=tuple(
            replace(part, kind="launched") if part.kind in _WAITS else part for part in found.parts
        ),
    )


def _headline(found: Start) -> str:
    whole = found.end - found.begin
    largest = [part for part in found.parts if part.time >= _LEAST_FRAC * whole][:_NAMED]
    causes = ", ".join(
        f"{_words(part)} {share_words(part.time / max(whole, 1))}" for part in largest
    )
    until = {
        "first step": "from exec to the first steady step"
        if found.steady is not None
        else "from exec to the end of the first step",
        "end of recording": "from exec to the end of the recorded start, without a step",
    }[found.until]
    return f"{time_words(ms(whole))} {until}: {causes or 'many small parts'}."


def _words(part: StartPart) -> str:
    return _WORDS.get(part.kind, "{name}").replace("{name}", part.name)


def _phase_rows(host: Host, found: Start) -> Iterator[dict[str, Any]]:
    by_kind: dict[str, list[StartPart]] = {}
    for part in found.parts:
        by_kind.setdefault(part.kind, []).append(part)
    for kind, parts in by_kind.items():
        time = sum(part.time for part in parts)
        cpu, queue = sum(part.cpu for part in parts), sum(part.queue for part in parts)
        yield {
            "kind": kind,
            "host": host.name,
            "time_ms": ms(time),
            "frac": time / (found.end - found.begin),
            "cpu_ms": cpu / 1e9,
            "queue_ms": queue / 1e9,
            "wait_ms": _waits_ms(parts),
        }


def _part_rows(host: Host, found: Start) -> Iterator[dict[str, Any]]:
    for part in found.parts:
        seconds = part.time / 1e12
        yield {
            "kind": part.kind,
            "name": part.name,
            "what": _words(part),
            "host": host.name,
            "time_ms": ms(part.time),
            "frac": part.time / (found.end - found.begin),
            "cpu_ms": part.cpu / 1e9,
            "queue_ms": part.queue / 1e9,
            "wait_ms": _waits_ms([part]),
            "waits_for": part.waits_for,
            "read_bytes": part.bytes or nan,
            "read_mbps": part.bytes / 1e6 / seconds if part.bytes and seconds else nan,
            "count": part.count,
            "cache": _cache(part),
            "place": _short(part.place),
        }


def _import_rows(host: Host, found: Start) -> Iterator[dict[str, Any]]:
    own = {part.name: part for part in found.parts if part.kind == "import"}
    for package, total in found.package_ps.items():
        part = own.get(package)
        yield {
            "package": package,
            "host": host.name,
            "self_ms": ms(part.time) if part else 0.0,
            "total_ms": ms(total),
            "frac": total / (found.end - found.begin),
            "place": _short(part.place) if part else "",
        }


def _waits_ms(parts: list[StartPart]) -> float:
    return sum(sum((part.waits or {}).values()) for part in parts) / 1e9


def _cache(part: StartPart) -> str:
    counts = ((part.hits, "hit"), (part.misses, "miss"))
    return ", ".join(f"{count} {word}" for count, word in counts if count)


def _short(place: str) -> str:
    """The last folder, file and line of a place."""
    file, mark, line = place.rpartition(":")
    return f"{short_path(file.replace(_BACKSLASH, '/'))}{mark}{line}"


def _table(schema: Any, rows: list[dict[str, Any]]) -> Table[Any]:
    sort = next(name for name, (_, column) in columns_of(schema).items() if column.sort)
    return Table.from_rows(schema, sorted(rows, key=lambda row: -row[sort]))


def _diagnostics(found: Start) -> Iterator[Diagnostic]:
    if found.first_step is None:
        text = (
            "No step was seen: the account ends with the recording. Mark steps, or record longer."
        )
        yield Diagnostic("no-first-step", "info", text)
    if found.attributed < _ATTRIBUTED_FRAC:
        text = (
            f"{share_words(1 - found.attributed)} of the start are gaps: the main thread "
            "waited for something that the system does not report."
        )
        yield Diagnostic("start-gaps", "info", text)


TOOL = Tool(
    id="startup",
    short="start",
    title="Startup",
    tab="Steps",
    run=startup,
    options=Options,
    result=Startup,
)
