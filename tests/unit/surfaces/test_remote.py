"""The step time of a short recording, by which steps of other servers are timed."""

from __future__ import annotations

import pytest

from stepscope.surfaces.remote import step_time_ms
from tests.profiles import draw, event, no_events, nth, space


def test_the_time_between_steps_belongs_to_a_step() -> None:
    # Steps of 2 ms, one every 10 ms.
    planes = draw(
        """
        /host:CPU
          python  S-........S-........S-........S-........
        """,
        unit_us=1000,
        S=event("train", step_num=nth, _r=1),
    )
    assert step_time_ms(space(*planes)) == pytest.approx(10)


def test_a_recording_without_steps_has_no_step_time() -> None:
    assert step_time_ms(no_events()) is None
    assert step_time_ms(b"not a recording") is None
