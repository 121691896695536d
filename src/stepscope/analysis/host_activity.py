"""Host activity: what the program does in a step beside computing, function by function."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Annotated, Any

import numpy as np

from stepscope.panels import Figure, Headline, OwnChart, TableView
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Result, Row, Table, columns_of, ms
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.between_steps import BetweenSteps, between_steps
from stepscope.tables.account.owners import CallSite, site_of
from stepscope.tables.core.presence import entries_starting
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.time_spans import covered
from stepscope.tables.in_steps.host_activity import (
    GARBAGE,
    FunctionCalls,
    HostTime,
    SideWork,
    eager_ops,
    function_calls,
    host_time,
    side_work,
)
from stepscope.tables.in_steps.optimizer_updates import (
    OptimizerUpdates,
    after_update_frac,
    optimizer_updates,
)
from stepscope.tables.in_steps.python_calls import PythonFunction, python_functions
from stepscope.tables.in_steps.recomputed import Recomputed, recomputed
from stepscope.tables.steps.found import WINDOW


class CallRow(Row):
    """One function that the framework compiles: a tf.function, or a jit of JAX."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    function: Annotated[str, Column("Function", kind="name")]
    calls: Annotated[
        float, Column("Calls per step", kind="number", whole_label="Calls in the recording")
    ]
    built: Annotated[
        float,
        Column(
            "Built per step",
            kind="number",
            help="Calls that traced or compiled the function again.",
            whole_label="Built in the recording",
        ),
    ]
    eager: Annotated[
        float,
        Column(
            "Eager per step",
            kind="number",
            help="Calls run op by op.",
            whole_label="Eager in the recording",
        ),
    ]
    traces: Annotated[
        int, Column("Traces", kind="count", help="Number of concrete functions; 0 if not recorded.")
    ]
    time_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            help="Host time per step.",
            whole_help="In the recording.",
        ),
    ]
    build_ms: Annotated[
        float,
        Column(
            "Building",
            unit="ms",
            kind="time",
            sort="desc",
            help="Time per step of calls that built it while nothing computed.",
            whole_help="Time of calls that built it, in which nothing was computed.",
        ),
    ]
    differs: Annotated[
        str,
        Column(
            "Versions differ in",
            kind="category",
            help="Difference between its compiled versions: shapes, values or nothing.",
        ),
    ]
    differs_at: Annotated[
        str,
        Column("Of", kind="name", help="Arguments that differ, or the line that uses the value."),
    ]
    file: Annotated[str, Column("File", kind="name", hidden=True)]
    line: Annotated[int, Column("Line", kind="number", hidden=True)]


class SideRow(Row):
    """Work for the operator of the program and not for its result."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    kind: Annotated[str, Column("Kind", kind="category")]
    calls: Annotated[str, Column("Calls", kind="name")]
    per_step: Annotated[
        float, Column("Calls per step", kind="number", whole_label="Calls in the recording")
    ]
    steps_frac: Annotated[
        float,
        Column(
            "Steps with it",
            unit="%",
            kind="ratio",
            help="Share of steps in which it costs 1 % or more.",
        ),
    ]
    time_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Time per step in which no other op runs.",
            whole_help="In the recording, while no other op runs.",
        ),
    ]
    in_step_ms: Annotated[
        float,
        Column(
            "Time when it runs", unit="ms", kind="time", help="Mean of the steps that contain it."
        ),
    ]
    whole_ms: Annotated[
        float,
        Column(
            "Whole time",
            unit="ms",
            kind="time",
            help="Time per step, whether or not other work runs.",
            whole_help="In the recording, whatever else runs.",
        ),
    ]
    most_frac: Annotated[
        float,
        Column(
            "In one step", unit="%", kind="ratio", hidden=True, help="Share of the longest step."
        ),
    ]
    function: Annotated[
        str, Column("While", kind="name", help="Function of the program that it interrupts most.")
    ]
    file: Annotated[str, Column("File", kind="name", hidden=True)]
    line: Annotated[int, Column("Line", kind="number", hidden=True)]
    function_frac: Annotated[
        float,
        Column(
            "While it",
            unit="%",
            kind="ratio",
            hidden=True,
            help="Share of the time in that function.",
        ),
    ]


class OptimizerRow(Row):
    """The updates of one optimizer."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    optimizer: Annotated[str, Column("Optimizer", kind="name")]
    ops: Annotated[float, Column("Ops per step", kind="number", whole_label="Ops in the recording")]
    time_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Host time per step.",
            whole_help="In the recording, on the host.",
        ),
    ]
    short_ms: Annotated[
        float,
        Column(
            "In short ops",
            unit="ms",
            kind="time",
            help="Time per step in which only its ops below 100 µs run.",
            whole_help="In the recording, while none of its ops of more than 100 µs runs.",
        ),
    ]
    op_us: Annotated[float, Column("Median op", unit="µs", kind="time")]
    is_together: Annotated[
        bool,
        Column("In groups", kind="flag", help="Whether variables are updated together (foreach)."),
    ]


