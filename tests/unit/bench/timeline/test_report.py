"""The timeline's table says what was measured and whether it is enough."""

from __future__ import annotations

from math import nan

from bench.frames import Frames
from bench.measure import Run, percentile
from bench.timeline.frames import Moved
from bench.timeline.report import Case, Theirs, TimelineReport, Wanted

IDLE = {"python": "3.12", "cores": 2, "load": 0.1}


def case(wanted: Wanted) -> Case:
    return Case(
        name="2M",
        events=2_050_000,
        megabytes=64,
        cold_s=[1.2, 1.4, 9.0],
        warm_s=[0.3],
        tile_ms=[float(ms) for ms in range(1, 101)],
        screen_bytes=[100_000, 410_000],
        peak_mb=330,
        wanted=wanted,
    )


def row(wanted: Wanted) -> str:
    text = TimelineReport("file", IDLE, cases=[case(wanted)]).render()
    return next(line for line in text.splitlines() if line.startswith("2M"))


def test_a_case_says_medians_percentiles_and_verdicts() -> None:
    text = row(Wanted(cold_s=1.5, warm_s=0.2, tile_p95_ms=95, peak_mb=300))
    for cell in ("2.05 M", "1.4 s ✓", "0.3 s ✗ ≤ 0.2", "50.0 ms", "95 ms ✓", "0.33 GB ✗ ≤ 0.3"):
        assert cell in text
    assert "410 kB ✗ ≤ 400" in text


def test_nothing_is_judged_where_nothing_is_wanted() -> None:
    assert "1.4 s  0.3 s" in row(Wanted())


def test_the_incumbent_and_the_frames_stand_below() -> None:
    frames = Frames(busy_ms=[5.0] * 94 + [17.0] * 6, interval_ms=[16.7] * 99)
    report = TimelineReport(
        "file",
        IDLE,
        cases=[case(Wanted())],
        theirs=[
            Theirs("trace_viewer@", Run(11.4, 9, 1518), 0.26, 15_400_000),
            Theirs("trace_viewer", Run(28.7, 20, 2053), nan, 392_000_000),
        ],
        moved=Moved(23_080, frames),
    )
    text = report.render()
    assert "11.4 s cold, asked again 0.26 s, 15.4 MB answered, peak 1.52 GB" in text
    assert "28.7 s cold, 392.0 MB answered" in text
    assert "23,080 slices, 100 frames: drawing thread p50 5.0 ms, p95 17 ms ✗ ≤ 16" in text


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([1.0, 2.0], 50) == 1.0
    assert percentile([1.0], 95) == 1.0
    assert percentile([float(i) for i in range(1, 21)], 95) == 19.0
