"""Startup: one owner per moment, in drawn timelines."""

from __future__ import annotations

from math import isnan

import pytest

from stepscope.advice.match import rule_of
from stepscope.advice.results import Results
from stepscope.analysis.startup import TOOL, Startup, startup
from stepscope.formats.xspace import decode
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.model import Plane, host, line, space
from tests.profiles.starts import Look, Span, start

#: 12 steps of 10 ms from 2,000 ms on; the first takes 100 ms.
STEPS = [(2000.0, 2100.0), *((2100.0 + 10 * n, 2110.0 + 10 * n) for n in range(11))]


def told(*planes: Plane) -> Startup:
    found = startup(Profile("s", (Host("h", decode(space(*planes))),)))
    times = [part.time_ms for part in found.parts.records()]
    assert sum(times) == pytest.approx(found.start_ms)
    assert sum(row.time_ms for row in found.phases.records()) == pytest.approx(found.start_ms)
    return found


def times(found: Startup) -> dict[tuple[str, str], float]:
    return {(part.kind, part.name): part.time_ms for part in found.parts.records()}


def test_innermost_known_work_owns_its_time() -> None:
    found = told(
        start(
            [
                Span("interpreter", "Python", 0, 100),
                Span("import", "outer", 100, 1100),
                Span("import", "inner", 300, 700),
                Span("tracing", "step", 2000, 2080),
                Span("compilation", "jit(step)", 2020, 2070, cache="miss"),
            ],
            [Look("main", 100, 2300, cpu=2200)],
            STEPS,
        )
    )
    assert times(found) == pytest.approx(
        {
            ("program", "main"): 900.0,  # 1100 to 2000
            ("import", "outer"): 600.0,
            ("import", "inner"): 400.0,
            ("interpreter", "Python"): 100.0,
            ("compilation", "jit(step)"): 50.0,
            ("tracing", "step"): 30.0,
            ("steps", "warm-up"): 20.0,  # 2080 to 2100; the second step is steady
        }
    )
    (outer,) = [row for row in found.imports.records() if row.package == "outer"]
    assert (outer.self_ms, outer.total_ms) == pytest.approx((600.0, 1000.0))
    assert found.until == "steady step"
    assert (found.first_step_ms, found.steady_ms) == pytest.approx((2100.0, 2100.0))
    (compiled,) = [one for one in found.parts.records() if one.kind == "compilation"]
    assert compiled.cache == "1 miss"


def test_moments_nobody_saw_are_a_gap() -> None:
    found = told(start([Span("interpreter", "Python", 0, 100)], [Look("f", 400, 2110)], STEPS))
    assert times(found)["gap", "not seen"] == pytest.approx(300.0)
    assert found.attributed_frac == pytest.approx(1 - 300 / 2100)
    assert [one.slug for one in found.diagnostics] == ["start-gaps"]


@pytest.mark.parametrize(
    ("wait", "kind"),
    [
        ("", "program"),
        ("threads", "program"),
        ("disk", "reading"),
        ("network", "network"),
        ("lock", "lock"),
        ("processes", "processes"),
        ("sleep", "sleep"),
        ("unknown", "gap"),
    ],
)
def test_waits_of_the_program_have_a_kind(wait: str, kind: str) -> None:
    found = told(start([], [Look("f", 0, 2110, wait, cpu=110)], STEPS))
    (part,) = [one for one in found.parts.records() if one.name == "f" and one.time_ms > 1000]
    assert part.kind == kind
    # 110 ms of processor time in 2110 ms are spread over all of it.
    assert part.wait_ms == pytest.approx(part.time_ms * 2000 / 2110)
    assert part.waits_for == (wait or "unknown")


def test_a_slow_reader_sleeps_between_its_reads() -> None:
    looks = [
        Look("load: weights.bin", 0, 500, "disk", kind="reading", size=50_000_000),
        Look("load", 500, 1500, "sleep"),
        Look("pause", 1500, 2000, "sleep"),
        Look("train", 2000, 2210, cpu=210),
    ]
    found = told(start([], looks, STEPS))
    assert times(found)["reading", "load: weights.bin"] == pytest.approx(1500.0)
    assert times(found)["sleep", "pause"] == pytest.approx(500.0)
    (read,) = [one for one in found.parts.records() if one.kind == "reading"]
    assert read.read_mbps == pytest.approx(50 / 1.5)


