"""Recordings that fill the pages of the tools: a pod, a pipeline, a server, a program, a heap."""

from __future__ import annotations

from stepscope.tables.tpu.counters import V6E, PerfCounter
from tests.profiles.counters import chip, reading_by, sample
from tests.profiles.dcn import Collective, Op, message
from tests.profiles.dcn import slices as tpu_of_slices
from tests.profiles.hlo import f32, instruction, memory_plan, metadata_plane, program
from tests.profiles.memory import Heap
from tests.profiles.model import Event, EventLike, Line, gpu, host, line, space, stream, u
from tests.unit.analysis.test_module_tree import kernel, module
from tests.unit.formats.kineto.layout import text, x

STEPS = 12
WORKERS_PER_HOST = 2
# Microseconds of compute of each worker, over two hosts: the last one makes the others wait.
COMPUTE_US = (200.0, 220.0, 210.0, 420.0)
LAYERS = 12
BATCH_SIZES = (1, 2, 4, 8)


def pod(first_worker: int) -> bytes:
    """One of two hosts with two GPUs each; every step ends with an all-reduce of all four."""
    main: list[EventLike] = []
    streams: list[list[EventLike]] = [[] for _ in range(WORKERS_PER_HOST)]
    for step in range(STEPS):
        base = 1000.0 * step
        main.append(("train", base, 900.0, {"step_num": step, "_r": 1}))
        main.append(("IteratorGetNext", base + 5, 60.0))
        end = base + 100 + max(COMPUTE_US) + 150
        for device in range(WORKERS_PER_HOST):
            spent = COMPUTE_US[first_worker + device]
            begin = base + 100 + spent
            launch = {"correlation_id": 10 * step + device}
            details = {"kernel_details": "regs:64 grid:80,1,1 block:256,1,1"}
            streams[device] += [
                ("ampere_sgemm_128x64_nn", base + 100, spent, launch | details),
                ("ncclDevKernel_AllReduce_Sum_f32", begin, end - begin, {"correlation_id": 7}),
            ]
    devices = [gpu(index, stream(7, *events)) for index, events in enumerate(streams)]
    return space(host(line("python", *main)), *devices)


def pipeline() -> bytes:
    """A tf.data pipeline whose parallel map cannot keep up with the steps."""
    root, prefetch = "Iterator::Root", "Iterator::Root::Prefetch"
    mapped, source = f"{prefetch}::Map", f"{prefetch}::Map::TFRecord"
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for call in range(STEPS):
        base, wait = 1000.0 * call + 300, 300.0 + 10 * call
        main += [
            ("train", base - 1, 900.0, {"step_num": call, "_r": 1}),
            (root, base, wait + 20, {"id": 1}),
            (prefetch, base, wait + 10, {"id": 2, "parent_id": 1}),
            ("PrefetchConsume", base + wait + 5, 1.0, {"element_id": call}),
        ]
        begin, made = base - 250, wait + 250
        pool += [
            ("PrefetchProduce", begin, made, {"element_id": call}),
            (mapped, begin, made, {"id": 3, "parent_id": 2}),
            (source, begin + made * 0.75, made / 4, {"id": 4, "parent_id": 3}),
        ]
    return space(host(line("python", *main), line("tf_data_iterator_resource/1", *pool)))


def server() -> bytes:
    """A model server: 60 requests, answered in batches of 1, 2, 4 or 8 of them."""
    callers, batches, kernels = [], [], []
    start, context = 0.0, 100
    for turn in range(16):
        size = BATCH_SIZES[turn % len(BATCH_SIZES)]
        length = 150.0 + 40 * size + 7 * turn
        begin = start + 60
        context += 1
        for one in range(size):
            asked = start + 5 * one
            callers.append(
                line(
                    f"caller/{turn}-{one}",
                    Event(
                        "BatchingSessionRun",
                        asked,
                        begin + length - asked + 10,
                        {"model_id": "bert:1"},
                    ),
                    Event("ScheduleWithoutSplit", asked + 1, 3, {"batching_input_task_size": 1}),
                    Event("ScheduleOutputTask", asked + 2, 1, {"_pt": 4, "_p": context}),
                )
            )
        padding = {"batch_size_after_padding": size, "padding_amount": 0}
        batches += [
            Event("ProcessBatch", begin, length, {"_ct": 4, "_c": context}),
            Event("ConcatInputTensors", begin + 5, 4, padding),
        ]
        details = {"kernel_details": "regs:8 grid:1,1,1 block:1,1,1"}
        kernels.append(Event("gemm", begin + 20, length / 2, details))
        start = begin + length + 40
    return space(host(*callers, line("batch_thread", *batches)), gpu(0, stream(7, *kernels)))


