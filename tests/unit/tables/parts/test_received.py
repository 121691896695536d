"""Waiting for a batch, of which the loop's thread takes over tensors from workers."""

from __future__ import annotations

from math import isnan

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.input_share import received_frac
from tests.profiles import space
from tests.profiles.model import EventLike, line, plane

_CALL = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_LIBRARY = "/venv/lib/python3.11/site-packages"


def recorded(*, with_stacks: bool = True) -> Host:
    """Four steps of 10 ms; each waits 8 ms for its batch, and rebuilds tensors for 6 of these."""
    loop: list[EventLike] = [
        ("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in range(4)
    ]
    loop += [(_CALL, 10_000 * at, 8000) for at in range(4)]
    stacks = [("$/home/me/train.py:4 main", 0, 40_000)]
    for at in range(4):
        begin = 10_000 * at
        stacks += [
            ("$/lib/python3.11/multiprocessing/queues.py:98 Queue.get", begin, 8000),
            (
                f"${_LIBRARY}/torch/multiprocessing/reductions.py:537 rebuild_storage_fd",
                begin,
                6000,
            ),
            ("$/lib/python3.11/multiprocessing/resource_sharer.py:55 DupFd.detach", begin, 6000),
        ]
    sampled = plane(names.PYTHON_SAMPLES_PLANE, line("MainThread", *stacks, id=7))
    data = space(
        plane(names.HOST_PLANE, line("main", *loop, id=7)), *([sampled] if with_stacks else [])
    )
    return Host("h", decode(data))


@pytest.mark.parametrize("with_stacks", [True, False])
def test_the_share_is_what_lies_below_rebuilding_tensors(with_stacks: bool) -> None:
    host = recorded(with_stacks=with_stacks)
    found = account(host)
    assert found is not None
    share = received_frac(host, found)
    assert share == pytest.approx(0.75) if with_stacks else isnan(share)
