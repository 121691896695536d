"""Step account: every moment of the mean step, with the line, call, op or wait that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from math import nan
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import numpy as np

from stepscope.panels import Figure, Headline, Paragraph, TableView
from stepscope.quantities import share_words, time_words, written_out
from stepscope.records import dataclass, replace
from stepscope.registry import Tool
from stepscope.result import Column, Result, Row, Table, columns_of, ms
from stepscope.schema import names
from stepscope.tables.account.account import Account, account
from stepscope.tables.account.launch_sites import at_launches
from stepscope.tables.account.owners import Owner, outer_calls, owners
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.memory.allocations import (
    allocations,
    type_with_most_bytes,
)
from stepscope.tables.parts import grouping
from stepscope.tables.parts.gradients import (
    NeedlessGradients,
    repeated_gradients,
    unclaimed_gradients,
    unused_graph,
)
from stepscope.tables.parts.replay import WhatIf, what_if
from stepscope.tables.parts.series import Series, series, standard_error_ps
from stepscope.tables.parts.shares import (
    LAUNCHED,
    Share,
    below_input,
    input_frac,
    shares_of,
)
from stepscope.tables.parts.sites import leading, located, place_of, within_of
from stepscope.tables.recording.environment import environment, host_cores
from stepscope.tables.recording.recorder_costs import call_cost, costs_of_recording, input_cost_ps
from stepscope.tables.steps.attribution import HostSteps
from stepscope.tables.steps.session import taking_part
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from stepscope.tables.traits.op_families import PRODUCTS, family_of
from stepscope.verdicts.other_threads import LockHolderRow, RivalRow, thread_tables
from stepscope.verdicts.sentences import MANY, part_words

if TYPE_CHECKING:
    from stepscope.tables.traits.inside import LineWork

# Kinds of owners by what a call does with the time.
_HANDS_OVER = ("framework", "annotated")
_PYTHON = ("library", "python")
_OPS = ("op", "runtime", "launch")


class PartRow(Row):
    """One part of the step: what a single change would concern."""

    kind: Annotated[str, Column("Kind", kind="category")]
    name: Annotated[
        str, Column("Part", kind="name", help="A function, a library's call, a family of ops …")
    ]
    function: Annotated[str, Column("Function", kind="name", help="The program's own.")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number", help="Empty: not known.")]
    caller: Annotated[str, Column("Called from", kind="name")]
    within: Annotated[str, Column("Within", kind="name", help="Range and ops around most of it.")]
    op: Annotated[str, Column("Largest op", kind="name", hidden=True)]
    time_ms: Annotated[
        float, Column("Time", unit="ms", kind="time", sort="desc", help="Per mean step.")
    ]
    step_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    alone_ms: Annotated[
        float,
        Column(
            "Saves by itself",
            unit="ms",
            kind="time",
            help="The step gets shorter by this if the part takes no time and all else stays.",
        ),
    ]
    typical_ms: Annotated[
        float,
        Column(
            "In a typical step",
            unit="ms",
            kind="time",
            help="The same from the median of its shares: a burst in one step counts little.",
        ),
    ]
    most_ms: Annotated[
        float,
        Column(
            "Saves at most",
            unit="ms",
            kind="time",
            help="With all that can go with it: hand-over, cold caches, shared cores.",
        ),
    ]
    runs: Annotated[
        float,
        Column(
            "Runs",
            kind="number",
            help="Per step; an interruption divides a run.",
            whole_help="In the recording; an interruption divides a run.",
        ),
    ]
    on_device: Annotated[bool, Column("On a device", kind="flag")]


class FactRow(Row):
    """One fact of a part: a number, or a name."""

    part: Annotated[int, Column("Part", kind="number", help="Row of the table of parts.")]
    fact: Annotated[str, Column("Fact", kind="category")]
    number: Annotated[float, Column("Number", kind="number", help="1 of a fact that holds.")]
    text: Annotated[str, Column("Name", kind="name")]


class ShareRow(Row):
    """One thing that a part is made of, or one place that it comes from."""

    part: Annotated[int, Column("Part", kind="number", help="Row of the table of parts.")]
    role: Annotated[
        str, Column("Role", kind="category", help="Its relation to the part, or a trait.")
    ]
    name: Annotated[str, Column("Name", kind="name")]
    share_frac: Annotated[float, Column("Share of the part", unit="%", kind="ratio")]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]
    op: Annotated[str, Column("Largest op", kind="name", hidden=True)]


class AccountPart(PartRow):
    """A row of the table of parts, with its facts and what it is made of."""

    facts: Mapping[str, float | str]
    shares: Sequence[ShareRow]

    def number(self, fact: str) -> float:
        """Return a fact that is a number; NaN where it is unknown."""
        value = self.facts.get(fact, nan)
        return nan if isinstance(value, str) else value

    def text(self, fact: str) -> str:
        """Return a fact that is a name; "" where it is unknown."""
        value = self.facts.get(fact, "")
        return value if isinstance(value, str) else ""

    def holds(self, fact: str) -> bool:
        """Return whether a fact that holds or not is known to hold."""
        return self.facts.get(fact) == 1.0

    def has(self, role: str) -> bool:
        """Return whether a share of this role was found (``tables.parts.shares``)."""
        return any(share.role == role for share in self.shares)


class OwnerRow(Row):
    """One owner of time: what runs, and the line of the program it is called from."""

    kind: Annotated[str, Column("Kind", kind="category")]
    name: Annotated[str, Column("Owner", kind="name")]
    family: Annotated[str, Column("Family", kind="category")]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]
    caller: Annotated[str, Column("Called from", kind="name")]
    within: Annotated[str, Column("Within", kind="name", help="Range and ops around it.")]
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time", sort="desc")]
    step_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    stretches: Annotated[
        float,
        Column(
            "Runs",
            kind="number",
            help="Runs per step; an interruption begins another one.",
            whole_help="Runs in the recording; an interruption begins another one.",
        ),
    ]
    on_device: Annotated[bool, Column("On a device", kind="flag", hidden=True)]


class OuterCallRow(Row):
    """A function of the program, as it is called on one path, with all that it calls."""

    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number", help="Where it begins.")]
    caller: Annotated[str, Column("Called from", kind="name")]
    is_loop: Annotated[bool, Column("Around the steps", kind="flag", help="Runs through them.")]
    above: Annotated[
        int, Column("Above", kind="number", hidden=True, help="Row of its caller; none: -1.")
    ]
    time_ms: Annotated[
        float, Column("Time", unit="ms", kind="time", sort="desc", help="With all that it calls.")
    ]
    step_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    framework_ms: Annotated[
        float, Column("Handing over", unit="ms", kind="time", help="The framework's own work.")
    ]
    python_ms: Annotated[
        float, Column("Python", unit="ms", kind="time", help="The program's, and libraries'.")
    ]
    ops_ms: Annotated[
        float, Column("Ops", unit="ms", kind="time", help="With the runtime's work around them.")
    ]

    @property
    def eager_ms(self) -> float:
        """What it hands over and runs by itself, and Python's part in that."""
        return self.framework_ms + self.python_ms + self.ops_ms


