"""What the host does beside computing: each number worked out by hand from the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.analysis.host_activity import TOOL, HostActivity, collections_at, host_activity
from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import draw, event, nth, space
from tests.profiles.drawing import Drawn
from tests.profiles.model import Event, Kind, host, line, plane


def profile(data: bytes) -> Profile:
    return Profile("s", (Host("h", decode(data)),))


def drawn(picture: str, **events: Drawn) -> HostActivity:
    """Two steps of 1 ms, 100 µs a character."""
    step = event("train", step_num=nth, _r=1)
    planes = draw(picture, unit_us=100, S=step, **events)
    return host_activity(profile(space(*planes)))


def test_computing_input_and_the_rest_sum_to_the_step() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        .I--......I.........
          tf_pool  ....O--O-......O---.
        """,
        I=event("IteratorGetNext"),
        O=event("a/MatMul:MatMul"),
    )
    # Input 300 and 100 µs, ops 300 + 200 (the second begins where the first ends) and 400.
    assert found.input_ms == pytest.approx(0.2)
    assert found.computing_ms == pytest.approx(0.45)
    assert found.idle_ms == pytest.approx(0.35)
    assert found.step_time_ms == pytest.approx(1.0)
    assert found.headline == (
        "While nothing computes, the host waits for input for 200 µs (20 %) and does something "
        "else for 350 µs (35 %) of each 1 ms step."
    )


def test_a_traced_call_costs_what_of_it_is_not_computing() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        T--------.C---......
          "        B---.....
          tf_pool  ......O-....O-......
        """,
        T=event("scaled", tf_function_call="traced-nonXla", tracing_count=7),
        C=event("scaled", tf_function_call="notTraced-nonXla", tracing_count=7),
        B=event("tf.function-graph_building"),
        O=event("a/MatMul:MatMul"),
    )
    (call,) = found.calls.rows()
    # Two calls in two steps; the traced one lasts 900 µs, of which an op runs 200.
    assert (call["function"], call["calls"], call["built"], call["traces"]) == ("scaled", 1, 0.5, 7)
    assert call["time_ms"] == pytest.approx(1.3 / 2)
    assert call["build_ms"] == pytest.approx(0.7 / 2)


def test_a_call_that_compiles_is_built_even_if_it_was_not_traced() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        J--------.J-........
          "        .X---.....
        """,
        J=event("PjitFunction(step)"),
        X=event("backend_compile_and_load"),
    )
    (call,) = found.calls.rows()
    assert (call["function"], call["built"], call["traces"]) == ("step", 0.5, 0)
    assert call["build_ms"] == pytest.approx(0.9 / 2)


def test_a_function_called_inside_another_is_not_counted() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        J--------.J-------..
          "        .K---......K--......
        """,
        J=event("PjitFunction(step)"),
        K=event("PjitFunction(inner)"),
    )
    assert list(found.calls["function"]) == ["step"]


def test_eager_ops_are_counted_and_only_their_kernels_compute() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        E--.E--....F------..
          "        .R...R......R----...
          "        .K..................
        """,
        E=event("EagerExecute", is_func=0, eager_op="MatMul"),
        F=event("EagerExecute", is_func=1, eager_op="__inference_step"),
        R=event("KernelAndDeviceFunc::Run"),
        K=event("EagerLocalExecute: MatMul"),
    )
    assert found.eager_ops == 1  # two in two steps; the function is none
    assert found.computing_ms == pytest.approx(0.1)  # two runs of 100 µs, not the function's


def test_ops_of_jax_are_counted_by_their_programs_where_jit_is_disabled() -> None:
    """With jax_disable_jit no call of an op is recorded, only what runs."""
    found = drawn(
        """
        /host:CPU
          python           S---------S---------
          "                J-------..J-------..
          tf_XLAEigen      .A.A.B...A.A.B....M.
        """,
        J=event("PjitFunction(step)"),
        A=event("add", hlo_op="add", hlo_module="jit_add", run_id=nth),
        B=event("dot", hlo_op="dot", hlo_module="jit_dot_general", run_id=nth + 50),
        M=event("fusion", hlo_op="fusion", hlo_module="jit_update", run_id=90),
    )
    assert found.eager_ops == found.usual_eager_ops == 3


