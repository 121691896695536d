"""Eager loops that mark nothing: rounds of their ops are steps, layers of a model are not."""

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.markers import step_markers
from tests.profiles.model import Event, host, line, space

LAYERS = ("conv2d", "batch_norm", "relu_") * 6


def forward(at: float) -> list[Event]:
    """A model of six blocks between a pooling and a head; 10 µs an op."""
    ops = ("max_pool2d", *LAYERS, "flatten", "linear")
    return [Event(f"aten/{op}:{op}", at + 10 * i, 9) for i, op in enumerate(ops)]


def found(calls: int) -> Markers:
    events = [one for call in range(calls) for one in forward(300.0 * call)]
    markers = step_markers(Host("h", decode(space(host(line("python", *events))))))
    assert markers is not None
    return markers


def test_a_model_called_again_and_again_has_a_step_for_each_call() -> None:
    markers = found(10)
    assert (markers.source, len(markers)) == ("inferred", 10)
    assert markers.certainty == "likely"


def test_layers_of_a_model_called_once_or_twice_are_no_steps() -> None:
    assert found(1).is_window
    assert found(2).is_window


def test_a_model_is_called_where_its_embedding_is_whatever_else_are_its_layers() -> None:
    """Of a decoder only two ops are not in each layer: 40 layers were 40 steps of an H200's."""
    layer = (
        *("rms_norm", "linear", "view", "unbind", "select", "slice", "copy_", "expand", "reshape"),
        *("scaled_dot_product_attention", "chunk", "silu", "mul", "add"),
    )
    events = []
    for call in range(5):
        ops = ("embedding", *layer * 4, "argmax")
        events += [Event(f"aten/{op}:{op}", 900.0 * call + 10 * i, 9) for i, op in enumerate(ops)]
    markers = step_markers(Host("h", decode(space(host(line("python", *events))))))
    assert markers is not None
    assert len(markers) == 5


def test_what_made_the_model_hides_no_loop_behind_it() -> None:
    """A recording of a whole program: its weights' first values took longer than its steps."""
    ops = ("empty", "randn") * 9
    made = [Event(f"aten/{op}:{op}", 100.0 * at, 90) for at, op in enumerate(ops)]
    loop = [one for call in range(5) for one in forward(3000.0 + 300 * call)]
    markers = step_markers(Host("h", decode(space(host(line("python", *made, *loop))))))
    assert markers is not None
    assert len(markers) == 5 and not markers.is_window


def test_layers_that_are_made_are_no_steps() -> None:
    """The loop ran while a chunk was written: each layer's first values were a step of 89 us."""
    ops = ("empty", "detach", "uniform_") * 8
    made = [Event(f"aten/{op}:{op}", 10.0 * at, 9) for at, op in enumerate(ops)]
    markers = step_markers(Host("h", decode(space(host(line("python", *made))))))
    assert markers is not None
    assert markers.is_window


def rounds_of(turn: tuple[str, ...], end: tuple[str, ...], turns: int, rounds: int) -> Markers:
    """So many turns of the same ops in each of the rounds, which other ops end; 10 µs an op."""
    ops = (*turn * turns, *end) * rounds
    events = [Event(f"{op}:{op}", 10.0 * at, 9) for at, op in enumerate(ops)]
    markers = step_markers(Host("h", decode(space(host(line("python", *events))))))
    assert markers is not None
    return markers


BACKWARD = "autograd::engine::evaluate_function"
TURN = ("aten/mul", "aten/log_sigmoid", "aten/sum", f"{BACKWARD}: SumBackward0", "aten/add")
DRAWN = ("aten/mul", "aten/log_sigmoid", "aten/sum")


def test_turns_that_others_end_again_and_again_are_a_part_of_the_step() -> None:
    """A sampler's step computes seven gradients and draws once; which it is cannot be certain."""
    markers = rounds_of(TURN, DRAWN, 7, 5)
    assert len(markers) == 5
    assert markers.certainty == "uncertain"
    assert "every 8 runs of the op aten/log_sigmoid" in markers.explanation
    assert (markers.end_ps - markers.start_ps)[1] == 380_000_000  # 35 ops and 3


def test_a_step_that_trains_is_one_whatever_every_nth_evaluates() -> None:
    trains = (*TURN, "aten/sub_")
    assert len(rounds_of(trains, DRAWN, 7, 5)) >= 35
    assert len(rounds_of(TURN, (), 7, 5)) == 35
    assert len(rounds_of(TURN, DRAWN, 7, 2)) >= 14


def test_layers_that_initialise_a_model_are_no_rounds_of_its_training() -> None:
    """Six blocks are initialised op by op, then a compiled function runs twelve times."""
    events = []
    for block in range(6):
        for place, op in enumerate(("_truncated_normal", "rsqrt", "gelu", "add", "multiply")):
            events.append(Event(f"PjitFunction({op})", 500.0 * block + 90 * place, 80))
    events += [Event("PjitFunction(train_step)", 4000.0 + 300 * at, 20) for at in range(12)]
    markers = step_markers(Host("h", decode(space(host(line("python", *events))))))
    assert markers is not None
    assert len(markers) == 12
    assert "train_step" in markers.explanation