@dataclass(frozen=True, slots=True)
class OpsGrowth:
    """Ops that the loop's thread runs: each step more than the one before.

    Attributes:
        first_ops, last_ops, mean_ops: Of the first and the last kept step, and of all.
        op: Of which there are most more.
    """

    first_ops: int
    last_ops: int
    mean_ops: float
    op: str


@dataclass(frozen=True, slots=True)
class Options:
    """The account has no options."""


@dataclass(frozen=True, kw_only=True)
class StepAccount(Result):
    """Where the step goes: every moment of it, by line, library call, op or wait.

    Attributes:
        headline: The largest part, in one sentence.
        step_time_ms: Mean kept step of the host with the longest ones, as recorded. Shares are of
            this less ``events_ms``.
        step_error_ms: Its standard error, from how far the steps differ; empty for a single one.
        tracing_ms: Per step, about what recording Python's calls took; empty where little.
        recording_ms: The same of events of tf.data's thread, for which the step may wait.
        step_count: Kept steps.
        is_window: Whether there are no steps, and the whole recording counts as one.
        busy_ms: Per step, how long a device is busy (the mean of those that run anything);
            without devices, how long anything computes beside the loop's thread.
        has_device: Whether any of that ran on a device.
        has_python: Whether what Python did was recorded.
        has_events: Whether the frameworks' own events of the loop's thread were.
        has_ops: Whether there is more among these than calls of a device's runtime.
        recorder_ms: Per step, the recorder's own work and the cost of events; no part of the
            program.
        events_ms: Per step, the cost of recording events, estimated from undisturbed steps: in the
            recorder's time, and in no other part. 0 if nothing was corrected.
        growth: Where each step runs more ops than the one before; None where it does not.
        unused_gradients: Forward ops whose gradients nothing computed; None where there are none.
        repeated_gradients: Gradients that a step computes again; None where there are none.
        unclaimed_gradients: Those of parameters that nothing updates; None where none are known.
        parts: What a person would change; their times sum to the step.
        facts: Further numbers and names of the parts.
        shares: What each part is made of and where it comes from, by role.
        owners: The owners of the parts; their times sum to the step, too.
        calls: The program's calls from the loop inwards, each with all that is below it.
        rivals: Other threads that run Python.
        lock_holders: Who has a lock while the loop, or the threads that it waits for, wait for it.
    """

    tool = "step_account"
    headline: str
    step_time_ms: float
    step_error_ms: float = nan
    tracing_ms: float = nan
    recording_ms: float = nan
    step_count: int
    is_window: bool
    busy_ms: float
    has_device: bool
    has_python: bool
    has_events: bool
    has_ops: bool
    recorder_ms: float
    events_ms: float = 0.0
    growth: OpsGrowth | None
    unused_gradients: NeedlessGradients | None
    repeated_gradients: NeedlessGradients | None
    unclaimed_gradients: NeedlessGradients | None
    parts: Table[PartRow]
    facts: Table[FactRow]
    shares: Table[ShareRow]
    owners: Table[OwnerRow]
    calls: Table[OuterCallRow]
    rivals: Table[RivalRow]
    lock_holders: Table[LockHolderRow]

    def as_recorded(self) -> StepAccount:
        """Return the account of recorded steps with the shares of undisturbed ones.

        Advice mixes its times with times that other tools publish, which are as recorded, and
        reduces savings to the undisturbed step at the end.
        """
        if not self.events_ms > 0:
            return self
        factor = self.step_time_ms / (self.step_time_ms - self.events_ms)
        own_ms = self.recorder_ms - self.events_ms
        return replace(
            self,
            events_ms=0.0,
            recorder_ms=own_ms * factor,
            parts=_scaled(self.parts, factor, own_ms / self.recorder_ms),
            owners=_scaled(self.owners, factor, own_ms / self.recorder_ms),
            calls=_scaled(self.calls, factor),
        )

    def part_list(self) -> list[AccountPart]:
        """Return the parts with their facts and shares."""
        facts: list[dict[str, float | str]] = [{} for _ in range(len(self.parts))]
        shares: list[list[ShareRow]] = [[] for _ in range(len(self.parts))]
        for fact in self.facts.records():
            facts[fact.part][fact.fact] = fact.text or fact.number
        for share in self.shares.records():
            shares[share.part].append(share)
        found = []
        for row, known, made in zip(self.parts.records(), facts, shares, strict=True):
            part = object.__new__(AccountPart)
            vars(part).update(vars(row), facts=known, shares=made)
            found.append(part)
        return found


