"""Device events: what each is, by stats and launches rather than by the name of its line."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import Work
from stepscope.tables.ops.framework_totals import device_busy
from tests.profiles.model import Event, Kind, gpu, host, line, plane, ref, space, stream, u


def events_of(data: bytes) -> DeviceEvents:
    return device_events(Host("h", decode(data)))


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("MemcpyH2D", Work.HOST_TO_DEVICE),
        ("MEMCPYHtoD", Work.HOST_TO_DEVICE),
        ("MemcpyD2H", Work.DEVICE_TO_HOST),
        ("MemcpyD2D", Work.DEVICE_TO_DEVICE),
        ("MemcpyP2P", Work.DEVICE_TO_DEVICE),
        ("CopyDeviceToDevice", Work.DEVICE_TO_DEVICE),
        ("CopyHostToDevice", Work.HOST_TO_DEVICE),
        ("CopyDeviceToHost", Work.DEVICE_TO_HOST),
        ("Memset", Work.DEVICE_TO_DEVICE),
        ("_combined_routing_memset", Work.COMPUTE_32),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", Work.COLLECTIVE),
        ("volta_h884gemm_128x64_ldg8_nn", Work.COMPUTE_16),
        ("ampere_sgemm_128x64_tn", Work.COMPUTE_32),
    ],
)
def test_work_by_name(name: str, work: Work) -> None:
    assert events_of(space(gpu(0, stream(7, (name, 0, 1))))).work.tolist() == [work]


def test_rocm_copies_take_their_direction_from_the_launch() -> None:
    launch = Event("hipMemcpyHtoDAsync", 0, 1, {"correlation_id": u(9)})
    copy = Event("__amd_rocclr_copyBuffer.kd", 5, 1, {"correlation_id": u(9)})
    data = space(host(line("Host Threads/1", launch)), gpu(0, stream(1, copy, content="Kernel")))
    assert events_of(data).work.tolist() == [Work.HOST_TO_DEVICE]


def test_derived_lines_do_not_count_twice() -> None:
    derived = line("Framework Ops", ("a/MatMul:MatMul", 0, 10), id=3735928562)
    found = events_of(space(gpu(0, stream(7, ("k", 0, 10)), derived)))
    assert len(found) == 1


def test_kernels_of_xla_join_their_framework_op_by_the_name_stat() -> None:
    stats = {
        "hlo_op": ref("fusion.3"),
        "hlo_module": ref("jit_f"),
        "program_id": u(5),
        "name": ref("jit(f)/mul"),
    }
    found = events_of(space(gpu(0, stream(7, Event("fusion_3", 0, 10, stats)))))
    assert [op.name for op in found.ops] == ["jit(f)/mul"]
    assert found.program.tolist() == [5]


def tpu_op(name: str, start: int, duration: int) -> Event:
    """An op whose host times are rounded as a TPU's are, and whose own times are exact."""
    own = {"device_offset_ps": u(start), "device_duration_ps": u(duration)}
    return Event(name, start / 1e6, (duration + 80) / 1e6, own)


def test_tpu_ops_nest_on_the_devices_clock() -> None:
    loop = "%while = (f32[8]) while(...)"
    body = "%add.1 = f32[8] add(f32[8] %a, f32[8] %b)"
    data = space(
        plane(
            "/device:TPU:0",
            line("XLA Ops", tpu_op(loop, 0, 1000), tpu_op(body, 100, 400), tpu_op(body, 1000, 400)),
            kinds={
                loop: Kind("while", {"hlo_category": "while", "tf_op": "jit(f)/while:"}),
                body: Kind(
                    "add.1", {"hlo_category": "non-fusion elementwise", "tf_op": "jit(f)/add:"}
                ),
            },
        )
    )
    found = events_of(data)
    assert found.duration_ps.tolist() == [1000, 400, 400]
    assert found.self_ps.tolist() == [600, 400, 400]
    assert found.is_container.tolist() == [True, False, False]
    assert [found.ops[op].name for op in found.op] == ["jit(f)/while", "jit(f)/add", "jit(f)/add"]


def test_idle_time_of_a_tpu_is_between_ops_of_its_own_clock() -> None:
    """The host's clock puts the second op 300 ps too early: that is not an overlap."""
    early = Event("b", 700 / 1e6, 1e-3, {"device_offset_ps": u(1500), "device_duration_ps": u(500)})
    ops = line("XLA Ops", tpu_op("a", 0, 1000), early)
    host = Host("h", decode(space(plane("/device:TPU:0", ops))))
    # 1000 + 500 ps of work from 0 to 2000 ps.
    assert list(device_busy(host).values()) == [(2000, 1500)]


@pytest.mark.parametrize(
    ("category", "work"),
    [
        ("all-reduce", Work.COLLECTIVE),
        ("all-gather", Work.COLLECTIVE),
        ("infeed", Work.INPUT_WAIT),
        ("outfeed", Work.DEVICE_TO_HOST),
        ("copy-done", Work.DEVICE_TO_DEVICE),
        ("convolution fusion", Work.COMPUTE_32),
    ],
)
def test_tpu_work_by_category(category: str, work: Work) -> None:
    data = space(
        plane(
            "/device:TPU:0",
            line("XLA Ops", ("%x = f32[8] x()", 0, 1)),
            kinds={"%x = f32[8] x()": Kind("x", {"hlo_category": category})},
        )
    )
    assert events_of(data).work.tolist() == [work]


@pytest.mark.parametrize(
    ("destination", "source", "work"),
    [
        ("", "S(5)", Work.HOST_TO_DEVICE),
        ("S(5)", "", Work.DEVICE_TO_HOST),
        ("", "S(1)", Work.DEVICE_TO_DEVICE),
        ("S(5)", "S(5)", Work.DEVICE_TO_DEVICE),
    ],
)
def test_asynchronous_copies_go_where_their_memory_spaces_say(
    destination: str, source: str, work: Work
) -> None:
    ends = f"f32[8,4]{{1,0:T(8,128){destination}}}, f32[8,4]{{1,0:T(8,128){source}}}"
    name = f"%copy-done.1 = f32[8,4]{{1,0}} copy-done(({ends}, u32[]{{:S(2)}}) %copy-start.1)"
    data = space(
        plane(
            "/device:TPU:0",
            line("XLA Ops", (name, 0, 1)),
            kinds={name: Kind("copy-done.1", {"hlo_category": "copy-done"})},
        )
    )
    assert events_of(data).work.tolist() == [work]


def test_low_precision_on_tpu_is_in_the_hlo_text() -> None:
    assert events_of(
        space(plane("/device:TPU:0", line("XLA Ops", ("%d = bf16[8,8]{1,0} dot(…)", 0, 1))))
    ).work.tolist() == [Work.COMPUTE_16]
