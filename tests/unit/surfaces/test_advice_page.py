"""Advice in the terminal: the range of a saving, and what it assumes."""

from __future__ import annotations

import io
from dataclasses import replace

from stepscope.result import Advice, Checked, Finding, Ref
from stepscope.surfaces.cli.pages.advice import advice_markdown, advice_page

FINDING = Finding(
    "serial-map",
    "high",
    4.0,
    0.8,
    "A map delays the step.",
    saving_low_ms=3.0,
    saving_high_ms=6.0,
    assumption="batches are ready in time",
    saving_text="Saves 3 to 6 ms per step",
)


def test_the_page_names_the_range_and_what_it_assumes() -> None:
    page, out = advice_page("run", Advice((FINDING,), ()), 100), io.StringIO()
    page.print(out, colour=False)
    assert "Saves 3 to 6 ms per step · possible" in out.getvalue()
    assert "assuming that batches are ready in time" in out.getvalue()


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


def test_a_cause_is_named_by_its_place_in_the_list() -> None:
    cause = replace(FINDING, title="A map runs on one thread")
    wait = replace(FINDING, rule="input-bound", explained_by=("serial-map",))
    assert "caused by 1. A map runs on one thread" in shown(Advice((cause, wait), ()))


def test_a_long_title_is_wrapped_and_its_evidence_is_one_sentence() -> None:
    long = replace(
        FINDING,
        title="convolution takes 78% of the step, 64% of it in Decoder.forward (preview.py:44)",
        evidence=(Ref("step_account", "parts"), Ref("op_profile")),
    )
    told = shown(Advice((long,), ()), 60)
    assert all(len(line) <= 60 for line in told.splitlines())
    assert "(preview.py:44) [high]" in told
    assert "see step_account · op_profile" in told


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
    assert (
        "1 other cause was checked and not found; 1 more need what this recording does not" in told
    )
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
