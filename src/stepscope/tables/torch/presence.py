"""Whether PyTorch compiled, replayed graphs or noted shapes: found without the tables of these."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns.space import Bool
from stepscope.schema import names
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import (
    Stretch,
    any_event,
    any_stretch,
    entries_shaped,
    stat_rows,
)
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_lines
from stepscope.tables.host.events import host_names, host_thread_rows
from stepscope.tables.torch.launches import is_graph_launch

#: Names of compiled regions, of functions without a number, and of what compiles.
REGION: Final = re.compile(r"Torch-Compiled Region: (\d+/\d+)")
# Before regions had numbers, and wherever they are differentiated.
UNNUMBERED: Final = re.compile(r"CompiledFunction(Backward)?\d*")
COMPILE: Final = re.compile(
    r"_compile\.compile_inner|entire_frame_compile$|"
    rf"{re.escape(names.PYTHON_CALL_MARK)}.*torch/_dynamo/convert_frame\.py:\d+ compile_inner$"
)
#: Kernels that Inductor made: their kind, and what it fused.
INDUCTOR: Final = re.compile(
    r"triton_(poi|red|per|tem|mm|for|split_scan)_(?:fused_)?(.*?)(?:_\d+)?$"
)


def has_regions(host: Host) -> bool:
    """Whether a compiled region ran, or one was compiled."""
    shown = host.space.event_metadata.display_name
    is_shown = np.asarray([name != "" and _is_region(name) for name in shown], dtype=bool)
    return any_event(host, threads(host), entries=is_shown | entries_shaped(host, _is_region))


def threads(host: Host) -> list[int]:
    """Rows in ``Space.lines`` of threads and of Python's calls."""
    kinds = planes(host).plane_kind
    lines = enumerate(host.space.lines)
    return [row for row, line in lines if kinds[line.plane] in (PlaneKind.HOST, PlaneKind.PYTHON)]


def _is_region(text: str) -> bool:
    return bool(REGION.match(text) or UNNUMBERED.fullmatch(text) or COMPILE.match(text))


def has_triton_kernels(host: Host) -> bool:
    """Whether a kernel ran that Inductor named."""
    return any_event(host, device_lines(host), entries=inductor_entries(host))


def inductor_entries(host: Host) -> Bool:
    """Rows of ``Space.event_metadata`` that are kernels of Inductor's."""
    return entries_shaped(host, lambda name: bool(INDUCTOR.match(name)))


def has_replays(host: Host) -> bool:
    """Whether a graph was launched."""
    launches = entries_shaped(host, is_graph_launch)
    if not any_event(host, host_thread_rows(host).tolist(), entries=launches):
        return False
    from stepscope.tables.torch.graph_replays import replays

    return len(replays(host)) > 0


def has_shapes(host: Host) -> bool:
    """Whether an op of PyTorch's was recorded with the shapes of its inputs."""
    stats = stat_rows(host)
    if names.SHAPE not in stats or names.ARGUMENTS not in stats:
        return False
    of_op = host_names(host).op >= 0

    def is_shaped(stretch: Stretch) -> bool:
        return bool((of_op[stretch.entry] & stretch.has(names.SHAPE) & stretch.timed).any())

    return any_stretch(host, host_thread_rows(host).tolist(), is_shaped)


def has_shaped_calls(host: Host) -> bool:
    """Whether such an op launched something on a device; asks for all calls if any has shapes."""
    if not has_shapes(host):
        return False
    from stepscope.tables.torch.op_calls import op_calls

    return any(one.dims for one in op_calls(host).signatures)
