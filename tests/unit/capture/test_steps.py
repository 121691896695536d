"""Loops over batches mark their steps, record some, and are never disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.capture import control
from stepscope.columns import event_stats
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode

OPTIONS = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0, frameworks=())


def numbers_in(logdir: Path) -> list[int]:
    """Numbers of the steps of the only recording."""
    (path,) = logdir.rglob("*.xplane.pb")
    space = decode(path.read_bytes())
    names = space.event_metadata.name
    return [
        dict(event_stats(space, number))["step_num"]  # type: ignore[misc]
        for number, row in enumerate(space.events.metadata.tolist())
        if names[row] == "train"
    ]


def test_the_loop_gets_its_batches_and_the_steps_named_are_recorded(tmp_path: Path) -> None:
    seen = list(stepscope.steps("abcdefgh", tmp_path, "3,5", options=OPTIONS, verbose=False))
    assert seen == list("abcdefgh")
    # Steps count from 1 for people; the numbers in the file from 0, as TensorFlow's do.
    assert numbers_in(tmp_path)[:3] == [2, 3, 4]
    assert control.active() is None


def test_a_break_writes_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in stepscope.steps(range(100), tmp_path, "2,50", options=OPTIONS):
        if number == 6:
            break
    assert numbers_in(tmp_path) == [1, 2, 3, 4, 5, 6]
    assert "Stepscope recorded" in capsys.readouterr().err


def test_an_exception_of_the_loop_is_its_own(tmp_path: Path) -> None:
    def failing() -> Iterator[int]:
        yield from range(4)
        raise OSError("no more data")

    with pytest.raises(OSError, match="no more data"):
        list(stepscope.steps(failing(), tmp_path, "2,50", options=OPTIONS, verbose=False))
    assert numbers_in(tmp_path)[:3] == [1, 2, 3]


def test_a_recording_that_cannot_start_costs_the_loop_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with stepscope.Profile(tmp_path / "other", OPTIONS):
        assert list(stepscope.steps(range(5), tmp_path / "mine", "1,2", options=OPTIONS)) == [
            0,
            1,
            2,
            3,
            4,
        ]
    assert "already being recorded" in caplog.text
    assert not (tmp_path / "mine").exists()


def test_without_a_log_directory_steps_are_only_marked(tmp_path: Path) -> None:
    with stepscope.Profile(tmp_path, OPTIONS):
        assert list(stepscope.steps(range(3))) == [0, 1, 2]
    assert numbers_in(tmp_path) == [0, 1, 2]


def test_a_loader_with_more_batches_than_it_says_gives_them_all() -> None:
    class Loader:
        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Iterator[int]:
            return iter(range(5))

    assert list(stepscope.steps(Loader())) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", ["x", "5,2"])
def test_wrong_steps_are_said_before_the_loop_begins(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(UsageError):
        stepscope.steps(range(3), tmp_path, wrong)


def test_a_loop_that_ends_before_it_is_recorded_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in stepscope.steps(range(100), tmp_path):
        if number == 3:
            break
    assert "nothing was recorded: the loop ended after 3 steps" in caplog.text
    caplog.clear()
    assert list(stepscope.steps(range(3))) == [0, 1, 2]  # marks alone were asked for
    assert "nothing was recorded" not in caplog.text
