"""Two played runs that differ in one thing: the comparison names it first and sizes it right."""

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import pytest

from stepscope.comparison import Comparison, compare, side_of
from stepscope.errors import NothingToShow, UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import gpu, no_events, stream, worked_example
from tests.profiles.loops import Collective, Kernel, Loop, record
from tests.profiles.model import Event, EventLike, host, line, space

LEVELS = ("parts", "step_parts", "modules", "kernels")
# 400 + 200 + 100 µs of kernels, launched within 12 µs and waited for: bound by the device.
KERNELS = (
    Kernel("ampere_sgemm_128x64_tn", 400, "model/dense/MatMul:MatMul"),
    Kernel("EigenMetaKernel_relu", 200, "model/dense/Relu:Relu"),
    Kernel("cudnn_conv_fwd", 100, "model/conv/Conv2D:Conv2D"),
)
BASE = Loop(kernels=KERNELS, steps=12, wait="cuStreamSynchronize")


def profile(*loops: Loop) -> Profile:
    hosts = tuple(Host(name, decode(data)) for name, data in record(*loops).items())
    return Profile("played", hosts)


def compared(before: Sequence[Loop], after: Sequence[Loop]) -> Comparison:
    found = compare([side_of("before", profile(*before)), side_of("after", profile(*after))])
    for level in LEVELS:
        total = sum(getattr(found, level)["delta_ms"])
        assert total == pytest.approx(found.delta_ms, rel=1e-3, abs=1e-9), level
    return found


def first_part(found: Comparison) -> tuple[str, str, Any]:
    """Kind, name and size of the part that changed most."""
    row = next(found.parts.rows())
    return row["kind"], row["name"], row["delta_ms"]


def own_changes(found: Comparison) -> dict[str, Any]:
    """How much longer each worker's own part of the step is."""
    return dict(zip(found.worker_times["worker"], found.worker_times["own_delta_ms"], strict=True))


def test_a_kernel_twice_as_slow_is_the_first_part() -> None:
    slower = replace(BASE, kernels=(KERNELS[0], replace(KERNELS[1], us=400), KERNELS[2]))
    found = compared([BASE], [slower])
    # Exactly 200 µs more of it, and nothing else changes.
    assert first_part(found) == ("slower", "model/dense/Relu", pytest.approx(0.2, rel=0.05))
    assert found.delta_ms == pytest.approx(0.2, rel=0.05)
    assert found.significant is True
    assert "model/dense/Relu (slower)" in found.headline
    kernel = next(found.kernels.rows())
    assert (kernel["name"], kernel["kind"]) == ("EigenMetaKernel_relu", "slower")
    assert next(found.modules.rows())["name"] == "model/dense"
    assert next(found.step_parts.rows())["kind"] == "device_compute_32"


def test_a_removed_op_is_the_first_part() -> None:
    found = compared([BASE], [replace(BASE, kernels=(KERNELS[0], KERNELS[2]))])
    assert first_part(found) == ("removed", "model/dense/Relu", pytest.approx(-0.2, rel=0.05))
    # The other way round it is added.
    found = compared([replace(BASE, kernels=(KERNELS[0], KERNELS[2]))], [BASE])
    assert first_part(found) == ("added", "model/dense/Relu", pytest.approx(0.2, rel=0.05))


def test_five_milliseconds_of_input_are_the_first_part() -> None:
    before, after = replace(BASE, input_us=20), replace(BASE, input_us=5020)
    found = compared([before], [after])
    assert first_part(found) == ("input", "waiting for input", pytest.approx(5.0, rel=0.05))
    assert found.delta_ms == pytest.approx(5.0, rel=0.05)


def test_a_straggler_is_the_first_part_and_named() -> None:
    allreduce = Collective(us=300)
    even = replace(BASE, collective=allreduce)
    # host-2 needs 700 µs of kernels five times over: the others wait 2.8 ms for it.
    late = replace(even, slower={0: 5.0})
    found = compared([even] * 4, [even, even, late, even])
    kind, name, delta = first_part(found)
    assert (kind, name) == ("communication", "waiting for the slowest worker (host-2)")
    assert delta == pytest.approx(2.8, rel=0.05)
    assert found.delta_ms == pytest.approx(2.8, rel=0.05)
    own = own_changes(found)
    assert own["host-2"] == pytest.approx(2.8, rel=0.05)
    assert own["host-0"] == pytest.approx(0.0, abs=0.01)
    # What the straggler itself does longer: each kernel five times, the longest first.
    slowest = next(found.slowest_worker_parts.rows())
    assert (slowest["name"], slowest["kind"]) == ("model/dense/MatMul", "slower")
    assert slowest["delta_ms"] == pytest.approx(1.6, rel=0.05)


