"""What ran, read from what its runtime writes."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.environment import HostEnvironment, environment, says_layers
from tests.profiles.model import environment as environment_plane
from tests.profiles.model import gpu, host, line, space, stream, u


def environment_of(*events: str, **recorded: object) -> HostEnvironment:
    thread = line("python", *[(name, 10 * i, 5) for i, name in enumerate(events)])
    return environment(Host("h", decode(space(host(thread), environment_plane(**recorded)))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "framework"),
    [
        ("ExecutorState::Process", "TensorFlow"),
        ("TFE_DeleteTensorHandle", "TensorFlow"),
        ("PjitFunction(step)", "JAX"),
        ("ProfilerStep#3", "PyTorch"),
        ("aten::mm", "PyTorch"),
        ("something", "Unknown"),
    ],
)
def test_framework(event: str, framework: str) -> None:
    assert environment_of(event).framework == framework


@pytest.mark.parametrize(
    ("op", "framework"),
    [
        ("jit(step)/jit(main)/add", "JAX"),
        ("jvp(loss)/dot_general", "JAX"),
        ("multiply", "Unknown"),  # Reactant.jl names ops by their primitive alone
        ("layer/while/body/dot_general", "Unknown"),
    ],
)
def test_jax_shows_in_the_paths_of_its_transformations(op: str, framework: str) -> None:
    kernel = ("fusion", 10, 5, {"tf_op": f"{op}:", "correlation_id": 1})
    recorded = space(gpu(0, stream(7, kernel)), host(line("main", ("PjRt::Execute", 0, 20))))
    assert environment(Host("h", decode(recorded))).framework == framework


def test_training_shows_in_the_ops() -> None:
    assert environment_of("gradient_tape/dense/MatMul:MatMul").is_training is True
    assert environment_of("dense/MatMul:MatMul").is_training is False
    assert environment_of("python function").is_training is None


def test_ops_that_run_one_by_one_do_not_tell_training_from_inference() -> None:
    assert environment_of("MatMul:MatMul").is_training is None
    assert environment_of("MatMul:MatMul", "GradientTape.gradient").is_training is True
    assert environment_of("a/MatMul:MatMul", "$api.py:430 value_and_grad_f").is_training is True
    assert environment_of("a/MatMul:MatMul", "$train.py:9 grade").is_training is False
    many = [f"jit(op_{number})/add" for number in range(8)]
    assert not says_layers(many)
    assert says_layers([*many[:4], *many[:4]])


def test_duration_is_the_recorders_where_it_noted_one() -> None:
    noted = environment_of(
        "a", "b", profile_start_time=u(5 * 10**18), profile_stop_time=u(5 * 10**18 + 70_000)
    )
    assert noted.duration_ps == 70_000 * 1000
    assert noted.start_unix_ns == 5 * 10**18
    assert environment_of("a", "b").duration_ps == 15_000_000


def test_versions() -> None:
    assert environment_of("a", jax_version="0.10.2").versions == {"jax_version": "0.10.2"}
