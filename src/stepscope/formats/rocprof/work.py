"""Device events of ROCm's records: dispatches, copies, agents; whichever file they are in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from stepscope.columns import coded
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    DeviceWork,
    HostEvents,
    HostKind,
    LaunchedRecording,
    NamedValues,
    launch_numbers,
)
from stepscope.formats.xspace.plane_writer import Value
from stepscope.records import dataclass
from stepscope.schema import names as stats

#: What such files cannot hold.
LACKS: Final = (
    "Such files hold no ops of a framework beyond what the program marked with ROCTx, no programs "
    "of XLA and nothing of what a framework's allocator did."
)
DIMS: Final = (
    "grid_size_x",
    "grid_size_y",
    "grid_size_z",
    "workgroup_size_x",
    "workgroup_size_y",
    "workgroup_size_z",
)
_DIRECTIONS: Final = {
    ("CPU", "GPU"): "MemcpyH2D",
    ("GPU", "CPU"): "MemcpyD2H",
    ("CPU", "CPU"): "MemcpyH2H",
    ("GPU", "GPU"): "MemcpyD2D",
}
# Of the names that rocprof 1 and 2 have for copies and fills.
_COPY: Final = re.compile(r"Copy(Host|Device)To(Host|Device)")
_FILL: Final = re.compile(r"Fill|Memset")
# An agent's number that no GPU has.
_HOST: Final = 1 << 20
_FACTS: Final = (
    ("core_count", "cu_count", 1),
    ("clock_rate", "max_engine_clk_fcompute", 1000),  # MHz, kHz
    ("warp_size", "wave_front_size", 1),
    ("simds_per_core", "simd_per_cu", 1),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A processor or GPU.

    Attributes:
        kind: "CPU" or "GPU".
        number: Among those of its kind.
    """

    kind: str
    number: int


@dataclass(frozen=True, slots=True)
class RocmKernel:
    """A kernel: its name, and registers of each kind (-1 unknown)."""

    name: str
    vector_registers: int = -1
    accumulation_registers: int = -1
    scalar_registers: int = -1


def add_dispatches(
    recorded: LaunchedRecording,
    columns: Mapping[str, I64],
    agents: Mapping[int, Agent],
    kernels: Mapping[int, RocmKernel],
    process: int | I64,
) -> None:
    """Dispatches of a process, or of several.

    Args:
        recorded: Where to.
        columns: start, end, agent, kernel, queue, stream, launch, dispatch_id, group and private
            (segment sizes), ``DIMS``; -1 where unknown.
        agents: By the number in ``agent``.
        kernels: By the number in ``kernel``.
        process: Index of the process, or of that of each.
    """
    count = len(columns["start"])
    device = _devices(columns["agent"], agents)
    lookup = [kernels.get(one) for one in np.unique(columns["kernel"]).tolist()]
    used, inverse = coded(columns["kernel"])
    texts = [
        one.name if one and one.name else f"kernel {number}"
        for one, number in zip(lookup, used.tolist(), strict=True)
    ]
    codes = recorded.texts.codes(texts)
    named = [columns[one] for one in ("kernel", "private", "group", *DIMS)]
    details = recorded.text_column(stats.KERNEL_DETAILS, named, lambda one: _details(one, kernels))
    others = [
        NamedValues(name, columns[key], columns[key] >= 0)
        for name, key in (("queue_id", "queue"), ("dispatch_id", "dispatch_id"))
    ]
    for name, registers in (
        ("accum_vgpr_count", [one.accumulation_registers if one else NONE for one in lookup]),
        ("sgpr_count", [one.scalar_registers if one else NONE for one in lookup]),
    ):
        values = np.asarray(registers or [NONE], np.int64)[inverse if count else slice(0, 0)]
        others.append(NamedValues(name, values, values > 0))
    recorded.add(
        DeviceWork(
            "kernel",
            recorded.stream_rows(device, _streams(columns), np.full(count, process)),
            codes[inverse] if count else inverse,
            columns["start"],
            columns["end"] - columns["start"],
            launch_numbers(np.full(count, process), columns["launch"]),
            (details, *others),
        )
    )


