"""Rules about what the host does: fired with a saving worked out by hand, silent, or unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.formats.xspace import decode
from stepscope.registry import Silence, Unknown
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from stepscope.verdicts.sentences import chosen
from tests.profiles import draw, event, nth, space, worked_example
from tests.profiles.drawing import Drawn
from tests.profiles.model import Event, EventLike, host, line, plane
from tests.unit.advice.asking import Asked


def loop_of(*work: tuple[str, float, float], steps: int = 10, step_us: float = 1000.0) -> Asked:
    """Marked steps, each with the same work on the loop's thread (µs from the step's begin)."""
    events: list[Event] = []
    for step in range(steps):
        begin = step * step_us
        events.append(Event("train", begin, step_us, {"step_num": step, "_r": 1}))
        events += [Event(name, begin + start, length) for name, start, length in work]
    return asked(space(host(line("python", *events))))


def updates(
    count: int, length_us: float, kind: str = "aten/mul_:mul_"
) -> list[tuple[str, float, float]]:
    """An optimizer's call of 800 µs, and the ops in it."""
    each = 800.0 / count
    return [
        ("Optimizer.step#AdamW.step", 100.0, 800.0),
        *((kind, 100.0 + at * each, length_us) for at in range(count)),
    ]


def test_an_optimizer_that_updates_each_variable_by_itself_is_the_cause() -> None:
    found = loop_of(*updates(200, 3.0)).finding("optimizer-per-variable")
    assert found.saving_ms == pytest.approx(0.6 * 0.8)
    assert "AdamW updates variable by variable: 200 ops, half of them below 3 µs" in found.message


@pytest.mark.parametrize(
    "work",
    [
        updates(200, 2.0, "aten/_foreach_mul_:_foreach_mul_"),
        updates(6, 120.0),
        [
            ("Optimizer.step#SGD.step", 100.0, 20.0),
            *[("aten/add_:add_", 100.0 + at / 10, 0.05) for at in range(150)],
        ],
    ],
    ids=["together", "few and large", "short"],
)
def test_an_optimizer_that_is_no_matter_is_left_in_peace(
    work: list[tuple[str, float, float]],
) -> None:
    assert loop_of(*work).reason("optimizer-per-variable", Silence)


def test_large_ops_of_an_optimizer_are_not_overhead() -> None:
    """112 short ops and five of 149 µs: only what is not in those can go."""
    small = [("aten/mul_:mul_", 105.0 + 0.4 * at, 0.3) for at in range(112)]
    large = [("aten/sqrt:sqrt", 150.0 + 150 * at, 149.0) for at in range(5)]
    work = [("Optimizer.step#AdamW.step", 100.0, 800.0), *small, *large]
    asked = loop_of(*work)
    (row,) = asked.result("host_activity").optimizers.records()
    assert row.time_ms == pytest.approx(0.8)
    assert row.short_ms == pytest.approx(0.8 - 5 * 0.149)
    found = asked.finding("optimizer-per-variable")
    assert found.saving_high_ms is not None
    assert found.saving_high_ms < 0.06
    assert "0.745 ms more are in ops of more than 100 µs" in found.message


def test_what_a_closure_computes_within_the_optimizers_step_is_not_its_own() -> None:
    """LBFGS calls the model again and again within its step."""
    backward = ("autograd::engine::evaluate_function: AddmmBackward0", 500.0, 50.0)
    asked = loop_of(*updates(200, 3.0), backward)
    assert asked.reason("optimizer-per-variable", Unknown)


def test_without_a_name_nobody_knows_the_optimizer() -> None:
    assert "No call of an optimizer" in loop_of(("aten/mul:mul", 0, 5)).reason(
        "optimizer-per-variable", Unknown
    )


STEP = event("train", step_num=nth, _r=1)
OP = event("a/MatMul:MatMul")


def asked(data: bytes) -> Asked:
    return Asked(Profile("s", (Host("h", decode(data)),)))


def drawn(picture: str, **events: Drawn) -> Asked:
    """100 µs a character."""
    return asked(space(*draw(picture, unit_us=100, S=STEP, **events)))


def traced(*, tracing_in: str, name: str = "step", count: int = 3) -> Asked:
    """Two steps of 1 ms; each calls a function for 800 µs, of which an op runs 200."""
    how = {"T": "traced-nonXla", "N": "notTraced-nonXla"}
    first, second = (
        event(name, tf_function_call=how[one], tracing_count=count) for one in tracing_in
    )
    return drawn(
        """
        /host:CPU
          python   S---------S---------
          "        .F-------..G-------.
          tf_pool  .....O-........O-...
        """,
        F=first,
        G=second,
        O=OP,
    )


