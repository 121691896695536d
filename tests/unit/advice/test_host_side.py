"""Rules about what the host does: fired with a saving worked out by hand, silent, or unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.analysis.host_activity import CallRow
from stepscope.registry import Silence, Unknown
from stepscope.result import Finding, Place, Table
from tests.profiles import event, plane
from tests.profiles.model import Event, EventLike, host, line
from tests.unit.advice.asking import Asked, marks, opened, pictured
from tests.unit.advice.made import finding

Calls = list[tuple[str, float, float]]
OP = "a/MatMul:MatMul"


def loop_of(*work: tuple[str, float, float], steps: int = 10, pool: Calls | None = None) -> Asked:
    """Steps of 1 ms with the same work (µs from their begin) on the loop's thread and a pool's."""

    def of_steps(calls: Calls) -> list[Event]:
        return [Event(name, 1000.0 * n + at, us) for n in range(steps) for name, at, us in calls]

    threads = [line("python", *marks(steps), *of_steps([*work]))]
    return opened(host(*threads, *([line("tf_pool", *of_steps(pool))] if pool else [])))


# ------------------------------------------------------------------ optimizers


def updates(count: int, length_us: float, kind: str = "aten/mul_:mul_") -> Calls:
    """An optimizer's call of 800 µs, and the ops in it."""
    ops = [(kind, 100.0 + at * 800.0 / count, length_us) for at in range(count)]
    return [("Optimizer.step#AdamW.step", 100.0, 800.0), *ops]


SHORT = [("aten/add_:add_", 100.0 + at / 10, 0.05) for at in range(150)]


@pytest.mark.parametrize(
    "work",
    [
        updates(200, 2.0, "aten/_foreach_mul_:_foreach_mul_"),
        updates(6, 120.0),
        [("Optimizer.step#SGD.step", 100.0, 20.0), *SHORT],
    ],
    ids=["together", "few and large", "short"],
)
def test_an_optimizer_that_is_no_matter_is_left_in_peace(work: Calls) -> None:
    assert loop_of(*work).reason("optimizer-per-variable", Silence)


def test_large_ops_of_an_optimizer_are_not_overhead() -> None:
    """112 short ops and five of 149 µs: only what is not in those can go."""
    small = [("aten/mul_:mul_", 105.0 + 0.4 * at, 0.3) for at in range(112)]
    large = [("aten/sqrt:sqrt", 150.0 + 150 * at, 149.0) for at in range(5)]
    asked = loop_of(("Optimizer.step#AdamW.step", 100.0, 800.0), *small, *large)
    (row,) = asked.result("host_activity").optimizers.records()
    assert (row.time_ms, row.short_ms) == pytest.approx((0.8, 0.8 - 5 * 0.149))
    most_ms = asked.finding("optimizer-per-variable").saving_high_ms
    assert most_ms is not None and most_ms < 0.06


# ------------------------------------------------------------------ tracing and compiling


def traced(second: str, count: int) -> Asked:
    """Two steps of 1 ms; each calls a function for 800 µs, of which an op runs 200."""
    first, other = (
        event("step", tf_function_call=f"{how}-nonXla", tracing_count=count)
        for how in ("traced", second)
    )
    rows = (".F-------..G-------.", "tf_pool  .....O-........O-...")
    return pictured(*rows, F=first, G=other, O=OP)


def test_a_function_that_is_always_traced_for_the_first_time_is_made_in_the_loop() -> None:
    assert traced("traced", 1).finding("retracing").saving_ms == pytest.approx(0.8 - 0.2)
    assert "1 times" in traced("notTraced", 3).reason("retracing", Silence)


