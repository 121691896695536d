"""Rounds of loops that nobody marked: counts and periods, and how sure they are."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import PARTS, HostSteps, steps
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import Event, gpu, host, line, plane, space, stream
from tests.profiles.rounds import (
    RECORDING,
    cpu_runs,
    every,
    fetches,
    gaps,
    jit,
    marks,
    recorded,
    tf_function,
)

US = 1_000_000
GRADIENT = "autograd::engine::evaluate_function: MmBackward0"


def steps_of(data: bytes) -> HostSteps:
    found = steps(Host("h", decode(data)))
    assert found is not None
    total = np.sum([found.parts_ps[part] for part in PARTS], axis=0)
    assert np.array_equal(total, found.duration_ps)
    return found


def uneven(count: int, seed: int) -> list[float]:
    """Moments on a busy machine: some rounds take ten times as long as others."""
    rng = np.random.default_rng(seed)
    rounds = np.cumsum(rng.choice([900.0, 1100.0, 9000.0], count - 1))
    return [0.0, *map(float, rounds)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_calls_of_one_function_are_a_loop_however_uneven(seed: int) -> None:
    found = steps_of(recorded(*tf_function("train_step", uneven(20, seed), 800)))
    assert (len(found), found.markers.source, found.markers.certainty) == (
        20,
        "framework",
        "likely",
    )
    assert found.duration_ps[:-1].tolist() == [round(x) * US for x in np.diff(uneven(20, seed))]


@pytest.mark.parametrize(
    ("twice", "rounds"), [("add", 5), ("norm", 7), ("loss", 12)], ids=lambda value: str(value)
)
def test_a_function_called_twice_a_round_does_not_double_the_count(twice: str, rounds: int) -> None:
    names = [
        "conv",
        "relu",
        "pool",
        "norm",
        "dense",
        "loss",
        "grad",
        "update",
        "metric",
        "cast",
        "add",
    ]
    events = []
    for at in every(2_000, rounds):
        for place, name in enumerate([*names[:4], twice, *names[4:]]):
            events += jit(name, [at + 100 * place], 80)
    found = steps_of(recorded(*events))
    assert len(found) == rounds
    assert found.duration_ps[:-1].tolist() == [2_000 * US] * (rounds - 1)
    assert found.markers.certainty == "likely"


@pytest.mark.parametrize("leaves", [2, 30, 200])
def test_ops_of_a_round_are_not_taken_for_rounds(leaves: int) -> None:
    """JAX updates parameters leaf by leaf: each leaf is a jit call of an array function."""
    events = []
    period = 1_000 + 20.0 * leaves
    for at in every(period, 6):
        events += jit("grads_of", [at], 300)
        for leaf in range(leaves):
            events += jit("multiply", [at + 400 + 20 * leaf], 8)
            events += jit("subtract", [at + 410 + 20 * leaf], 8)
    found = steps_of(recorded(*events))
    assert len(found) == 6
    assert found.duration_ps[0] == period * US


@pytest.mark.parametrize(
    ("made", "is_op"),
    [
        (lambda at: jit("tanh", [at], 10), True),
        (lambda at: jit("train_step", [at], 10), False),
        (lambda at: [Event("EagerLocalExecute: Tanh", at, 10)], True),
        (lambda at: [Event(f"EagerLocalExecute: Op{n}", at + n, 1) for n in range(10)], False),
    ],
    ids=["jax op", "jax function", "tensorflow op", "many ops"],
)
def test_ops_one_by_one_are_a_step_from_read_to_read(
    made: Callable[[float], list[Event]], is_op: bool
) -> None:
    """What may be a step by itself is one, however seldom its result is read."""
    starts, between = every(1_000, 8), 40
    ops = [event for at in starts for nth in range(between) for event in made(at + 20 * nth)]
    read = [Event("reads of results", at + 900, 0) for at in starts]
    reads = plane(RECORDING, line("reads of results", *read))
    found = steps_of(recorded(*ops, planes=[reads]))
    assert len(found) == (7 if is_op else 8 * between)
    assert set(found.duration_ps[:-1] == 1_000 * US) == ({True} if is_op else {False})


@pytest.mark.parametrize(
    ("made", "length", "is_step"),
    [
        (lambda at: [Event("aten::tanh", at, 10), Event("aten::mul", at + 12, 6)], 20, False),
        (lambda at: jit("tanh", [at], 10), 20, False),
        (lambda at: jit("tanh", [at], 10), 180, False),
        (lambda at: jit("tanh", [at], 10), 800, True),
        (lambda at: [Event("EagerLocalExecute: Tanh", at, 10)], 20, False),
        (lambda at: [Event("aten::mm", at, 10_000)], 11_000, True),
        (lambda at: [Event(f"aten::op{n}", at + n, 1) for n in range(10)], 20, True),
        (lambda at: [Event("aten::mm", at, 5), Event(GRADIENT, at + 6, 5)], 20, True),
    ],
    ids=["torch", "jax", "jax busy", "jax large", "tensorflow", "large op", "many ops", "gradient"],
)
def test_rounds_of_tiny_ops_are_no_steps(
    made: Callable[[float], list[Event]], length: float, is_step: bool
) -> None:
    """A loop of 500 such rounds is one step, and nothing tells where it ends."""
    events = [event for at in every(length, 60) for event in made(at)]
    assert steps_of(recorded(*events)).markers.is_window is not is_step


def test_runs_of_rounds_of_tiny_ops_are_no_steps() -> None:
    starts = every(60, 60)
    calls = jit("sin", starts, 10) + jit("multiply", [at + 20 for at in starts], 10)
    ran = line(
        "tf_XLAPjRtCpuClient/9",
        *cpu_runs("jit_sin", [at + 5 for at in starts], 10).events,
        *cpu_runs("jit_multiply", [at + 25 for at in starts], 10, 1_000, program=4).events,
        id=9,
    )
    assert steps_of(space(host(line("main", *calls), ran))).markers.is_window


def test_kernels_of_rounds_of_tiny_ops_are_no_steps() -> None:
    starts = every(20, 60)
    ops = [Event("aten::tanh", at, 10) for at in starts]
    calls = [
        Event("cudaLaunchKernel", at + 2, 4, {"correlation_id": n}) for n, at in enumerate(starts)
    ]
    ran = [Event("tanh_kernel", at + 5, 10, {"correlation_id": n}) for n, at in enumerate(starts)]
    data = space(host(line("main", *ops, *calls)), gpu(0, stream(7, *ran)))
    assert steps_of(data).markers.is_window


@pytest.mark.parametrize("leaves", [3, 8])
@pytest.mark.parametrize("turns", [2, 3])
def test_a_few_ops_of_a_loop_that_compiles_are_no_steps(leaves: int, turns: int) -> None:
    """Three turns of 10 s hold all that was recorded; a leaf's update takes 200 µs."""
    events = []
    for at in every(10_000_000, turns):
        events += [
            e for n in range(25) for e in jit(f"traced{at + n:.0f}", [at + 90_000 * n], 80_000)
        ]
        events += jit("subtract", [at + 9_000_000 + 200.0 * leaf for leaf in range(leaves)], 90)
    found = steps(Host("h", decode(recorded(*events))))
    assert found is None or np.median(found.duration_ps) > 9_000_000 * US


