"""A thread that waits computes nothing: in drawn steps of three kinds of programs."""

import pytest

from stepscope.analysis.overview_page import overview_page
from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.in_steps.idle import idle
from stepscope.tables.workers.exposed_time import exposed
from stepscope.tables.workers.steps import worker_steps
from tests.profiles import draw, event, nth
from tests.profiles.model import space
from tests.unit.tables.steps.test_attribution import assert_parts_sum, mean_us, steps_of

US = 1_000_000
# A step of 900 µs: 100 of host compute, 100 on the device, 600 in which only a wait is recorded.
PICTURES = {
    # An op of PyTorch's around the driver's blocking copy.
    "copy": """
        /host:CPU
          python      S--------S--------S--------S--------S--------S--------S--------
          "           .OOOOOOO..OOOOOOO..OOOOOOO..OOOOOOO..OOOOOOO..OOOOOOO..OOOOOOO.
          "           ..WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW.
        /device:GPU:0
          Stream #7   ........K........K........K........K........K........K........K
        """,
    # A thread of PjRt's pool.
    "pool": """
        /host:CPU
          python      S--------S--------S--------S--------S--------S--------S--------
          "           .O........O........O........O........O........O........O.......
          tf_pjrt/1   ..WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW...WWWWWW.
        /device:GPU:0
          Stream #7   ........K........K........K........K........K........K........K
        """,
}
# Python of the loop's thread within an annotation of the program.
PICTURES["queue"] = PICTURES["copy"]
LETTERS = {
    "copy": ("aten/copy_:copy_", "hipMemcpyWithStream"),
    "queue": ("next request", "$queue.py:154 get"),
    "pool": ("parse", "BufferSequencingEvent::Execute"),
}


IDLE_DEVICE, BUSY_DEVICE = "........K", "..K-----."


def drawn(kind: str, *, wait: str = "", device: str = IDLE_DEVICE) -> bytes:
    work, named = LETTERS[kind]
    picture = PICTURES[kind].replace("OOOOOOO", "O------").replace("WWWWWW", "W-----")
    return space(
        *draw(
            picture.replace(IDLE_DEVICE, device),
            unit_us=100,
            S=event("train", step_num=nth, _r=1),
            O=event(work),
            W=event(wait or named),
            K=event("sgemm"),
        )
    )


@pytest.mark.parametrize("kind", list(PICTURES))
def test_waiting_is_no_host_compute(kind: str) -> None:
    found = steps_of(drawn(kind))
    assert mean_us(found) == {
        "device_compute_32": 100,
        "host_compute": 100,
        "host_wait": 600,
        "other": 100,
    }
    assert_parts_sum(found)


@pytest.mark.parametrize("kind", list(PICTURES))
def test_every_account_has_the_same_wait(kind: str) -> None:
    host = Host("h", decode(drawn(kind)))
    profile = Profile("run", (host,))
    overview = overview_page(profile)
    assert overview.breakdown_ms["host_wait"] == pytest.approx(0.6)
    assert overview.limited_by == "Waiting on the host"
    assert overview.headline.startswith("The host waits in 67 %")
    workers, gaps = worker_steps(profile), idle(profile)
    assert workers is not None
    assert gaps is not None
    assert (workers.parts_ps["host_wait"][0][workers.kept] == 600 * US).all()
    assert gaps.devices[0].cause_ps["wait"] == 600 * US * gaps.step_count
    wait_ps = exposed(profile)[0].exposed_ps[exposed(profile)[0].work == 1].sum()
    assert wait_ps == 600 * US * gaps.step_count
    found = account(host)
    assert found is not None
    name = LETTERS[kind][1]
    if kind != "queue":  # Python's own account names the function that called it
        waits = [one for one in owners(found) if one.kind == "wait"]
        assert [(one.name, one.total_ps) for one in waits] == [(name, 600 * US * gaps.step_count)]


@pytest.mark.parametrize("kind", list(PICTURES))
def test_what_runs_meanwhile_has_the_time_of_the_wait(kind: str) -> None:
    found = steps_of(drawn(kind, device=BUSY_DEVICE))
    assert mean_us(found) == {"device_compute_32": 600, "host_compute": 100, "other": 200}


def test_an_idle_pool_explains_nothing() -> None:
    """A pool's thread waits for the system while the program's thread runs its own Python."""
    found = steps_of(drawn("pool", wait="pthread_cond_wait"))
    assert mean_us(found) == {"device_compute_32": 100, "host_compute": 100, "other": 700}