def test_a_slow_device_of_one_host_is_named() -> None:
    even = replace(BASE, devices=3, collective=Collective(us=300))
    found = compared([even], [replace(even, slower={1: 2.0})])
    # Its kernels need 700 µs more, for which the other devices wait.
    kind, name, delta = first_part(found)
    assert (kind, name) == ("communication", "waiting for the slowest worker (GPU:1)")
    assert delta == pytest.approx(0.7, rel=0.05)
    assert found.delta_ms == pytest.approx(0.7, rel=0.05)
    slowest = next(found.slowest_worker_parts.rows())
    assert (slowest["name"], slowest["kind"]) == ("model/dense/MatMul", "slower")
    assert slowest["delta_ms"] == pytest.approx(0.4, rel=0.05)
    own = own_changes(found)
    assert own["GPU:1"] == pytest.approx(0.7, rel=0.05)
    assert own["GPU:0"] == pytest.approx(0.0, abs=0.02)


def test_devices_that_never_meet_share_the_step_of_their_host() -> None:
    # Two devices without a collective: what either runs longer is an op of the step.
    pair = replace(BASE, devices=2)
    found = compared([pair], [replace(pair, slower={1: 2.0})])
    assert found.delta_ms == pytest.approx(0.7, rel=0.05)
    slower = [row["delta_ms"] for row in found.parts.rows() if row["kind"] == "slower"]
    assert sum(slower) == pytest.approx(0.7, rel=0.05)
    assert len(found.worker_times) == 0


def test_devices_that_run_behind_the_host_are_compared_by_their_own_time() -> None:
    # Nobody waits at the end of a step: the host is a step ahead, the kernels set the pace.
    ahead = replace(BASE, wait="", steps=20)
    slower = replace(ahead, kernels=(KERNELS[0], replace(KERNELS[1], us=400), KERNELS[2]))
    found = compared([ahead], [slower])
    assert first_part(found) == ("slower", "model/dense/Relu", pytest.approx(0.2, rel=0.05))
    assert found.delta_ms == pytest.approx(0.2, rel=0.05)


def test_what_all_hosts_do_longer_is_their_ops_and_no_straggler() -> None:
    even = replace(BASE, collective=Collective(us=300))
    slower = replace(even, kernels=(replace(KERNELS[0], us=1000), *KERNELS[1:]))
    found = compared([even] * 3, [slower] * 3)
    assert first_part(found) == ("slower", "model/dense/MatMul", pytest.approx(0.6, rel=0.05))


def test_a_longer_all_reduce_is_communication() -> None:
    before, after = (replace(BASE, collective=Collective(us=us)) for us in (300, 900))
    found = compared([before] * 2, [after] * 2)
    kind, name, delta = first_part(found)
    assert (kind, "AllReduce" in name) == ("communication", True)
    assert delta == pytest.approx(0.6, rel=0.05)


def test_time_in_python_that_nothing_records_is_idle() -> None:
    found = compared([BASE], [replace(BASE, python_us=1000)])
    kind, name, delta = first_part(found)
    assert (kind, name) == ("idle", "nothing recorded")
    assert delta == pytest.approx(1.0, rel=0.05)


def test_a_kernel_hidden_behind_others_costs_nothing() -> None:
    # The host needs 3 ms a step anyway: the device idles, and twice the kernel fills its idleness.
    loop = replace(BASE, wait="", python_us=3000)
    slower = replace(loop, kernels=(replace(KERNELS[0], us=800), *KERNELS[1:]))
    found = compared([loop], [slower])
    assert found.delta_ms == pytest.approx(0.0, abs=0.01)
    assert found.significant is False
    by_kind = dict(zip(found.parts["kind"], found.parts["delta_ms"], strict=True))
    assert by_kind["slower"] == pytest.approx(0.4, rel=0.05)
    assert by_kind["idle"] == pytest.approx(-0.4, rel=0.05)


def test_runs_with_other_numbers_of_hosts_compare() -> None:
    even = replace(BASE, collective=Collective(us=300))
    found = compared([even] * 2, [even] * 4)
    assert found.delta_ms == pytest.approx(0.0, abs=0.01)
    hosts = next(row for row in found.parity.rows() if row["property"] == "hosts")
    assert (hosts["baseline"], hosts["candidate"], hosts["status"]) == ("2", "4", "differs")


def test_ops_renumbered_by_a_new_process_are_the_same_ops() -> None:
    renamed = tuple(
        replace(kernel, op=kernel.op.replace("model/dense", "model_1/dense_7"))
        for kernel in KERNELS
    )
    found = compared([BASE], [replace(BASE, kernels=renamed)])
    assert set(found.parts["kind"]) <= {"slower", "faster", "same", "idle", "launch"}
    assert found.delta_ms == pytest.approx(0.0, abs=0.01)