@pytest.mark.parametrize("layers", [3, 12])
def test_an_eager_loop_is_its_rounds_not_its_layers(layers: int) -> None:
    events, period = [], 100.0 * layers + 300
    for at in every(period, 8):
        events += fetches([at], 20)
        for layer in range(layers):
            events.append(Event("EagerLocalExecute: MatMul", at + 30 + 100 * layer, 60))
            events.append(Event("EagerLocalExecute: Relu", at + 95 + 100 * layer, 10))
        events.append(Event("EagerLocalExecute: Mean", at + period - 100, 10))
        events.append(Event("EagerLocalExecute: AssignSub", at + period - 50, 10))
    found = steps_of(recorded(*events))
    assert len(found) == 8
    assert found.duration_ps[0] == period * US


def test_a_validation_now_and_then_is_no_step() -> None:
    starts = [1000.0 * i + 3000 * (i // 5) for i in range(20)]
    events = tf_function("train_step", starts, 900)
    events += tf_function("validate", [at + 1000 for at in starts[4::5]], 2500)
    assert len(steps_of(recorded(*events))) == 20


def jax_program(name: str, op: str) -> tuple[str, int, bytes]:
    taken = instruction("a", "parameter", f32(8, 8), parameter_number=0)
    scaled = instruction("dot", "dot", f32(8, 8), "a", "a", op_name=f"jit({name})/{op}")
    return f"jit_{name}", len(name), program(f"jit_{name}", [taken, scaled])


@pytest.mark.parametrize("name", ["fit", "_fit", "<lambda>"])
@pytest.mark.parametrize("every_nth", [1, 5])
@pytest.mark.parametrize("framework", ["JAX", "TensorFlow"])
def test_what_computes_no_gradient_is_no_step_beside_what_does(
    framework: str, every_nth: int, name: str
) -> None:
    """48 batches of a validation have most of the calls and of the time, and the longer name."""
    call = jit if framework == "JAX" else tf_function
    trained, events, gradients = every(10_000, 20), [], []
    for number, at in enumerate(trained):
        events += call(name, [at], 300)
        gradients.append(Event("gradient_tape/net/dense/MatMul_1:MatMul", at + 100, 50))
        if number % every_nth == every_nth - 1:
            events += call("valid_step", every(180, 48, at + 500), 170)
    pool = [line("tf_Compute/1", *gradients, id=9)] if framework == "TensorFlow" else []
    backward = jax_program(re.sub(r"\W", "_", name), "transpose(jvp())/dot_general")
    programs = [metadata_plane(backward, jax_program("valid_step", "dot_general"))]
    planes = programs if framework == "JAX" else []
    found = steps_of(recorded(*events, more=pool, planes=planes))
    assert len(found) == 20
    assert found.duration_ps[:-1].tolist() == [10_000 * US] * 19


def test_keras_evaluates_by_the_name_by_which_it_trains() -> None:
    """Three epochs of six batches of 1 ms, each with an evaluation of four batches of 300 us."""
    name, trained, evaluated = "multi_step_on_iterator", [], []
    for epoch in range(3):
        trained += every(1_000, 6, 10_000 * epoch)
        evaluated += every(400, 4, 10_000 * epoch + 7_000)
    events = tf_function(name, trained, 900, 10) + tf_function(name, evaluated, 300, 20)
    events.sort(key=lambda event: event.start_us)
    gradients = [Event("gradient_tape/net/MatMul_1:MatMul", at + 100, 50) for at in trained]
    found = steps_of(recorded(*events, more=[line("tf_Compute/1", *gradients, id=9)]))
    assert len(found) == 18
    lengths = [1_000 * US] * 5 + [900 * US]
    assert found.duration_ps.tolist() == lengths * 3
    assert "12 calls that compute no gradient" in found.markers.explanation


def test_where_one_call_alone_computes_gradients_what_recurs_is_the_loop() -> None:
    """Weights are fitted once, and serve for all that is recorded after."""
    events = [*jit("fit", [0], 300), *jit("answer", every(1_000, 20, 500), 300)]
    backward = jax_program("fit", "transpose(jvp())/dot_general")
    found = steps_of(recorded(*events, planes=[metadata_plane(backward)]))
    assert len(found) == 20


@pytest.mark.parametrize(("second", "rounds"), [(4, 10), (3, 20)])
def test_programs_of_one_name_that_take_turns_are_one_round(second: int, rounds: int) -> None:
    """The steps of a GAN's two models are lambdas, or methods of one name."""
    begin = every(1000, 10)
    calls = jit("<lambda>", [at + turn for at in begin for turn in (0, 100)], 50)
    ran = [at + 150 for at in begin], [at + 450 for at in begin]
    first = cpu_runs("jit__lambda", ran[0], 200)
    other = cpu_runs("jit__lambda", ran[1], 200, 200, program=second)
    pool = line(first.name, *first.events, *other.events, id=9)
    assert len(steps_of(recorded(*calls, more=[pool]))) == rounds


def test_a_function_called_for_each_sample_is_a_part_of_the_step_that_updates() -> None:
    """48 calls of ``loss`` and one of ``update``: the name tells which of the two is the round."""
    starts = every(10_000, 8)
    events = [call for at in starts for call in jit("loss", [at + t for t in every(150, 48)], 60)]
    events += jit("update", [at + 9_000 for at in starts], 300)
    found = steps_of(recorded(*events))
    assert len(found) == 8
    assert found.duration_ps[1] == pytest.approx(10_000 * US)


@pytest.mark.parametrize(("name", "is_a_part"), [("log_prob", True), ("train_step", False)])
def test_what_recurs_with_every_so_many_rounds_may_be_the_step(name: str, is_a_part: bool) -> None:
    """A sampler's step asks for 20 gradients, and draws and compares once; an epoch does, too."""
    starts = every(10_000, 8)
    events = [call for at in starts for call in jit(name, [at + t for t in every(400, 20)], 200)]
    for place, op in enumerate(("_normal", "_uniform", "less", "log")):
        events += jit(op, [at + 8_500 + 200 * place for at in starts], 60)
    found = steps_of(recorded(*sorted(events, key=lambda one: one.start_us)))
    assert (len(found), found.markers.certainty) == (160, "uncertain")
    said = "each 20 calls of log_prob come with one of "
    assert found.markers.reason.startswith(said) == is_a_part


def test_a_function_that_recurs_by_itself_is_a_step_however_seldom_others_are() -> None:
    starts = every(10_000, 8)
    events = [call for at in starts for call in jit("loss", [at + t for t in every(400, 20)], 200)]
    events += jit("_normal", [at + 8_500 for at in starts], 60)
    assert "come with" not in steps_of(recorded(*events)).markers.reason


def test_functions_called_while_another_is_traced_are_no_rounds() -> None:
    """The trace of ``step`` calls ``index_in_dim`` nine times; no program is started by these."""
    traced = [Event("PjitFunction(index_in_dim)", at, 60) for at in every(80, 9)]
    found = steps_of(recorded(*traced, *jit("advance", every(2_000, 5, 900_000), 300)))
    assert len(found) == 5
    assert "calls of advance" in found.markers.explanation


def test_a_program_of_several_devices_is_started_by_its_call_as_well() -> None:
    """Threads of their own start it on each device; the call says which program it is."""
    starts, events = every(10_000, 9), []
    for at in starts:
        events += [
            Event("PjitFunction(_fun)", at, 400),
            Event("CommonPjRtLoadedExecutable::Execute (jit__fun)", at + 10, 380),
            Event("Wait for LaunchOnDevice completion", at + 20, 360),
        ]
        events += jit("broadcast_in_dim", every(300, 12, at + 500), 200)
    backward = jax_program("_fun", "transpose(jvp())/dot_general")
    found = steps_of(recorded(*events, planes=[metadata_plane(backward)]))
    assert len(found) == 9


def test_elements_fetched_one_by_one_are_a_part_of_the_step() -> None:
    """400 elements are made a batch in Python; the step's function is called once."""
    starts = every(50_000, 6)
    asked = [at + t for at in starts for t in every(100, 400)]
    events = [*fetches(asked, 60), *tf_function("train_step", [at + 45_000 for at in starts], 900)]
    found = steps_of(recorded(*events))
    assert len(found) == 6
    assert found.duration_ps[1] == pytest.approx(50_000 * US)


def test_a_fetch_that_finds_nothing_more_is_no_step() -> None:
    starts = every(1000, 9)
    events = [
        *fetches([*starts, 9000.0], 200),
        *tf_function("train_step", [at + 300 for at in starts], 600),
    ]
    found = steps_of(recorded(*events))
    assert len(found) == 9
    assert "fetches" in found.markers.explanation


@pytest.mark.parametrize("numbered", [True, False], ids=["JAX 0.8", "JAX 0.5"])
@pytest.mark.parametrize("is_marked", [True, False], ids=["marked", "unmarked"])
def test_work_that_runs_behind_its_calls_is_of_the_step_that_asked(
    is_marked: bool, numbered: bool
) -> None:
    """Twelve calls within a tenth of a millisecond, 5 ms of work each, one after the other."""
    called, ran = every(10, 12), every(5_000, 12, 20.0)
    events = [*jit("step", called, 6), *(marks(called, 8) if is_marked else [])]
    pool = cpu_runs("jit_step", ran, 4_990, numbered=numbered)
    found = steps_of(recorded(*events, more=[pool]))
    assert found.runs_behind
    assert len(found) == 12
    assert found.duration_ps[1:] == pytest.approx(5_000 * US, rel=1e-3)
    assert found.duration_ps.sum() == pytest.approx((12 * 5_000 + 10) * US, rel=1e-3)


@pytest.mark.parametrize("length", [2_000.0, 6_310.0])
def test_a_gap_of_the_recording_is_no_round(length: float) -> None:
    """A tf.function of 110 ms in a loop; the recorder writes a chunk in the middle."""
    before = [1000 * at for at in every(110, 20)]
    after = [before[-1] + 1000 * (length + 150) + 1000 * at for at in every(110, 20)]
    gap = (before[-1] + 105_000, after[0] - 20_000)
    data = recorded(*tf_function("run", [*before, *after], 100_000), planes=[gaps([gap])])
    found = steps_of(data)
    assert found.duration_ps.max() == 110_000 * US
    assert not found.kept[19]
    assert any("recorder wrote a chunk" in one for one in found.left_out)


def test_one_batch_is_a_step_with_its_limits_said() -> None:
    """Keras before 3 with profile_batch of one batch; the callback writes its summary after."""
    batch = tf_function("train_function", [10.0], 900)
    summary = [Event("EagerLocalExecute: WriteSummary", 1000, 400)]
    summary += [Event("EagerLocalExecute: FlushSummaryWriter", 1500, 300)]
    found = steps_of(recorded(*batch, *summary))
    assert (len(found), found.markers.certainty) == (1, "uncertain")
    assert found.duration_ps.tolist() == [900 * US]
    assert "1 call of train_function" in found.markers.explanation


def test_a_call_that_is_a_trifle_beside_its_compilation_is_no_step() -> None:
    compiles = Event("TfrtCpuClient::Compile", 0, 27_000)
    run = Event("TfrtCpuExecutable::ExecuteHelper", 27_500, 40)
    assert steps_of(recorded(compiles, run)).markers.is_window
    longer = Event("TfrtCpuExecutable::ExecuteHelper", 27_500, 4_000)
    assert not steps_of(recorded(compiles, longer)).markers.is_window


def test_a_batch_that_keras_marked_is_a_step() -> None:
    profiled = Event("Profiled batch", 5, 950, {"step_num": 3})
    found = steps_of(recorded(profiled, *tf_function("one_step_on_iterator", [10.0], 900)))
    assert len(found) == 1
    assert found.markers.explanation.startswith("1 batch marked by Keras. One step does not tell")
    assert (found.markers.certainty, found.duration_ps.tolist()) == ("likely", [950 * US])


def test_kernels_that_repeat_tell_the_round_where_nothing_else_does() -> None:
    names = ["conv", "bn", "relu", "conv", "bn", "add", "sgd"]
    kernels = [
        Event(name, at + 100 * place, 80)
        for at in every(1000, 9)
        for place, name in enumerate(names)
    ]
    found = steps_of(space(gpu(0, stream(7, *kernels))))
    assert len(found) == 9
    assert found.duration_ps[:-1].tolist() == [1000 * US] * 8
    assert found.markers.source == "inferred"


def test_layers_that_share_a_kernel_are_not_steps() -> None:
    """One step of a model: each layer ends with the same kernel, and has kernels of its own."""
    kernels = [
        Event(name, at + 200 * place, 190)
        for layer, at in enumerate(every(1000, 12))
        for place, name in enumerate((f"a{layer}", f"b{layer}", f"c{layer}", f"d{layer}", "relu"))
    ]
    found = steps_of(space(gpu(0, stream(7, *kernels))))
    assert found.markers.is_window


def test_sources_that_disagree_make_the_count_uncertain() -> None:
    """Three batches are fetched for two calls of the function."""
    calls = tf_function("accumulate", every(3_000, 12), 1_000)
    batches = fetches([at + 1_200 for at in every(2_000, 18)], 300)
    found = steps_of(recorded(*calls, *batches))
    assert found.markers.certainty == "uncertain"
    assert "fetches of input do not recur" in found.markers.reason


def test_the_stop_of_the_profiler_ends_the_last_step_and_is_none_of_it() -> None:
    stop = Event("$profiler.py:208 stop_trace", 10_400, 90_000)
    frame = Event("$train.py:1 main", 0, 100_500)
    found = steps_of(recorded(frame, *jit("update", every(1_000, 10), 300), stop))
    assert found.duration_ps[-1] == pytest.approx(1_400 * US)
    assert len(found) == 10


def test_lines_without_a_loop_give_the_window() -> None:
    events = [Event("load", 0, 40), Event("$profiler.py:9 stop", 900, 500), Event("save", 500, 100)]
    found = steps_of(recorded(*events, more=[line("tf_Compute/1", Event("a:MatMul", 100, 300))]))
    assert (found.markers.source, found.markers.certainty) == ("window", "uncertain")
    assert found.duration_ps.tolist() == [600 * US]
    assert found.markers.name == ["the recording"]


def test_the_window_is_between_the_recorders_start_and_stop_that_frames_hold() -> None:
    """A server's thread starts and stops the recorder itself, while another waits all the time."""
    frames = [
        Event("$core.py:9 handle", 0, 160),
        Event("$profiler.py:10 start_trace", 5, 145),
        Event("$core.py:20 get", 165, 800),
        Event("$core.py:9 handle", 990, 1_010),
        Event("$profiler.py:20 stop_trace", 1_000, 990),
    ]
    waits = line("other", Event("$queue.py:1 get", 0, 2_005), id=9)
    found = steps_of(recorded(*frames, more=[waits]))
    assert found.markers.is_window
    assert found.duration_ps.tolist() == [850 * US]


def test_the_window_leaves_out_what_was_not_recorded() -> None:
    events = [Event("load", 0, 2_000_000), Event("save", 9_000_000, 1_000_000)]
    found = steps_of(recorded(*events, planes=[gaps([(3_000_000, 8_500_000)])]))
    assert found.markers.is_window
    assert (found.duration_ps // US).tolist() == [3_000_000, 1_500_000]


@pytest.mark.parametrize("called", ["PjRtCpuExecutable::Execute", "TfrtCpuExecutable::Execute"])
def test_programs_that_call_the_runtime_themselves_have_rounds(called: str) -> None:
    """Julia and C++ have no jit calls to record, only the runtime's."""
    events = [Event(called, at, 600) for at in every(1_000, 12)]
    events += [Event(f"{called}Helper", at + 10, 580) for at in every(1_000, 12)]
    found = steps_of(recorded(*events))
    assert len(found) == 12
    assert found.duration_ps[:-1].tolist() == [1_000 * US] * 11


def graphs(rounds: int, kernels: int, *, fetch: bool, ops: bool, one_name: bool) -> bytes:
    """A loop of TensorFlow's executor on a GPU, every 1,050 µs, of which nobody recorded calls."""
    calls: list[tuple[str, float, float, dict[str, int]]] = []
    ran: list[tuple[str, float, float, dict[str, int]]] = []
    for number in range(rounds * kernels):
        step, kernel = divmod(number, kernels)
        begin = 1050.0 * step + 210
        at = begin + 10 + kernel * 600 / kernels
        if kernel == 0:
            calls += [("IteratorGetNext", begin - 210, 200, {})] if fetch else []
            calls.append(("ExecutorState::Process", begin, 700, {}))
        calls += [(f"dense_{kernel}/MatMul:MatMul", at - 1, 4, {})] if ops else []
        calls.append(("cuLaunchKernel", at, 2, {"correlation_id": number + 1}))
        name = "sgemm" if one_name else f"kernel_{kernel}"
        ran.append((name, at + 5, 500 / kernels, {"correlation_id": number + 1}))
    return space(host(line("tf_exec", *calls)), gpu(0, stream(7, *ran)))


@pytest.mark.parametrize("rounds", [5, 10, 50])
@pytest.mark.parametrize("kernels", [1, 2, 10, 50])
@pytest.mark.parametrize(
    ("fetch", "ops", "one_name"),
    [(True, False, True), (True, True, False), (False, False, True), (True, True, True)],
)
def test_graphs_that_nobody_marked_are_steps(
    rounds: int, kernels: int, fetch: bool, ops: bool, one_name: bool
) -> None:
    found = steps_of(graphs(rounds, kernels, fetch=fetch, ops=ops, one_name=one_name))
    assert not found.markers.is_window
    assert len(found) == rounds
    periods = np.diff(found.start_ps) / US
    assert periods == pytest.approx([1050] * (rounds - 1))
