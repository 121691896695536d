"""Queries to begin with, and to learn the tables from."""

from __future__ import annotations

from typing import Final

from stepscope.records import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A query and the question that it answers."""

    question: str
    query: str


EXAMPLES: Final = (
    Example(
        "Which kernels take the most time?",
        "SELECT name, count(*) AS runs, sum(duration_us) AS total_us,\n"
        "       max(duration_us) AS longest_us\n"
        "FROM kernels GROUP BY name ORDER BY total_us DESC LIMIT 50",
    ),
    Example(
        "Which steps are the slowest, and what is long in them?",
        "SELECT step_num, step_time_ms, input_ms, kernel_launch_ms, host_compute_ms, start_ms\n"
        "FROM steps ORDER BY step_time_ms DESC LIMIT 20",
    ),
    Example(
        "Which single runs of a kernel are the longest?",
        "SELECT name, device, step_num, start_us, duration_us, event\n"
        "FROM kernels ORDER BY duration_us DESC LIMIT 100",
    ),
    Example(
        "How does the time of a kind of kernel differ between steps?",
        "SELECT step_num, sum(duration_us) AS gemm_us FROM kernels\n"
        "WHERE class = 'gemm' AND step_num IS NOT NULL GROUP BY step_num ORDER BY step_num",
    ),
    Example(
        "Which events of the host take longest?",
        "SELECT name, line, start_us, duration_us, event FROM events\n"
        "WHERE plane LIKE '/host%' ORDER BY duration_us DESC LIMIT 100",
    ),
    Example(
        "Where do devices wait in collectives?",
        "SELECT device, count(*) AS parts, sum(wait_us) AS waiting_us,\n"
        "       sum(transfer_us) AS transferring_us\n"
        "FROM collectives GROUP BY device ORDER BY waiting_us DESC",
    ),
    Example(
        "How much memory is in use over time?",
        "SELECT time_us, in_use_bytes FROM memory\n"
        "WHERE memory = (SELECT memory FROM memory ORDER BY in_use_bytes DESC LIMIT 1)\n"
        "ORDER BY time_us",
    ),
    Example(
        "What did each counter read over time, as a log of nvidia-smi (-f csv)?",
        "SELECT time_us, plane, counter, value, unit FROM counters ORDER BY time_us, counter",
    ),
    Example(
        "Which ops allocate the most?",
        "SELECT op, count(*) AS allocations, sum(change_bytes) AS allocated_bytes FROM memory\n"
        "WHERE change_bytes > 0 GROUP BY op ORDER BY allocated_bytes DESC LIMIT 30",
    ),
)