def add_copies(
    recorded: LaunchedRecording,
    columns: Mapping[str, I64],
    agents: Mapping[int, Agent],
    process: int | I64,
) -> None:
    """Copies of a process or of several, on the device that has part in each.

    Args:
        recorded: Where to.
        columns: start, end, source, target (agents), size, queue, stream, launch; -1 unknown.
        agents: By number.
        process: Index of the process, or of that of each.
    """
    count = len(columns["start"])
    ends = (columns["source"], columns["target"])
    label = recorded.text_column("name", ends, lambda one: _direction(one, agents))
    source, target = (_devices(one, agents) for one in ends)
    # A copy to a device is its own; one from it to the host as well.
    device = np.where(target >= 0, target, source)
    columns_of_details = [*ends, columns["size"]]
    details = recorded.text_column(
        stats.MEMCPY_DETAILS, columns_of_details, lambda one: _copy_details(one, agents)
    )
    queue = NamedValues("queue_id", columns["queue"], columns["queue"] >= 0)
    recorded.add(
        DeviceWork(
            "copy",
            recorded.stream_rows(device, _streams(columns), np.full(count, process)),
            label.values,
            columns["start"],
            columns["end"] - columns["start"],
            launch_numbers(np.full(count, process), columns["launch"]),
            (details, queue),
        )
    )


def add_named_copies(
    recorded: LaunchedRecording,
    names: Sequence[str],
    columns: Mapping[str, I64],
    process: int | I64,
) -> None:
    """Copies and fills of a process whose names say what they are, and nothing their size.

    Args:
        recorded: Where to.
        names: "CopyHostToDevice", "FillBuffer" and so on; of others the direction is unknown.
        columns: start, end, agent (number of the GPU), queue, stream, launch; -1 unknown.
        process: Index of the process, or of that of each.
    """
    distinct = {name: code for code, name in enumerate(dict.fromkeys(names))}
    code = np.asarray([distinct[name] for name in names], np.int64)
    agent = columns["agent"]
    known = {one: Agent("GPU", one) for one in np.unique(agent).tolist() if one >= 0}
    known[_HOST] = Agent("CPU", 0)
    is_fill = np.asarray([bool(_FILL.search(one)) for one in distinct] or [False])[code]
    ends = [_named_end(distinct, code, agent, side) for side in (1, 2)]
    everything = {
        **columns,
        "source": ends[0],
        "target": ends[1],
        "size": np.full(len(code), NONE, np.int64),
    }
    for wanted, add in ((~is_fill, add_copies), (is_fill, _add_fills)):
        if wanted.any():
            some = {key: values[wanted] for key, values in everything.items()}
            add(recorded, some, known, np.broadcast_to(process, len(code))[wanted])


def _named_end(distinct: Iterable[str], code: I64, agent: I64, side: int) -> I64:
    """Source (1) or target (2) of copies; -1 where their names do not say."""
    found = [_COPY.search(one) for one in distinct]
    known = np.asarray([one is not None for one in found] or [False])[code]
    is_host = np.asarray([one is not None and one[side] == "Host" for one in found] or [False])
    return np.where(known, np.where(is_host[code], _HOST, agent), NONE)


def _add_fills(
    recorded: LaunchedRecording,
    columns: Mapping[str, I64],
    agents: Mapping[int, Agent],
    process: int | I64,
) -> None:
    count = len(columns["start"])
    device = _devices(columns["agent"], agents)
    recorded.add(
        DeviceWork(
            "set",
            recorded.stream_rows(device, _streams(columns), np.full(count, process)),
            np.full(count, recorded.texts.code("Memset")),
            columns["start"],
            columns["end"] - columns["start"],
            launch_numbers(np.full(count, process), columns["launch"]),
            (NamedValues("queue_id", columns["queue"], columns["queue"] >= 0),),
        )
    )


