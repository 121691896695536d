"""Op profile: the device's time as a tree, with the share of its peak each part reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan, nan
from typing import Annotated, Any, Final, Literal

import numpy as np

from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, us
from stepscope.tables.core.profile import Profile
from stepscope.tables.hlo.category import NO_WORK, category
from stepscope.tables.hlo.cost import CostAnalysis
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.text import expression
from stepscope.tables.ops.device_peaks import Peaks, active_peaks
from stepscope.tables.ops.hlo_ops import UNATTRIBUTED, HloOp
from stepscope.tables.ops.hlo_totals import COST_FIELDS
from stepscope.tables.ops.op_tree import OUTSIDE, Node, op_tree
from stepscope.tables.ops.roofline import Bound, OpRates, rates
from stepscope.tables.steps.time_base import base_of, mean_steps
from stepscope.tables.sums.hlo_ops import profile_totals

_PROGRAM_NUMBER: Final = re.compile(r"\(\d+\)$", re.ASCII)


class NodeRow(Row):
    """One node of the tree; rows come in reading order, parents first."""

    id: Annotated[int, Column("Id", kind="rank", hidden=True)]
    parent: Annotated[int, Column("Parent", kind="rank", hidden=True, help="-1 for the root.")]
    depth: Annotated[int, Column("Depth", kind="count", hidden=True)]
    name: Annotated[str, Column("Name", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category", hidden=True)]
    category: Annotated[str, Column("Category", kind="category")]
    time_us: Annotated[
        float, Column("Time", unit="µs", kind="time", help="Self time of all ops below this node.")
    ]
    time_frac: Annotated[
        float,
        Column(
            "Share",
            unit="%",
            kind="ratio",
            help="Share of the root: idle time plus the time of all ops, overlapping or not.",
        ),
    ]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    utilisation_frac: Annotated[
        float,
        Column(
            "FLOP utilisation",
            unit="%",
            kind="ratio",
            help="FLOP rate ÷ peak, at most 1; empty if either is unknown.",
        ),
    ]
    uncapped_utilisation_frac: Annotated[
        float, Column("FLOP rate / peak", unit="%", kind="ratio", hidden=True)
    ]
    bound_by: Annotated[Bound, Column("Limited by", kind="category")]
    roofline_efficiency_frac: Annotated[
        float,
        Column(
            "Utilisation",
            unit="%",
            kind="ratio",
            help="Share of its limit: a memory, or the FLOP peak of its type.",
        ),
    ]
    wasted_us: Annotated[
        float,
        Column(
            "Wasted time",
            unit="µs",
            kind="time",
            help="Time beyond that needed for its FLOPs at the device's peak.",
        ),
    ]
    wasted_frac: Annotated[
        float, Column("Wasted", unit="%", kind="ratio", help="Wasted time as a share of the root.")
    ]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    flops: Annotated[float, Column("FLOPs", kind="number", hidden=True)]
    model_flops: Annotated[float, Column("Model FLOPs", kind="number", hidden=True)]
    accessed_bytes: Annotated[float, Column("Bytes accessed", unit="B", kind="bytes", hidden=True)]
    hbm_bw_gbps: Annotated[float, Column("HBM bandwidth", unit="GB/s", kind="rate")]
    hbm_bw_frac: Annotated[float, Column("HBM bandwidth / peak", unit="%", kind="ratio")]
    on_chip_read_bw_frac: Annotated[
        float, Column("On-chip read / peak", unit="%", kind="ratio", hidden=True)
    ]
    on_chip_write_bw_frac: Annotated[
        float, Column("On-chip write / peak", unit="%", kind="ratio", hidden=True)
    ]
    children: Annotated[int, Column("Children", kind="count", hidden=True)]
    program: Annotated[str, Column("Program", kind="category", hidden=True)]
    framework_op: Annotated[str, Column("Framework op", kind="name", hidden=True)]
    expression: Annotated[str, Column("HLO text", kind="text", hidden=True)]
    source: Annotated[str, Column("Source", kind="text", hidden=True)]
    source_stack: Annotated[str, Column("Source stack", kind="text", hidden=True)]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of op_profile."""

    group_by: Annotated[
        Literal["program", "category", "provenance"],
        Help("First level: programs, kinds of op, or the scopes of the model."),
    ] = "program"
    include_idle: Annotated[bool, Help("Add the time in which the devices ran nothing.")] = True
    show_fused: Annotated[
        bool, Help("Show the instructions inside of fusions; no time is known for them.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class OpProfile(Result):
    """Where the device's time goes as a tree, and how well each part uses the device.

    Attributes:
        headline: Largest consumer of time, in one sentence.
        nodes: The tree: parents first, children by time.
        total_time_us: Time of the root.
        idle_time_us: Time without any op, summed over devices, whether or not the tree counts it.
        idle_frac: Idle share of ``idle_of``.
        idle_of: Base of ``idle_frac``: the steps, the recording, or the time from a device's first
            op to its last.
        device_type: Hardware that ran the ops.
        peak_gflops: Peak FLOP rate, the base of utilisation; None if unknown.
        peak_hbm_bw_gbps: Peak memory bandwidth, the base of utilisation; None if unknown.
    """

    tool = "op_profile"
    headline: str
    nodes: Table[NodeRow]
    total_time_us: float
    idle_time_us: float
    idle_frac: float
    idle_of: str
    device_type: str
    peak_gflops: float
    peak_hbm_bw_gbps: float


@dataclass(frozen=True, slots=True)
class _Placed:
    node: Node
    parent: int
    depth: int


def op_profile(profile: Profile, options: Options = Options()) -> OpProfile:
    """The tree of the profile's device-level ops."""
    totals = profile_totals(profile)
    root = op_tree(totals, options.group_by, include_idle=options.include_idle)
    if options.show_fused:
        _add_fused(profile, root)
    active = active_peaks(profile)
    idle_frac = totals.idle_ps / totals.wall_ps if totals.wall_ps else nan
    idle_of = _base(profile)
    return OpProfile(
        headline=_headline(
            root,
            idle_frac if options.include_idle else 0.0,
            idle_of,
            is_cpu=active.device_type == "CPU",
        ),
        nodes=Table(NodeRow, _columns(list(_placed(root)), root.time_ps, active.peaks)),
        total_time_us=us(root.time_ps),
        idle_time_us=us(totals.idle_ps),
        idle_frac=idle_frac,
        idle_of=idle_of,
        device_type=active.device_type,
        peak_gflops=active.peaks.flops / 1e9,
        peak_hbm_bw_gbps=active.peaks.hbm_bytes / 1e9,
    )


def _base(profile: Profile) -> str:
    """What the idle time is a share of."""
    if mean_steps(profile) is None:
        return "the time from first to last op"
    return "the recording" if base_of(profile, "recording") == "recording" else "the step"


def _headline(root: Node, idle_frac: float, idle_of: str, *, is_cpu: bool) -> str:
    first = _largest(root)
    # That XLA did not compile it says little; its largest category says more.
    if first is not None and first.name == OUTSIDE:
        first = _largest(first) or first
    if first is None or not root.time_ps:
        return "No op ran on a device."
    busy_frac = first.time_ps / root.time_ps
    share = share_words(busy_frac, 1)
    idle = f"{share_words(idle_frac, 1)} of {idle_of}"
    if not idle_frac > 0:
        return f"{share} of the time goes to {_said(first)}."
    if idle_frac > busy_frac:
        who = "No op runs" if is_cpu else "Devices are idle"
        return f"{who} for {idle}; {share} goes to {_said(first)}."
    who = "no op runs" if is_cpu else "devices are idle"
    return f"{share} of the time goes to {_said(first)}; {who} for {idle}."


def _largest(node: Node) -> Node | None:
    ran = [child for child in node.children if child.kind != "idle"]
    return max(ran, key=lambda child: child.time_ps, default=None)


def _said(node: Node) -> str:
    """A node's name for people: a program's without its number, which is a hash on TPUs."""
    if node.name == UNATTRIBUTED:
        return "kernels of unknown ops"
    return _PROGRAM_NUMBER.sub("", node.name) if node.kind == "program" else node.name


def _placed(root: Node) -> Iterator[_Placed]:
    """Depth first, parents before children; the position in this order is the node's id."""
    waiting, next_id = [(root, -1, 0)], 0
    while waiting:
        node, parent, depth = waiting.pop()
        yield _Placed(node, parent, depth)
        waiting += [(child, next_id, depth + 1) for child in reversed(node.children)]
        next_id += 1


def _columns(placed: list[_Placed], whole_ps: int, peaks: Peaks) -> dict[str, Any]:
    nodes = [one.node for one in placed]
    found = _rates(nodes, peaks)
    time_us = np.asarray([us(node.time_ps) for node in nodes])
    runs = np.asarray([node.runs for node in nodes])
    share = time_us / us(whole_ps) if whole_ps else np.zeros(len(nodes))
    # Idle time is wasted whatever the peak: its FLOPs are known to be none.
    is_idle = np.asarray([node.kind == "idle" for node in nodes], dtype=bool)
    used = np.where(is_idle, 0.0, np.minimum(found.flop_frac, 1.0))
    return {
        "id": np.arange(len(nodes)),
        "parent": [one.parent for one in placed],
        "depth": [one.depth for one in placed],
        "name": [node.name for node in nodes],
        "kind": [node.kind for node in nodes],
        "category": [_text(node, "category") for node in nodes],
        "time_us": time_us,
        "time_frac": share,
        "occurrences": runs,
        "avg_time_us": np.where(runs > 0, time_us / np.where(runs > 0, runs, 1), nan),
        "utilisation_frac": used,
        "uncapped_utilisation_frac": found.flop_frac,
        "bound_by": found.bound_by,
        "roofline_efficiency_frac": found.efficiency_frac,
        "wasted_us": time_us * (1 - used),
        "wasted_frac": share * (1 - used),
        "flop_rate_gflops": found.gflops,
        "flops": [node.costs[COST_FIELDS.index("flops")] for node in nodes],
        "model_flops": [node.costs[COST_FIELDS.index("model_flops")] for node in nodes],
        "accessed_bytes": [node.costs[COST_FIELDS.index("bytes")] for node in nodes],
        "hbm_bw_gbps": found.hbm_gbps,
        "hbm_bw_frac": found.hbm_frac,
        "on_chip_read_bw_frac": found.on_chip_read_frac,
        "on_chip_write_bw_frac": found.on_chip_write_frac,
        "children": [len(node.children) for node in nodes],
        **{
            name: [_text(node, name) for node in nodes]
            for name in ("program", "framework_op", "expression", "source", "source_stack")
        },
    }


def _text(node: Node, name: str) -> str:
    return str(getattr(node.op, name)) if node.op is not None else ""


def _rates(nodes: list[Node], peaks: Peaks) -> OpRates:
    costs = {
        name: np.asarray([node.costs[at] for node in nodes], dtype=np.float64)
        for at, name in enumerate(COST_FIELDS)
    }
    costs["bytes_accessed"] = costs.pop("bytes")
    time_ps = np.asarray([node.time_ps for node in nodes], dtype=np.int64)
    return rates(time_ps, peaks=peaks, **costs)


def _add_fused(profile: Profile, root: Node) -> None:
    """Give each fusion the instructions of its body, most FLOPs first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.op is not None and node.op.category.endswith(" fusion"):
            node.children = _fused(profile, node.op, node.runs)


def _fused(profile: Profile, op: HloOp, runs: float) -> list[Node]:
    for host in profile.hosts:
        module = hlo_modules(host).get(op.program_id)
        fusion = module.instructions.get(op.name) if module is not None else None
        if module is None or fusion is None:
            continue
        analysis = CostAnalysis(module)
        found = []
        for body in module.called(fusion):
            for one in body.instructions:
                if one.opcode in NO_WORK:
                    continue
                flops = analysis.of(one).flops * runs
                inner = HloOp(
                    op.program_id,
                    op.program,
                    one.name,
                    category(one),
                    expression(module, one),
                    one.op_name,
                    "",
                    one.source,
                    "",
                    op.core_type,
                    True,
                    False,
                )
                costs = [nan if isnan(flops) else flops] * 2 + [nan] * (len(COST_FIELDS) - 2)
                found.append(Node(one.name, "op", inner, 0, 0, costs))
        return sorted(found, key=lambda node: (-np.nan_to_num(node.costs[0]), node.name))
    return []


TOOL = Tool(
    id="op_profile",
    short="profile_tree",
    title="Op Profile",
    tab="Table",
    run=op_profile,
    options=Options,
    result=OpProfile,
    times_of=("recording", "step"),
)
