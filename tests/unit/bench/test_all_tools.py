"""What the table of all tools says of the numbers."""

from __future__ import annotations

from bench.all_tools import AllTools
from bench.measure import Run


def report(ours_s: float, ours_mb: float) -> str:
    return AllTools(
        source="a recording",
        machine={},
        ours=Run(ours_s, ours_s, ours_mb),
        ours_s={"decode": 0.5, "overview_page": 0.5, "kernel_stats": None, "op_profile": 0.25},
        theirs={"overview_page": Run(40.0, 40.0, 9000.0), "op_profile": Run(35.0, 35.0, 4000.0)},
        failed={"pod_viewer": "ended with 1"},
    ).render()


def test_the_incumbents_tools_are_added_up_and_their_largest_memory_counts() -> None:
    text = report(ours_s=1.25, ours_mb=1000.0)
    assert "2 tools that both answer: 75.0 s, 9000 MB" in text
    assert "faster: 60×, ≥ 60× ✓; memory: 0.11, ≤ 0.17 ✓" in text


def test_a_target_that_is_missed_is_said_to_be() -> None:
    text = report(ours_s=2.0, ours_mb=1600.0)
    assert "faster: 38×, ≥ 60× ✗; memory: 0.18, ≤ 0.17 ✗" in text


def test_a_tool_with_nothing_to_show_is_listed_as_that() -> None:
    row = next(line for line in report(1.0, 1.0).splitlines() if line.startswith("kernel_stats"))
    assert row.split(maxsplit=1)[1].startswith("nothing to show")