def test_retracing_costs_the_calls_that_trace_less_what_they_compute() -> None:
    found = traced(tracing_in="TT").finding("retracing")
    assert found.saving_ms == pytest.approx(0.8 - 0.2)
    assert "'step' is retraced in 100% of its calls (3 traces" in found.message


def test_a_function_that_is_always_traced_for_the_first_time_is_made_in_the_loop() -> None:
    found = traced(tracing_in="TT", count=1).finding("retracing")
    assert "makes tf.function 'step' again and again" in found.message
    assert "Python numbers" not in " ".join(found.actions)
    assert found.saving_ms == pytest.approx(0.8 - 0.2)


def test_what_tensorflow_traces_to_save_a_model_asks_for_fewer_saves() -> None:
    found = traced(tracing_in="TT", name="_traced_save", count=1).finding("retracing")
    assert found.title == "Saving the model traces functions again"
    assert "every n-th step" in found.actions[0]
    assert not found.code


def test_tracing_once_is_no_retracing() -> None:
    assert "1 times" in traced(tracing_in="TN").reason("retracing", Silence)


def test_without_a_call_of_a_function_retracing_is_unknown() -> None:
    bare = drawn("/host:CPU\n  python   S---------S---------")
    assert "tf.function" in bare.reason("retracing", Unknown)


def compiling(events: str) -> Asked:
    return drawn(
        f"""
        /host:CPU
          python   S---------S---------
          "        .J-------..J-------.
          "        {events}
          tf_pool  .......O-........O-.
        """,
        J=event("PjitFunction(step)"),
        X=event("backend_compile_and_load"),
        O=event("fusion.1:Mul"),
    )


def test_recompilation_costs_the_calls_that_compile() -> None:
    found = compiling("..X----.....X----...").finding("recompilation")
    # Each call lasts 800 µs, of which an op runs 200.
    assert found.saving_ms == pytest.approx(0.6)
    assert "'step'" in found.message


@pytest.mark.parametrize(
    ("framework", "said", "not_said"),
    [("pytorch", "dynamic=True", "static_argnums"), ("jax", "static_argnums", "dynamic=True")],
)
def test_what_to_do_about_compiling_again_is_said_in_one_framework(
    framework: str, said: str, not_said: str
) -> None:
    actions = compiling("..X----.....X----...").finding("recompilation").actions
    text = " ".join(chosen(one, framework) for one in actions)
    assert said in text and not_said not in text


def test_where_steps_are_a_guess_compiling_in_each_may_be_the_set_up() -> None:
    sure = compiling("..X----.....X----...")
    results = sure.results("overview_page", "host_activity")
    page = results["overview_page"]
    guess = replace(page, steps=replace(page.steps, confidence=0.45))
    rule = next(rule for rule in RULES if rule.id == "recompilation")
    (found,) = rule.check(Results(results | {"overview_page": guess}))
    assert isinstance(found, Finding)
    assert found.severity == "info"
    assert found.confidence < sure.finding("recompilation").confidence
    assert "covers the set-up" in found.message


def test_compiling_nothing_is_no_recompilation() -> None:
    compiling("....................").reason("recompilation", Silence)


def loop(dispatches: int, *, kernel_us: float) -> Asked:
    """Two steps of 1 ms with so many eager ops each, whose kernels take ``kernel_us``."""
    events: list[EventLike] = []
    for step in range(2):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        for at in range(dispatches):
            start = begin + at * 1000.0 / dispatches
            events.append(("EagerExecute", start, 0.9 * 1000.0 / dispatches, {"is_func": 0}))
            events.append(("KernelAndDeviceFunc::Run", start, kernel_us))
    return asked(space(host(line("python", *events))))


def test_an_eager_loop_costs_the_time_in_which_no_kernel_runs() -> None:
    found = loop(50, kernel_us=4).finding("eager-execution")
    assert found.saving_ms == pytest.approx(1.0 - 50 * 0.004)
    assert "50 ops" in found.message


@pytest.mark.parametrize("is_beside", [True, False])
def test_eager_ops_beside_a_compiled_step_are_not_the_steps(is_beside: bool) -> None:
    """A callback's, in fit, whose step is compiled."""
    events: list[EventLike] = []
    for step in range(2):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        if is_beside:
            how = {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}
            events.append(("train_function", begin + 1, 200.0, how))
            events.append(("EagerExecute", begin + 2, 190.0, {"is_func": 1}))
        for place in range(30):
            start = begin + 300 + 20.0 * place
            events.append(("EagerExecute", start, 10.0, {"is_func": 0}))
            events.append(("KernelAndDeviceFunc::Run", start, 4.0))
    found = asked(space(host(line("python", *events)))).finding("eager-execution")
    said = "Beside the compiled train_function the loop, or a callback, runs op by op: 30 ops"
    assert found.message.startswith(said if is_beside else "The step runs op by op: 30 ops")