def test_detail_is_shared_out_by_time() -> None:
    """A look of 1,000 ms with 400 ms of processor time; half of it is an import's."""
    spans = [Span("import", "package", 0, 500, "train.py:1")]
    found = told(start(spans, [Look("f", 0, 1000, "disk", cpu=400, queue=100)], []))
    (imported,) = [one for one in found.parts.records() if one.kind == "import"]
    assert (imported.cpu_ms, imported.queue_ms, imported.wait_ms) == pytest.approx((200, 50, 250))
    assert (imported.waits_for, imported.place) == ("disk", "train.py:1")


def test_start_without_a_step_ends_with_what_was_seen() -> None:
    found = told(start([Span("import", "package", 0, 500)], [Look("f", 500, 1000)], []))
    assert (found.until, found.step_source) == ("end of recording", "")
    assert isnan(found.first_step_ms)
    assert isnan(found.steady_ms)
    assert found.start_ms == pytest.approx(1000.0)
    assert [one.slug for one in found.diagnostics] == ["no-first-step"]


def test_a_recording_taken_as_one_step_is_no_first_step() -> None:
    """A program that only imports and computes once: its ops have no rounds."""
    ops = host(line("tf_Compute", ("a/MatMul:MatMul", 600_000, 900_000)))
    found = told(start([Span("import", "package", 0, 500)], [Look("f", 500, 1000)], []), ops)
    assert (found.until, found.step_source) == ("end of recording", "")
    assert found.start_ms == pytest.approx(1000.0)


def test_kinds_and_lines_of_a_strangers_file_are_shown_as_they_are() -> None:
    spans = [Span("no kind", "work", 0, 500, "train.py:" + "9" * 6_000)]
    found = told(start([*spans, Span("import", "slow", 500, 4_000, spans[0].place)], [], []))
    assert "work" in found.headline
    (answer,) = rule_of("slow-start").check(Results({"startup": found}))
    assert isinstance(answer, Finding)
    assert answer.place is not None


def test_steps_that_slow_down_again_are_not_steady() -> None:
    slow = [(2000.0 + 100 * n, 2100.0 + 100 * n) for n in range(3)]
    steps = [*slow, *((2300.0 + 10 * n, 2310.0 + 10 * n) for n in range(6))]
    found = told(start([], [Look("f", 0, 2400)], steps))
    assert (found.first_step_ms, found.steady_ms) == pytest.approx((2100.0, 2300.0))
    assert found.start_ms == pytest.approx(2300.0)


def test_steps_that_compile_are_not_steady() -> None:
    spans = [Span("tracing", "f", begin + 2, begin + 8) for begin, _ in STEPS[:4]]
    found = told(start(spans, [Look("main", 0, 2210)], STEPS))
    assert found.steady_ms == pytest.approx(2130.0)
    (traced,) = [part for part in found.parts.records() if part.kind == "tracing"]
    assert traced.count == 4
    assert traced.time_ms == pytest.approx(24.0)


def test_start_lasts_while_steps_compile_if_none_is_steady() -> None:
    steps = [(2000.0, 2100.0), (2100.0, 2200.0), (2200.0, 2300.0)]
    spans = [Span("tracing", "f", begin + 10, begin + 50) for begin, _ in steps[:2]]
    found = told(start(spans, [Look("main", 0, 2300)], steps))
    assert isnan(found.steady_ms)
    assert found.start_ms == pytest.approx(2200.0)


def test_recordings_without_a_start_say_how_to_record_one() -> None:
    lacking = TOOL.available(Profile("s", (Host("h", decode(worked_example())),)))
    assert lacking is not None
    assert "stepscope record" in lacking.record


def test_a_launcher_sleeps_while_its_ranks_start() -> None:
    launcher = start(
        [Span("import", "torch", 0, 500)],
        [Look("poll", 500, 60_000, kind="sleep"), Look("main", 0, 60_000)],
    )
    rank = start([Span("import", "torch", 0, 1900)], [Look("main", 0, 2300, cpu=2300)], STEPS)
    hosts = tuple(Host(name, decode(space(one))) for name, one in (("a", launcher), ("b", rank)))
    found = startup(Profile("s", hosts))
    assert found.start_ms == pytest.approx(2100)
    assert ("a", "launched", 59_500.0) in zip(
        found.parts["host"], found.parts["kind"], found.parts["time_ms"], strict=True
    )
    assert "sleep" not in found.parts["kind"]