R = TypeVar("R", bound=Row)


def _scaled(table: Table[R], factor: float, recorder_frac: float = 1.0) -> Table[R]:
    """Return a table with its times multiplied, those of the recorder reduced to this share."""
    columns = {name: table[name] for name in columns_of(table.schema)}
    if "kind" in columns:
        is_recorder = np.asarray(columns["kind"]) == "recorder"
        factors = factor * np.where(is_recorder, recorder_frac, 1.0)
    else:
        factors = np.full(len(table), factor)
    times = {
        name: np.asarray(values, dtype=np.float64) * factors
        for name, values in columns.items()
        if name.endswith("_ms")
    }
    return Table(table.schema, columns | times)


def step_account(profile: Profile, options: Options = Options()) -> StepAccount:
    """Account for the kept steps of the host whose steps take longest."""
    found = [(host, one) for host in taking_part(profile) if (one := account(host)) is not None]
    if not found:
        return _nothing()
    host, longest = max(found, key=lambda pair: _mean_ps(pair[1]))
    steps, grows = longest.found, longest.growth
    count = int(steps.kept.sum())
    listed = at_launches(host, longest, owners(longest))
    made = grouping.with_programs(host, grouping.parts(longest, listed))
    step_ps = _mean_ps(longest)
    played = what_if(longest, made, host_cores(host), listed)
    parts, facts, shares = _part_tables(host, longest, made, played)
    beside, held = thread_tables(host, longest)
    return StepAccount(
        diagnostics=costs_of_recording(host),
        headline=_headline(made, longest.net_step_ps, steps),
        step_time_ms=ms(step_ps),
        step_error_ms=ms(standard_error_ps(steps.duration_ps[steps.kept])),
        tracing_ms=nan if (traced := call_cost(host)) is None else ms(traced.cost_ps),
        recording_ms=ms(input_cost_ps(host)),
        step_count=count,
        is_window=steps.markers.is_window,
        busy_ms=ms(longest.busy_ps()) / count,
        has_device=longest.compute.has_device,
        has_python=longest.frames is not None,
        has_events=longest.native is not None,
        has_ops=longest.native is not None and longest.native.has_ops,
        recorder_ms=ms(sum(one.total_ps for one in made if one.kind == "recorder")) / count,
        events_ms=ms(longest.events_ps) / count,
        growth=None if grows is None else OpsGrowth(grows.first, grows.last, grows.mean, grows.op),
        unused_gradients=unused_graph(host, longest),
        repeated_gradients=repeated_gradients(host, longest),
        unclaimed_gradients=unclaimed_gradients(host, longest),
        parts=parts,
        facts=facts,
        shares=shares,
        owners=_owner_table(longest, listed),
        calls=_call_table(longest, listed),
        rivals=beside,
        lock_holders=held,
    )


