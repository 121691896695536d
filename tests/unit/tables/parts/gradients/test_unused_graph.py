"""Forward ops whose gradients nothing computed, by the numbers that autograd gives."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.parts.gradients import NeedlessGradients, unused_graph
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def found(thread: str, calls: str = "", **numbers: tuple[int, bool]) -> NeedlessGradients | None:
    """Two steps of 1 ms; each letter is an op with its number, and whether it is a gradient."""
    python = f'\n          "        {calls}' if calls else ""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------{python}
          "        {thread}
        """,
        E=event("$train.py:30 evaluate"),
        **{
            letter: event(
                f"aten/{letter}:{letter}",
                **{names.SEQUENCE_NUMBER: number},
                args='{"Fwd thread id": 1}' if backward else "{}",
            )
            for letter, (number, backward) in numbers.items()
        },
    )
    made = account(one)
    assert made is not None
    return unused_graph(one, made)


def test_inference_that_records_gradients_has_none_at_all() -> None:
    graph = found("vvww......vvww......", v=(1, False), w=(2, False))
    assert graph is not None and graph.time_ms == 0.2
    assert graph.is_all


def test_an_op_that_drops_one_of_its_parts_is_used_for_the_others() -> None:
    """A product transposes its factor to decide how to multiply, and may not need that."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        M----.bb..M----.bb..
          "        t.mm......t.mm......
        """,
        M=event("aten/matmul:matmul", **{names.SEQUENCE_NUMBER: 1}, args="{}"),
        t=event("aten/mT:mT", **{names.SEQUENCE_NUMBER: 1}, args="{}"),
        m=event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 2}, args="{}"),
        b=event("aten/b:b", **{names.SEQUENCE_NUMBER: 2}, args='{"Fwd thread id": 1}'),
    )
    made = account(one)
    assert made is not None
    graph = unused_graph(one, made)
    assert graph is not None
    assert (graph.time_ms, graph.longest) == (0.1, "aten/mT:mT")


def test_it_is_where_most_of_its_time_is_called_from() -> None:
    graph = found(
        "....vvvff.bb..vvvff.bb..",
        "...E----.....E----......",
        v=(1, False),
        f=(2, False),
        b=(2, True),
    )
    assert graph is not None and graph.place is not None
    assert (graph.place.function, graph.place.line) == ("evaluate", 30)


def test_what_a_compiler_traces_has_no_gradients() -> None:
    """torch.compile runs ops with tensors that hold nothing, and no gradient is ever asked for."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        ffC----.bbffC----.bb
          "        ...vvv......vvv.....
        """,
        C=event("_compile.compile_inner (dynamo_timed)"),
        f=event("aten/f:f", **{names.SEQUENCE_NUMBER: 2}, args="{}"),
        v=event("aten/v:v", **{names.SEQUENCE_NUMBER: 1}, args="{}"),
        b=event("aten/b:b", **{names.SEQUENCE_NUMBER: 2}, args='{"Fwd thread id": 1}'),
    )
    made = account(one)
    assert made is not None
    assert unused_graph(one, made) is None


def test_a_forward_pass_that_prepares_its_backward_pass_has_one_to_come() -> None:
    """Sharded models register what follows the gradients; the recording ends before them."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        vvwwp.....vvwwp.....
        """,
        **{
            letter: event(f"aten/{letter}:{letter}", **{names.SEQUENCE_NUMBER: number}, args="{}")
            for letter, number in (("v", 1), ("w", 2))
        },
        p=event("torch/RegisterPostBackwardFunction:RegisterPostBackwardFunction"),
    )
    made = account(one)
    assert made is not None and unused_graph(one, made) is None


def test_where_gradients_do_not_say_whose_they_are_nothing_is_unused() -> None:
    """Early recordings number ops, and do not tell the forward thread of a gradient."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        ffgg.bb...ffgg.bb...
        """,
        f=event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 1}, args="{}"),
        g=event("aten/sum:sum", **{names.SEQUENCE_NUMBER: 2}, args="{}"),
        b=event("autograd::engine::evaluate_function: MmBackward", args="{}"),
    )
    made = account(one)
    assert made is not None
    assert unused_graph(one, made) is None