class PythonRow(Row):
    """One Python function on the step's thread, while nothing computed."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]
    calls: Annotated[
        float, Column("Calls per step", kind="number", whole_label="Calls in the recording")
    ]
    self_ms: Annotated[
        float,
        Column(
            "Self time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Time per step while nothing computes, libraries included.",
            whole_help="In the recording, while nothing computes; with the libraries it calls.",
        ),
    ]
    total_ms: Annotated[float, Column("Total time", unit="ms", kind="time")]
    step_frac: Annotated[
        float,
        Column(
            "Self share of step", unit="%", kind="ratio", whole_label="Self share of the recording"
        ),
    ]
    is_wait: Annotated[
        bool, Column("Waits", kind="flag", help="Whether its name is that of a wait.")
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """Host activity has no options."""


@dataclass(frozen=True, kw_only=True)
class HostActivity(Result):
    """What the host does in a step while nothing computes: building functions, printing, Python.

    Attributes:
        headline: Share of the step in which nothing computes, in one sentence.
        step_time_ms: Mean counted step, mean over the hosts that have steps.
        step_count: Counted steps.
        step_source: How steps were found; "window": there are none, and the recording counts as
            one.
        computing_ms: Time per step in which an op or a device runs.
        input_ms: Time per step in which the program waits for input and nothing computes.
        idle_ms: Rest of the step: ``computing_ms + input_ms + idle_ms = step_time_ms``.
        eager_ops: Ops dispatched one by one, per step.
        usual_eager_ops: Ops dispatched one by one in the median step; empty if unknown.
        calls: Functions that the framework compiles.
        side_work: Printing, summaries, checkpoints and callbacks.
        optimizers: Optimizers that update the variables; empty if none is named.
        python: Python functions; empty if no Python was recorded.
        after_update_frac: Share of marked steps after the last update of PyTorch's optimizer in
            them; empty where that is unknown.
        recomputed: What PyTorch's backward passes run of the forward pass again; None for nothing.
        between: What the loop does between its counted steps, on the host where that is most; None
            where there are too few steps to tell.
    """

    tool = "host_activity"
    headline: str
    step_time_ms: float
    step_count: int
    step_source: str
    computing_ms: float
    input_ms: float
    idle_ms: float
    eager_ops: float
    usual_eager_ops: float = nan
    calls: Table[CallRow]
    side_work: Table[SideRow]
    optimizers: Table[OptimizerRow]
    python: Table[PythonRow]
    after_update_frac: float = nan
    recomputed: Recomputed | None = None
    between: BetweenSteps | None = None


def host_activity(profile: Profile, options: Options = Options()) -> HostActivity:
    """Account for the counted steps of every host that has any."""
    found = [(host, time) for host in profile.hosts if (time := host_time(host)) is not None]
    in_steps = [one for one in found if not one[1].found.markers.is_window]
    found = in_steps or found
    length = [_mean_ms(time.end_ps - time.start_ps) for _host, time in found]
    computing = [_mean_ms(_computing_ps(time)) for _host, time in found]
    waiting = [_mean_ms(time.found.parts_ps["input"][time.found.kept]) for _host, time in found]
    idle = [
        max(whole - busy - wait, 0.0)
        for whole, busy, wait in zip(length, computing, waiting, strict=True)
    ]
    source = next((time.found.markers.source for _host, time in found), "none")
    return HostActivity(
        headline=_headline(_mean(length), _mean(waiting), _mean(idle), is_window=source == WINDOW),
        step_time_ms=_mean(length),
        step_count=min((len(time.start_ps) for _host, time in found), default=0),
        step_source=source,
        computing_ms=_mean(length) - _mean(waiting) - _mean(idle),
        input_ms=_mean(waiting),
        idle_ms=_mean(idle),
        eager_ops=_mean([float(eager_ops(host).mean()) for host, _time in found]),
        usual_eager_ops=_mean([float(np.median(eager_ops(host))) for host, _time in found]),
        calls=_table(
            CallRow,
            (_call(host, time, one) for host, time in found for one in function_calls(host)),
        ),
        side_work=_table(
            SideRow, (_side(host, one) for host, time in found for one in side_work(host))
        ),
        optimizers=_table(
            OptimizerRow,
            (_update(host, time, one) for host, time in found for one in optimizer_updates(host)),
        ),
        python=_table(
            PythonRow,
            (_python(host, time, one) for host, time in found for one in python_functions(host)),
        ),
        after_update_frac=_mean([after_update_frac(host) for host, _time in found]),
        recomputed=_recomputed([host for host, _time in found]),
        between=max(
            (told for host, _time in found if (told := between_steps(host)) is not None),
            key=lambda told: told.ms,
            default=None,
        ),
    )


def _recomputed(hosts: list[Host]) -> Recomputed | None:
    told = [one for host in hosts if (one := recomputed(host)) is not None]
    return max(told, key=lambda one: one.ms, default=None)


# Shares of the step from which waiting and idling are named.
_NAMED_FRAC = 0.005


def _headline(step_ms: float, input_ms: float, idle_ms: float, *, is_window: bool) -> str:
    """The account in one sentence; shares below half a percent are not worth the words."""
    if not step_ms > 0:
        return "How much of the step nothing computes is not known."
    each = (
        f"of the {time_words(step_ms)} recorded"
        if is_window
        else f"of each {time_words(step_ms)} step"
    )
    found = [
        f"{what} {time_words(time)} ({share_words(time / step_ms)})"
        for what, time in (("waits for input for", input_ms), ("does something else for", idle_ms))
        if time >= _NAMED_FRAC * step_ms
    ]
    if not found:
        return f"An op or a device computes all of the time {each}."
    return f"While nothing computes, the host {' and '.join(found)} {each}."


def _computing_ps(time: HostTime) -> Any:
    return covered(time.busy_start_ps, time.busy_end_ps, time.start_ps, time.end_ps)


def _mean_ms(per_step_ps: Any) -> float:
    return float(np.mean(per_step_ps)) / 1e9


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else nan


def _call(host: Host, time: HostTime, one: FunctionCalls) -> tuple[Any, ...]:
    count = len(time.start_ps)
    versions = None
    if one.built > 1 and not one.traces:
        from stepscope.tables.hlo.versions import versions_of

        versions = versions_of(host, one.function)
    place = None if versions is None else versions.place
    return (
        host.name,
        one.function,
        one.calls / count,
        one.built / count,
        one.eager / count,
        one.traces,
        ms(one.time_ps) / count,
        ms(one.build_ps) / count,
        "" if versions is None else versions.differs,
        "" if versions is None else versions.what,
        "" if place is None else place.file,
        None if place is None else place.line,
    )


def _side(host: Host, one: SideWork) -> tuple[Any, ...]:
    length = one.length_ps
    costs = one.step_ps >= 0.01 * length
    where = float(one.step_ps[costs].mean()) if costs.any() else 0.0
    return (
        host.name,
        one.kind,
        _few(one.calls),
        one.count / len(length),
        float(costs.mean()),
        _mean_ms(one.step_ps),
        ms(where),
        _mean_ms(one.whole_ps),
        _most_frac(one.step_ps),
        *_interrupted(host, one.kind),
    )


def _most_frac(per_step_ps: Any) -> float:
    whole = int(per_step_ps.sum())
    return int(per_step_ps.max()) / whole if whole else nan


def _interrupted(host: Host, kind: str) -> tuple[str, str, int, float]:
    """Function, file and line that collections of garbage interrupt most, and their share there."""
    found = collections_at(host) if kind == GARBAGE else None
    if found is None:
        return "", "", 0, nan
    site, share = found
    return site.function, site.file, site.line, share


def _few(calls: tuple[str, ...]) -> str:
    """The most frequent, and how many more there are."""
    more = [f"{len(calls) - 3} more"] if len(calls) > 4 else []
    return ", ".join([*calls[: 3 if more else 4], *more])


def _update(host: Host, time: HostTime, one: OptimizerUpdates) -> tuple[Any, ...]:
    count = len(time.start_ps)
    return (
        host.name,
        one.optimizer,
        one.ops / count,
        ms(one.time_ps) / count,
        ms(one.short_ps) / count,
        one.op_ps / 1e6,
        one.is_together,
    )


def _python(host: Host, time: HostTime, one: PythonFunction) -> tuple[Any, ...]:
    count = len(time.start_ps)
    whole = int((time.end_ps - time.start_ps).sum())
    return (
        host.name,
        one.function,
        one.file,
        one.line,
        one.calls / count,
        ms(one.self_ps) / count,
        ms(one.total_ps) / count,
        one.self_ps / whole if whole else nan,
        one.is_wait,
    )


def _table(schema: type[Row], rows: Iterable[tuple[Any, ...]]) -> Table[Any]:
    """Rows of all hosts, largest first by the schema's own order."""
    fields = list(columns_of(schema))
    by = next(at for at, (_type, column) in enumerate(columns_of(schema).values()) if column.sort)
    ordered = sorted(rows, key=lambda row: -row[by])
    return Table(schema, {name: [row[at] for row in ordered] for at, name in enumerate(fields)})


