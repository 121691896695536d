"""Which tools have something to show follows from names and first events: the tables agree.

Each tool's need is held against what it stands for, computed in full, on every profile that
tests build, on the same with one name, line or plane of it gone, and on real recordings.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import stepscope
from stepscope.analysis import TOOLS
from stepscope.analysis.kernel_stats import session_kernels
from stepscope.columns.space import DATA_OCCURRENCES, Space
from stepscope.formats.xspace import decode
from stepscope.needs import NEEDS
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.collectives import calls as group_calls
from stepscope.tables.collectives.dcn_runs import dcn_runs
from stepscope.tables.collectives.exchanges import exchanges
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.perf_counters import counter_samples
from stepscope.tables.hlo.programs import planned_programs, programs
from stepscope.tables.host.input_ops import input_ops
from stepscope.tables.in_steps.idle import idle
from stepscope.tables.memory.allocations import allocations
from stepscope.tables.memory.programs import program_memories
from stepscope.tables.memory.samples import memory_samples
from stepscope.tables.ops.framework_totals import device_op_totals, host_op_totals
from stepscope.tables.ops.module_tree import module_tree
from stepscope.tables.recording.start import start as account_of_start
from stepscope.tables.serving import serving
from stepscope.tables.steps.attribution import found_steps, steps
from stepscope.tables.steps.logged import logged_steps
from stepscope.tables.steps.session import taking_part
from stepscope.tables.sums.hlo_ops import profile_totals
from stepscope.tables.tf_data.events import iterator_calls
from stepscope.tables.torch.graph_replays import replays
from stepscope.tables.torch.op_calls import op_calls
from stepscope.tables.torch.regions import compiled
from stepscope.tables.torch.serving_steps import serving_steps
from stepscope.tables.torch.triton_kernels import triton_kernels
from stepscope.tables.tpu.counters import V6E, PerfCounter
from stepscope.tables.tpu.samples import tpu_samples
from tests.kernels import examples, thinned
from tests.labelled import Labelled
from tests.labelled.synthetic import PROFILES
from tests.oracle.recorded import PROFILES as RECORDED
from tests.oracle.recorded import recording
from tests.profiles import (
    async_gpu,
    hostile_names,
    negative_thread_ids,
    no_events,
    overlapping_streams,
    pytorch_like,
    unmarked,
    worked_example,
)
from tests.profiles.counters import chip, sample
from tests.profiles.dcn import Collective, slices
from tests.profiles.hlo import metadata_plane, program
from tests.profiles.model import Event, Kind, gpu, host, line, plane, space, stream
from tests.profiles.starts import Look, Span, start
from tests.property.test_conservation import spaces
from tests.unit.analysis.compiled import ENTRY, PLANE, kernel, on_cpu, on_gpu
from tests.unit.analysis.test_inference_profile import batching_server
from tests.unit.analysis.test_memory_profile import training

WHILE = "%while.1 = () while()"
SAMPLE = Path(stepscope.__file__).parent / "surfaces/sample/slow_input_cnn.xplane.pb.gz"

IN_FULL: dict[str, Callable[[Profile], bool]] = {
    "trace_viewer": lambda p: any(len(one.space.events) for one in p.hosts),
    "input_pipeline_analyzer": lambda p: (
        any(found_steps(one) is not None for one in taking_part(p))
        or any(len(input_ops(one)) for one in p.hosts)
    ),
    "tf_data_bottleneck_analysis": lambda p: any(len(iterator_calls(one)) for one in p.hosts),
    "framework_op_stats": lambda p: any(
        len(host_op_totals(one)) or len(device_op_totals(one)) for one in p.hosts
    ),
    "work_table": lambda p: any(
        len(host_op_totals(one)) or len(device_op_totals(one)) for one in p.hosts
    ),
    "kernel_stats": lambda p: bool(session_kernels(p)),
    "device_idle": lambda p: idle(p) is not None,
    "host_activity": lambda p: any(
        found is not None and bool(found.kept.any()) for found in map(steps, p.hosts)
    ),
    "step_log": lambda p: any(logged_steps(one) for one in p.hosts),
    "startup": lambda p: any(account_of_start(one) is not None for one in p.hosts),
    "step_account": lambda p: any(account(one) is not None for one in p.hosts),
    "module_tree": lambda p: any(len(module_tree(one)) for one in p.hosts),
    "model_flops": lambda p: any(one.dims for host in p.hosts for one in op_calls(host).signatures),
    "compiled_regions": lambda p: any(
        compiled(one).regions or compiled(one).compiles or triton_kernels(one) or len(replays(one))
        for one in p.hosts
    ),
    "serving_steps": lambda p: any(len(serving_steps(one)) for one in p.hosts),
    "op_profile": lambda p: len(profile_totals(p)) > 0,
    "hlo_stats": lambda p: any(op.is_hlo for op in profile_totals(p).ops),
    "roofline_model": lambda p: bool(np.isfinite(profile_totals(p).flops).any()),
    "perf_counters": lambda p: any(len(counter_samples(one)) for one in p.hosts),
    "utilization_viewer": lambda p: any(tpu_samples(one) for one in p.hosts),
    "memory_profile": lambda p: any(
        allocations(one) is not None or program_memories(one) or memory_samples(one)
        for one in p.hosts
    ),
    "memory_viewer": lambda p: bool(planned_programs(p)),
    "pod_viewer": lambda p: any(found_steps(one) is not None for one in taking_part(p)),
    "hung_collectives": lambda p: len(group_calls.calls(p).workers) > 0,
    "collectives": lambda p: len(exchanges(p)) > 0,
    "megascale_stats": lambda p: len(dcn_runs(p)) + len(dcn_runs(p).lone_collective) > 0,
    "inference_profile": lambda p: any(serving(one) is not None for one in p.hosts),
    "graph_viewer": lambda p: len(programs(p)) > 0,
}


def profile(*found: Space) -> Profile:
    """A profile of its own, on which nothing has been computed yet."""
    return Profile("p", tuple(Host(f"h{i}", one) for i, one in enumerate(found)))


def check(*found: Space, what: str = "") -> set[str]:
    """Compare on two fresh profiles, so that neither way sees what the other computed."""
    told, computed = profile(*found), profile(*found)
    available = {tool.id for tool in TOOLS if tool.available(told) is None}
    shown = {tool.id for tool in TOOLS if tool.id not in IN_FULL or IN_FULL[tool.id](computed)}
    assert available == shown, what
    return available


def python_and_counters() -> bytes:
    """Readers inside tf.data, a stage by its stat, aggregated events and a counter of memory."""
    memory = Event("rss_bytes", 10, 0, {"counter_value": 7})
    return space(
        host(
            line("tf_data_private/1", Event("$readers.py:1 load", 0, 10)),
            line("python", Event("$readers.py:1 load", 0, 10), Event("load_batch", 20, 5)),
            line("loader", Event("mine", 5, 5, {"_ipl_stage_name": "decode"})),
            line("counts", Event("a:MatMul", 0, 5, occurrences=3)),
        ),
        plane("/device:CUSTOM:Telemetry", line("_counters_", memory)),
    )


def copies_alone() -> bytes:
    """A GPU that only copies, outside of all steps; ops that only stats name."""
    return space(
        host(
            line("python", Event("train", 0, 50, {"step_num": 1, "_r": 1})),
            line("tf_exec", Event("nameless", 0, 5, {"tf_op": "in/copy:MemcpyHToD"})),
        ),
        gpu(0, stream(7, Event("MemcpyH2D", 90, 5, {"memcpy_details": "kind:H2D"}))),
    )


def behind() -> bytes:
    """A kernel that is launched in the only step and runs after its mark."""
    number = {"correlation_id": 7}
    return space(
        host(
            line(
                "python",
                Event("train", 0, 50, {"step_num": 1, "_r": 1}),
                Event("cuLaunchKernel", 10, 5, number),
            )
        ),
        gpu(0, stream(7, Event("sgemm", 60, 30, number))),
    )


def almost() -> bytes:
    """What looks like something and is nothing: no step, no input, no memory, no FLOPs."""
    counters = Event("rss_bytes", 0, 0), Event("threads", 0, 0, {"counter_value": 7})
    return space(
        host(
            line(
                "python",
                Event("mine", 0, 9, {"step_num": 1, "_r": 0}),
                Event("$readers.py:1 load", 10, 5),
                Event("a:MatMul", 20, 5, {"flops": -1}),
            )
        ),
        plane("/device:CUSTOM:Telemetry", line("_counters_", *counters)),
        metadata_plane(("jit_g", 8, program("jit_g", ENTRY))),
    )


def tpu(**stats: object) -> bytes:
    """Two ops of a TPU, the second inside the first, and the steps of the device."""
    kinds = {WHILE: Kind(stats={"hlo_category": "while"})}
    ops = (Event(WHILE, 0, 90), Event("%a.1 = f32[8] add()", 10, 20, stats))
    steps_line = line("Steps", Event("1", 0, 95))
    return space(host(), plane("/device:TPU:0", steps_line, line("XLA Ops", *ops), kinds=kinds))


def only_container() -> bytes:
    """A loop of a TPU without anything in it."""
    kinds = {WHILE: Kind(stats={"hlo_category": "while"})}
    tracks = line("Steps", Event("1", 0, 95)), line("XLA Ops", Event(WHILE, 0, 90))
    return space(plane("/device:TPU:0", *tracks, kinds=kinds))


def compiled_on_cpu() -> bytes:
    """An op that XLA compiled for the CPU."""
    return space(PLANE, host(line("tf_XLAEigen", kernel("dot.1", 0, 10))))


def sampled() -> bytes:
    """A GPU's clock by periodic sampling; a host, and a line of ops, that name it and have none."""
    clock = Event("SM clock", 10, 0, {"sm__cycles": 1.5})
    return space(
        host(line("python", Event("CYCLES", 0, 0, {"counter_value": 1}))),
        gpu(0, line("_counters_", Event("SM clock", 5, 0, {"said": "no number"}), clock)),
    )