def test_printing_costs_what_no_other_op_hides() -> None:
    found = drawn(
        """
        /host:CPU
          python     S---------S---------
          tf_pool    .P----..............
          tf_pool 2  ...O------..........
        """,
        P=event("PrintV2:PrintV2"),
        O=event("a/MatMul:MatMul"),
    )
    (row,) = found.side_work.rows()
    # 500 µs of printing in one of two steps, of which 300 lie under the product.
    assert (row["kind"], row["calls"], row["per_step"], row["steps_frac"]) == (
        "printing",
        "PrintV2",
        0.5,
        0.5,
    )
    assert row["time_ms"] == pytest.approx(0.1)
    assert row["in_step_ms"] == pytest.approx(0.2)
    assert row["whole_ms"] == pytest.approx(0.25)


def test_a_number_that_becomes_text_is_not_printed() -> None:
    """Ids are hashed as text: nothing is shown of it."""
    found = drawn(
        """
        /host:CPU
          python     S---------S---------
          tf_pool    .T----..............
        """,
        T=event("ids/AsString:AsString"),
    )
    assert len(found.side_work) == 0


def test_python_functions_of_the_pipeline_are_no_callbacks_of_the_step() -> None:
    found = drawn(
        """
        /host:CPU
          python         S---------S---------
          tf_data_worker .P----..............
        """,
        P=event("PyFunc:PyFunc"),
    )
    assert len(found.side_work) == 0


def test_python_is_charged_where_nothing_computes() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        A--------...........
          "        .B----..............
          tf_pool  ...O-...............
        """,
        A=event("$train.py:10 step"),
        B=event("$data/aug.py:32 flip"),
        O=event("a/MatMul:MatMul"),
    )
    rows = {row["function"]: row for row in found.python.rows()}
    # flip: 500 µs less the op's 200; step: 900 − 500 of its own.
    assert rows["flip"]["self_ms"] == pytest.approx(0.3 / 2)
    assert rows["step"]["self_ms"] == pytest.approx(0.4 / 2)
    assert rows["step"]["total_ms"] == pytest.approx(0.7 / 2)
    assert (rows["flip"]["file"], rows["flip"]["line"]) == ("data/aug.py", 32)
    assert rows["flip"]["step_frac"] == pytest.approx(0.15)
    assert list(found.python["function"]) == ["step", "flip"]


def test_a_function_is_one_row_though_each_chunk_has_its_own_entry_of_it() -> None:
    calls = [Event(f"$train.py:3 load{chunk}", 500 * chunk, 300) for chunk in range(2)]
    gap = Event("garbage_collector: a chunk is written", 350, 20)
    recorded = space(host(line("python", *calls)), plane(names.RECORDING_PLANE, line("", gap)))
    found = host_activity(profile(recorded.replace(b"load1", b"load0")))
    assert [(row["function"], row["calls"]) for row in found.python.rows()] == [("load0", 2)]
    # What runs beside the framework leaves nothing of it out: the recording is one piece.
    assert found.step_count == 1


def test_a_function_that_waits_is_marked() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        A--------.B---......
        """,
        A=event("$train.py:31 wait_for_workers.wait"),
        B=event("$train.py:7 get_batch_size"),
    )
    assert dict(zip(found.python["function"], found.python["is_wait"], strict=True)) == {
        "wait_for_workers.wait": True,
        "get_batch_size": False,
    }


@pytest.mark.parametrize(
    "frame",
    [
        "$array.py:615 _value",
        "$array.py:420 __float__",
        "$api.py:3165 try_to_block",
        "$compiler.py:292 backend_compile",
        "$pxla.py:230 batched_device_put",
        "$dispatch.py:87 apply_primitive",
    ],
)
def test_functions_of_a_framework_are_none_of_the_program_though_no_path_says_so(
    frame: str,
) -> None:
    """JAX's tracer names files alone; a program may have an api.py or compiler.py of its own."""
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        A-----....B---......
          "        .F---.....
        """,
        A=event("$api.py:9 main"),
        B=event("$compiler.py:7 tokenise"),
        F=event(frame),
    )
    own = dict(zip(found.python["function"], found.python["self_ms"], strict=True))
    # Of the 0.6 ms in main, 0.4 are the framework's; over two steps of 1 ms.
    assert own == pytest.approx({"main": 0.1, "tokenise": 0.2})


def test_ops_that_prepare_a_summary_are_its_cost() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          tf_pool  MM.BBBB.W.MM.BBBB.W.
        """,
        M=event("net/MatMul:MatMul"),
        B=event("grad/write_summary/buckets/cond/else/_1/grad/write_summary/Sum:Sum"),
        W=event("grad/write_summary/WriteHistogramSummary:WriteHistogramSummary"),
    )
    (row,) = found.side_work.rows()
    assert (row["kind"], row["calls"], row["steps_frac"]) == ("summaries", "grad/write_summary", 1)
    assert row["time_ms"] == pytest.approx(0.5)


