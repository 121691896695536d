"""The devices' planes: kernels and copies by stream, and what annotations cover of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place, coded_rows
from stepscope.formats.kineto.links import LABELS, Links, Origin
from stepscope.formats.kineto.names import copy_ends, copy_name, has_direction, op_name
from stepscope.formats.kineto.reading.args import NONE
from stepscope.formats.kineto.reading.categories import KIND
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import (
    CodedIds,
    Slices,
    coded_ids,
    row_numbers,
    unsigned,
    whole,
)
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_WORK: Final = ("kernel", "copy", "set")
_KINDS: Final = (*_WORK, "scope")
_PROPERTIES: Final = (
    ("compute_cap_major", "computeMajor"),
    ("compute_cap_minor", "computeMinor"),
    ("core_count", "numSms"),
    ("memory_size", "totalGlobalMem"),
    ("shared_memory_per_core", "sharedMemPerMultiprocessor"),
    ("registers_per_core", "regsPerMultiprocessor"),
    ("threads_per_core", "maxThreadsPerMultiprocessor"),
    ("warp_size", "warpSize"),
)
_AMD_KEYS: Final = (
    "roctracer_version",
    "rocprofiler-sdk_version",
    "hip_driver_version",
    "hip_runtime_version",
)
#: The arguments that ``_kernel_details`` shows.
_LAUNCH_KEYS: Final = (
    "registers per thread",
    "shared memory",
    "grid",
    "block",
    "est. achieved occupancy %",
)
#: What a device event's arguments say that its line, its name or another stat says already.
_SAID_ELSEWHERE: Final = frozenset({"device", "stream", "kind", *_LAUNCH_KEYS})
_COLLECTIVE: Final = re.compile(r"[hnr]ccl|oneccl|all_?reduce|all_?gather|reduce_?scatter", re.I)
# AMD's extended launches count the grid in threads, all others in blocks.
_COUNTS_THREADS: Final = re.compile(r"hipExt(Module)?Launch")


def device_planes(
    trace: Trace, slices: Slices, links: Links, clock_rate_khz: Mapping[int, int]
) -> Iterator[PlaneWriter]:
    """A plane per GPU.

    Args:
        trace: The recording.
        slices: Its slices.
        links: How its device events were launched.
        clock_rate_khz: Highest clock of each GPU, where the caller knows it.
    """
    rows = slices.rows(*_KINDS)
    device = device_of_place(slices)[slices.place]
    writer, properties = _Streams(slices, links), _properties(trace.head)
    waits = slices.rows("sync", "record")
    waits_of = dict(by_place(slices.place, waits))
    for number, mine in by_place(device, rows):
        plane = PlaneWriter(f"{names.GPU_PLANE}{number}", id=number + 1)
        for key, value in _capabilities(trace.head, properties.get(number, {})):
            plane.stat(key, value)
        if number in clock_rate_khz:
            plane.stat("clock_rate", clock_rate_khz[number])
        writer.write(plane, mine)
        streams = sorted(set(slices.place[mine].tolist()) & waits_of.keys())
        if streams:
            writer.write_waits(plane, np.sort(np.concatenate([waits_of[at] for at in streams])))
        yield plane


def device_of_place(slices: Slices) -> I64:
    """The number of the device of each place: as its events say, else the file's process id."""
    found = np.asarray([whole(pid) for pid, _ in slices.places] or [0], np.int64)
    rows = slices.rows(*_WORK)
    said = slices.args.numbers("device")[rows]
    place = slices.place[rows]
    known = said >= 0
    pairs, _ = coded_rows(place[known].astype(np.int64), said[known])
    by_pid: dict[Any, set[int]] = {}
    for one, device in zip(*(column.tolist() for column in pairs), strict=True):
        by_pid.setdefault(slices.places[one][0], set()).add(device)
    devices = [next(iter(one)) for one in by_pid.values() if len(one) == 1]
    # Files of several processes put together: each has a device 0, on a process of its own.
    if len(devices) == len(by_pid) == len(set(devices)):
        for at, (pid, _) in enumerate(slices.places):
            if pid in by_pid:
                found[at] = next(iter(by_pid[pid]))
    return found