def compiled_in_a_guess(times: int) -> Finding:
    """What is said of a function that each of some doubtful steps compiles."""
    asked = pictured(
        *(".J-------..J-------.", "..X----.....X----...", "tf_pool  .......O-........O-."),
        J="PjitFunction(step)",
        X="backend_compile_and_load",
        O="fusion.1:Mul",
    )
    results: dict[str, Any] = asked.results("overview_page", "host_activity")
    activity, page = results["host_activity"], results["overview_page"]
    (row,) = activity.calls.records()
    columns = {name: [getattr(row, name)] for name in CallRow.__annotations__}
    columns |= {"calls": [times * row.calls], "built": [times * row.built], "differs": ["shapes"]}
    columns |= {"file": ["/work/net.py"], "line": [9]}
    return finding(
        "recompilation",
        overview_page=replace(page, steps=replace(page.steps, confidence=0.45)),
        host_activity=replace(activity, calls=Table(CallRow, columns)),
    )


def test_a_function_compiled_often_is_no_set_up_where_steps_are_a_guess() -> None:
    once, often = compiled_in_a_guess(1), compiled_in_a_guess(2)
    assert once.severity == "info" != often.severity
    assert often.confidence > once.confidence


def test_a_recording_without_steps_compiles_nothing_again() -> None:
    once = opened(host(line("python", ("PjRtCompile", 0, 500), ("work", 600, 900))))
    assert not any(one.rule == "recompilation" for one in once.advice())


# ------------------------------------------------------------------ ops and callbacks


def test_eager_ops_of_few_steps_are_not_each_steps() -> None:
    """An evaluation after every fourth step makes datasets and reads metrics op by op."""
    begins = [*(1000.0 * step for step in range(3)), *(3000.0 + 8.0 * at for at in range(120))]
    events: list[EventLike] = [*marks(4)]
    events += [("EagerExecute", at, 7.0, {"is_func": 0}) for at in begins]
    events += [("KernelAndDeviceFunc::Run", at, 1.0) for at in begins]
    opened(host(line("python", *events))).reason("eager-execution", Silence)


def test_a_callback_that_other_ops_hide_takes_its_whole_time_and_says_what_is_left() -> None:
    """The account said 53 ms of PyFunc, and this rule that it "takes 14 ms"."""
    pools = ("tf_pool  .P-----....P-----...", "tf_pool 2  ...O---......O---...")
    found = pictured("." * 20, *pools, P="loss/PyFunc:PyFunc", O=OP).finding("print-every-step")
    assert found.saving_ms == pytest.approx(0.2)


def test_printing_now_and_then_is_none_of_this_rules_business() -> None:
    rows = ("." * 50, f"tf_pool  .P----O--.{'.' * 40}")
    asked = pictured(*rows, steps=5, P="PrintV2:PrintV2", O=OP)
    asked.reason("print-every-step", Unknown)


def elementwise(scope: str) -> Asked:
    """Steps with eight elementwise ops of 50 µs and a product of 200."""
    pool = [(f"{scope}/mul_{at}:Mul", at * 50.0, 50.0) for at in range(8)]
    return loop_of(steps=2, pool=[*pool, ("m/product:MatMul", 400.0, 200.0)])


def test_unfused_elementwise_ops_cost_half_of_their_time() -> None:
    found = elementwise("m").finding("no-xla")
    # 400 of 600 µs of ops; half of the 400 is expected to go, all of it at most.
    assert (found.saving_ms, found.saving_high_ms) == pytest.approx((0.2, 0.4))


def test_ops_of_pytorch_or_of_an_optimizer_are_not_xlas_to_fuse() -> None:
    ops = ("exp", "neg", "sub", "log", "abs")
    work = [(f"aten/{op}:{op}", 60 + 110.0 * at, 100.0) for at, op in enumerate(ops)]
    assert "PyTorch" in loop_of(*work).reason("no-xla", Silence)
    elementwise("adam").reason("no-xla", Silence)


# ------------------------------------------------------------------ slow steps, between steps


def one_slow_step(*, saves: bool) -> Asked:
    """Twelve steps of 100 µs of ops; the sixth takes 400 µs more, perhaps to save."""
    events, pool, at = [], [], 0.0
    for step in range(12):
        extra = 400.0 * (step == 5)
        events.append(("train", at, 100.0 + extra, {"step_num": step, "_r": 1}))
        pool.append(("a/MatMul:MatMul", at, 100.0))
        if extra and saves:
            pool.append(("SaveV2:SaveV2", at + 100.0, extra))
        at += 100.0 + extra
    return opened(host(line("python", *events), line("tf_pool", *pool)))


