"""Rules about the memory of devices."""

from dataclasses import replace

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GIB, GOOD
from tests.profiles.model import EventLike, gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask


def held(used_gib: float, limit_gib: int = 16, fragmentation: float = 0.05) -> Asked:
    return ask(replace(GOOD, heap=(int(used_gib * GIB), limit_gib * GIB, fragmentation)))


def test_the_last_three_per_cent_are_an_alarm() -> None:
    assert held(15.8).finding("memory-near-limit").severity == "high"


def test_free_memory_in_pieces_is_told_with_the_largest_piece() -> None:
    found = held(12, fragmentation=0.75).finding("memory-fragmentation")
    # 4 GiB free, the largest piece a quarter of them.
    assert found.measured["largest_free_piece_bytes"] == pytest.approx(GIB)


def test_pieces_explain_a_memory_that_is_nearly_full() -> None:
    rules = [one.rule for one in held(15, fragmentation=0.8).advice()]
    near = rules.index("memory-near-limit")
    assert rules[near - 1] == "memory-fragmentation"


def test_memory_got_from_the_driver_within_the_step_stalls_the_device() -> None:
    found = driver_calls(300).finding("allocation-stalls")
    assert found.saving_ms == pytest.approx(0.3)


def driver_calls(us: float, only: int | None = None) -> Asked:
    """Six steps of 1 ms; in each (or one) the host gets memory for ``us`` µs before it launches."""
    python: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in range(6):
        base, ids = 1_000.0 * step, {"correlation_id": 2 * step + 1}
        taken = us if only in (None, step) else 0.0
        python.append(("train", base, 1_000.0, {"step_num": step, "_r": 1}))
        if taken:
            python.append(("cudaMalloc", base, taken, {"correlation_id": 2 * step}))
        python.append(("cudaLaunchKernel", base + taken, 1.0, ids))
        kernels.append(("ampere_bf16_s16816gemm", base + taken, 1_000.0 - taken, ids))
    data = space(host(line("python", *python)), gpu(0, stream(7, *kernels)))
    return Asked(Profile("s", (Host("h", decode(data)),)))


def growing(
    bytes_per_step: int, *, start: int = GIB, limit: int = 16 * GIB, allocator: str = "GPU_0_bfc"
) -> Asked:
    """Twelve steps; an allocator that holds so much more after each, beside a buffer of a step."""
    events: list[EventLike] = []
    for step in range(12):
        begin = 1000.0 * step
        events.append(("train", begin, 1000, {"step_num": step, "_r": 1}))
        for at, use in ((100, start + (300 << 20)), (800, start)):
            use += step * bytes_per_step
            stats = {
                "allocator_name": allocator,
                "bytes_reserved": 0,
                "bytes_allocated": use,
                "bytes_available": limit - use,
                "requested_bytes": 1,
                "allocation_bytes": 1,
                "addr": 1,
            }
            events.append(("MemoryAllocation", begin + at, 1, stats))
    return Asked(Profile("s", (Host("h", decode(space(host(line("python", *events))))),)))


def test_memory_that_a_step_keeps_is_told_with_the_steps_that_are_left() -> None:
    found = growing(64 << 20).finding("memory-growth")
    assert found.measured["bytes_per_step"] == pytest.approx(64 << 20)
    # 16 GiB less 1 GiB, a step's buffer of 300 MiB and eleven times 64 MiB, in pieces of 64 MiB.
    assert found.severity == "medium"


@pytest.mark.parametrize("bytes_per_step", [0, 1 << 10, -(64 << 20)])
def test_memory_that_is_given_back_is_left_in_peace(bytes_per_step: int) -> None:
    asked = growing(bytes_per_step, start=2 * GIB)
    assert "does not grow" in asked.reason("memory-growth", Silence)
