"""The cores of a host are those that its plane notes."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.environment import host_cores
from tests.profiles import host, line, space


def test_our_recorder_notes_them() -> None:
    noted = host(line("python"), stats={"core_count": 8})
    assert host_cores(Host("h", decode(space(noted)))) == 8


def test_others_do_not() -> None:
    assert host_cores(Host("h", decode(space(host(line("python")))))) == 0
