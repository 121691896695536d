"""Advice in the terminal: the range of a saving, and what it assumes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from stepscope.result import Advice, Checked, Finding, Place
from stepscope.surfaces.cli.pages.advice import advice_markdown, advice_page
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import findings

FINDING = Finding(
    "serial-map",
    "high",
    4.0,
    0.8,
    "The step waits 8 ms of 10 ms. Most of it is Cast.",
    title="tf.data Map uses 1 of 2 cores",
    place=Place("main", "/home/me/train.py", 31),
    actions=("dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)", "Cast later."),
    code={"tensorflow": "dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)"},
    saving_text="saves 3–6 ms (30–60 %)",
    assumption="batches are ready in time",
)


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 110, 160])
def test_finding_has_at_most_four_lines_that_fit(columns: int) -> None:
    long = replace(FINDING, title=FINDING.title * 3, message=f"{'many words ' * 40}.")
    for finding in (FINDING, long):
        text, more, _ = shown(Advice((finding,), ()), columns).partition("More: ")
        assert more
        lines = text[text.index("1. ") :].splitlines()
        assert len(lines) <= 4
        assert all(len(line) <= columns for line in lines)


def test_finding_is_title_saving_place_facts_and_one_action() -> None:
    head, body, action, more = shown(Advice((FINDING,), ())).splitlines()[-4:]
    assert head.startswith("1. tf.data Map uses 1 of 2 cores  ")
    assert head.endswith("saves 3–6 ms (30–60 %)") and len(head) == 100
    assert body == "   train.py:31 main · The step waits 8 ms of 10 ms."
    assert action == "   → dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)"
    assert more.startswith("More: stepscope explain finding:1 · 0 causes ruled out")


def test_work_alone_is_nothing_to_fix() -> None:
    part: dict[str, float | str] = {"part_ms": 1.0}
    work = replace(FINDING, severity="info", cause="part-op", title="Conv2D: 61 % of the step")
    work = replace(work, measured=part)
    note = replace(work, cause="incomplete-profile", title="The recording is partial")
    note = replace(note, measured={})
    text = shown(Advice((work, replace(work, title="MatMul: 20 % of the step"), note), ()))
    parts = "Conv2D: 61 % of the step; MatMul: 20 % of the step."
    assert f"Nothing to fix. {parts} The recording is partial." in " ".join(text.split())
    assert "→" not in text


def test_what_was_lost_alone_does_not_mean_that_nothing_is_to_fix() -> None:
    lost = replace(FINDING, rule="incomplete-profile", severity="info", title="Incomplete")
    text = shown(Advice((lost,), ()))
    assert "No finding: the recording does not show what to change." in text
    assert "Incomplete. The step waits" in text and "Nothing to fix" not in text


def test_much_overhead_is_listed_though_it_is_no_alarm() -> None:
    measured: dict[str, float | str] = {"part_ms": 4.0, "step_time_ms": 10.0}
    overhead = replace(FINDING, severity="info", cause="part-dispatch", measured=measured)
    assert "1. tf.data" in shown(Advice((overhead,), ()))
    little = replace(overhead, measured={"part_ms": 1.0, "step_time_ms": 10.0})
    assert "Nothing to fix" in shown(Advice((little,), ()))


def test_findings_that_are_not_written_are_no_reason_to_say_nothing() -> None:
    part: dict[str, float | str] = {"part_ms": 1.0}
    work = replace(FINDING, severity="info", cause="part-op", title="MatMul", measured=part)
    page = Page(100)
    findings(page, (work, work, work, FINDING), 3)
    text = "\n".join(map(str, page.lines))
    assert "Nothing to fix" not in text
    assert text.count("MatMul") == 3


def shown(advice: Advice, columns: int = 100) -> str:
    page, out = advice_page("run", advice, columns), io.StringIO()
    page.print(out, colour=False)
    return out.getvalue()


def test_what_lacks_in_a_recording_is_said_once_for_all_rules_that_ask_for_it() -> None:
    lacks = "Nothing was recorded on a device."
    checked = (
        Checked("launch-bound", "The device waits for launches", "unknown", lacks),
        Checked("loader-workers", "The DataLoader has no workers", "unknown", "There is none."),
        Checked("idle-device", "The device is idle", "unknown", lacks),
    )
    told = shown(Advice((), checked))
    assert "This recording cannot tell · 3" in told
    assert told.count(lacks) == 1
    assert "The device waits for launches · The device is idle" in told
    assert "The DataLoader has no workers: There is none." in told
    assert advice_markdown("run", Advice((), checked)).count("Nothing was recorded") == 1


def test_other_rules_are_counted_and_listed_on_request() -> None:
    checked = (
        Checked("idle-device", "The device is idle", "unknown", "Nothing ran on a device."),
        Checked("no-cache", "Elements are made again", "silent", "Each is made once."),
        Checked("retracing", "Functions are traced again", "failed", "It broke."),
    )
    page = advice_page("run", Advice((FINDING,), checked), 100, with_checks=False)
    out = io.StringIO()
    page.print(out, colour=False)
    told = out.getvalue()
    assert "1 causes ruled out, 1 unknown: --checks" in told
    assert "It broke." in told and "Each is made once." not in told
    assert "Each is made once." in shown(Advice((FINDING,), checked))


def test_where_nothing_fired_what_the_recording_lacks_comes_first() -> None:
    why = "The recorder's own work has most of the steps."
    checked = (
        Checked("idle-device", "The device is idle", "unknown", "Nothing ran on a device."),
        Checked("largest-part", "The largest part of the step", "unknown", why),
    )
    told = shown(Advice((), checked))
    assert told.index(why) < told.index("Nothing ran on a device.")
