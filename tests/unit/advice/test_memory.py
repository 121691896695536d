"""Rules about the memory of devices."""

from dataclasses import replace

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence, Unknown
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GIB, GOOD
from tests.profiles.model import EventLike, gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask, profile_of


def held(used_gib: float, limit_gib: int = 16, fragmentation: float = 0.05) -> Asked:
    return ask(replace(GOOD, heap=(int(used_gib * GIB), limit_gib * GIB, fragmentation)))


def test_a_full_memory_is_told_with_what_holds_it() -> None:
    found = held(15).finding("memory-near-limit")
    assert found.severity == "medium"
    assert found.measured["used_frac"] == pytest.approx(15 / 16)
    assert found.saving_ms is None
    assert "15.0 GiB of 16.0 GiB" in found.message
    assert "weights 7.5 GiB" in found.message
    assert found.evidence[0].from_ms is not None


def test_the_last_three_per_cent_are_an_alarm() -> None:
    assert held(15.8).finding("memory-near-limit").severity == "high"


def test_several_full_memories_are_one_finding() -> None:
    found = ask(replace(GOOD, devices=3, heap=(15 * GIB, 16 * GIB, 0.05)))
    assert "(and 2 more)" in found.finding("memory-near-limit").message


def test_a_memory_with_room_is_left_in_peace() -> None:
    assert "62% full" in held(10).reason("memory-near-limit", Silence)
    assert "room enough" in held(10, fragmentation=0.9).reason("memory-fragmentation", Silence)


def test_free_memory_in_pieces_is_told_with_the_largest_piece() -> None:
    found = held(12, fragmentation=0.75).finding("memory-fragmentation")
    # 4 GiB free, the largest piece a quarter of them.
    assert found.measured["largest_free_piece_bytes"] == pytest.approx(GIB)
    assert "no piece larger than 1.0 GiB" in found.message


def test_free_memory_in_one_piece_is_left_in_peace() -> None:
    assert "5% fragmented" in held(12).reason("memory-fragmentation", Silence)


def test_pieces_explain_a_memory_that_is_nearly_full() -> None:
    rules = [one.rule for one in held(15, fragmentation=0.8).advice()]
    near = rules.index("memory-near-limit")
    assert rules[near - 1] == "memory-fragmentation"


@pytest.mark.parametrize("rule", ["memory-near-limit", "memory-fragmentation"])
def test_an_allocator_without_a_limit_says_nothing_of_room(rule: str) -> None:
    profile = profile_of(replace(GOOD, heap=(GIB, 16 * GIB, 0.05)))
    asked = Asked(profile)
    memory = asked.result("memory_profile")
    blind = replace(memory.memories[0], capacity_bytes=None, fragmentation_frac=None)
    asked.result = lambda tool: replace(memory, memories=(blind,))  # type: ignore[assignment]
    assert "No allocator" in asked.reason(rule, Unknown)


def test_pinned_memory_of_the_host_is_no_devices() -> None:
    asked = held(15)
    memory = asked.result("memory_profile")
    pinned = replace(memory.memories[0], id="host-0: gpu_host_bfc")
    asked.result = lambda tool: replace(memory, memories=(pinned,))  # type: ignore[assignment]
    assert "No allocator" in asked.reason("memory-near-limit", Unknown)


def test_what_pytorch_has_reserved_so_far_is_no_limit() -> None:
    asked = held(15)
    memory = asked.result("memory_profile")
    growing = replace(memory.memories[0], id="torch_gpu_0")
    asked.result = lambda tool: replace(memory, memories=(growing,))  # type: ignore[assignment]
    assert "No allocator" in asked.reason("memory-near-limit", Unknown)


def test_memory_got_from_the_driver_within_the_step_stalls_the_device() -> None:
    found = driver_calls(300).finding("allocation-stalls")
    assert found.saving_ms == pytest.approx(0.3)
    assert "cudaMalloc 1 times" in found.message
    assert "empty_cache" in found.code["pytorch"]


def test_an_allocator_that_grows_in_one_step_is_expected_to_stop() -> None:
    found = driver_calls(600, only=2).finding("allocation-stalls")
    # 0.6 ms in one of the four counted steps: 0.15 ms in the mean, of which a quarter.
    assert found.saving_high_ms == pytest.approx(0.15)
    assert found.saving_ms == pytest.approx(0.15 / 4)
    assert "nearly all in 25% of the steps" in found.message


def test_an_allocator_that_has_its_memory_is_left_in_peace() -> None:
    assert "1.0% of the step" in driver_calls(10).reason("allocation-stalls", Silence)


def test_allocations_are_not_taken_for_launches() -> None:
    findings = driver_calls(300).advice()
    assert [one.rule for one in findings[:2]] == ["allocation-stalls", "idle-device"]
    assert findings[1].explained_by == ("allocation-stalls",)
    assert driver_calls(300).reason("launch-bound", Silence).startswith("Launching costs 0.0%")


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
    assert "keeps 64.0 MiB more with each of 12 steps" in found.message
    # 16 GiB less 1 GiB, a step's buffer of 300 MiB and eleven times 64 MiB, in pieces of 64 MiB.
    assert "full after 224 more steps" in found.message
    assert found.severity == "medium"


@pytest.mark.parametrize("bytes_per_step", [0, 1 << 10, -(64 << 20)])
def test_memory_that_is_given_back_is_left_in_peace(bytes_per_step: int) -> None:
    asked = growing(bytes_per_step, start=2 * GIB)
    assert "does not grow" in asked.reason("memory-growth", Silence)


def test_memory_nobody_reported_in_steps_may_grow_or_not() -> None:
    nothing = ask(replace(GOOD, heap=(10 * GIB, 16 * GIB, 0.05), steps=3))
    said = nothing.reason("memory-growth", Unknown)
    assert "as many as 8 steps: they are in 3; record more of them" in said


@pytest.mark.parametrize(
    ("allocator", "is_gpu"), [("GPU_0_bfc", True), ("mklcpu", False), ("gpu_host_bfc", False)]
)
def test_growth_of_a_hosts_memory_is_not_answered_with_settings_of_gpus(
    allocator: str, is_gpu: bool
) -> None:
    found = growing(64 << 20, allocator=allocator).finding("memory-growth")
    said = " ".join([*found.actions, *found.code.values()])
    assert ("set_memory_growth" in said) == is_gpu


def test_the_steps_that_are_left_are_an_estimate_of_three_digits() -> None:
    found = growing(1 << 20, limit=200 * GIB, start=GIB >> 4).finding("memory-growth")
    assert "full after 204,000 more steps" in found.message