def test_ops_that_pytorch_dispatches_are_dispatched_one_by_one() -> None:
    found = drawn(
        """
        /host:CPU
          python       S---------S---------
          "            A--.B.C---A--.B.C---
          "            .D-.......D-........
          "            ......E-........E-..
        """,
        A=event("aten/linear:linear"),
        B=event("aten/relu:relu"),
        C=event("Torch-Compiled Region: 0/0"),
        D=event("aten/addmm:addmm"),
        E=event("aten/mul:mul"),
    )
    # linear and relu; addmm is linear's own, mul was compiled.
    assert found.eager_ops == 2


def _optimizer(ops: int, kind: str = "aten/mul_:mul_") -> HostActivity:
    """Two steps of 1 ms, in each an optimizer of 600 µs."""
    steps, calls, work = [], [], []
    for step in range(2):
        begin = 1000.0 * step
        steps.append(Event("train", begin, 1000, {"step_num": step, "_r": 1}))
        calls.append(Event("Optimizer.step#Adam.step", begin + 300, 600))
        work += [Event(kind, begin + 300 + at * 600 / ops, 500 / ops) for at in range(ops)]
    return host_activity(profile(space(host(line("python", *steps, *calls, *work)))))


def test_what_an_optimizer_dispatches_is_counted_and_timed() -> None:
    (row,) = _optimizer(200).optimizers.rows()
    assert (row["optimizer"], row["ops"], row["is_together"]) == ("Adam", 200, False)
    assert row["time_ms"] == pytest.approx(0.6)
    assert row["op_us"] == pytest.approx(2.5)
    (together,) = _optimizer(4, "aten/_foreach_mul_:_foreach_mul_").optimizers.rows()
    assert together["is_together"]


def test_an_optimizer_in_a_graph_is_told_by_its_scope() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          tf_pool  .M-AAA....MM-AAA....
        """,
        M=event("net/MatMul:MatMul"),
        A=event("StatefulPartitionedCall/adam/mul_3:Mul"),
    )
    (row,) = found.optimizers.rows()
    assert (row["optimizer"], row["ops"]) == ("adam", 3)


def test_collections_of_garbage_stop_the_step_on_whatever_thread() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Garbage collection
          loader   .G---.....G---......
          stepscope-sampler .....G---.........G--
        """,
        G=event("garbage collection, generation 2"),
    )
    (row,) = found.side_work.rows()
    assert (row["kind"], row["calls"], row["per_step"]) == ("garbage collection", "generation 2", 1)
    assert row["time_ms"] == pytest.approx(0.4)


def test_stacks_of_a_sampler_count_where_the_thread_itself_recorded_none() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Python samples
          MainThread  .B----..............
          other       ........B...........
        """,
        B=event("$data/aug.py:32 flip"),
    )
    assert found.python["self_ms"][0] == pytest.approx(0.5 / 2)


def installed(package: str) -> str:
    return f"/venv/lib/python3.11/site-packages/{package}"


def with_sources(picture: str, **where: tuple[str, str]) -> dict[str, float]:
    """Self time by function, each call with the file it is defined in."""
    calls = {letter: event(name) for letter, (name, _path) in where.items()}
    planes = draw(picture, unit_us=100, S=event("train", step_num=nth, _r=1), **calls)
    kinds = {name: Kind(stats={"source": path}) for name, path in where.values()}
    found = host_activity(profile(space(*(replace(plane, kinds=kinds) for plane in planes))))
    return dict(zip(found.python["function"], found.python["self_ms"], strict=True))


def test_a_library_works_for_the_function_that_calls_it_and_a_framework_for_nobody() -> None:
    self_ms = with_sources(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Python samples
          MainThread  A--------...........
          "           .B--.C---...........
          "           ..L..D-.............
        """,
        A=("$train.py:10 step", "/home/me/train.py:10"),
        B=("$numpy/lib/io.py:5 load", installed("numpy/lib/io.py:5")),
        L=("$numpy/lib/io.py:9", installed("numpy/lib/io.py:9")),
        C=("$tensorflow/execute.py:53 execute", installed("tensorflow/execute.py:53")),
        D=("$contextlib.py:7 exit", "/usr/lib/python3.11/contextlib.py:7"),
    )
    # Of 900 µs the framework has 400, with what it calls; the rest is the step's own.
    assert self_ms == {"step": pytest.approx(0.5 / 2)}


