"""Op statistics on profiles whose answers can be worked out by hand."""

import math

import pytest

from stepscope.analysis.framework_op_stats import FrameworkOpStats, Options, framework_op_stats
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import overlapping_streams, worked_example
from tests.profiles.model import Event, gpu, host, line, space, stream


def stats(*hosts: bytes, **options: object) -> FrameworkOpStats:
    opened = tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts))
    return framework_op_stats(Profile("s", opened), Options(**options))  # type: ignore[arg-type]


def row(found: FrameworkOpStats, operation: str, side: str = "Host") -> dict[str, object]:
    return next(
        one
        for one in found.ops.rows()
        if one["operation"] == operation and one["host_or_device"] == side
    )


def nested() -> bytes:
    return space(
        host(
            line(
                "tf_Compute/1",
                ("outer:While", 0, 100),
                ("FunctionRun", 5, 90),
                ("a/MatMul:MatMul", 10, 30),
                ("b/MatMul:MatMul", 50, 20),
                ("a/MatMul:MatMul", 120, 30),
            )
        )
    )


def test_self_time_excludes_child_ops_only() -> None:
    found = stats(nested())
    outer = row(found, "outer")
    assert (outer["total_time_us"], outer["self_time_us"]) == (100, 50)
    matmul = row(found, "a/MatMul")
    assert (matmul["occurrences"], matmul["total_time_us"], matmul["avg_time_us"]) == (2, 60, 30)


def test_shares_sum_to_one_and_accumulate() -> None:
    found = stats(nested())
    shares = found.ops["host_self_time_frac"]
    assert sum(shares) == pytest.approx(1.0)
    assert found.ops["host_cumulative_frac"][-1] == pytest.approx(1.0)
    assert set(found.ops["device_self_time_frac"]) == {0.0}
    of_host = stats(nested(), where="host").ops
    assert all(map(math.isnan, of_host["device_self_time_frac"]))


def test_idle_is_a_row_when_asked_for() -> None:
    found = stats(nested(), include_idle=True)
    assert row(found, "IDLE")["self_time_us"] == 20
    assert sum(found.ops["host_self_time_frac"]) == pytest.approx(1.0)
    assert found.host.idle_time_us == 20


def test_by_type() -> None:
    found = stats(nested(), group_by="type")
    assert {one["operation"]: one["occurrences"] for one in found.ops.rows()} == {
        "While": 1,
        "MatMul": 3,
    }


def test_one_side_only() -> None:
    data = worked_example(gpu=True)
    assert set(stats(data, where="device").ops["host_or_device"]) == {"Device"}
    assert set(stats(data, where="host").ops["host_or_device"]) == {"Host"}


def test_hosts_are_added_up() -> None:
    one, two = stats(nested()), stats(nested(), nested())
    assert row(two, "a/MatMul")["total_time_us"] == 2 * 60
    assert two.host.op_time_us == 2 * one.host.op_time_us


def test_busy_and_idle_of_overlapping_streams_make_the_span() -> None:
    found = stats(overlapping_streams(), include_idle=True)
    # Streams are busy 400 of each 1000 µs; from first begin to last end 2400 µs pass.
    assert found.device.idle_time_us == pytest.approx(2400 - 3 * 400)
    assert found.device.op_time_us == pytest.approx(3 * 600)


def test_an_allocation_names_its_op_but_is_no_execution() -> None:
    data = space(
        host(
            line(
                "tf_gpu_private_0",
                ("a/Rand:RandomUniform", 0, 10),
                Event("MemoryAllocation", 5, 0, {"tf_op": "a/Rand:RandomUniform"}),
            )
        )
    )
    found = row(stats(data), "a/Rand")
    assert (found["occurrences"], found["executions"], found["avg_time_us"]) == (2, 1, 10)


def test_an_op_that_only_allocated_is_no_distinct_op_that_ran() -> None:
    allocation = Event("MemoryAllocation", 15, 0, {"tf_op": "b/Add:AddV2"})
    data = space(host(line("tf_gpu_private_0", ("a/Rand:RandomUniform", 0, 10), allocation)))
    found = stats(data)
    assert [each["operation"] for each in found.ops.rows()] == ["a/Rand", "b/Add"]
    assert (found.host.op_count, found.host.distinct_ops) == (1, 1)


def test_eager_ops_lie_inside_an_eager_execute_without_a_function() -> None:
    data = space(
        host(
            line(
                "python",
                ("EagerExecute", 0, 20, {"is_func": 0}),
                ("a/Add:AddV2", 5, 10),
                ("EagerExecute", 30, 20, {"is_func": 1}),
                ("b/Mul:Mul", 35, 10),
                ("EagerExecute", 60, 20, {"is_func": 0}),
                ("Iterator::Root::Map", 65, 10),
            )
        )
    )
    found = stats(data)
    assert row(found, "a/Add")["eager"] == "Eager"
    assert row(found, "b/Mul")["eager"] == "Function"
    assert row(found, "Iterator::Root::Map")["eager"] == "Function", "tf.data is never compiled"


def test_old_annotations_name_the_ops_of_a_gpu() -> None:
    kernels = [
        Event(
            "void tensorflow::Kernel",
            10 * i,
            5,
            {"annotation": "a/rand/RandomUniform:RandomUniform#shape=(int32[4])#"},
        )
        for i in range(3)
    ]
    found = row(stats(space(gpu(0, stream(7, *kernels)))), "a/rand/RandomUniform", "Device")
    assert (found["type"], found["occurrences"], found["total_time_us"]) == ("RandomUniform", 3, 15)


def test_nothing_is_cut() -> None:
    events = [Event(f"op{i}:Add", 2 * i, 1) for i in range(3000)]
    assert len(stats(space(host(line("tf_x", *events)))).ops) == 3000
