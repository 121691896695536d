"""Rules about what the host does: fired with a saving worked out by hand, silent, or unknown."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence, Unknown
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import draw, event, nth, space
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


def test_a_function_that_is_always_traced_for_the_first_time_is_made_in_the_loop() -> None:
    found = traced(tracing_in="TT", count=1).finding("retracing")
    assert found.saving_ms == pytest.approx(0.8 - 0.2)


def test_tracing_once_is_no_retracing() -> None:
    assert "1 times" in traced(tracing_in="TN").reason("retracing", Silence)


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
    found.reason("eager-execution", Silence)


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
    assert found.saving_ms == pytest.approx(0.2)


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
    (timeline,) = [ref for ref in found.evidence if ref.tool == "trace_viewer"]
    assert timeline.from_ms == pytest.approx(0.5)
    assert timeline.to_ms == pytest.approx(1.0)


@pytest.mark.parametrize("pause_us", [4_500.0, 30.0])
def test_what_a_loop_does_between_its_steps_is_named_with_its_share(pause_us: float) -> None:
    begins = [100.0 * step + pause_us * (step // 20) for step in range(60)]
    marks = [("train", at, 95.0, {"step_num": step, "_r": 1}) for step, at in enumerate(begins)]
    pool = [("a/MatMul:MatMul", at, 95.0) for at in begins]
    pauses = [("$val.py:7 validate", begins[step] + 96, pause_us) for step in (19, 39)]
    main = ("$train.py:1 main", 0.0, begins[-1] + 100)
    loop = asked(space(host(line("python", *marks, main, *pauses), line("tf_pool", *pool))))
    if pause_us < 100:
        loop.reason("between-steps", Silence)
        return
    found = loop.finding("between-steps")
    assert found.severity == "medium"
    assert found.measured["share_frac"] == pytest.approx(9010 / (9010 + 58 * 95))
    assert found.place is not None
    assert (found.place.function, found.place.file) == ("validate", "val.py")


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
    slow_in_python().reason("slow-steps", Unknown)


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


def test_short_python_functions_are_no_reason() -> None:
    asked_about = drawn(
        "/host:CPU\n  python   S-------------------------------\n"
        '  "        .B..............................\n  tf_pool  ...O---------------------------',
        B=event("$aug.py:32 flip"),
        O=OP,
    )
    asked_about.reason("python-bound", Silence)


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
    assert found.measured["busy_frac"] == pytest.approx(0.9)
    assert found.saving_high_ms == pytest.approx(9.0)


def test_without_python_nobody_knows_who_holds_its_lock() -> None:
    assert "No Python function" in loop_of(("a/MatMul:MatMul", 0, 500)).reason(
        "gil-contention", Unknown
    )
