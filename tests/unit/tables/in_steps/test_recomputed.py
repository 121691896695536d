"""What a backward pass runs of the model again: times worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.in_steps.recomputed import Recomputed, recomputed
from tests.profiles import space
from tests.profiles.model import Event, EventLike, gpu, host, line, stream

NODE = "autograd::engine::evaluate_function: NativeLayerNormBackward0"
CHECKPOINT = "autograd::engine::evaluate_function: CheckpointFunctionBackward"
LINEAR, NORM, MM = "aten/linear:linear", "aten/layer_norm:layer_norm", "aten/mm:mm"


Ran = tuple[str, float, float]


def found(*of_step: Ran, kernels: bool = False, node: str = NODE) -> Recomputed | None:
    """Two steps of 1 ms, whose forward pass ends at 400 µs and whose backward pass begins there."""
    events: list[Event] = []
    ran: list[EventLike] = []
    for number, at in enumerate((0, 1_000)):
        forward: list[Ran] = [(LINEAR, 10, 190), (NORM, 200, 200), (node, 400, 500)]
        events.append(Event("train", at, 1_000, {"step_num": number, "_r": 1}))
        events += [Event(name, at + start, length) for name, start, length in (*forward, *of_step)]
        launching = (*of_step, (MM, 850.0, 20.0)) if kernels else ()
        for id_, (_name, start, _length) in enumerate(launching, 10 * number):
            events.append(Event("cudaLaunchKernel", at + start + 1, 2, {"correlation_id": id_}))
            ran.append(("sgemm", at + start + 60, 30, {"correlation_id": id_}))
    ordered = sorted(events, key=lambda one: (one.start_us, -one.duration_us))
    devices = [gpu(0, stream(7, *ran))] if kernels else []
    return recomputed(Host("h", decode(space(host(line("python", *ordered, id=7)), *devices))))


AGAIN: tuple[Ran, ...] = ((LINEAR, 450, 150), (NORM, 620, 80))


def test_it_is_the_time_from_the_first_to_the_last_op_of_the_model_in_a_node() -> None:
    one = found(*AGAIN, (MM, 720, 100))
    assert one is not None
    assert one.ms == pytest.approx(0.250)  # 450 to 700 µs; the product is of the gradient
    assert (one.ops, one.first) == ("linear 65 %, layer_norm 35 %", LINEAR)


def test_on_a_device_it_is_what_was_launched_meanwhile() -> None:
    one = found(*AGAIN, kernels=True)
    assert one is not None
    assert one.ms == pytest.approx(0.060)


def test_what_the_backward_pass_within_it_runs_is_none_of_it() -> None:
    """A reentrant checkpoint runs a part of the model, then an engine of its own."""
    inner = "autograd::engine::evaluate_function: AddmmBackward0"
    one = found(*AGAIN, (inner, 720, 150), (LINEAR, 730, 20), node=CHECKPOINT)
    assert one is not None
    assert one.ms == pytest.approx(0.250 + 0.020)


@pytest.mark.parametrize(
    "of_step",
    [[], [(MM, 450, 150), ("aten/add:add", 620, 80)], [(LINEAR, 450, 150), (LINEAR, 620, 80)]],
    ids=["nothing", "gradients", "one kind: a gradient of its own"],
)
def test_gradients_alone_are_nothing_of_the_model(of_step: list[Ran]) -> None:
    assert found(*of_step) is None


def test_without_steps_or_gradients_nothing_is_known() -> None:
    one = Host("h", decode(space(host(line("python", (LINEAR, 0, 10), (NORM, 20, 10))))))
    assert recomputed(one) is None