def _nothing() -> StepAccount:
    return StepAccount(
        headline="No step and no event that lasts was recorded.",
        step_time_ms=nan, step_count=0, is_window=True, busy_ms=0.0, recorder_ms=0.0,
        has_device=False, has_python=False, has_events=False, has_ops=False,
        growth=None, unused_gradients=None, repeated_gradients=None, unclaimed_gradients=None,
        parts=Table.empty(PartRow), facts=Table.empty(FactRow),
        shares=Table.empty(ShareRow), owners=Table.empty(OwnerRow),
        calls=Table.empty(OuterCallRow), rivals=Table.empty(RivalRow),
        lock_holders=Table.empty(LockHolderRow),
    )  # fmt: skip


def _mean_ps(found: Account) -> float:
    return float(found.found.duration_ps[found.found.kept].mean())


def _headline(made: list[grouping.Part], step_ps: float, steps: HostSteps) -> str:
    shown = [one for one in made if one.kind != "recorder"]
    if not shown or not step_ps > 0:
        return "All detected steps have zero duration."
    total_ps = step_ps * int(steps.kept.sum())
    share = (first := shown[0]).total_ps / total_ps
    if steps.markers.is_window:
        whole = f"the {time_words(ms(total_ps))} recorded"
    else:
        whole = f"each {time_words(ms(step_ps))} step"
    takes = f"{part_words(first.kind, first.name)} take{'' if first.kind in MANY else 's'}"
    return written_out(f"{takes} {share_words(share)} of {whole}.")


_NOT_PLAYED = WhatIf(nan, nan, nan)


def _part_tables(
    host: Host, found: Account, made: list[grouping.Part], played: list[WhatIf]
) -> tuple[Table[PartRow], Table[FactRow], Table[ShareRow]]:
    whole_ps = np.sum([one.time_ps for one in made], axis=0) if made else None
    of_owner = below_input(host, found)
    rows, facts, shares = [], list[tuple[int, str, float | str]](), list[tuple[int, Share]]()
    replays = chain(played, repeat(_NOT_PLAYED))
    for number, (one, without) in enumerate(zip(made, replays, strict=False)):
        event = leading(host, one)
        own = list(shares_of(host, one, event))
        shares += [(number, share) for share in own]
        known = compiled_from(host, event)
        lines = grouping.lines_of(host, one)
        is_launched = any(share.role == LAUNCHED for share in own)
        place = place_of(one, located(one, is_launched=is_launched), known, lines)
        rows.append(_part_row(found, one, place) | _played(without))
        changes = series(one.time_ps, whole_ps)
        told = _facts(host, one, known, changes, input_frac(one, of_owner), lines, is_launched)
        facts += [(number, name, value) for name, value in told if value == value != ""]
    parts = Table(PartRow, {name: [row[name] for row in rows] for name in PartRow.__annotations__})
    return parts, _fact_table(facts), _share_table(shares)


def _fact_table(facts: list[tuple[int, str, float | str]]) -> Table[FactRow]:
    return Table(
        FactRow,
        {
            "part": [part for part, _name, _value in facts],
            "fact": [name for _part, name, _value in facts],
            "number": [nan if isinstance(value, str) else value for *_, value in facts],
            "text": [value if isinstance(value, str) else "" for *_, value in facts],
        },
    )


