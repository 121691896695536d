"""The scorer itself: what counts as right."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

from stepscope.result import Finding
from tests.collection.labels import Label, Recorded
from tests.collection.score import Judged, likelihoods, report, saving_of, says_unseen

LABEL = Label(
    "tf/x", "develop", "slow", "slow", ("serial-map",), (), ("Map",), ("augment",), (9,), 3, False
)
RECORDED = Recorded(Path("x.gz"), LABEL, "profile", "tf2.21", False, 8, 10.0, 0.5)
JUDGED = Judged(RECORDED, None, True, True, True, (), (0.4, 0.6), (8, 10.5), True, ())


def test_a_count_may_miss_edges_where_the_period_is_right() -> None:
    assert JUDGED.are_steps_right
    assert replace(JUDGED, steps=(6, 10.5)).are_steps_right
    assert not replace(JUDGED, steps=(5, 10.5)).are_steps_right
    assert not replace(JUDGED, steps=(7, 12.0)).are_steps_right


def test_a_count_that_is_said_to_be_uncertain_is_not_wrong() -> None:
    assert replace(JUDGED, steps=(3, 99.0), are_steps_sure=False).are_steps_right
    assert not replace(JUDGED, steps=(3, 99.0)).are_steps_right


def test_parts_of_a_step_that_repeat_may_be_taken_for_steps() -> None:
    assert replace(JUDGED, steps=(24, 10.0 / 3)).are_steps_right
    assert replace(JUDGED, steps=(24, 10.0 / 3)).is_period_right


def test_a_range_covers_what_was_measured_within_noise() -> None:
    assert JUDGED.does_range_cover
    assert replace(JUDGED, saving=(0.52, 0.9)).does_range_cover
    assert not replace(JUDGED, saving=(0.6, 0.9)).does_range_cover
    assert replace(JUDGED, saving=None).does_range_cover is None
    unsteady = replace(RECORDED, saving_frac=nan)
    assert replace(JUDGED, recorded=unsteady).does_range_cover is None


def test_promises_that_are_left_out_are_counted_as_if_they_said_all_of_the_step() -> None:
    first = Finding("serial-map", "high", None, 0.9, "", no_saving="it depends")
    told = replace(JUDGED, first=first)
    silent = replace(told, saving=None)
    text = report([told, told, silent, silent, silent, replace(JUDGED, saving=None)])
    assert "savings covered: 2 of 2 (100 %), larger: 0, median width 20 % of the step" in text
    assert "first finding promises nothing: 3 of 6 (50 %)" in text
    assert "as if its range were all of the step: median width 100 %" in text


def test_that_a_line_is_unknown_names_no_place() -> None:
    assert says_unseen("For 3 of each 10 ms step nothing was recorded on the loop's thread.")
    assert not says_unseen(
        "MatMul takes 40%. Which line of the program runs this was not recorded."
    )
    assert not says_unseen("Gradients are prepared. Which line runs them was not recorded.")


def test_a_promise_is_a_share_of_the_step() -> None:
    finding = Finding("serial-map", "high", 2.0, 0.9, "", saving_high_ms=5.0)
    assert saving_of(finding, 10.0) == (0.2, 0.5)
    assert saving_of(None, 10.0) is None
    assert saving_of(Finding("serial-map", "high", None, 0.9, ""), 10.0) is None


def test_what_fails_by_class_of_change_is_told_of_the_part_to_develop_on_alone() -> None:
    removed = replace(JUDGED, change="removed")
    rows = [removed, replace(removed, saving=(0.1, 0.3)), replace(removed, saving=(0.7, 0.9))]
    other = replace(RECORDED, label=replace(LABEL, part="score"))
    text = report([*rows, replace(removed, recorded=other)])
    (line,) = (line for line in text.splitlines() if line.startswith("removed"))
    assert line.split() == ["removed", "3", "1", "1", "1", "20%"]


def test_the_parts_are_told_apart() -> None:
    other = replace(RECORDED, label=replace(LABEL, part="score"))
    text = report([JUDGED, replace(JUDGED, recorded=other, is_right=False)])
    develop, score = text.split("== score")
    assert "first finding right: 1 of 1 (100 %)" in develop
    assert "first finding right: 0 of 1 (0 %)" in score


def test_alarms_about_healthy_programs_count_against_their_likelihood() -> None:
    healthy = replace(RECORDED, label=replace(LABEL, planted=None))
    rows = [
        replace(JUDGED, told=(("likely", True), ("possible", False))),
        replace(JUDGED, recorded=healthy, told=(("likely", False),)),
    ]
    likely, possible, doubtful = (" ".join(line.split()) for line in likelihoods(rows)[1:])
    assert likely == "likely 2 1 of 2 (50 %) 1 50 %"
    assert possible == "possible 1 0 of 1 (0 %) 1 0 %"
    assert doubtful == "doubtful 0 0 of 0 0 –"


def test_a_program_with_many_recordings_counts_once() -> None:
    other = replace(RECORDED, label=replace(LABEL, program="tf/y"))
    rows = [replace(JUDGED, told=(("likely", True),)) for _recording in range(3)]
    rows.append(replace(JUDGED, recorded=other, told=(("likely", False),)))
    assert " ".join(likelihoods(rows)[1].split()) == "likely 4 3 of 4 (75 %) 2 50 %"
