"""What rules say of a step, where there is none but the recording as a whole."""

from __future__ import annotations

import pytest

from stepscope.advice.render import of_the_recording, said_of_the_recording
from stepscope.result import Finding


@pytest.mark.parametrize(
    ("said", "rewritten"),
    [
        ("takes 3 ms of each 12 ms step.", "takes 3 ms of the 12 ms recorded."),
        ("each 12 ms step waits 3 ms", "the recording of 12 ms waits 3 ms"),
        (
            "The step waits for input for 40% of its time",
            "The program waits for input for 40% of its time",
        ),
        (
            "The step waits 3 ms of its 12 ms for collectives",
            "The program waits 3 ms of the 12 ms recorded for collectives",
        ),
        (
            "map makes elements, and the step waits 3 of 12 ms for it; on all cores the step would "
            "take about 9 ms.",
            "map makes elements, and the program waits 3 of 12 ms for it; on all cores the program "
            "would take about 9 ms.",
        ),
        (
            "Devices idle 0.5% of the step, below 10%.",
            "Devices idle 0.5% of the recording, below 10%.",
        ),
        ("A step dispatches fewer than 20 ops", "The program dispatches fewer than 20 ops"),
        ("A step runs about 300 kernels", "The recording holds about 300 kernels"),
        ("(3 collections a step, 2 ms in every step)", "(3 collections in all, 2 ms in all)"),
        (
            "No call of a tf.function was recorded within a step.",
            "No call of a tf.function was recorded.",
        ),
        ("halving it would make the step 9 ms.", "halving it would leave 9 ms."),
        (
            "Thread 7 runs Python for 30% of the steps",
            "Thread 7 runs Python for 30% of the recording",
        ),
        ("batches are ready when the step asks", "batches are ready when the program asks"),
    ],
)
def test_numbers_of_a_step_are_of_the_recording_and_what_it_does_is_the_programs(
    said: str, rewritten: str
) -> None:
    assert said_of_the_recording(said) == rewritten


@pytest.mark.parametrize(
    "said",
    [
        "No step was found, so no share of a step is known.",
        "Most of it is Optimizer.step#Adam.step, 0.83 ms.",
        "jit(step)/dot_general takes 3 ms, since step 3.",
    ],
)
def test_that_there_is_no_step_and_names_stay_as_they_are(said: str) -> None:
    assert said_of_the_recording(said) == said


def test_what_to_do_is_still_about_the_programs_steps() -> None:
    actions = ("Compile the step, so that it runs 3 ms of each 12 ms step.",)
    found = of_the_recording(Finding("slow", "high", 2.0, 0.9, "", actions=actions))
    assert found.actions == ("Compile the step, so that it runs 3 ms of the 12 ms recorded.",)
