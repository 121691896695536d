"""What each host event is, decided once per event *name* rather than per event.

A host records thousands of times the same few hundred names, so everything that depends on the
name alone (which op it is, what kind of work it stands for) is an array over
``Space.event_metadata`` that an event reaches through its ``metadata`` row.
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np

from stepscope.columns import distinct, rows_of
from stepscope.columns.space import DATA_OCCURRENCES, I32, I64, U8, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.op_name import (
    OpCategory,
    OpName,
    is_collective_call,
    is_host_collective,
    parse_op_name,
)
from stepscope.tables.core.planes import LineKind, PlaneKind, planes
from stepscope.tables.core.presence import name_shapes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import region_name
from stepscope.tables.core.waits import wait_of


class Work(IntEnum):
    """Kinds of work, in order of precedence: where spans overlap, the larger value names the time.

    The order is the incumbent's (reference §2.5) but in three places: input outranks collectives,
    so that an all-reduce stalled by input counts as input; device compute outranks everything, so
    that time hidden behind it costs nothing; and a copy to the device outranks the launching of
    what comes next, because the device is busy with it.
    """

    NOTHING = 0
    # A thread that waits explains the time in which nothing that it could wait for was recorded.
    WAIT = 1
    # What processes exchange without a device costs what the host's own work does not hide.
    HOST_COLLECTIVE = 2
    HOST_COMPUTE = 3
    COMPILE = 6
    LAUNCH = 8
    HOST_TO_DEVICE = 9
    COLLECTIVE = 10
    INPUT_WAIT = 11
    DEVICE_TO_DEVICE = 12
    DEVICE_TO_HOST = 13
    COMPUTE_32 = 14
    COMPUTE_16 = 15


# Spans that only wrap others: no work of their own.
_WRAPPERS = (
    "EagerExecute",
    "EagerLocalExecute",
    "EagerKernelExecute",
    "FunctionRun",
    "ThreadpoolListener::",
    "end: ",
    names.PYTHON_CALL_MARK,
    names.PYTORCH_STEP,
    names.KERAS_BATCH,
    names.RECORDER_OVERHEAD,
    *names.MEMORY_EVENTS,
)
# Spans in which a program asks a loader for its next batch: PyTorch's own, and the names people
# give to the annotation around ``next(batches)``.
_DATA_LOADER = re.compile(
    r"enumerate\(DataLoader\)|_MultiProcessingDataLoaderIter|_SingleProcessDataLoaderIter|"
    r"next\(|[\w.]*__next__$|data[ _]?load(ing|er)?$|"
    r"(next|load|get|fetch|read)[ _](next[ _])?(batch|data|input)",
    re.I,
)
_COMPILE = re.compile(
    r"backend_compile|graph_building|trace_to_jaxpr|lower_sharding_computation|Lowering|Autograph|"
    r"XlaCompil|(?:::|_)Compile\b|"
    r"CompileToLocalExecutable|PjRtCompile|BuildExecutable|"
    r"_compile\.compile_inner|entire_frame_compile"
)
_LAUNCH = re.compile(
    r"cu(da)?LaunchKernel|cu(da)?GraphLaunch|hip(Ext)?(Module)?LaunchKernel|hipGraphLaunch|"
    r"ExecutorState::Process|GpuExecutable::ExecuteThunks|::EnqueueExecution"
)
_TO_DEVICE = re.compile(r"TransferToDevice|TransferLiteralToInfeed|InfeedEnqueue|MEMCPYHToD", re.I)
_FROM_DEVICE = re.compile(r"TransferFromDevice|OutfeedDequeue")
# Threads that work for the step although its marker is elsewhere: the runtimes' own pools.
_POOL = re.compile(
    r"tf_|Host Threads/|.*Eigen|.*XLA|.*xla|.*[Pp]j[Rr]t|collective_ops|EventFD|tpu|main\b|"
    r"pt_autograd"
)


@dataclass(frozen=True, eq=False, slots=True)
class HostNames:
    """Facts about each row of ``Space.event_metadata`` as a *host* event.

    Attributes:
        op: Index into ``ops``, -1 when the name is not a framework op.
        ops: The distinct ops.
        work: ``Work`` the name stands for on a host thread (without looking at stats).
        is_input: Whether it is a wait for input (also on tf.data's own threads).
    """

    op: I32
    ops: list[OpName]
    work: U8
    is_input: Bool


@derived
def host_names(host: Host) -> HostNames:
    """Parse every event name of the host planes once."""
    space, kinds = host.space, planes(host).plane_kind
    count = len(space.event_metadata)
    op = np.full(count, -1, dtype=np.int32)
    work = np.zeros(count, dtype=np.uint8)
    has_gpu = PlaneKind.GPU in kinds
    # Of ranges that the program names, what was recorded in them tells what ran: where the host's
    # ops are the work, the Python between them is not. Without any op the ranges are what is known.
    marks_ranges = not has_gpu and names.NAMED_OPS in space.stat_metadata.name
    metadata = space.event_metadata
    is_host = np.asarray([kind is PlaneKind.HOST for kind in kinds], dtype=bool)
    rows = np.flatnonzero(is_host[metadata.plane])
    shapes = name_shapes(host)
    work_of_shape = np.zeros(len(shapes.texts), dtype=np.uint8)
    for shape in distinct(shapes.of_entry[rows]).tolist():
        work_of_shape[shape] = work_of_name(shapes.texts[shape], has_gpu=has_gpu)
    work[rows] = work_of_shape[shapes.of_entry[rows]]
    unknown = OpCategory.UNKNOWN
    parsed = [parse_op_name(metadata.name[row]) for row in rows.tolist()]
    is_op = np.asarray([one.category is not unknown for one in parsed], dtype=bool)
    ops = [one for one in parsed if one.category is not unknown]
    op[rows[is_op]] = np.arange(len(ops))
    if ops and marks_ranges:
        alone = rows[(work[rows] == Work.HOST_COMPUTE) & (op[rows] < 0)].tolist()
        work[[row for row in alone if region_name(metadata.name[row])]] = Work.NOTHING
    return HostNames(op, ops, work, work == Work.INPUT_WAIT)


def work_of_name(name: str, *, has_gpu: bool) -> Work:
    """The work a host event of this name stands for."""
    if wait_of(name) is not None:
        return Work.WAIT
    if name.startswith(_WRAPPERS):
        return Work.NOTHING
    if is_host_collective(name):
        return Work.HOST_COLLECTIVE
    if not has_gpu and is_collective_call(name):
        return Work.COLLECTIVE  # whatever range it is called in, its thread waits
    if name.startswith(names.ITERATOR_GET_NEXT) or is_data_loader(name):
        return Work.INPUT_WAIT
    if has_gpu and _LAUNCH.search(name):
        return Work.LAUNCH
    if _COMPILE.search(name):
        return Work.COMPILE
    if _TO_DEVICE.search(name):
        return Work.HOST_TO_DEVICE
    if _FROM_DEVICE.search(name):
        return Work.DEVICE_TO_HOST
    return Work.HOST_COMPUTE


def is_data_loader(name: str) -> bool:
    """Whether an event of this name is a program's call for its next batch."""
    return bool(_DATA_LOADER.match(name))


@derived
def host_thread_rows(host: Host) -> I32:
    """Rows in ``Space.lines`` of the host threads (tracks derived by a viewer left out)."""
    table = planes(host)
    rows = [row for row, kind in enumerate(table.line_kind) if kind is LineKind.THREAD]
    return np.asarray(rows, dtype=np.int32)


def python_lines(host: Host) -> list[int]:
    """Rows in ``Space.lines`` of the threads whose Python calls our own recorders wrote."""
    space = host.space
    recorders = (names.PYTHON_CALLS_PLANE, names.PYTHON_SAMPLES_PLANE)
    return [
        row
        for row, line in enumerate(space.lines)
        if space.planes[line.plane].name in recorders and line.name != names.COUNTER_LINE
    ]


@derived
def on_host_threads(host: Host) -> Bool:
    """Mask over events: those on ``host_thread_rows``."""
    return host.space.on_lines(host_thread_rows(host).tolist())


def is_tf_data_thread(name: str) -> bool:
    """Whether a thread runs the tf.data pipeline beside the step."""
    return name.startswith(names.TF_DATA_THREADS)


def is_pool_thread(name: str) -> bool:
    """Whether a thread belongs to a runtime's pool, so that its work is the step's work."""
    return bool(_POOL.match(name)) and not is_tf_data_thread(name)


def is_nameless(name: str) -> bool:
    """Whether a recorder knew a thread by its number alone."""
    return not name.strip("-0123456789")


def timed_rows(host: Host, entries: Bool) -> I64:
    """The events of some rows of ``Space.event_metadata`` that have a place in time, ascending."""
    rows = rows_of(host.space.events.metadata, entries)
    timed: I64 = rows[host.space.events.data[rows] != DATA_OCCURRENCES]
    return timed


@derived
def timed_events(host: Host) -> Bool:
    """Mask over events: True for those with a place in time (not aggregated counts)."""
    mask: Bool = host.space.events.data != DATA_OCCURRENCES
    return mask


# Of MurmurHash64A, and what GNU's C++ library begins it with.
_FACTOR, _SEED, _WORD = 0xC6A4A7935BD1E995, 0xC70F6907, (1 << 64) - 1


def hashed_thread(ident: int) -> int:
    """What GNU's ``std::hash<std::thread::id>`` makes of a thread, with a sign."""
    mixed = (ident * _FACTOR) & _WORD
    mixed = ((mixed ^ mixed >> 47) * _FACTOR) & _WORD
    found = (((_SEED ^ 8 * _FACTOR) ^ mixed) * _FACTOR) & _WORD
    found = ((found ^ found >> 47) * _FACTOR) & _WORD
    found ^= found >> 47
    return found - (1 << 64) if found >> 63 else found
