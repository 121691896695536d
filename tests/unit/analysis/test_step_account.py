"""The account of the mean step, as the tool tells it."""

from __future__ import annotations

import pytest

from stepscope.analysis.step_account import TOOL, StepAccount, step_account
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.parts.shares import MADE
from tests.profiles import draw, event, hlo, nth, space
from tests.profiles.drawing import Drawn
from tests.profiles.model import line, plane


def found(picture: str, **events: Drawn) -> StepAccount:
    """Two steps of 1 ms, 100 µs a character."""
    step = event("train", step_num=nth, _r=1)
    planes = draw(picture, unit_us=100, S=step, **events)
    return step_account(Profile("s", (Host("h", decode(space(*planes))),)))


PREPARES = """
/host:CPU
  python   S---------S---------
  "        A----.....A----.....
  "        .....F--......F--...
  tf_pool  .....OO........OO...
"""
EVENTS = {
    "A": event("$train.py:12 prepare"),
    "F": event("FunctionRun"),
    "O": event("a/MatMul:MatMul"),
}


def test_parts_and_owners_both_sum_to_the_step() -> None:
    one = found(PREPARES, **EVENTS)
    assert one.step_time_ms == pytest.approx(1.0)
    assert sum(one.parts["time_ms"]) == pytest.approx(1.0)
    assert sum(one.owners["time_ms"]) == pytest.approx(1.0)
    assert sum(one.parts["step_frac"]) == pytest.approx(1.0)


def test_the_headline_names_the_largest_part() -> None:
    one = found(PREPARES, **EVENTS)
    assert one.headline == "prepare takes 50 % of each 1 ms step."
    first = next(iter(one.part_list()))
    assert (first.kind, first.function, first.file, first.line) == (
        "python",
        "prepare",
        "train.py",
        12,
    )
    assert one.busy_ms == pytest.approx(0.2)


def test_ops_take_and_a_function_takes() -> None:
    one = found(
        """
        /host:CPU
          python   S---------S---------
          "        .OOOOOO....OOOOOO...
        """,
        O=event("aten/mm:mm"),
    )
    assert one.headline == "The ops of the family matmul take 60 % of each 1 ms step."


def test_it_says_what_was_recorded() -> None:
    one = found(PREPARES, **EVENTS)
    assert (one.has_python, one.has_events, one.is_window) == (True, True, False)


def test_a_recording_without_steps_is_accounted_for_as_a_whole() -> None:
    one = found(
        """
        /host:CPU
          python   A----......
          tf_pool  ......OO...
        """,
        **EVENTS,
    )
    assert one.is_window
    assert one.step_count >= 1
    assert sum(one.parts["step_frac"]) == pytest.approx(1.0)


def test_without_events_there_is_nothing_to_account_for() -> None:
    empty = Profile("s", (Host("h", decode(space())),))
    assert TOOL.available(empty) is not None
    assert step_account(empty).step_count == 0


def test_the_type_that_an_op_computes_in_is_told_where_pytorch_recorded_it() -> None:
    arguments = '{"Input type": ["", "double", "double"], "Ev Idx": 3}'
    one = found(
        """
        /host:CPU
          python   S---------S---------
          "        MMMMMMM...MMMMMMM...
        """,
        M=event("aten/mm:mm", args=arguments),
    )
    first = next(iter(one.part_list()))
    assert (first.name, first.text("data_type")) == ("matmul", "f64")


@pytest.mark.parametrize("arguments", ["", "{", "[]", '{"Input type": "double"}'])
def test_arguments_that_tell_no_type_leave_it_unknown(arguments: str) -> None:
    one = found(
        """
        /host:CPU
          python   S---------S---------
          "        MMMMMMM...MMMMMMM...
        """,
        M=event("aten/mm:mm", args=arguments),
    )
    assert next(iter(one.part_list())).text("data_type") == ""


def test_a_product_that_took_in_a_transposition_is_a_product() -> None:
    """XLA gives the product the name of what it took in; its instruction tells what runs."""
    name = "jit(step)/transpose(jvp())/transpose"
    product = hlo.instruction("dot.1", "dot", hlo.f32(8, 8), "p", op_name=name)
    compiled = hlo.program("jit_step", [hlo.instruction("p", "parameter", hlo.f32(8, 8)), product])
    step = event("train", step_num=nth, _r=1)
    planes = draw(
        """
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  OOOOOOO...OOOOOOO...
        """,
        unit_us=100,
        S=step,
        W=event("BlockHostUntilReady"),
        O=event("dot.1", hlo_op="dot.1", program_id=7),
    )
    every = space(*planes, hlo.metadata_plane(("jit_step", 7, compiled)))
    one = step_account(Profile("s", (Host("h", decode(every)),)))
    first = next(iter(one.part_list()))
    assert (first.kind, first.name) == ("op", "dot_general")


def test_a_loop_of_jitted_functions_is_told_by_their_names() -> None:
    """XLA's instructions in them have numbers for names."""
    step = "".join(".CC" for _ in range(8)) + "......"
    one = found(
        f"""
        /host:CPU
          python   S-----------------------------S-----------------------------
          "        .L-----------------------.....L-----------------------......
          "        {step.replace("CC", "J-")}{step.replace("CC", "J-")}
          "        {step.replace("CC", ".C")}{step.replace("CC", ".C")}
        """,
        L=event("$train.py:12 noise"),
        J=event("PjitFunction(fold)"),
        C=event("copy.26", hlo_op="copy.26"),
    )
    first = next(iter(one.part_list()))
    assert (first.kind, first.name) == ("eager", "noise")
    assert [share.name for share in one.part_list()[0].shares if share.role == MADE] == ["fold"]


def test_a_line_that_is_not_known_is_none_and_not_line_0() -> None:
    one = found(
        """
        /host:CPU
          python   S---------S---------
          "        .OOOOOO....OOOOOO...
        """,
        O=event("aten/mm:mm"),
    )
    assert [part.line for part in one.part_list() if part.name == "matmul"] == [None]
    assert 0 not in [*one.parts["line"], *one.owners["line"]]


def test_a_launcher_that_waits_for_its_ranks_has_no_account() -> None:
    step = event("train", step_num=nth, _r=1)
    waits = draw("/host:CPU\n  python  " + "A" + "-" * 99, unit_us=1000, A=EVENTS["A"])
    planes = [waits, draw(PREPARES, unit_us=100, S=step, **EVENTS)]
    hosts = tuple(Host(f"h{n}", decode(space(*one))) for n, one in enumerate(planes))
    one = step_account(Profile("s", hosts))
    assert not one.is_window
    assert one.step_time_ms == pytest.approx(1.0)
    assert sum(one.parts["time_ms"]) == pytest.approx(1.0)


def test_a_loop_in_a_child_process_has_the_childs_python() -> None:
    samples = "/device:CUSTOM:Python samples"
    steps = [("train", 1000 * n, 1000, {"step_num": n, "_r": 1}) for n in range(2)]
    prepares = [("$train.py:12 prepare", 1000 * n, 600) for n in range(2)]
    data = space(
        plane(samples, line("MainThread", ("$launch.py:3 <module>", 0, 2000), id=1)),
        plane("/host:CPU [42]", line("python", *steps, id=42)),
        plane(f"{samples} [42]", line("MainThread", *prepares, id=42)),
    )
    one = step_account(Profile("s", (Host("h", decode(data)),)))
    assert {"train.py"} == {file for file in one.owners["file"] if file}