def test_a_few_eager_ops_are_no_eager_loop() -> None:
    loop(10, kernel_us=4).reason("eager-execution", Silence)


def test_eager_ops_of_few_steps_are_not_each_steps() -> None:
    """An evaluation after every fourth step makes datasets and reads metrics op by op."""
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        for place in range(120 if step == 3 else 1):
            start = begin + 8.0 * place
            events.append(("EagerExecute", start, 7.0, {"is_func": 0}))
            events.append(("KernelAndDeviceFunc::Run", start, 1.0))
    found = asked(space(host(line("python", *events))))
    reason = found.reason("eager-execution", Silence)
    assert (
        reason == "The median step dispatches fewer than 20 ops or compiled functions: 1; only "
        "few steps dispatch more."
    )


def test_eager_ops_that_fill_the_step_cost_nothing() -> None:
    """Kernels take 950 µs of 1 ms: the other 50 are all that handing over can cost."""
    assert loop(50, kernel_us=19).reason("eager-execution", Silence) == (
        "A step dispatches 50 ops or compiled functions; handing them over leaves at most 5% of "
        "the step without compute."
    )


def printing(where: str) -> Asked:
    return drawn(
        f"""
        /host:CPU
          python   S---------S---------
          tf_pool  {where}
        """,
        P=event("PrintV2:PrintV2"),
        O=OP,
    )


def test_printing_in_every_step_costs_its_time() -> None:
    found = printing(".P----O--..P----O--.").finding("print-every-step")
    assert found.saving_ms == pytest.approx(0.5)
    assert "Printing (PrintV2) takes 0.5 ms" in found.message


def test_a_callback_that_other_ops_hide_takes_its_whole_time_and_says_what_is_left() -> None:
    """The account said 53 ms of PyFunc, and this rule that it "takes 14 ms"."""
    found = drawn(
        """
        /host:CPU
          python     S---------S---------
          tf_pool    .P-----....P-----...
          tf_pool 2  ...O---......O---...
        """,
        P=event("loss/PyFunc:PyFunc"),
        O=OP,
    ).finding("print-every-step")
    assert "(PyFunc) takes 0.6 ms of each 1 ms step, in every step." in found.message
    assert "For 0.2 ms of it no other op runs." in found.message
    assert found.saving_ms == pytest.approx(0.2)
    assert "tf.print" not in found.code["tensorflow"]


def test_printing_now_and_then_is_none_of_this_rules_business() -> None:
    many = "/host:CPU\n  python   " + "S---------" * 5 + "\n  tf_pool  .P----O--." + "." * 40
    drawn(many, P=event("PrintV2:PrintV2"), O=OP).reason("print-every-step", Unknown)


def saving_in_step(number: int | None) -> Asked:
    """Twelve steps, of which the first and the last do not count; the others have 100 µs of ops.

    In step ``number`` a checkpoint adds 400 µs.
    """
    events, pool, at = [], [], 0.0
    for step in range(12):
        extra = 400.0 if step == number else 0.0
        events.append(("train", at, 100.0 + extra, {"step_num": step, "_r": 1}))
        pool.append(("a/MatMul:MatMul", at, 100.0))
        if extra:
            pool.append(("SaveV2:SaveV2", at + 100.0, extra))
        at += 100.0 + extra
    return asked(space(host(line("python", *events), line("tf_pool", *pool))))


def test_a_checkpoint_is_named_as_what_makes_a_step_slow() -> None:
    found = saving_in_step(5).finding("slow-steps")
    # 400 µs in one of ten counted steps.
    assert found.saving_ms == pytest.approx(0.04)
    assert "slowest: step 5, 0.5 ms" in found.message
    assert "checkpoint (SaveV2) takes 0.4 ms" in found.message
    (timeline,) = [ref for ref in found.evidence if ref.tool == "trace_viewer"]
    assert timeline.from_ms == pytest.approx(0.5)
    assert timeline.to_ms == pytest.approx(1.0)


def test_even_steps_have_no_checkpoint_to_blame() -> None:
    assert "0.0%" in saving_in_step(None).reason("slow-steps", Silence)


def slow_in_python(*calls: tuple[str, float, float]) -> Asked:
    """Twelve steps with 100 µs of ops each; the sixth takes 400 µs more, in which no op runs."""
    events, pool, at = [], [], 0.0
    for step in range(12):
        extra = 400.0 if step == 5 else 0.0
        events.append(("train", at, 100.0 + extra, {"step_num": step, "_r": 1}))
        pool.append(("a/MatMul:MatMul", at, 100.0))
        at += 100.0 + extra
    lines = [line("python", *events, *calls), line("tf_pool", *pool)]
    return asked(space(host(*lines)))


def test_what_python_saves_is_not_denied_where_no_python_was_recorded() -> None:
    reason = slow_in_python().reason("slow-steps", Unknown)
    assert "Python was not recorded" in reason


