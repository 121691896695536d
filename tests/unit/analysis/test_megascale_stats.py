"""What collectives between slices cost: the sentence, the tables, what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from stepscope.analysis.megascale_stats import TOOL, MegascaleStats, Options, megascale_stats
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.dcn import Collective, Op, message, slices, tpu
from tests.profiles.hlo import metadata_plane
from tests.profiles.model import Plane, host, line, space

# 4 MiB received; all-reduced by two slices, a TPU sends as much.
GRADIENTS = Collective("all-reduce.1", 1, elements=1 << 20)
NORMS = Collective("all-reduce.2", 2, elements=1024)


def profile(*hosts: list[Plane]) -> Profile:
    return Profile("p", tuple(Host(f"h{at}", decode(space(*one))) for at, one in enumerate(hosts)))


def shown(*hosts: list[Plane], **options: str) -> MegascaleStats:
    return megascale_stats(profile(*hosts), Options(**options))


def run(start: float, waits: float, channel: int = 1) -> list[Op]:
    """Sends for 10 µs, computes for 100 and waits for the others."""
    return [
        (f"send.{channel}", start, 10),
        ("multiply.9", start + 10, 100),
        (f"recv-done.{channel}", start + 110, waits),
    ]


def test_a_collective_whose_data_is_too_much_for_its_slack() -> None:
    found = shown(slices(GRADIENTS, run=[*run(0, 300), *run(1000, 500)]))
    (row,) = found.collectives.rows()
    assert row["runs"] == 2
    assert row["stall_ms"] == pytest.approx(0.410)
    assert row["total_stall_ms"] == pytest.approx(0.820)
    assert row["slack_ms"] == pytest.approx(0.100)
    assert row["observed_ms"] == pytest.approx(0.510)
    assert row["sent_bytes"] == 4 << 20
    assert row["required_gbitps"] == pytest.approx(8 * (4 << 20) / 100e-6 / 1e9)
    # The fastest run took 10 + 100 + 300 µs.
    assert row["reached_gbitps"] == pytest.approx(8 * (4 << 20) / 410e-6 / 1e9)
    assert found.headline == (
        "all-reduce.1 (ALL_REDUCE) stalls the TPU for 0.82 ms in this recording: to send within "
        "its slack of 0.1 ms it needs 336 Gbit/s per TPU, more than any run reached (81.8): the "
        "network may explain it."
    )


def test_bandwidth_that_the_network_has_carried_does_not_explain_a_stall() -> None:
    found = shown(slices(GRADIENTS, NORMS, run=[*run(0, 0), *run(1000, 500, channel=2)]))
    assert found.headline.startswith("all-reduce.2 (ALL_REDUCE) stalls the TPU for 0.51 ms")
    assert found.headline.endswith(
        "it needs 0.328 Gbit/s per TPU, and the network has carried 305: bandwidth does not "
        "explain it."
    )


def test_without_slack_there_is_no_bandwidth_to_need() -> None:
    found = shown(slices(GRADIENTS, run=[("send.1", 0, 10), ("recv-done.1", 10, 300)]))
    (row,) = found.collectives.rows()
    assert (row["slack_ms"], row["required_gbitps"]) == (0, None)
    assert "it has no slack" in found.headline


def test_what_is_sent_may_be_unknown() -> None:
    found = shown(slices(replace(GRADIENTS, group=0), run=run(0, 300)))
    (row,) = found.collectives.rows()
    assert [row[name] for name in ("sent_bytes", "required_gbitps", "reached_gbitps")] == [None] * 3
    assert found.reached_gbitps is None
    assert found.headline.endswith("; the profile does not say how much it sends.")
    assert "collectives-without-size" in [one.slug for one in found.diagnostics]


def test_no_stall_and_no_complete_run_are_said() -> None:
    assert "No run" in shown(slices(GRADIENTS, run=[("send.1", 0, 10)])).headline
    idle = shown(slices(GRADIENTS, run=[("send.1", 0, 0), ("recv-done.1", 10, 0)]))
    assert idle.headline == "No collective between slices stalls a TPU."


def test_the_time_of_a_step_is_the_mean_tpus() -> None:
    marks = [("train", 1000 * at, 1000, {"step_num": at, "_r": 1}) for at in range(3)]
    ran = [op for at in range(3) for op in run(1000 * at, 300)]
    quick = [op for at in range(3) for op in run(1000 * at, 100)]
    planes = slices(GRADIENTS, run=ran, more=[quick])
    planes[0] = host(line("python", *marks))
    found = shown(planes)
    assert found.step_time_ms == pytest.approx(1.0)
    assert found.stall_per_step_ms == pytest.approx((0.310 + 0.110) / 2)
    assert "stalls each of 2 TPUs (mean) for 0.21 ms of each " in found.headline


def test_steps_that_are_only_inferred_are_none() -> None:
    found = shown(slices(GRADIENTS, run=[op for at in range(20) for op in run(500 * at, 300)]))
    assert found.step_time_ms is found.stall_per_step_ms is None
    assert "stalls the TPU for 6.2 ms in this recording" in found.headline


def test_tpus_add_up() -> None:
    one, other = slices(GRADIENTS, run=run(0, 300)), slices(GRADIENTS, run=[], more=[run(0, 100)])
    both = shown(one, other)
    (row,) = both.collectives.rows()
    assert (row["runs"], row["tpus"], both.tpu_count) == (2, 2, 2)
    assert row["total_stall_ms"] == pytest.approx(0.310 + 0.110)
    assert both.devices["device"] == ["h0/TPU:0", "h1/TPU:1"]
    alone = [shown(one), shown(other)]
    assert [found.collectives["total_stall_ms"][0] for found in alone] == pytest.approx(
        [0.310, 0.110]
    )


def test_what_is_not_counted_is_said() -> None:
    ops = [("recv-done.1", 0, 5), *run(100, 50), ("send.1", 400, 5), *run(500, 50)]
    found = shown(slices(GRADIENTS, run=ops))
    (row,) = found.collectives.rows()
    assert (row["runs"], row["incomplete"], found.incomplete) == (2, 2, 2)
    assert {one.slug: one.severity for one in found.diagnostics} == {
        "collectives-cut": "info",
        "collectives-incomplete": "warning",
        "messages-not-recorded": "info",
    }


def test_the_longest_stall_stands_first_and_parts_sum() -> None:
    found = shown(slices(GRADIENTS, NORMS, run=[*run(0, 20), *run(500, 80, channel=2)]))
    table = found.collectives
    assert list(table["collective"]) == ["all-reduce.2", "all-reduce.1"]
    assert all(left >= right for left, right in pairwise(table["total_stall_ms"]))
    assert table["stall_frac"].sum() == pytest.approx(1)
    assert table["total_stall_ms"].sum() == pytest.approx(found.devices["total_stall_ms"][0])
    body = found.to_dict()
    assert json.loads(json.dumps(body, allow_nan=False))["tool"] == TOOL.id


def test_messages_between_slices_stand_beside_the_collectives() -> None:
    planes = slices(GRADIENTS, run=run(0, 300))
    planes[0] = host(line("t", message(100, 100, 25000, 1, 0), message(300, 0, 8, 2, 0)))
    found = shown(planes)
    timed, skewed = found.paths.rows()
    assert (timed["source_slice"], timed["destination_slice"], timed["messages"]) == (1, 0, 1)
    assert timed["latency_ms"] == timed["latency_max_ms"] == timed["busy_ms"] == 0.1
    assert timed["bandwidth_gbitps"] == pytest.approx(2)  # 200,000 bits in 100 µs
    absent = "latency_ms", "latency_max_ms", "busy_ms", "bandwidth_gbitps"
    assert [skewed[name] for name in absent] == [None] * 4
    assert [one.slug for one in found.diagnostics] == ["messages-without-latency"]
    without = shown(slices(GRADIENTS, run=run(0, 300)))
    assert len(without.paths) == 0
    assert [one.slug for one in without.diagnostics] == ["messages-not-recorded"]


def test_what_is_missing_is_said_exactly() -> None:
    ran = run(0, 300)
    callback = Collective("callback", 1, transfer_type="", group=0, handler="pluginexec")
    reasons = {
        "sends to another slice": profile(slices(GRADIENTS, run=[("multiply.9", 0, 5)])),
        "(HLO)": profile([metadata_plane(), tpu(0, [GRADIENTS], ran)]),
        "their own hosts only": profile(slices(callback, run=ran)),
    }
    for words, lacking in reasons.items():
        reason = TOOL.available(lacking)
        assert reason is not None
        assert words in reason.missing
        assert "several TPU slices" in reason.record
    assert TOOL.available(profile(slices(GRADIENTS, run=ran))) is None