def _share_table(shares: list[tuple[int, Share]]) -> Table[ShareRow]:
    return Table(
        ShareRow,
        {
            "part": [number for number, _share in shares],
            "role": [share.role for _number, share in shares],
            "name": [share.name for _number, share in shares],
            "share_frac": [share.frac for _number, share in shares],
            "function": [share.site.function for _number, share in shares],
            "file": [share.site.file for _number, share in shares],
            "line": [share.site.line or None for _number, share in shares],
            "op": [share.op for _number, share in shares],
        },
    )


def _played(without: WhatIf) -> dict[str, object]:
    return {
        "alone_ms": ms(without.alone_ps),
        "typical_ms": ms(without.typical_ps),
        "most_ms": ms(without.most_ps),
    }


def _part_row(
    found: Account, one: grouping.Part, place: tuple[tuple[str, str, int], str]
) -> dict[str, object]:
    (function, file, line), caller = place
    count, step_ps, is_net = _whole(found)
    return {
        "kind": one.kind,
        "name": one.name,
        "function": function,
        "file": file,
        "line": line or None,
        "caller": caller,
        "within": within_of(one),
        "op": next((each.name for each in one.owners if each.kind == "op"), ""),
        "time_ms": ms(one.total_ps) / count,
        "step_frac": _frac(one, count, step_ps, is_net=is_net),
        "runs": sum(owner.stretches for owner in one.owners) / count,
        "on_device": one.first.on_device,
    }


def _whole(found: Account) -> tuple[int, float, bool]:
    """Return the number of kept steps, the step that shares are of, and whether it is corrected."""
    return int(found.found.kept.sum()), found.net_step_ps, found.events_ps > 0


def _frac(one: grouping.Part | Owner, count: int, step_ps: float, *, is_net: bool) -> float:
    """Return the share of a step; NaN of what lies outside of it."""
    frac = one.total_ps / count / step_ps if step_ps > 0 else nan
    return nan if one.kind == "recorder" and is_net else frac


def _facts(
    host: Host,
    one: grouping.Part,
    known: CompiledOp,
    changes: Series,
    input_frac: float,
    lines: list[LineWork],
    is_launched: bool,
) -> Iterator[tuple[str, float | str]]:
    """Yield facts by name; NaN and "" of those that are unknown or do not hold."""
    first = one.first
    is_source = bool(known.line or lines) or (first.is_inline and bool(first.line))
    yield "first", first.name
    yield "first_kind", first.kind
    yield "first_frac", first.total_ps / one.total_ps if one.total_ps else nan
    yield "steps_frac", changes.steps_frac
    yield "growth", changes.growth
    yield "is_burst", _flag(changes.every == changes.every)
    yield "every", changes.every
    yield "first_step_frac", changes.first_frac
    yield "input_frac", input_frac
    yield "data_type", known.data_type or _type_of_products(host, one)
    yield "is_launched", _flag(is_launched)
    yield "is_source", _flag(is_source and one.kind not in ("python", "library"))
    yield "is_program", _flag(grouping.is_program(one))


# XLA's names of the types that matter here, by NumPy's, TensorFlow's and those of Keras' policies.
_TYPE_NAMES: Final = {
    "float64": "f64",
    "double": "f64",
    "complex128": "c128",
    "float16": "f16",
    "half": "f16",
    "mixed_float16": "f16",
}


def _type_of_products(host: Host, one: grouping.Part) -> str:
    """Return the type that a part's products compute in, as XLA writes it; "" unknown or usual.

    Told by the memory that they allocate, else by the model's policy or parameters.
    """
    if one.kind != "op" or one.name not in PRODUCTS:
        return ""
    settings = environment(host).settings
    kind = settings.get(names.KERAS_POLICY, settings.get(names.PARAMETERS, ""))
    allocated = None if one.first.on_device else allocations(host)
    if allocated is not None:
        types = (type_with_most_bytes(allocated, {owner.name}) for owner in one.owners)
        kind = next(filter(None, types), kind)
    return _TYPE_NAMES.get(kind, "")


def _flag(holds: bool) -> float:
    return 1.0 if holds else nan


def _owner_table(account: Account, found: list[Owner]) -> Table[OwnerRow]:
    count, step_ps, is_net = _whole(account)
    return Table(
        OwnerRow,
        {
            "kind": [one.kind for one in found],
            "name": [one.said() for one in found],
            "family": [family_of(one.type) if one.type else "" for one in found],
            "function": [one.function for one in found],
            "file": [one.file for one in found],
            "line": [one.line or None for one in found],
            "caller": [one.caller for one in found],
            "within": [one.within for one in found],
            "time_ms": [ms(one.total_ps) / count for one in found],
            "step_frac": [_frac(one, count, step_ps, is_net=is_net) for one in found],
            "stretches": [one.stretches / count for one in found],
            "on_device": [one.on_device for one in found],
        },
    )


