"""Modules: the tree of a PyTorch model with what each part costs, forward and backward."""

from __future__ import annotations

from math import nan
from typing import Annotated, Any, Final

from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Result, Row, Table, ms
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import has_device_events
from stepscope.tables.ops import module_tree as facts


class ModuleRow(Row):
    """One module where it is called; times include the modules that it calls."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    path: Annotated[
        str,
        Column("Path", kind="name", hidden=True, help="Modules from the outermost to this one."),
    ]
    depth: Annotated[int, Column("Depth", kind="count", hidden=True)]
    module: Annotated[str, Column("Module", kind="name", help="Class and number, by first call.")]
    calls: Annotated[int, Column("Calls", kind="count")]
    host_ms: Annotated[float, Column("Host", unit="ms", kind="time", help="Time of its calls.")]
    device_ms: Annotated[
        float, Column("Device", unit="ms", kind="time", help="Time of its kernels, in all phases.")
    ]
    device_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the time of all kernels.")
    ]
    forward_ms: Annotated[float, Column("Forward", unit="ms", kind="time")]
    backward_ms: Annotated[
        float,
        Column(
            "Backward",
            unit="ms",
            kind="time",
            help="Kernels of its gradients, matched by autograd's sequence number.",
        ),
    ]
    recomputed_ms: Annotated[
        float,
        Column(
            "Recomputed",
            unit="ms",
            kind="time",
            help="Forward work that runs again in the backward pass.",
        ),
    ]
    self_ms: Annotated[
        float, Column("Self", unit="ms", kind="time", help="Device time without child modules.")
    ]
    kernels: Annotated[int, Column("Kernels", kind="count")]


@dataclass(frozen=True, kw_only=True)
class ModuleTree(Result):
    """The modules of a PyTorch model as a tree, with their time on host and device.

    Attributes:
        modules: Modules in order of their first calls, each before its children.
        outside_ms: Time of kernels launched outside of modules: optimizer, loss, collectives.
    """

    tool = "module_tree"
    modules: Table[ModuleRow]
    outside_ms: float


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


def modules(profile: Profile, options: Options = Options()) -> ModuleTree:
    """The modules of all hosts."""
    trees = [(host.name, facts.module_tree(host)) for host in profile.hosts]
    whole = sum(int(tree.device_ps.sum()) + tree.outside_ps for _, tree in trees)
    rows = [row for host, tree in trees for row in _rows(host, tree, whole)]
    has_devices = any(map(has_device_events, profile.hosts))
    if not has_devices:
        rows = [row | _NOT_RECORDED for row in rows]
    return ModuleTree(
        modules=Table.from_rows(ModuleRow, rows),
        outside_ms=ms(sum(tree.outside_ps for _, tree in trees)) if has_devices else nan,
    )


#: What only devices tell.
_NOT_RECORDED: Final = {
    "device_ms": nan,
    "device_frac": nan,
    "forward_ms": nan,
    "backward_ms": nan,
    "recomputed_ms": nan,
    "self_ms": nan,
    "kernels": None,
}


def _rows(host: str, tree: facts.ModuleTable, whole_ps: int) -> list[dict[str, Any]]:
    """The rows of a tree, each module before those it calls."""
    phases = [tree.with_children(own).tolist() for own in tree.device_ps]
    kernels = tree.with_children(tree.kernels).tolist()
    own = tree.device_ps.sum(axis=0).tolist()
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(row)
    found: list[dict[str, Any]] = []
    todo = [(row, 0, "") for row in reversed(children.get(-1, []))]
    while todo:
        row, depth, above = todo.pop()
        path = f"{above}/{tree.names[row]}" if above else tree.names[row]
        device = sum(phase[row] for phase in phases)
        found.append(
            {
                "host": host,
                "path": path,
                "depth": depth,
                "module": "\u2003" * min(depth, 40) + tree.names[row],
                "calls": int(tree.calls[row]),
                "host_ms": ms(int(tree.host_ps[row])),
                "device_ms": ms(device),
                "device_frac": device / whole_ps if whole_ps else 0.0,
                "forward_ms": ms(phases[0][row]),
                "backward_ms": ms(phases[1][row]),
                "recomputed_ms": ms(phases[2][row]),
                "self_ms": ms(own[row]),
                "kernels": kernels[row],
            }
        )
        todo += [(child, depth + 1, path) for child in reversed(children.get(row, []))]
    return found


TOOL = Tool(
    id="module_tree",
    short="modules",
    title="Modules",
    tab="Table",
    run=modules,
    options=Options,
    result=ModuleTree,
    times_of=("recording",),
)