def test_frameworks_that_share_no_name_are_matched_by_what_their_ops_compute() -> None:
    jax = (
        Kernel("gemm_fusion_dot", 600, "jit(step)/jit(main)/dot_general:"),
        Kernel("loop_maximum_fusion", 200, "jit(step)/jit(main)/max:"),
        Kernel("custom_conv", 100, "jit(step)/jit(main)/conv_general_dilated:"),
    )
    found = compared([BASE], [replace(BASE, kernels=jax)])
    assert first_part(found)[0] == "slower"
    matched = next(found.parts.rows())
    assert matched["matched"] == "class"
    assert matched["delta_ms"] == pytest.approx(0.2, rel=0.05)


def test_more_than_two_runs_are_a_trend() -> None:
    loops = [replace(BASE, input_us=us) for us in (20, 20, 1020, 2020)]
    runs = [side_of(f"run {place}", profile(loop)) for place, loop in enumerate(loops)]
    found = compare(runs)
    assert found.delta_ms == pytest.approx(2.0, rel=0.05)
    assert list(found.runs["run"]) == ["run 0", "run 1", "run 2", "run 3"]
    assert list(found.runs["significant"]) == ["", "no", "yes", "yes"]
    assert found.runs["delta_ms"][2] == pytest.approx(1.0, rel=0.05)
    assert found.runs["main_change"][1] == ""
    assert found.runs["main_change"][3].startswith("waiting for input +1")


def test_a_run_without_steps_says_what_to_do() -> None:
    with pytest.raises(NothingToShow, match="without steps") as raised:
        side_of("empty", Profile("empty", (Host("h", decode(no_events())),)))
    assert raised.value.anchor == "no-steps"
    assert "damaged" not in raised.value.why


def test_a_run_whose_steps_were_cut_off_says_that() -> None:
    space = decode(worked_example(gpu=False)[:300])
    assert space.damage is not None
    with pytest.raises(NothingToShow) as raised:
        side_of("cut", Profile("cut", (Host("h", space),)))
    assert f"The file of h is damaged: {space.damage.reason}." in raised.value.why


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="two runs"):
        compare([side_of("alone", profile(BASE))])


def test_one_step_shows_a_difference_but_not_its_noise() -> None:
    found = compared([replace(BASE, steps=1)], [replace(BASE, steps=1, input_us=1000)])
    assert found.significant is None
    assert found.interval_ms is None
    assert found.delta_ms == pytest.approx(1.0, rel=0.05)
    assert "Too few steps" in found.headline
    assert found.to_dict()["significant"] is None


def test_steps_that_were_marked_as_points_in_time_are_compared() -> None:
    """They take no time: nothing is a share of that, and there is still an answer."""

    def marked(us: float) -> Profile:
        steps = [Event("train", us * i, us, {"step_num": i, "_r": 1}) for i in range(8)]
        lines = [line(f"thread {i}", step) for i, step in enumerate(steps)]
        return Profile("p", (Host("h", decode(space(host(*lines)))),))

    points, longer = side_of("points", marked(0)), side_of("longer", marked(500))
    same, grown = compare([points, points]), compare([points, longer])
    assert same.headline.startswith("No change beyond ±2 %: 0.00 → 0.00 ms per step (+0.00 ms;")
    assert same.delta_ms == 0 and isnan(same.delta_frac)
    assert grown.headline.startswith("Slower: 0.00 → 0.500 ms per step")
    assert list(grown.runs.rows())[1]["delta_frac"] is None
    assert compare([longer, points]).headline.startswith("100.0 % faster")


def amp_like(kernel_us: float, input_ms: Sequence[float]) -> Profile:
    """Three steps of ten products each, and waits for input that vary."""
    marks: list[EventLike] = []
    waits: list[EventLike] = []
    kernels: list[EventLike] = []
    at = 0.0
    for step, wait in enumerate(input_ms):
        waits.append(("IteratorGetNext", at + 1, 1000 * wait))
        begin = at + 1000 * wait + 5
        for place in range(10):
            us = kernel_us * (1 + 0.01 * ((step + place) % 3))
            kernels.append(("sgemm", begin, us, {"tf_op": "dense/MatMul:MatMul"}))
            begin += us + 2
        marks.append(("train", at, begin - at + 5, {"step_num": step, "_r": 1}))
        at = begin + 10
    data = space(host(line("python", *marks, *waits)), gpu(0, stream(7, *kernels)))
    return Profile("played", (Host("h", decode(data)),))


def test_compute_that_fell_in_three_steps_is_said_although_input_varies() -> None:
    before, after = amp_like(500, (2, 40, 9)), amp_like(250, (30, 5, 12))
    found = compare([side_of("fp32", before), side_of("amp", after)])
    assert (found.outcome, found.interval_ms) == ("unknown", None)
    assert "Changed: Device compute, 32-bit or unknown −2.52 ms" in found.headline
    rows = {row["name"]: row for row in found.step_parts.rows()}
    assert rows["Waiting for input"]["significant"] == "unknown"
    same = compare([side_of("fp32", before), side_of("again", amp_like(500, (30, 5, 12)))])
    assert "Changed" not in same.headline
