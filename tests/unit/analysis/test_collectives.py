"""Two ranks of one job, on clocks that differ: who waits for whom, and how fast data goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.analysis.collectives import Collectives, collectives
from tests.unit.formats.kineto.layout import profile, text, x


def rank(number: int, offset_us: float, waits_us: list[float], **more: Any) -> str:
    """A rank that spends a transfer of 100 µs, and waiting of its own, in each all-reduce."""
    events = []
    for n, wait in enumerate(waits_us):
        end = 1000.0 * (n + 1) + offset_us
        length = 100 + wait
        said = {
            "Collective_name": "allreduce",
            "Group_size": 2,
            "In_msg_nelems": 1_000_000,
            "dtype": "BFloat16",
            "Process_Group_Name": "7",
            **more,
        }
        events += [
            x(
                "kernel",
                "ncclDevKernel_AllReduce_Sum_bf16(…)",
                end - length,
                length,
                0,
                20,
                device=number,
                stream=20,
                correlation=n + 1,
                **said,
            ),
            x("kernel", "gemm", end - 50, 30, 0, 7, device=number, stream=7, correlation=90 + n),
        ]
    info = {"backend": "nccl", "rank": number, "world_size": 2}
    return text(events, {"distributedInfo": info})


def opened(folder: Path, *ranks: str) -> Collectives:
    for number, one in enumerate(ranks):
        (folder / f"trace_{number}.json").write_text(one, "utf-8")
    session = stepscope.open(folder)
    assert session.hosts == tuple(f"rank{n}" for n in range(len(ranks)))
    assert session.available("collectives") is None
    found = session.run("collectives")
    assert isinstance(found, Collectives)
    return found


@pytest.mark.parametrize("offset_us", [0.0, 777.0, -350_000.0])
def test_waiting_needs_no_common_clock(tmp_path: Path, offset_us: float) -> None:
    found = opened(tmp_path, rank(0, 0, [300, 200, 0]), rank(1, offset_us, [0, 0, 50]))
    (row,) = found.groups.rows()
    assert (row["group"], row["collective"], row["ranks"]) == ("7", "allreduce", 2)
    assert (row["message_bytes"], row["count"]) == (2_000_000, 3)
    assert row["transfer_ms"] == pytest.approx(0.3)
    assert row["wait_ms"] == pytest.approx((0.5 + 0.05) / 2)
    assert row["time_ms"] == pytest.approx(row["transfer_ms"] + row["wait_ms"])
    # 2 MB in 100 µs, and both ways over the links of two ranks: 2 (n-1)/n is 1.
    assert row["algorithm_gbps"] == pytest.approx(20)
    assert row["bus_gbps"] == pytest.approx(20)
    assert row["exposed_ms"] == pytest.approx(row["time_ms"] - 3 * 0.03)
    first, second = found.workers.rows()
    assert (first["last"], second["last"]) == (1, 2)
    assert (first["caused_wait_ms"], second["caused_wait_ms"]) == pytest.approx((0.05, 0.5))
    assert "for rank1 GPU:1" in found.headline
    assert found.diagnostics == ()


def test_a_longer_recording_is_matched_where_its_ends_keep_one_distance(tmp_path: Path) -> None:
    found = opened(tmp_path, rank(0, 0, [5, 300, 200, 0]), rank(1, 1000, [0, 0, 50]))
    assert [row["last"] for row in found.workers.rows()] == [1, 2]
    (note,) = found.diagnostics
    assert note.message.startswith("1 of 7 exchanges")


def test_what_ranks_do_in_different_order_is_not_matched(tmp_path: Path) -> None:
    other = rank(1, 0, [0, 0, 50], Collective_name="_allgather_base", Out_msg_nelems=2_000_000)
    found = opened(tmp_path, rank(0, 0, [300, 200, 0]), other)
    assert found.wait_ms is None
    rows = {row["collective"]: row for row in found.groups.rows()}
    assert rows["allgather_base"]["message_bytes"] == 4_000_000
    # Waiting included: 4 MB in 100, 100 and 150 µs, half of it over the links.
    assert rows["allgather_base"]["algorithm_gbps"] == pytest.approx(12 / 0.35)
    assert rows["allgather_base"]["bus_gbps"] == pytest.approx(6 / 0.35)


def test_a_recording_without_communication_has_no_such_page(tmp_path: Path) -> None:
    made = profile(tmp_path, [x("kernel", "gemm", 0, 5, 0, 7, device=0, stream=7)])
    lacking = TOOLS.find("collectives").available(made)
    assert lacking is not None and "No exchange" in lacking.missing
    assert len(collectives(made).groups) == 0


def test_kernels_of_older_versions_say_what_they_are_by_name(tmp_path: Path) -> None:
    events = [
        x("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 0, 5, 0, 7, device=0),
        x("kernel", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(...)", 10, 5, 0, 7, device=0),
        x("kernel", "ncclKernel_SendRecv_RING_SIMPLE", 20, 5, 0, 7, device=0),
    ]
    rows = list(collectives(profile(tmp_path, events)).groups.rows())
    assert {row["collective"] for row in rows} == {"allreduce", "reducescatter", "sendrecv"}
    for unknown in ("bus_gbps", "ranks", "message_bytes"):
        assert json.dumps([row[unknown] for row in rows]) == "[null, null, null]"