def counted() -> bytes:
    """A counter of a TPU after its ops, with no place in time."""
    ops = line("XLA Ops", *(Event("%a.1 = f32[8] add()", 10 * n, 5) for n in range(3)))
    cycles = Event("CYCLES", 0, 0, {"counter_value": 7}, occurrences=2)
    return space(plane("/device:TPU:0", ops, line("jit_step", Event("CYCLES", 0, 0), cycles)))


CYCLES, STORES = (V6E.tensor_core.counters(name, 0)[0] for name in ("CYCLES", "VST_INSTRUCTION"))


def chips(*read: PerfCounter, type_: str = V6E.type) -> bytes:
    """A TPU with one sample of these counters."""
    return space(chip(0, type_, [sample(1, dict.fromkeys(read, 7))]))


def between_slices(**fields: Any) -> bytes:
    """A TPU that sends to another slice and receives from it."""
    run = [("send.1", 0, 10), ("recv.1", 10, 2), ("recv-done.1", 50, 20)]
    return space(*slices(Collective("all-reduce.1", 1, **fields), run=run))


def call_of_a_collective() -> bytes:
    """A dump of the flight recorder."""
    call = Event("nccl:all_reduce", 0, 0, {"process_group": "0", "Seq": 1, "call_state": "started"})
    return space(plane("/device:CUSTOM:Flight recorder", line("0 · default_pg", call)))


