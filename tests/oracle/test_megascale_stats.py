"""DCN collectives against what xprof 2.24.2 answered to the same XSpaces (``ANSWERS``).

Accepted differences:

* the time of a recv: the incumbent divides picoseconds by 10⁶ twice, so its ``recv_stall`` is
  always 0; its ``stall_duration`` counts it anyway;
* bandwidth without slack: the incumbent shows 2147483647, we nothing;
* bytes are whole in the incumbent, and 0 where it cannot tell them;
* a recv before its send, and a send-done after the recv-done, belong to the run: the incumbent
  forgets them in ``stall_duration`` and shows the send-done of the run before;
* a second recv-done after one send is not a second run;
* the incumbent looks at the first TPU of a host alone, and counts callbacks to the host as
  collectives;
* the incumbent cuts every time to whole microseconds: times here are whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import pytest

from stepscope.analysis.megascale_stats import megascale_stats
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.dcn import Collective, Op, slices
from tests.profiles.model import space

COLUMNS = (
    "transfer_type",
    "slack_ms",
    "observed_ms",
    "send_ms",
    "send_done_ms",
    "recv_done_ms",
    "stall_ms",
    "total_stall_ms",
    "runs",
    "sent_bytes",
    "required_gbitps",
)
THREE = (
    Collective("all-reduce.1", 1, elements=1 << 20),
    Collective("permute.2", 2, elements=4096, transfer_type="ONE_TO_ONE"),
    Collective("gather.3", 3, elements=2048, transfer_type="ALL_GATHER", group=4),
)
INT_MAX = 2147483647.0
Answer: TypeAlias = "tuple[str | float, ...]"


def step(start: float) -> list[Op]:
    """Three collectives: two overlap, the third has no slack."""
    ops = [
        *(("send.1", 0, 10), ("multiply.9", 10, 100), ("send-done.1", 110, 5), ("send.2", 115, 3)),
        *(("recv.1", 118, 2), ("send-done.2", 120, 4), ("recv.2", 124, 1), ("multiply.9", 125, 75)),
        *(("recv-done.1", 200, 300), ("recv-done.2", 500, 7)),
        *(("send.3", 510, 4), ("send-done.3", 514, 4), ("recv.3", 518, 4), ("recv-done.3", 522, 8)),
    ]
    return [(name, start + at, length) for name, at, length in ops]


def compare(
    collectives: tuple[Collective, ...], ops: list[Op], answer: Mapping[str, Answer]
) -> None:
    found = Profile("p", (Host("h", decode(space(*slices(*collectives, run=ops)))),))
    rows = {row["collective"]: row for row in megascale_stats(found).collectives.rows()}
    assert rows.keys() == answer.keys()
    for name, theirs in answer.items():
        for column, value in zip(COLUMNS, theirs, strict=True):
            ours = rows[name][column]
            if value == INT_MAX:
                assert ours is None, (name, column)
            elif isinstance(value, str):
                assert ours == value, (name, column)
            else:
                whole = math.floor(ours) if column == "sent_bytes" else ours
                assert whole == pytest.approx(value, rel=1e-9), (name, column)


def test_three_collectives() -> None:
    answer = {
        "all-reduce.1": (
            *("ALL_REDUCE", 0.175, 0.5, 0.01, 0.005, 0.3, 0.317, 0.951, 3),
            *(4194304, 191.73961142857144),
        ),
        "permute.2": (
            *("ONE_TO_ONE", 0.075, 0.392, 0.003, 0.004, 0.007, 0.015, 0.045, 3),
            *(16384, 1.7476266666666669),
        ),
        "gather.3": (
            *("ALL_GATHER", 0.0, 0.02, 0.004, 0.004, 0.008, 0.02, 0.06, 3),
            *(6144, INT_MAX),
        ),
    }
    ops = [op for start in (100, 1100, 2100) for op in step(start)]
    compare(THREE, ops, answer)


@pytest.mark.parametrize(
    ("transfer_type", "group", "elements", "sent_bytes", "required"),
    [
        ("REDUCE_SCATTER", 4, 1000, 12000, 4.173913043478261),
        ("ALL_TO_ALL", 4, 1000, 3000, 1.0434782608695652),
        ("ALL_GATHER", 4, 1000, 3000, 1.0434782608695652),
        ("ALL_REDUCE", 3, 3000, 16000, 5.565217391304348),
        ("ONE_TO_ONE", 2, 1000, 4000, 1.391304347826087),
    ],
)
def test_each_type(
    transfer_type: str, group: int, elements: int, sent_bytes: int, required: float
) -> None:
    one = Collective("x", 1, elements=elements, transfer_type=transfer_type, group=group)
    answer = (transfer_type, 0.023, 0.06, 0.01, 0.005, 0.02, 0.037, 0.037, 1, sent_bytes, required)
    ops: list[Op] = [
        *(("send.1", 110, 10), ("recv.1", 120, 2), ("send-done.1", 125, 5)),
        ("recv-done.1", 150, 20),
    ]
    compare((one,), ops, {"x": answer})


def test_runs_cut_by_the_edges() -> None:
    ops: list[Op] = [
        *(("recv-done.1", 1, 20), ("send.1", 110, 10), ("recv.1", 120, 2)),
        *(("send-done.1", 125, 5), ("recv-done.1", 150, 20), ("send.1", 210, 10)),
    ]
    answer = (
        *("ALL_REDUCE", 0.023, 0.06, 0.01, 0.005, 0.02, 0.037, 0.037, 1),
        *(4194304, 1458.888347826087),
    )
    compare(THREE[:1], ops, {"all-reduce.1": answer})
