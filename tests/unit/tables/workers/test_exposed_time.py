"""Exposed time: who owns which moment of a step."""

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.host.events import Work
from stepscope.tables.workers.exposed_time import exposed
from tests.profiles import draw, event, gpu, host, line, no_events, nth, space, stream
from tests.profiles.loops import Collective, Kernel, Loop, record
from tests.profiles.model import EventLike


def owned(data: bytes) -> tuple[dict[str, float], float]:
    """Exposed µs by event name, and µs of nothing."""
    profile = Profile("p", (Host("h", decode(data)),))
    (one,) = exposed(profile)
    space = profile.hosts[0].space
    names = [space.event_metadata.name[row] for row in space.events.metadata[one.event]]
    total: dict[str, float] = {}
    for name, ps in zip(names, one.exposed_ps.tolist(), strict=True):
        total[name] = total.get(name, 0.0) + ps / 1e6
    return total, float(one.nothing_ps.sum()) / 1e6


def step(*lines: tuple[str, tuple[EventLike, ...]]) -> bytes:
    """One step of 100 µs with these host threads."""
    marker: EventLike = ("train", 0, 100, {"step_num": 0, "_r": 1})
    return space(host(line("python", marker), *(line(name, *events) for name, events in lines)))


def test_the_innermost_op_of_a_thread_owns_the_time() -> None:
    found, nothing = owned(
        step(("tf_Compute", (("a/MatMul:MatMul", 10, 60), ("b/Relu:Relu", 30, 20))))
    )
    assert found == {"a/MatMul:MatMul": pytest.approx(40), "b/Relu:Relu": pytest.approx(20)}
    assert nothing == pytest.approx(40)


def test_threads_that_run_ops_at_once_share_the_time() -> None:
    found, nothing = owned(
        step(
            ("tf_Compute/1", (("a/MatMul:MatMul", 0, 60),)),
            ("tf_Compute/2", (("b/Relu:Relu", 40, 40),)),
        )
    )
    # 0–40 a alone, 40–60 both, 60–80 b alone.
    assert found == {"a/MatMul:MatMul": pytest.approx(50), "b/Relu:Relu": pytest.approx(30)}
    assert nothing == pytest.approx(20)


@pytest.mark.parametrize("slow", [5, 6, 11])
def test_events_of_a_step_that_is_left_out_are_no_runs_of_others(slow: int) -> None:
    """The slow step lies between two that are kept; its op is that of neither."""
    lengths = [1_000 if number == slow else 100 for number in range(14)]
    begins = np.cumsum([0, *lengths])[:-1].tolist()
    marks: list[EventLike] = [
        ("train", begin, length, {"step_num": number, "_r": 1})
        for number, (begin, length) in enumerate(zip(begins, lengths, strict=True))
    ]
    ops: list[EventLike] = [("a/MatMul:MatMul", begin + 10, 60) for begin in begins]
    profile = Profile(
        "p",
        (Host("h", decode(space(host(line("python", *marks), line("tf_Compute", *ops))))),),
    )
    (one,) = exposed(profile)
    events = profile.hosts[0].space.events
    name = profile.hosts[0].space.event_metadata.name
    names = [name[at] for at in events.metadata[one.event].tolist()]
    assert names.count("a/MatMul:MatMul") == len(one.start_ps) < len(lengths) - 2
    assert one.exposed_ps[one.work == int(Work.HOST_COMPUTE)].sum() == len(one.start_ps) * 60e6


def test_an_op_comes_before_the_call_that_waits_for_it() -> None:
    found, nothing = owned(
        step(
            ("tf_Compute/1", (("KernelAndDeviceFunc::Run", 0, 100),)),
            ("tf_Compute/2", (("a/MatMul:MatMul", 20, 60),)),
        )
    )
    assert found["a/MatMul:MatMul"] == pytest.approx(60)
    assert found["KernelAndDeviceFunc::Run"] == pytest.approx(40)
    assert nothing == pytest.approx(0)


def test_an_op_that_calls_others_owns_only_what_they_leave() -> None:
    found, _ = owned(
        step(
            ("tf_Compute/1", (("while:While", 0, 100),)),
            ("tf_Compute/2", (("while/body/a/MatMul:MatMul", 20, 60),)),
        )
    )
    assert found["while/body/a/MatMul:MatMul"] == pytest.approx(60)
    assert found["while:While"] == pytest.approx(40)


def test_what_runs_behind_a_kernel_is_exposed_for_no_time() -> None:
    data = space(
        host(
            line("python", ("train", 0, 100, {"step_num": 0, "_r": 1})),
            line("tf_Compute", ("IteratorGetNext", 10, 50)),
        ),
        gpu(0, stream(7, ("sgemm", 0, 80))),
    )
    found, nothing = owned(data)
    assert found == {"sgemm": pytest.approx(80), "IteratorGetNext": pytest.approx(0)}
    assert nothing == pytest.approx(20)


def test_only_kept_steps_count() -> None:
    # Seven steps of 100 µs with 40 µs of kernel each: the first and the last are left out.
    data = space(
        *draw(
            """
            /host:CPU
              python        S---------S---------S---------S---------S---------S---------S---------
            /device:GPU:0
              Stream #7     K---......K---......K---......K---......K---......K---......K---......
            """,
            unit_us=10,
            S=event("train", step_num=nth, _r=1),
            K=event("sgemm"),
        )
    )
    found, nothing = owned(data)
    assert found["sgemm"] == pytest.approx(5 * 40)
    assert nothing == pytest.approx(5 * 60)


def test_waiting_in_a_collective_is_told_from_its_transfer() -> None:
    loop = Loop(
        kernels=(Kernel("sgemm", 400),),
        steps=8,
        wait="cuStreamSynchronize",
        collective=Collective(us=100),
    )
    late = Loop(
        kernels=(Kernel("sgemm", 1000),),
        steps=8,
        wait="cuStreamSynchronize",
        collective=Collective(us=100),
    )
    hosts = tuple(Host(name, decode(data)) for name, data in record(loop, late).items())
    quick, slow = exposed(Profile("p", hosts))
    for one, waited in ((quick, 600), (slow, 0)):
        wait = one.exposed_ps[one.is_wait].sum() / 1e6 / len(one.start_ps)
        talk = one.exposed_ps[(one.work == Work.COLLECTIVE) & ~one.is_wait].sum() / 1e6
        assert wait == pytest.approx(waited, abs=1)
        assert talk / len(one.start_ps) == pytest.approx(100, abs=1)


def test_without_steps_nothing_is_exposed() -> None:
    assert exposed(Profile("p", (Host("h", decode(no_events())),))) == ()


def test_times_are_given_to_the_step_they_lie_in() -> None:
    data = space(
        host(line("python", *[("train", at, 100, {"step_num": at, "_r": 1}) for at in (0, 100)])),
        gpu(0, stream(7, ("sgemm", 20, 30), ("sgemm", 120, 50))),
    )
    (one,) = exposed(Profile("p", (Host("h", decode(data)),)))
    assert one.step.tolist() == [0, 1]
    assert (one.exposed_ps / 1e6).tolist() == pytest.approx([30, 50])
    assert np.allclose(one.nothing_ps / 1e6, [70, 50])