def compiled() -> bytes:
    """An XLA program of many layers, its memory plan and its run on an A100."""
    side = 256
    size = side * side * 4
    entry = [instruction("x", "parameter", f32(side, side), parameter_number=0)]
    buffers, trace, live = {1: (size, "x")}, [], ""
    kernels = []
    clock = 0.0
    for layer in range(LAYERS):
        before = entry[-1].name
        product, activated = f"dot.{layer}", f"add.{layer}"
        entry += [
            instruction(
                product,
                "dot",
                f32(side, side),
                before,
                "x",
                contracting=(1, 0),
                op_name=f"jit(model)/layer_{layer}/matmul",
            ),
            instruction(
                activated,
                "add",
                f32(side, side),
                product,
                before,
                op_name=f"jit(model)/layer_{layer}/add",
            ),
        ]
        first, second = 2 * layer + 2, 2 * layer + 3
        buffers |= {first: (size, product), second: (size, activated)}
        trace += [(0, first, 0), (0, second, 0), (1, first, 0)]
        if live:
            trace.append((1, second - 2, 0))
        live = activated
        for name, spent in ((product, 20.0 + layer), (activated, 6.0)):
            stats = {"hlo_op": name, "program_id": u(7)}
            kernels.append(Event(f"k_{name}", clock, spent, stats))
            clock += spent + 2
    last = 2 * LAYERS + 1
    memory = memory_plan(
        buffers,
        [
            {"size": size, "is_entry_computation_parameter": 1, "buffers": [1]},
            {"size": size * 4, "buffers": list(range(2, last))},
            {"size": size, "maybe_live_out": 1, "buffers": [last]},
        ],
        [event for event in trace if event[1] != last],
    )
    made = program("jit_model", entry, memory=memory)
    return space(metadata_plane(("jit_model", 7, made)), gpu(0, stream(1, *kernels)))


def heap() -> bytes:
    """The memory of two GPUs: weights of before, activations that come and go in each step."""
    lines = []
    for device, limit in ((0, 1 << 30), (1, 1 << 29)):
        own = Heap(f"GPU_{device}_bfc", limit=limit, in_use=96 << 20, stack=8 << 20)
        for step in range(STEPS):
            base = 1000.0 * step
            for layer in range(LAYERS):
                own.take(
                    base + 50 * layer,
                    1000 + layer,
                    (4 + layer) << 20,
                    tf_op=f"layer_{layer}/Relu:Relu",
                    region_type="output",
                    data_type=1,
                )
            own.fragmentation = 0.05 * (step % 4)
            for layer in reversed(range(LAYERS)):
                own.give(base + 900 - 10 * layer, 1000 + layer)
        lines.append(line(f"tf_Compute/{device}", *own.events))
    steps = [
        Event("train", 1000.0 * step, 950, {"step_num": step, "_r": 1}) for step in range(STEPS)
    ]
    return space(host(line("python", *steps), *lines), gpu(0), gpu(1))


# Shares of the cycles by what the counter's name holds; all other counters read 0.
COUNTED = {"mxu_busy_1": 0.2, "mxu_busy_2": 0.5, "vld_instruction": 0.3, "rd_resp": 0.01}


def counters() -> bytes:
    """Two samples of two TPU chips; the second chip does half, and its links were not counted."""

    def read(device: int, number: int) -> Line:
        cycles = 1_750_000 * number

        def value(counter: PerfCounter) -> int | None:
            if device and "_icr_" in counter.name:
                return None
            if counter.name.endswith("count_cycles"):
                return cycles
            share = next((COUNTED[key] for key in COUNTED if key in counter.name), 0.0)
            return int(cycles * share) // (device + 1)

        return sample(number, reading_by(V6E, value))

    return space(*(chip(one, V6E.type, [read(one, 1), read(one, 2)]) for one in range(2)))


def slices() -> bytes:
    """A TPU whose large all-reduce waits for another slice in every step, and the messages."""
    large, small = Collective("all-reduce.1", 1, elements=1 << 20), Collective("all-reduce.2", 2)
    ran: list[Op] = []
    for step in range(STEPS):
        for begin, number, waits in ((0, 1, 300 + 10 * step), (700, 2, 50)):
            at = 1500.0 * step + begin
            ran += [(f"send.{number}", at, 10), ("multiply.9", at + 10, 100)]
            ran += [(f"recv-done.{number}", at + 110, waits)]
    planes = tpu_of_slices(large, small, run=ran)
    thread = line("transport", message(100, 100, 25_000, 1, 0), message(300, 50, 800_000, 2, 0))
    return space(host(thread), *planes[1:])


def modules() -> bytes:
    """PyTorch modules within each other, with a kernel in the innermost."""
    return text(
        [
            module("Net_0", 1, 100),
            module("Layer_0", 2, 60),
            module("Linear_0", 3, 50),
            x("cpu_op", "aten::addmm", 5, 20),
            *kernel(1, 8, 12),
        ]
    ).encode()


RECORDINGS = {
    "slices/host.xplane.pb": slices(),
    "counters/host.xplane.pb": counters(),
    "pod/worker-0.xplane.pb": pod(0),
    "pod/worker-1.xplane.pb": pod(WORKERS_PER_HOST),
    "pipeline/host.xplane.pb": pipeline(),
    "server/host.xplane.pb": server(),
    "compiled/host.xplane.pb": compiled(),
    "heap/host.xplane.pb": heap(),
    "modules/host.pt.trace.json": modules(),
}