def add_calls(
    recorded: LaunchedRecording,
    name: I64,
    columns: Mapping[str, I64],
    process: int | I64,
    pid: int | I64,
    *,
    is_range: bool,
) -> None:
    """Calls of the runtime, or ranges that the program marked, of a process.

    Args:
        recorded: Where to.
        name: Codes of their names.
        columns: start, end, thread, launch (-1 unknown).
        process: Index of the process, or of that of each.
        pid: Its number, or that of each.
        is_range: Whether the program marked them.
    """
    count = len(name)
    processes = np.full(count, process)
    none = np.zeros(0, np.int64)
    launch = none if is_range else launch_numbers(processes, columns["launch"])
    threads = recorded.thread_rows(np.full(count, pid), np.maximum(columns["thread"], 0))
    length = columns["end"] - columns["start"]
    kind: HostKind = "range" if is_range else "call"
    recorded.add(HostEvents(kind, threads, name, columns["start"], length, launch))


def add_facts(recorded: LaunchedRecording, number: int, said: Mapping[str, Any]) -> None:
    """What an agent's record says of a GPU, under the names that XSpaces have for it."""
    facts: dict[str, Value] = {"device_vendor": "AMD"}
    model = said.get("product_name") or said.get("name")
    if isinstance(model, str) and model:
        facts["gpu_device_name"] = model
    for key, name, factor in _FACTS:
        value = said.get(name)
        if isinstance(value, int) and 0 < value < 1 << 40:
            facts[key] = value * factor
    version = said.get("gfx_target_version")
    if isinstance(version, int) and 0 < version < 10**8:
        facts["compute_cap_major"], facts["compute_cap_minor"] = (
            version // 10_000,
            version // 100 % 100,
        )
    banks = said.get("mem_banks")
    sizes = [
        one["size_in_bytes"]
        for one in (banks if isinstance(banks, list) else ())
        if isinstance(one, dict) and isinstance(one.get("size_in_bytes"), int)
    ]
    if 0 < sum(sizes) < 1 << 60:
        facts["memory_size"] = sum(sizes)
    recorded.facts[number] = facts


def _devices(agent: I64, agents: Mapping[int, Agent]) -> I64:
    """Number of the GPU of each agent; -1 for what is none."""
    used, inverse = coded(agent)
    found = []
    for one in used.tolist():
        known = agents.get(one)
        found.append(known.number if known is not None and known.kind == "GPU" else NONE)
    return np.asarray(found or [NONE], np.int64)[inverse] if len(agent) else inverse


def _streams(columns: Mapping[str, I64]) -> I64:
    """The stream of each event; where no streams were recorded, the queue."""
    stream = columns["stream"]
    return stream if (stream > 0).any() else np.maximum(columns["queue"], 0)


def _details(values: list[int], kernels: Mapping[int, RocmKernel]) -> str:
    """``regs:32 grid:4,1,1 block:256,1,1 …``; ROCm counts the grid in threads, others in blocks."""
    kernel, private, group, *dims = values
    known = kernels.get(kernel)
    said = []
    if known is not None and known.vector_registers >= 0:
        said.append(f"regs:{known.vector_registers}")
    grid, block = dims[:3], dims[3:]
    if all(one > 0 for one in dims):
        blocks = (-(-threads // size) for threads, size in zip(grid, block, strict=True))
        said += [f"grid:{','.join(map(str, blocks))}", f"block:{','.join(map(str, block))}"]
    if private >= 0:
        said.append(f"private_mem:{private}")
    if group >= 0:
        said.append(f"group_mem:{group}")
    return " ".join(said)


def _kind(agent: int, agents: Mapping[int, Agent]) -> str:
    known = agents.get(agent)
    return known.kind if known is not None else "GPU"


def _direction(ends: list[int], agents: Mapping[int, Agent]) -> str:
    source, target = ends
    if source < 0 and target < 0:
        return "Memcpy"
    kinds = (_kind(source, agents), _kind(target, agents))
    if kinds == ("GPU", "GPU") and source != target and source >= 0 and target >= 0:
        return "MemcpyP2P"
    return _DIRECTIONS.get(kinds, "MemcpyD2D")


def _copy_details(values: list[int], agents: Mapping[int, Agent]) -> str:
    source, target, size = values
    words = {"CPU": "host", "GPU": "device"}
    said = [
        f"kind_{key}:{words.get(_kind(agent, agents), 'device')}"
        for key, agent in (("src", source), ("dst", target))
        if source >= 0 or target >= 0
    ]
    return " ".join([*said, *([f"size:{size}"] if size >= 0 else [])])