def collections_at(host: Host) -> tuple[CallSite, float] | None:
    """The program's function in which Python mostly begins to collect garbage, and its share.

    A collection begins when enough new objects were made: it mostly interrupts the function that
    makes them. None where that is unknown.
    """
    found = account(host)
    if found is None or found.frames is None or found.line < 0:
        return None
    space, calls = host.space, found.frames
    wanted = entries_starting(host, names.COLLECTION)
    thread = space.lines[int(space.lines_of(calls.rows[:1])[0])].id
    rows = np.concatenate(
        [
            np.arange(one.begin, one.end, dtype=np.int64)
            for one in space.lines
            if one.id == thread and space.planes[one.plane].name == names.GARBAGE_PLANE
        ]
        or [np.zeros(0, dtype=np.int64)]
    )
    rows = rows[wanted[space.events.metadata[rows]]]
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    steps = found.found
    inside = (start >= steps.start_ps[steps.kept][0]) & (start < steps.end_ps[steps.kept][-1])
    call = calls.moments.at((start + length // 2)[inside])
    own = np.where(call >= 0, calls.own[np.maximum(call, 0)], -1)
    time = length[inside].astype(np.float64)
    if not (own >= 0).any():
        return None
    functions = {row: (one.file, one.function) for row, one in calls.names.items()}
    spent: dict[tuple[str, str], float] = {}
    place: dict[tuple[str, str], int] = {}
    for at, within, much in zip(call.tolist(), own.tolist(), time.tolist(), strict=True):
        if within >= 0:
            key = functions[int(calls.name[within])]
            spent[key] = spent.get(key, 0.0) + much
            place.setdefault(key, int(calls.line[at]) if calls.line[at] >= 0 else within)
    most = max(spent, key=lambda key: spent[key])
    return site_of(calls, place[most]), spent[most] / float(time.sum())


TOOL = Tool(
    id="host_activity",
    short="host",
    title="Python and Host",
    tab="Python and host",
    run=host_activity,
    options=Options,
    result=HostActivity,
    times_of=("step",),
    steps_of="mean",
    page=(
        Headline("{headline}"),
        Figure("Step time", "{step_time_ms} | –", "mean of {step_count} counted"),
        Figure("Computing", "{computing_ms} | –", "per step, while an op or a device is running"),
        Figure("Waiting for input", "{input_ms} | –", "per step, while no op is running"),
        Figure("Neither", "{idle_ms} | –", "per step: Python, tracing, printing"),
        Figure("Eager ops", "{eager_ops} | –", "per step, launched one by one"),
        OwnChart("host_stacks"),
        TableView(
            "python",
            title="Python",
            note="functions on the step's thread while no op is running",
            noun=("function", "functions"),
            none="No Python call ran on the step's thread in the counted steps, or calls were not"
            " recorded: turn on the Python sampler (in PyTorch with_stack=True).",
        ),
        TableView(
            "side_work",
            note="logging, checkpoints and other work that the result does not need",
            noun=("kind", "kinds"),
            none="No printing, summaries, checkpoints or callbacks were recorded in a step.",
        ),
        TableView(
            "calls",
            title="Compiled functions",
            note="calls that retrace or recompile compute nothing in that time",
            noun=("function", "functions"),
            none="No compiled function was called in a step.",
        ),
    ),
)
