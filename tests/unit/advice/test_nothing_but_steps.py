"""A recording that has marked steps, a memory's course, and nothing of what the steps did."""

from __future__ import annotations

from functools import lru_cache

from stepscope.formats.xspace import decode
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from tests.e2e.browser.tool_recordings import heap
from tests.profiles import draw, event, nth, space
from tests.unit.advice.asking import Asked


@lru_cache(maxsize=1)
def asked() -> Asked:
    return Asked(Profile("s", (Host("h", decode(heap())),)))


def test_nobody_is_told_to_mark_steps_that_are_marked() -> None:
    overview = asked().result("overview_page")
    assert overview.bound_by == "unknown"
    assert overview.steps.source == "markers"
    assert not any("Mark steps" in text for text in overview.completeness.notes)


def test_ops_that_took_no_time_are_not_the_ones_with_the_most() -> None:
    """Names of ops that only the allocator's events mention."""
    assert len(asked().result("overview_page").top_ops) == 0


def test_no_saving_is_made_of_what_was_not_recorded() -> None:
    account = asked().result("step_account")
    assert account.busy_ms == 0
    savings = {one.rule: one.saving_ms for one in asked().advice()}
    assert savings
    assert set(savings.values()) == {None}
    (_blank,) = (one for one in asked().advice() if one.measured.get("kind") == "unrecorded")


def test_what_the_devices_lack_is_said_of_their_work_alone() -> None:
    notes = " ".join(asked().result("overview_page").completeness.notes)
    assert "No kernel, op or copy was recorded on any of the 2 devices." in notes
    assert "nothing was recorded" not in notes


def profiled(picture: str) -> Asked:
    """Two steps of 1 ms that the program marks, with PyTorch's profiler in them."""
    made = draw(
        f"""
        /host:CPU
          python   S---------S---------
          "        T-------------------
          "        {picture}
        """,
        unit_us=100,
        S=event("ProfilerStep", step_num=nth, _r=1),
        T=event("$/home/me/train.py:40 train"),
        P=event("$torch/profiler/profiler.py:1227 step"),
    )
    return Asked(Profile("s", (Host("h", decode(space(*made))),)))


def test_a_profiler_that_ended_as_it_began_says_nothing_of_the_program() -> None:
    """The second round of a schedule without ``repeat=1``, which the end of the loop cut off."""
    profiled(".P------...P------..")
    assert isinstance(profiled(".P--.......P--......").answers("largest-part")[0], Finding)
