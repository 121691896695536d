"""Conditions of two runs: differences are listed, what no recording has is unknown."""

from typing import Any

import pytest

from stepscope.comparison.parity import parity
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import environment, gpu, host, line, plane, space, stream
from tests.profiles.loops import Kernel, Loop, record
from tests.profiles.model import EventLike

# include_dataset_ops 1, host tracer 2, device tracer 1, python tracer 0 or 1 (fields 1 to 4).
QUIET = bytes([0x08, 1, 0x10, 2, 0x18, 1])
TRACED = QUIET + bytes([0x20, 1])


def profile(*files: bytes) -> Profile:
    return Profile("p", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(files)))


def row(before: Profile, after: Profile, name: str) -> dict[str, Any]:
    return next(row for row in parity(before, after).rows() if row["property"] == name)


def run(batch: int = 0, options: bytes = b"", kernel: str = "sgemm", versions: str = "") -> Profile:
    marks: list[EventLike] = [
        ("train", 100 * step, 90, {"step_num": step, "_r": 1}) for step in range(4)
    ]
    data: list[EventLike] = []
    if batch:
        data = [("Iterator::Batch", 100 * step, 10, {"batch_size": batch}) for step in range(4)]
    stats: dict[str, Any] = {"profile_options": options} if options else {}
    metadata = plane("/host:metadata", stats={"jax_version": versions} if versions else {})
    return profile(
        space(
            host(line("python", *marks), line("tf_data_iterator", *data)),
            gpu(0, stream(7, *[(kernel, 100 * step + 10, 50) for step in range(4)])),
            environment(**stats),
            metadata,
        )
    )


def test_equal_runs_differ_in_nothing() -> None:
    found = parity(run(64, QUIET), run(64, QUIET))
    assert set(found["status"]) <= {"same", "unknown"}


def test_another_batch_size_differs() -> None:
    found = row(run(64), run(128), "batch size")
    assert (found["baseline"], found["candidate"], found["status"]) == ("64", "128", "differs")
    assert "not comparable" in found["note"]


def test_what_one_recording_does_not_tell_is_unknown() -> None:
    found = row(run(64), run(), "batch size")
    assert (found["candidate"], found["status"]) == ("not recorded", "unknown")


def test_tracer_levels_are_read_from_the_recording() -> None:
    found = row(run(options=QUIET), run(options=TRACED), "tracer levels")
    assert found["baseline"] == "host 2, device 1, Python 0"
    assert found["candidate"] == "host 2, device 1, Python 1"
    assert found["status"] == "differs"


def test_options_that_are_no_message_are_unknown_and_not_fatal() -> None:
    found = row(run(options=QUIET), run(options=b"\xff\xff\xff"), "tracer levels")
    assert found["status"] == "unknown"


def test_precision_differs_when_kernels_change_to_16_bits() -> None:
    found = row(run(kernel="sgemm"), run(kernel="volta_h884gemm"), "device compute")
    assert found["baseline"] == "0 % in 16 bits or fewer"
    assert found["status"] == "differs"


def test_versions_are_compared_one_by_one() -> None:
    found = row(run(versions="0.9"), run(versions="0.10"), "jax version")
    assert found["status"] == "differs"


@pytest.mark.parametrize(("steps", "status"), [(12, "same"), (40, "differs")])
def test_very_different_counts_of_steps_are_said(steps: int, status: str) -> None:
    def loop(count: int) -> Profile:
        made = Loop(kernels=(Kernel("sgemm", 50),), steps=count, wait="cuSync")
        return profile(record(made)["host-0"])

    assert row(loop(10), loop(steps), "steps")["status"] == status


def test_devices_and_hosts_are_counted() -> None:
    one = Loop(kernels=(Kernel("sgemm", 50),), devices=1, steps=4, wait="cuSync")
    two = Loop(kernels=(Kernel("sgemm", 50),), devices=2, steps=4, wait="cuSync")
    before = profile(*record(one).values())
    after = profile(*record(two, two).values())
    assert row(before, after, "devices per host")["status"] == "differs"
    assert row(before, after, "hosts")["candidate"] == "2"
    assert row(before, after, "devices")["status"] == "same"


def recorded_with(settings: dict[str, str], types: tuple[str, ...] = ()) -> Profile:
    """A recording by Stepscope, of a program that allocates a tensor of each of these types."""
    facts = {"stepscope_version": "0.1.0", **{f"setting_{key}": v for key, v in settings.items()}}
    held: list[EventLike] = [
        ("MemoryAllocation", 10.0 * place, 0, {"allocator_name": "cpu", "data_type": kind,
                                               "allocation_bytes": 1 << 20})
        for place, kind in enumerate(types)
    ]  # fmt: skip
    marks: list[EventLike] = [("train", 100 * i, 90, {"step_num": i, "_r": 1}) for i in range(4)]
    return profile(space(host(line("python", *marks, *held)), environment(**facts)))


def test_settings_and_tensor_types_are_conditions() -> None:
    before = recorded_with({}, ("float32",))
    after = recorded_with({"keras_dtype_policy": "mixed_float16"}, ("float16", "float32"))
    found = row(before, after, "keras_dtype_policy")
    assert (found["baseline"], found["candidate"]) == ("default", "mixed_float16")
    assert found["status"] == "differs"
    types = row(before, after, "tensor types")
    assert (types["baseline"], types["candidate"]) == ("float32", "float16, float32")
    assert types["status"] == "differs"
    # As TensorFlow calls them; numbers of other kinds are no precision.
    before, after = (recorded_with({}, kinds) for kinds in (("float",), ("float", "half", "int64")))
    types = row(before, after, "tensor types")
    assert (types["baseline"], types["candidate"]) == ("float", "float, half")
    assert types["status"] == "differs"