def test_what_a_framework_calls_back_is_the_programs_own_again() -> None:
    self_ms = with_sources(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Python samples
          MainThread  A--------...........
          "           .C------............
          "           ...B--..............
          "           ....L...............
        """,
        A=("$train.py:10 step", "/home/me/train.py:10"),
        B=("$train.py:30 loss", "/home/me/train.py:30"),
        L=("$train.py:33", "/home/me/train.py:33"),
        C=("$tensorflow/execute.py:53 execute", installed("tensorflow/execute.py:53")),
    )
    assert self_ms == {"loss": pytest.approx(0.3 / 2), "step": pytest.approx(0.2 / 2)}


def test_a_comprehension_is_part_of_its_function() -> None:
    self_ms = with_sources(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Python samples
          MainThread  A--------...........
          "           .C------............
        """,
        A=("$train.py:10 read", "/home/me/train.py:10"),
        C=("$train.py:12 read.<locals>.<listcomp>", "/home/me/train.py:12"),
    )
    assert self_ms == {"read": pytest.approx(0.9 / 2)}


def test_a_library_that_waits_is_nobodys_work() -> None:
    self_ms = with_sources(
        """
        /host:CPU
          python   S---------S---------
        /device:CUSTOM:Python samples
          MainThread  A--------...........
          "           .W------............
        """,
        A=("$train.py:10 step", "/home/me/train.py:10"),
        W=("$threading.py:9 wait", "/usr/lib/python3.11/threading.py:9"),
    )
    assert self_ms == {"step": pytest.approx(0.2 / 2)}


def test_without_steps_the_recording_as_a_whole_is_accounted_for() -> None:
    events = ("a/Add:AddV2", 0, 10), ("b/Mul:Mul", 30, 10)
    bare = profile(space(host(line("python", *events))))
    assert TOOL.available(bare) is None
    found = host_activity(bare)
    assert (found.step_source, found.step_count) == ("window", 1)
    assert found.step_time_ms == pytest.approx(0.04)
    assert found.computing_ms == pytest.approx(0.02)
    assert "of the 40 µs recorded" in found.headline
    lacking = TOOL.available(profile(space(host(line("python")))))
    assert lacking is not None


def recorded(thread: int, *, with_stacks: bool = True) -> Host:
    """Two steps of 10 ms: 6 ms of each in ``anchors``, which three of four collections are in."""
    steps = [("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in (0, 1)]
    loop = line("main", *steps, id=7)
    stacks = [("$/home/me/train.py:4 main", 0, 20_000)]
    stacks += [("$/home/me/train.py:9 anchors", 10_000 * at, 6000) for at in (0, 1)]
    stacks += [("$/home/me/train.py:12", 10_000 * at, 6000) for at in (0, 1)]
    garbage = [("garbage collection, generation 2", at, 1000) for at in (1000, 3000, 8000, 12_000)]
    sampled = plane(names.PYTHON_SAMPLES_PLANE, line("MainThread", *stacks, id=7))
    return Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, loop),
                *([sampled] if with_stacks else []),
                plane(names.GARBAGE_PLANE, line("MainThread", *garbage, id=7 + thread)),
            )
        ),
    )


def test_the_function_that_is_interrupted_most_is_named_at_its_line() -> None:
    found = collections_at(recorded(0))
    assert found is not None
    site, share = found
    assert (site.function, site.file, site.line) == ("anchors", "/home/me/train.py", 12)
    assert share == pytest.approx(0.75)


def test_collections_of_other_threads_say_nothing_of_the_loop() -> None:
    assert collections_at(recorded(1)) is None


def test_without_stacks_no_function_is_known() -> None:
    assert collections_at(recorded(0, with_stacks=False)) is None