def test_a_checkpoint_is_named_as_what_makes_a_step_slow() -> None:
    found = one_slow_step(saves=True).finding("slow-steps")
    # 400 µs in one of the ten steps that the recording does not cut.
    assert found.saving_ms == pytest.approx(0.04)
    (timeline,) = [ref for ref in found.evidence if ref.tool == "trace_viewer"]
    assert (timeline.from_ms, timeline.to_ms) == pytest.approx((0.5, 1.0))


def test_what_python_does_is_not_denied_where_no_python_was_recorded() -> None:
    one_slow_step(saves=False).reason("slow-steps", Unknown)
    loop_of(("a/MatMul:MatMul", 0, 500)).reason("gil-contention", Unknown)


_KERAS = "$/v/lib/python3.12/site-packages/keras/src"
FILTER = f"{_KERAS}/utils/traceback_utils.py:110 filter_traceback.<locals>.error_handler"
PREDICT = f"{_KERAS}/backend/tensorflow/trainer.py:500 TensorFlowTrainer.predict"


def pausing(pause_us: float, *calls: str) -> Asked:
    """Three epochs of 20 steps of 95 µs, 5 µs apart, with a pause and its calls after each."""
    begins = [100.0 * step + pause_us * (step // 20) for step in range(60)]
    events: list[EventLike] = [("$train.py:1 main", 0.0, begins[-1] + 100)]
    events += [("train", at, 95.0, {"step_num": n, "_r": 1}) for n, at in enumerate(begins)]
    events += [(call, begins[step] + 96, pause_us) for step in (19, 39) for call in calls]
    pool = [("a/MatMul:MatMul", at, 95.0) for at in begins]
    return opened(host(line("python", *events), line("tf_pool", *pool)))


@pytest.mark.parametrize(
    ("pause_us", "calls", "severity", "place"),
    [
        (900.0, ["$val.py:7 validate"], "low", Place("validate", "val.py", 7, "train.py:1 main")),
        (
            4_500.0,
            ["$val.py:7 validate"],
            "high",
            Place("validate", "val.py", 7, "train.py:1 main"),
        ),
        # Keras shortens the tracebacks of all that it is called by.
        (
            4_500.0,
            [FILTER, PREDICT],
            "high",
            Place("main", "train.py", 1, call="keras.Model.predict"),
        ),
        (
            4_500.0,
            ["$/usr/lib/python3.12/queue.py:154 Queue.get"],
            "info",
            Place("main", "train.py", 1, call="queue.Queue.get"),
        ),
        (4_500.0, [], "high", None),
    ],
    ids=["a function", "most of the loop", "a call", "a wait", "nothing recorded"],
)
def test_what_a_loop_does_between_its_steps_is_named_with_its_share(
    pause_us: float, calls: list[str], severity: str, place: Place | None
) -> None:
    loop = pausing(pause_us, *calls)
    found = loop.finding("between-steps")
    assert found.severity == severity
    pauses = 2 * pause_us + 10
    assert found.measured["share_frac"] == pytest.approx(pauses / (pauses + 58 * 95))
    assert found.place == place
    assert (loop.advice()[0].rule == "between-steps") == (severity == "high")


def test_pauses_that_nothing_tells_about_are_unknown_unless_they_are_most() -> None:
    pausing(30.0).reason("between-steps", Silence)
    pausing(900.0).reason("between-steps", Unknown)


# ------------------------------------------------------------------ ops of PyTorch


@pytest.mark.parametrize(
    ("ops", "settings", "cause"),
    [
        ([("aten/mm:mm", 100.0, 800.0)], {}, "part-product"),
        ([("aten/mm:mm", 100.0, 800.0)], {"setting_torch_threads": "1 of 16"}, "part-few-threads"),
        # Ops that cost their dispatch gain nothing by threads.
        (
            [("aten/mm:mm", 32.0 * at, 32.0) for at in range(30)],
            {"setting_torch_threads": "1 of 16"},
            "part-short-ops",
        ),
    ],
)
def test_products_of_pytorch_have_threads_and_a_length(
    ops: Calls, settings: dict[str, str], cause: str
) -> None:
    steps = [Event(name, 1000.0 * n + at, us) for n in range(10) for name, at, us in ops]
    noted = {"torch_version": "2.13.0"} | settings
    environment = plane("Task Environment", stats=noted)
    asked = opened(environment, host(line("python", *marks(10), *steps)))
    found = asked.answers("largest-part")[0]
    assert isinstance(found, Finding)
    assert found.cause == cause


# ------------------------------------------------------------------ Python


def test_a_python_function_is_named_with_its_line() -> None:
    asked = pictured(".B----....B----....", B="$aug.py:32 flip")
    found = asked.answers("largest-part")[0]
    assert isinstance(found, Finding)
    assert (found.rule, found.place) == ("python-bound", Place("flip", "aug.py", 32))
    assert found.saving_ms == pytest.approx(0.475)


def test_a_thread_that_holds_the_lock_is_named_with_its_place() -> None:
    """Steps of 10 ms; beside the loop a thread runs Python for 9 of them, and samples are late."""
    steps = marks(10, 10_000.0)
    begins = [step.start_us for step in steps]
    other = [Event("$watch.py:4 monitor", 0, 100_000)]
    other += [Event("$threading.py:320 Condition.wait", at + 9000, 1000) for at in begins]
    late = [
        Event("Python sampling lateness", 5_000.0 * n, 0, {"counter_value": 4.0}) for n in range(20)
    ]
    samples = plane(
        "/device:CUSTOM:Python samples",
        line("MainThread", *(Event("$train.py:9 step", at, 9_900) for at in begins), id=7),
        line("monitor", *other, id=2),
        line("_counters_", *late, id=3),
    )
    found = opened(host(line("python", *steps, id=7)), samples).finding("gil-contention")
    assert found.measured["busy_frac"] == pytest.approx(0.9)
    assert found.saving_high_ms == pytest.approx(9.0)


def collecting(lengths_us: dict[int, float], *stacks: EventLike) -> Asked:
    """Ten steps of 1 ms, in some of which Python collects garbage of a generation for so long."""
    found = [
        Event(f"garbage collection, generation {2 * (length > 20)}", 1000.0 * n + 100, length)
        for n, length in lengths_us.items()
    ]
    garbage = plane("/device:CUSTOM:Garbage collection", line("MainThread", *found, id=7))
    samples = plane("/device:CUSTOM:Python samples", line("MainThread", *stacks, id=7))
    steps = host(line("python", *marks(10), id=7))
    return opened(steps, garbage, *([samples] if stacks else []))


def test_collections_of_garbage_are_named() -> None:
    stacks = [("$/me/train.py:4 main", 0, 10_000), ("$/me/train.py:9 anchors", 0, 9_000)]
    found = collecting(dict.fromkeys(range(10), 500.0), *stacks).finding("garbage-collection")
    assert found.saving_ms == pytest.approx(0.8 * 0.5)
    assert found.place is not None and found.place.function == "anchors"
    # In two of the eight steps that the recording does not cut.
    rare = collecting({2: 800.0, 7: 800.0}).finding("garbage-collection")
    assert rare.saving_high_ms == pytest.approx(0.2)
    assert collecting(dict.fromkeys(range(10), 38.0)).finding("garbage-collection")


def test_one_long_collection_among_short_ones_shows_no_habit() -> None:
    lengths = dict.fromkeys(range(10), 10.0) | {4: 700.0}
    found = collecting(lengths).finding("garbage-collection")
    assert (found.severity, found.confidence) == ("info", 0.4)