def layers() -> bytes:
    """Calls of a model's modules, as PyTorch writes them."""
    calls = [Event("$nn.Module: Net_0", 0, 100), Event("$nn.Module: Linear_0", 10, 50)]
    return space(plane("/device:CUSTOM:Python calls", line("thread 7 (python)", *calls)))


def shapes() -> bytes:
    """A product of matrices with its shapes, as PyTorch's recordings become planes."""
    op = Event("aten/mm:mm", 0, 20, {"shape": "[[4, 5], [5, 6]]", "args": "{}"})
    call = Event("cudaLaunchKernel", 5, 2, {"correlation_id": 3})
    kernel = Event("gemm", 10, 20, {"correlation_id": 3, "tf_op": "aten/mm:mm"})
    return space(host(line("python", op, call)), gpu(0, stream(7, kernel)))


def regions() -> bytes:
    """A step of an engine with a compiled region that launches a graph."""
    step = Event("step[DECODE bs=32]", 0, 50)
    region = Event("Torch-Compiled Region: 0/0", 0, 40)
    call = Event("cudaGraphLaunch", 5, 2, {"correlation_id": 3})
    kernel = Event("triton_poi_fused_add_0", 10, 20, {"correlation_id": 3})
    return space(host(line("python", step, region, call)), gpu(0, stream(7, kernel)))


BUILT: dict[str, Callable[[], Iterable[bytes]]] = {
    "modules": lambda: [layers()],
    "shapes": lambda: [shapes()],
    "regions": lambda: [regions()],
    "worked example": lambda: [worked_example()],
    "with a GPU": lambda: [worked_example(gpu=True)],
    "asynchronous": lambda: [async_gpu()],
    "streams": lambda: [overlapping_streams()],
    "unmarked": lambda: [unmarked()],
    "unmarked, shorter": lambda: [unmarked(3)],
    "pytorch": lambda: [pytorch_like()],
    "negative ids": lambda: [negative_thread_ids()],
    "hostile": lambda: [hostile_names()],
    "no events": lambda: [no_events()],
    "server": lambda: [batching_server()],
    "allocator": lambda: [training()],
    "readers": lambda: [python_and_counters()],
    "copies": lambda: [copies_alone()],
    "TPU": lambda: [tpu()],
    "TPU with costs": lambda: [tpu(flops=8)],
    "host and GPU host": lambda: [worked_example(), overlapping_streams()],
    "unmarked GPU host": lambda: [worked_example(), copies_alone(), worked_example(gpu=True)],
    "behind": lambda: [behind()],
    "almost": lambda: [almost()],
    "container": lambda: [only_container()],
    "slices": lambda: [between_slices()],
    "callbacks": lambda: [between_slices(transfer_type="", group=0, handler="pluginexec")],
    "half of a run": lambda: [space(*slices(Collective("a", 1), run=[("recv.1", 0, 2)]))],
    "CPU beside a GPU": lambda: [compiled_on_cpu(), overlapping_streams()],
    "steps on the CPU": lambda: [unmarked(), overlapping_streams()],
    "counters of a GPU": lambda: [sampled()],
    "counters of a TPU": lambda: [worked_example(), counted()],
    "units of a TPU": lambda: [chips(CYCLES, STORES)],
    "cycles of a TPU": lambda: [chips(CYCLES)],
    "counters of an unknown TPU": lambda: [chips(CYCLES, STORES, type_="TPU v9")],
    "dump": lambda: [call_of_a_collective()],
    "start": lambda: [space(start([Span("import", "package", 0, 500)], [Look("f", 500, 900)]))],
    "step log": lambda: [
        space(plane(names.STEP_LOG_PLANE, line("rank 0", ("steps", 0, 9, {"log_steps": 1}))))
    ],
    "sample": lambda: [gzip.decompress(SAMPLE.read_bytes())],
}