def _properties(head: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return what the file's head says about each GPU, by its number; the first of equal ones."""
    listed = head.get("deviceProperties")
    found: dict[int, dict[str, Any]] = {}
    for properties in listed if isinstance(listed, list) else ():
        if isinstance(properties, dict):
            found.setdefault(whole(properties.get("id")), properties)
    return found


def _capabilities(
    head: Mapping[str, Any], properties: dict[str, Any]
) -> Iterator[tuple[str, int | str]]:
    """A GPU's properties in the words that TensorFlow's planes have for them."""
    model = str(properties.get("name", "")) or _unnamed(properties)
    yield "device_vendor", _vendor(head, model, properties)
    if model:
        yield "gpu_device_name", model
    for ours, theirs in _PROPERTIES:
        value = properties.get(theirs)
        if isinstance(value, int):
            yield ours, value


def _unnamed(properties: Mapping[str, Any]) -> str:
    """The model of a device that ROCm did not name; "" where several would fit."""
    key = tuple(properties.get(name) for name in ("computeMajor", "computeMinor", "numSms"))
    memory = properties.get("totalGlobalMem")
    if key == (9, 4, 304) and isinstance(memory, int):
        return "AMD Instinct MI300X" if memory < 210e9 else "AMD Instinct MI325X"
    return ""


def _vendor(head: Mapping[str, Any], model: str, properties: Mapping[str, Any]) -> str:
    if "AMD" in model or any(key in head for key in _AMD_KEYS):
        return "AMD"
    if "Intel" in model or "Intel" in str(properties.get("vendor", "")):
        return "Intel"
    return "Nvidia"


class _Streams:
    """Writes the lines of devices; what holds for all of them is found out once.

    Attributes:
        slices: The recording's slices.
        op, origin, launch, copy: Of each device event, in the order of ``Links.rows``: the name of
            its op, its ``Origin``, and numbers for ``launch_text`` and ``copy_text``; -1 for none.
        node: Numbers of graph nodes.
    """

    def __init__(self, slices: Slices, links: Links) -> None:
        self.slices = slices
        self._rows = links.rows
        self.op = np.where(links.op >= 0, slices.name[links.op], NONE)
        self.origin = links.origin
        self.launch = self._launches(links)
        size = slices.args.numbers("bytes")
        copies = slices.rows("copy", "set")
        columns = slices.name[copies], size[copies], slices.args.chain[copies], slices.kind[copies]
        rows, code = coded_rows(*(one.astype(np.int64) for one in columns))
        self._copies = list(zip(*(column.tolist() for column in rows), strict=True))
        self.copy = np.full(len(links.rows), NONE, np.int32)
        self.copy[self.at(copies)] = code
        self.node = row_numbers(*slices.args.rows("graph node id"))
        self._is_scope, self._is_kernel = slices.is_kind("scope"), slices.is_kind("kernel")
        self._is_copy = slices.is_kind("copy", "set")
        self._is_collective = slices.of_name(lambda name: bool(_COLLECTIVE.search(name)))

    def _launches(self, links: Links) -> NDArray[np.int32]:
        """Per kernel the chain that says how it was launched; ROCm's older ones ask the call.

        Numbers from ``threads`` on are chains of launches that count threads.
        """
        slices = self.slices
        chain = slices.args.chain
        has = np.append(
            (slices.args.by_chain("grid") >= 0)
            | (slices.args.by_chain("block") >= 0)
            | (slices.args.by_chain("registers per thread") >= 0),
            False,
        )
        found: NDArray[np.int32] = chain[links.rows].astype(np.int32)
        called = np.flatnonzero(links.call >= 0)
        call = links.call[called]
        poor = ~has[found[called]]
        found[called[poor]] = chain[call[poor]]
        found[~has[found]] = NONE
        self._threads = len(has)
        in_threads = slices.of_name(lambda name: bool(_COUNTS_THREADS.search(name)))[call]
        counted = called[in_threads & (found[called] >= 0)]
        found[counted] += self._threads
        return found

    def at(self, rows: I64) -> I64:
        """The places of device events, none of them annotations, in the columns."""
        return np.searchsorted(self._rows, rows)

    def launch_text(self, number: int) -> str:
        """How a kernel was launched, by its number in ``launch``."""
        in_threads = number >= self._threads
        said = self.slices.args.said(number % self._threads)
        key = _launch_key(said, in_threads=in_threads)
        return "" if key is None else _kernel_details(key)

    def copy_text(self, number: int) -> str:
        """What is copied, by its number in ``copy``."""
        size = self._copies[number][1]
        return _memcpy_details(self._copy_label(number), size if size >= 0 else None, 0)

    def _copy_label(self, number: int) -> str:
        """What a copy is called; some writers say what it copies in its arguments alone."""
        name, _, chain, kind = self._copies[number]
        text: str = self.slices.names[name]
        if kind == KIND["set"]:
            return text if "emset" in text else f"Memset {text}"
        if not has_direction(text):
            said = self.slices.args.said(chain)
            ends = " -> ".join(str(said[key]) for key in ("src kind", "dst kind") if key in said)
            words = [str(said[key]) for key in ("copy kind", "kind") if key in said]
            text = " ".join([text, *words, f"({ends})" if "->" in ends else ""])
        return text

    def write(self, plane: PlaneWriter, rows: I64) -> None:
        """A line per stream; annotations get one of their own, they are not device work."""
        slices = self.slices
        is_scope, is_copy = self._is_scope, self._is_copy
        work_rows = rows[~is_scope[rows]]
        copies = self._copy_names(plane, work_rows)
        others = slices.name_ids(plane, rows[~is_copy[rows]], str)
        stats = _DeviceStats(self, plane, work_rows)
        for place, mine in by_place(slices.place, rows):
            stream = whole(slices.places[place][1])
            work, scopes = mine[~is_scope[mine]], mine[is_scope[mine]]
            if len(work):
                plane.line(
                    stream,
                    f"Stream #{stream}({self._content(work)})",
                    metadata=np.where(is_copy[work], copies.of(self.at(work)), others.of(work)),
                    start_ns=slices.start_ns[work],
                    duration_ns=slices.duration_ns[work],
                    stats=stats.of(work),
                )
            if len(scopes):
                plane.line(
                    names.DERIVED_LINE_ID + stream % (names.DERIVED_LINE_COUNT // 2),
                    f"{names.NAME_SCOPE_LINES[0]} #{stream}",
                    metadata=others.of(scopes),
                    start_ns=slices.start_ns[scopes],
                    duration_ns=slices.duration_ns[scopes],
                )

    def _copy_names(self, plane: PlaneWriter, rows: I64) -> CodedIds:
        """Ids of the copies' names on a plane, of rows as ``at`` gives them."""

        def number(copy: int) -> int:
            if copy < 0:
                return 0
            label = self._copy_label(copy)
            name, recorded = copy_name(label), self.slices.names[self._copies[copy][0]]
            return plane.name(name, display=recorded if recorded != name else "")

        return coded_ids(self.copy, self.at(rows), number)

    def write_waits(self, plane: PlaneWriter, rows: I64) -> None:
        """What streams waited for, and the events they recorded: a line of its own for each."""
        slices = self.slices
        metadata = slices.name_ids(plane, rows, str)
        said = slices.text_ids(plane, slices.args.chain, rows, slices.args.json)
        half = names.DERIVED_LINE_COUNT // 2
        for place, mine in by_place(slices.place, rows):
            stream = whole(slices.places[place][1])
            launched = slices.correlation[mine]
            plane.line(
                names.DERIVED_LINE_ID + half + stream % half,
                f"{names.WAIT_LINES[0]} #{stream}",
                metadata=metadata.of(mine),
                start_ns=slices.start_ns[mine],
                duration_ns=slices.duration_ns[mine],
                stats=[
                    *stat_of(names.CORRELATION_ID, launched.astype(np.uint64), launched > 0),
                    *said.stat(names.ARGUMENTS, mine),
                    *slices.other_numbers(mine),
                ],
            )

    def _content(self, work: I64) -> str:
        """What a stream is for, in one word."""
        kernels = self._is_kernel[work]
        if not kernels.any():
            return "Memcpy"
        return "Communication" if self._is_collective[work[kernels]].all() else "Compute"


class _DeviceStats:
    """The stats of the device events of one plane."""

    def __init__(self, streams: _Streams, plane: PlaneWriter, rows: I64) -> None:
        slices = self._slices = streams.slices
        self._streams, at = streams, streams.at(rows)

        def op(code: int) -> str:
            return op_name(slices.names[code])

        def origin(code: int) -> str:
            return LABELS.get(Origin(code), "")

        self._launch = slices.text_ids(plane, streams.launch, at, streams.launch_text)
        self._copy = slices.text_ids(plane, streams.copy, at, streams.copy_text)
        self._op = slices.text_ids(plane, streams.op, at, op)
        self._origin = slices.text_ids(plane, streams.origin, at, origin)
        self._said = slices.text_ids(
            plane, slices.args.chain, rows, lambda code: slices.args.json(code, _SAID_ELSEWHERE)
        )

    def of(self, work: I64) -> list[Stat]:
        """The stats of some of them."""
        launched, at = self._slices.correlation[work], self._streams.at(work)
        found = stat_of(names.CORRELATION_ID, unsigned(launched), launched > 0)
        found += self._launch.stat(names.KERNEL_DETAILS, at)
        found += self._copy.stat(names.MEMCPY_DETAILS, at)
        op, origin = self._op.of(at), self._origin.of(at)
        op = np.where(op > 0, op, origin)
        found += stat_of(names.TF_OP, op, op > 0, is_text=True)
        found += stat_of(names.LAUNCH_ORIGIN, origin, origin > 0, is_text=True)
        found += self._said.stat(names.ARGUMENTS, work)
        found += self._streams.node.stat(names.GRAPH_NODE, work)
        return found + self._slices.other_numbers(work)


def _launch_key(args: Mapping[str, Any], *, in_threads: bool = False) -> tuple[Any, ...] | None:
    """What tells launches apart; None where the recorder said nothing about the launch.

    Args:
        args: Of the kernel, or of the call that launched it.
        in_threads: The grid counts threads, not blocks.
    """
    grid, block = args.get("grid"), args.get("block")
    if in_threads and isinstance(grid, list) and isinstance(block, list):
        grid = [_blocks(*one) for one in zip(grid, block, strict=False)]
    registers = args.get("registers per thread")
    if grid is None and block is None and registers is None:
        return None
    return (
        registers,
        args.get("shared memory"),
        tuple(grid) if isinstance(grid, list) else None,
        tuple(block) if isinstance(block, list) else None,
        args.get("est. achieved occupancy %"),
    )


def _blocks(threads: Any, size: Any) -> Any:
    are_whole = isinstance(threads, int) and isinstance(size, int) and size > 0
    return -(-threads // size) if are_whole else threads


def _kernel_details(key: tuple[Any, ...]) -> str:
    """``regs:32 shm:0 grid:2,1,1 block:128,1,1 occ_pct:50``; what is not known is left out.

    Kineto knows the sum of static and dynamic shared memory only, which is ``shm``.
    """
    registers, shared, grid, block, occupancy = key
    words = []
    for word, value in (("regs", registers), ("shm", shared)):
        if value is not None:
            words.append(f"{word}:{value}")
    for word, dims in (("grid", grid), ("block", block)):
        if dims:
            words.append(f"{word}:{','.join(map(str, dims))}")
    if occupancy:  # 0 is what is written when it was not asked for
        words.append(f"occ_pct:{occupancy}")
    return " ".join(words)


def _memcpy_details(name: str, size_bytes: int | None, device: int) -> str:
    """``kind_src:pageable kind_dst:device size:4096 dest:0 async:1``."""
    source, target = copy_ends(name)
    size = "" if size_bytes is None else f"size:{size_bytes} "
    return f"kind_src:{source} kind_dst:{target} {size}dest:{device} async:1"
