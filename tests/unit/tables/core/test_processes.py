"""Processes of one file number their launches and name their allocators each for itself."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.processes import correlation_ids, processes
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.recording_gaps import recording_gaps
from stepscope.tables.device.events import device_events
from stepscope.tables.device.usage import device_usage
from stepscope.tables.memory.allocations import allocations
from stepscope.tables.recording.completeness import completeness
from stepscope.timeline.flows import launches
from tests.profiles.memory import Heap
from tests.profiles.model import Event, Plane, line, plane, space, stream


def process(suffix: str, shift: float, calls: int = 8, call: str = "cuLaunchKernel") -> list[Plane]:
    """A process that launches ``calls`` kernels, one a millisecond, numbered from 1."""
    main = [Event(call, shift + 1000 * i, 20, {"correlation_id": i + 1}) for i in range(calls)]
    device = [
        Event("sgemm", shift + 1000 * i + 200, 400, {"correlation_id": i + 1}) for i in range(calls)
    ]
    return [
        plane(f"/host:CPU{suffix}", line("python", *main)),
        plane(f"/device:GPU:0{suffix}", stream(7, *device)),
    ]


@pytest.mark.parametrize("suffix", [" [42]", " [7]", " [123456]"])
def test_arrows_from_launch_to_kernel_stay_within_a_process(suffix: str) -> None:
    host = Host("h", decode(space(*process("", 0), *process(suffix, 20_000))))
    found = launches(Profile("p", (host,)))
    assert len(found.source) == 16
    known = processes(host)
    ends = [known.of_rows(host, rows).tolist() for rows in (found.source, found.target)]
    assert ends[0] == ends[1]
    assert sorted(ends[0]) == [0] * 8 + [1] * 8


def test_a_kernel_is_named_after_the_launch_of_its_own_process() -> None:
    """The child copies to the host, the parent to the device; both with ROCm's copy kernel."""

    def copies(suffix: str, call: str) -> list[Plane]:
        main = Event(call, 0, 5, {"correlation_id": 1})
        device = Event("__amd_rocclr_copyBuffer", 10, 5, {"correlation_id": 1})
        return [
            plane(f"/host:CPU{suffix}", line("python", main)),
            plane(f"/device:GPU:0{suffix}", stream(7, device)),
        ]

    both = space(*copies("", "hipMemcpyHtoDAsync"), *copies(" [9]", "hipMemcpyDtoHAsync"))
    found = device_events(Host("h", decode(both)))
    apart = [
        device_events(Host("h", decode(space(*copies("", call))))).work[0]
        for call in ("hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync")
    ]
    assert apart[0] != apart[1]
    assert found.work.tolist() == apart


def test_each_process_has_a_memory_of_its_own() -> None:
    heaps = []
    for address, size in ((1 << 20, 8_192_000), (1 << 20, 8_192)):
        heap = Heap("GPU_0_bfc", 1 << 30)
        heap.take(1.0, address, size)
        heaps.append(heap)
    host = Host(
        "h",
        decode(
            space(
                plane("/host:CPU", line("python", *heaps[0].events)),
                plane("/host:CPU [42]", line("python", *heaps[1].events)),
            )
        ),
    )
    found = allocations(host)
    assert found is not None
    assert found.memories == ["GPU_0_bfc", "GPU_0_bfc [42]"]
    held = {
        found.memories[code]: int(size)
        for code, size in zip(found.memory.tolist(), found.in_use_bytes, strict=True)
    }
    assert held == {"GPU_0_bfc": 8_192_000, "GPU_0_bfc [42]": 8_192}


def test_a_childs_launches_do_not_stand_for_the_parents_lost_kernels() -> None:
    parent = process("", 0)
    without = [
        parent[0],
        plane("/device:GPU:0", stream(7, ("sgemm", 200, 400, {"correlation_id": 1}))),
    ]
    said = completeness(Host("h", decode(space(*without, *process(" [42]", 20_000))))).diagnostics
    lost = next(one for one in said if one.slug == "launches-without-kernel")
    assert lost.message.startswith("7 of 16 launches")


def test_numbers_of_a_single_process_stay_as_recorded() -> None:
    host = Host("h", decode(space(*process("", 0))))
    assert sorted(set(correlation_ids(host).values.tolist())) == list(range(1, 9))


def test_a_kernel_is_launched_by_a_call_of_its_own_process() -> None:
    child = process(" [42]", 20_000)
    lost = [plane("/host:CPU [42]", line("python", ("step", 20_000, 20))), child[1]]
    for of_child, expected in ((child, [0, 0]), (lost, [0, 8])):
        used = device_usage(Host("h", decode(space(*process("", 0), *of_child))))
        assert [one.without_launch for one in used] == expected


def test_gaps_are_of_the_process_whose_threads_were_recorded() -> None:
    def told(suffix: str, begin_us: float) -> Plane:
        gap = ("torch: not recorded", begin_us, 2000)
        return plane(f"Stepscope recording{suffix}", line("not recorded", gap))

    recorders = [told("", 500), told(" [42]", 700), told(" [43]", 900)]
    child, other = process(" [42]", 0), process(" [43]", 0, calls=2)
    gaps_us = [
        recording_gaps(Host("h", decode(space(*recorders, *threads))))[0].tolist()
        for threads in ([*child, *other], [*process("", 0, calls=1), *child])
    ]
    assert gaps_us == [[700 * 10**6], [500 * 10**6]]
