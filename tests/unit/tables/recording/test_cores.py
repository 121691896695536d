"""The cores of a host are those that its plane notes; threads of a pool tell the least."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.environment import cores_seen, host_cores
from tests.profiles import draw, event, host, line, space


def test_our_recorder_notes_them() -> None:
    noted = host(line("python"), stats={"core_count": 8})
    assert host_cores(Host("h", decode(space(noted)))) == 8


def test_others_do_not() -> None:
    assert host_cores(Host("h", decode(space(host(line("python")))))) == 0


def test_threads_of_a_pool_tell_how_many_cores_there_are_at_least() -> None:
    threads = [f"tf_Compute/{number}   {'.' * at}A" for at, number in enumerate((-17, 23, 29))]
    threads += [f"tf_data_1/{number}   AAA" for number in range(4, 8)]
    data = draw("\n".join(["/host:CPU", *threads]), unit_us=100, A=event("dense/MatMul:MatMul"))
    one = Host("host", decode(space(*data)))
    assert (host_cores(one), cores_seen(one)) == (0, 3)