def _call_table(found: Account, listed: list[Owner]) -> Table[OuterCallRow]:
    """The calls with a good share of the step, those with most first."""
    calls = outer_calls(found, listed)
    count, step_ps, _is_net = _whole(found)
    spent = {
        name: [ms(sum(one.time_ps.get(kind, 0) for kind in kinds)) / count for one in calls]
        for name, kinds in (("framework", _HANDS_OVER), ("python", _PYTHON), ("ops", _OPS))
    }
    return Table(
        OuterCallRow,
        {
            "function": [one.site.function for one in calls],
            "file": [one.site.file for one in calls],
            "line": [one.site.line or None for one in calls],
            "caller": [one.site.caller for one in calls],
            "is_loop": [one.is_loop for one in calls],
            "above": [one.above for one in calls],
            "time_ms": [ms(one.total_ps) / count for one in calls],
            "step_frac": [one.total_ps / count / step_ps if step_ps > 0 else nan for one in calls],
            **{f"{name}_ms": times for name, times in spent.items()},
        },
    )


TOOL = Tool(
    id="step_account",
    short="account",
    title="Step Account",
    tab="Steps",
    run=step_account,
    options=Options,
    result=StepAccount,
    times_of=("step", "recording"),
    steps_of="longest",
    page=(
        Headline("{headline}"),
        Figure(
            "{is_window?}Recorded | Step time",
            "{step_time_ms} | –",
            "{is_window?}no steps were found | mean of {step_count} counted",
        ),
        Figure("Largest part", "{parts.step_frac} | –", "{parts.time_ms}"),
        Figure(
            "Busy",
            "{busy_ms} | –",
            "{has_device?}while a device computes | while anything computes",
        ),
        Figure(
            "Recorder",
            "{recorder_ms?}{recorder_ms}",
            "the recording's own work, no part of the program",
        ),
        Paragraph(
            "{growth?}Each step runs more ops than the one before: {growth.first_ops} in the"
            " first, {growth.last_ops} in the last[, most of them {growth.op}]."
        ),
        Paragraph(
            "{unused_gradients?}{unused_gradients.time_ms} of each step go to"
            " {unused_gradients.ops} forward ops whose gradients nothing computes"
            "[, at {unused_gradients.file}:{unused_gradients.line} {unused_gradients.function}]."
        ),
        Paragraph(
            "{repeated_gradients?}{repeated_gradients.time_ms} of each step go to gradients"
            " that the step computed before: {repeated_gradients.times} times in all"
            "[, at {repeated_gradients.file}:{repeated_gradients.line}"
            " {repeated_gradients.function}]."
        ),
        Paragraph(
            "{unclaimed_gradients?}{unclaimed_gradients.time_ms} of each step go to gradients"
            " that no optimizer reads: {unclaimed_gradients.updated} of"
            " {unclaimed_gradients.ops} parameters are updated."
        ),
        TableView(
            "parts",
            note="{is_window?}They sum to the recording; one change concerns one part."
            " | {times_of=recording?}They sum to the recording; one change concerns one part."
            " | They sum to the step; one change concerns one part.",
            noun=("part", "parts"),
            none="Nothing was recorded.",
            first=(
                "name",
                "kind",
                "time_ms",
                "step_frac",
                "file",
                "line",
                "function",
                "caller",
            ),
            main=True,
            constants=True,
        ),
        TableView(
            "owners",
            note="Pieces of the parts, each with the line that calls it.",
            noun=("owner", "owners"),
            none="Nothing was recorded.",
            first=(
                "name",
                "kind",
                "family",
                "time_ms",
                "step_frac",
                "file",
                "line",
                "function",
            ),
            main=True,
            constants=True,
        ),
        TableView(
            "calls",
            note="from the loop inwards, each with all that it calls",
            noun=("call", "calls"),
        ),
        TableView(
            "rivals",
            title="Other threads that run Python",
            note="concurrent with the loop",
            noun=("thread", "threads"),
        ),
        TableView(
            "lock_holders",
            title="Holders of the lock",
            note="for which the loop waits",
            noun=("place", "places"),
        ),
    ),
)
