"""Advice about steps that trace a tf.function: one rule tells, and no other raises an alarm."""

from __future__ import annotations

from tests.profiles import space
from tests.profiles.model import EventLike, host, line
from tests.unit.advice.test_host_side import asked


def test_what_is_traced_again_is_not_compiled_again_nor_an_uneven_step() -> None:
    """A step that takes longer on a busy machine traces for longer, as it computes for longer."""
    main: list[EventLike] = []
    begin = 0.0
    for number in range(20):
        length = 5000.0 if number in (7, 13) else 1000.0
        main += [
            ("train", begin, length, {"step_num": number, "_r": 1}),
            (
                "rank",
                begin + 10,
                length - 20,
                {"tf_function_call": "traced-nonXla", "tracing_count": number + 1},
            ),
        ]
        begin += length + 5
    found = {one.rule: one.severity for one in asked(space(host(line("python", *main)))).advice()}
    assert found["retracing"] == "high"
    assert "recompilation" not in found
    assert found.get("uneven-steps", "info") == "info"