def test_what_python_saves_is_not_denied_where_it_was_recorded() -> None:
    seen = slow_in_python(("$serialization.py:944 save", 600.0, 400.0))
    assert "the timeline shows the Python calls" in seen.reason("slow-steps", Silence)


def test_few_steps_say_nothing_about_slow_ones() -> None:
    assert "too few" in printing(".P----O--..P----O--.").reason("slow-steps", Unknown)


def in_python(picture: str) -> Asked:
    return drawn(
        f"""
        /host:CPU
          python   S---------S---------
          "        {picture}
        """,
        B=event("$aug.py:32 flip"),
        W=event("$api.py:9 block_until_ready"),
        T=event("TfOp"),
    )


def test_a_python_function_is_named_with_its_line() -> None:
    found = in_python(".B----....B----....").finding("python-bound")
    assert found.saving_ms == pytest.approx(0.5)
    assert "flip (aug.py:32) takes 0.5 ms of each 1 ms step" in found.message


def test_waiting_in_python_is_not_python() -> None:
    found = in_python(".W----....W----....")
    # Half of the step is the wait; the other half was not recorded: no function to name.
    assert "nothing was recorded" in found.finding("python-bound").message


def test_short_python_functions_are_no_reason() -> None:
    asked_about = drawn(
        "/host:CPU\n  python   S-------------------------------\n"
        '  "        .B..............................\n  tf_pool  ...O---------------------------',
        B=event("$aug.py:32 flip"),
        O=OP,
    )
    asked_about.reason("python-bound", Silence)


def test_a_damaged_recording_is_said_to_be_so() -> None:
    data = worked_example(gpu=True)
    found = asked(data[: len(data) // 2]).finding("incomplete-profile")
    assert found.severity == "low"
    assert "The recording is damaged: The file breaks at byte" in found.message


def test_a_whole_recording_is_not_reported() -> None:
    asked(space(host(line("python", ("train", 0, 90, {"step_num": 0, "_r": 1}))))).reason(
        "incomplete-profile", Silence
    )


def compiling_in_steps(steps: int, compiled: tuple[int, ...]) -> Asked:
    """Steps of 1 ms; in some of them something compiles for 500 µs that no function names."""
    events = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(steps)]
    events += [Event("PjRtCompile", 1000.0 * n + 100, 500) for n in compiled]
    return asked(space(host(line("python", *events))))


def test_compiling_in_one_step_is_the_first_compiling_and_not_again() -> None:
    assert compiling_in_steps(10, (2, 3, 4, 5)).finding("recompilation")
    assert "Calls that compile" in compiling_in_steps(10, (4,)).reason("recompilation", Silence)


def test_a_recording_without_steps_compiles_nothing_again() -> None:
    once = asked(space(host(line("python", ("PjRtCompile", 0, 500), ("work", 600, 900)))))
    assert not any(one.rule == "recompilation" for one in once.advice())


def sharing(other_us: float, late_ms: float) -> Asked:
    """Ten steps of 10 ms; beside the loop a thread runs Python, and samples are so late."""
    steps = [Event("train", 10_000.0 * n, 10_000, {"step_num": n, "_r": 1}) for n in range(10)]
    loop = [Event("$train.py:9 step", 10_000.0 * n, 9_900) for n in range(10)]
    other = [Event("$watch.py:4 monitor", 0, 100_000)]
    other += [
        Event("$threading.py:320 Condition.wait", 10_000.0 * n + other_us, 10_000 - other_us)
        for n in range(10)
    ]
    late = [
        Event("Python sampling lateness", 5_000.0 * n, 0, {"counter_value": late_ms})
        for n in range(20)
    ]
    samples = plane(
        "/device:CUSTOM:Python samples",
        line("MainThread", *loop, id=1),
        line("monitor", *other, id=2),
        line("_counters_", *late, id=3),
    )
    return asked(space(host(line("python", *steps, id=1)), samples))


def test_a_thread_that_holds_the_lock_is_named_with_its_place() -> None:
    found = sharing(9_000, late_ms=4.0).finding("gil-contention")
    assert "Thread monitor" in found.message
    assert "watch.py:4" in found.message
    assert found.measured["busy_frac"] == pytest.approx(0.9)
    assert found.saving_high_ms == pytest.approx(9.0)


def test_a_thread_that_leaves_the_lock_free_is_left_in_peace() -> None:
    assert "the lock was free" in sharing(9_000, late_ms=0.01).reason("gil-contention", Silence)
    assert "No other thread" in sharing(500, late_ms=4.0).reason("gil-contention", Silence)


def test_without_python_nobody_knows_who_holds_its_lock() -> None:
    assert "No Python function" in loop_of(("a/MatMul:MatMul", 0, 500)).reason(
        "gil-contention", Unknown
    )