def renamed(found: Space, old: str) -> Space:
    """The recording with one name of a stat, an event, a line or a plane made meaningless."""

    def new(names: list[str]) -> list[str]:
        return ["meaningless" if name == old else name for name in names]

    planes = zip(found.planes, new([one.name for one in found.planes]), strict=True)
    lines = zip(found.lines, new([one.name for one in found.lines]), strict=True)
    return replace(
        found,
        planes=tuple(replace(one, name=name) for one, name in planes),
        lines=tuple(replace(one, name=name) for one, name in lines),
        event_metadata=replace(found.event_metadata, name=new(found.event_metadata.name)),
        stat_metadata=replace(found.stat_metadata, name=new(found.stat_metadata.name)),
    )


def names_in(found: Space) -> Iterator[str]:
    """Every name that may tell something, once."""
    names = [one.name for one in found.planes] + [one.name for one in found.lines]
    return iter(dict.fromkeys([*names, *found.event_metadata.name, *found.stat_metadata.name]))


def only_counted(found: Space) -> Space:
    """The recording with all events aggregated: none has a place in time."""
    data = np.full_like(found.events.data, DATA_OCCURRENCES)
    return replace(found, events=replace(found.events, data=data))


def test_every_tool_is_compared() -> None:
    missing = NEEDS.keys() - IN_FULL.keys()
    assert not missing, f"add to IN_FULL when {sorted(missing)} have something to show"
    assert IN_FULL.keys() <= set(TOOLS.ids) and NEEDS.keys() <= set(TOOLS.ids)


@pytest.mark.parametrize("build", BUILT.values(), ids=BUILT.keys())
def test_built_profiles(build: Callable[[], Iterable[bytes]]) -> None:
    check(*map(decode, build()))


def test_the_profiles_tell_all_tools_apart() -> None:
    found = [check(*map(decode, build())) for build in BUILT.values()]
    found += [check(on_gpu().hosts[0].space), check(on_cpu().hosts[0].space)]
    ever = {tool for available in found for tool in available}
    always = {tool for tool in ever if all(tool in available for available in found)}
    assert ever - always == NEEDS.keys()


@pytest.mark.parametrize("build", list(BUILT.values())[:-1], ids=list(BUILT)[:-1])
def test_profiles_with_one_name_gone(build: Callable[[], Iterable[bytes]]) -> None:
    found = [decode(data) for data in build()]
    for name in thinned(list(dict.fromkeys(name for one in found for name in names_in(one)))):
        check(*(renamed(one, name) for one in found), what=f"without {name!r}")
    check(*map(only_counted, found), what="aggregated")


@pytest.mark.parametrize("compiled", [on_gpu, on_cpu])
def test_compiled_programs_with_one_name_gone(compiled: Callable[[], Profile]) -> None:
    found = compiled().hosts[0].space
    for name in names_in(found):
        check(renamed(found, name), what=f"without {name!r}")


@pytest.mark.parametrize("one", PROFILES, ids=[one.name for one in PROFILES])
def test_labelled_profiles(one: Labelled) -> None:
    check(*map(decode, one.build().values()))


@settings(max_examples=examples(60), deadline=None)
@given(spaces(), spaces())
def test_random_profiles(one: bytes, other: bytes) -> None:
    check(decode(one))
    check(decode(one), decode(other))


@pytest.mark.parametrize("name", RECORDED)
def test_real_recordings(name: str) -> None:
    check(*(one.space for one in recording(name).hosts))
