"""Recordings that begin while a device still works for the step before."""

import pytest

from tests.profiles import gpu, host, line, space, stream
from tests.unit.tables.steps.test_attribution import assert_parts_sum, mean_us, steps_of

US = 1_000_000


def begun_in_flight(steps: int, *, wait: str = "cudaDeviceSynchronize", own_us: float = 0) -> bytes:
    """Each step waits 300 µs for a kernel of the one before, launches one of 300, and waits again.

    Args:
        steps: How many.
        wait: The call in which the first step waits.
        own_us: What the first step computes before that.
    """
    calls: list[tuple[str, float, float, dict[str, int]]] = []
    ran: list[tuple[str, float, float, dict[str, int]]] = [("before", 0, 310 + own_us, {})]
    begin = 0.0
    for step in range(steps):
        end = begin + 700 + (own_us + 300 if step == 0 else 0)
        calls.append(("train", begin, end - begin, {"step_num": step, "_r": 1}))
        if step == 0:
            calls += [("parse", begin, own_us, {})] if own_us else []
            calls.append((wait, begin + own_us, 310, {}))
        calls.append(("cudaLaunchKernel", end - 650, 5, {"correlation_id": step + 1}))
        calls.append(("cudaDeviceSynchronize", end - 640, 540, {}))
        ran.append(("own", end - 600, 500, {"correlation_id": step + 1}))
        begin = end
    return space(host(line("python", *calls)), gpu(0, stream(7, *ran)))


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("wait", ["cudaDeviceSynchronize", "hipMemcpyWithStream"])
def test_a_first_step_does_not_pay_for_the_one_before(steps: int, wait: str) -> None:
    found = steps_of(begun_in_flight(steps, wait=wait))
    assert found.start_ps[0] == 310 * US
    assert found.duration_ps[0] == 690 * US
    assert (found.parts_ps["device_compute_32"] == 500 * US).all()
    assert found.left_out[0].startswith("The first 310 µs of the first step")
    assert_parts_sum(found)


def test_a_first_step_that_does_work_of_its_own_first_stays_whole() -> None:
    found = steps_of(begun_in_flight(1, own_us=200))
    assert found.duration_ps[0] == 1200 * US
    assert found.left_out == ()
    assert mean_us(found)["device_compute_32"] == 500 + 510


@pytest.mark.parametrize("starts_us", [(0, 900), (0, 5000), (2000, 900)])
def test_a_recorders_own_work_around_a_recording_is_named(starts_us: tuple[int, int]) -> None:
    """Of a recording without steps, that work is left out of the time that is accounted for."""
    begin, lasts = starts_us
    end = begin + lasts
    events = [
        ("$profiler.py:91 start_trace", begin, lasts),
        ("dense/MatMul:MatMul", end + 10, 480),
        ("$profiler.py:193 stop_trace", end + 500, lasts),
    ]
    found = steps_of(space(host(line("python", *events))))
    assert found.markers.is_window
    assert found.duration_ps.sum() <= 500 * US
    assert any("the recorder itself began and ended" in text for text in found.left_out)
