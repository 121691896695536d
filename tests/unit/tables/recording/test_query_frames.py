"""The frames people query."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.query_frames import FRAMES
from tests.profiles import worked_example
from tests.profiles.model import host, space


def profile(*data: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(one)) for i, one in enumerate(data)))


def test_events_keep_hosts_and_lines_apart() -> None:
    frame = FRAMES["events"](profile(worked_example(), worked_example(gpu=True)))
    counts = dict(frame.group_by("host").len().iter_rows())
    assert counts == {"h0": 8 * 6, "h1": 8 * 10}
    kernels = frame.filter(
        (frame["plane"] == "/device:GPU:0") & (frame["name"] == "ampere_sgemm_s1688")
    )
    assert kernels["duration_us"].to_list() == [150.0] * 8
    assert kernels["start_us"].to_list() == [1000.0 * i + 400 for i in range(8)]


def test_steps_have_their_parts() -> None:
    frame = FRAMES["steps"](profile(worked_example(gpu=True)))
    assert frame["step_num"].to_list() == list(range(8))
    parts = [
        name
        for name in frame.columns
        if name.endswith("_ms") and name not in ("start_ms", "step_time_ms")
    ]
    assert frame.select(parts).sum_horizontal().to_list() == pytest.approx([0.9] * 8)


def test_ops_of_both_sides() -> None:
    frame = FRAMES["ops"](profile(worked_example(gpu=True)))
    assert set(zip(frame["side"], frame["type"], strict=True)) == {
        ("Host", "MatMul"),
        ("Host", "Mul"),
        ("Device", "MatMul"),
        ("Device", "MemcpyHToD"),
    }


@pytest.mark.parametrize("name", FRAMES)
def test_an_empty_profile_gives_empty_frames_with_columns(name: str) -> None:
    frame = FRAMES[name](profile(space(host())))
    assert frame.height == 0
    assert frame.width > 3
