"""Events that end before they begin count for no time: no sum gets smaller, no step ends early."""

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.device.kernels import host_kernels
from stepscope.tables.ops.framework_totals import device_op_totals, host_op_totals
from stepscope.tables.steps.attribution import PARTS, steps
from tests.profiles import Event, gpu, host, line, space, stream

OP = {"tf_op": "dense/MatMul:MatMul"}


def step(number: int, start_us: float, duration_us: float) -> Event:
    return Event("train", start_us, duration_us, {"step_num": number, "_r": 1})


def opened(*planes: object) -> Host:
    return Host("h", decode(space(*planes)))  # type: ignore[arg-type]  # planes, as space takes them


def test_sound_recordings_are_not_copied() -> None:
    found = opened(host(line("python", step(0, 0, 900)))).space
    assert found.length_ps is found.events.duration_ps


def test_the_length_of_an_event_that_ends_before_it_begins_is_none() -> None:
    found = opened(host(line("python", ("a", 5, -3.0), ("b", 9, 2)))).space
    assert found.length_ps.tolist() == [0, 2_000_000]
    assert found.events.duration_ps.tolist() == [-3_000_000, 2_000_000]


def test_it_takes_nothing_off_the_times_of_kernels() -> None:
    (found,) = host_kernels(opened(gpu(0, stream(7, ("k", 0, 100), ("k", 500, -40.0)))))
    assert (found.times.occurrences, found.times.total_ps) == (2, 100_000_000)
    assert (found.times.min_ps, found.times.max_ps) == (0, 100_000_000)


def test_it_takes_nothing_off_the_times_of_ops() -> None:
    both = opened(
        host(line("python", ("a/Mul:Mul", 0, 60), ("a/Mul:Mul", 100, -50.0))),
        gpu(0, stream(7, ("k", 0, 100, OP), ("k", 500, -40.0, OP))),
    )
    for found, total_us in ((host_op_totals(both), 60), (device_op_totals(both), 100)):
        assert found.total_ps.tolist() == [total_us * 1_000_000]
        assert found.self_ps.tolist() == [total_us * 1_000_000]


def test_a_step_that_ends_before_it_begins_is_an_empty_one() -> None:
    found = steps(opened(host(line("python", step(0, 0, 900), step(1, 1000, -5.0)))))
    assert found is not None
    assert found.duration_ps.tolist() == [900_000_000, 0]
    assert sum(int(found.parts_ps[part].sum()) for part in PARTS) == 900_000_000
