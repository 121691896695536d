"""Whose a Python call is, and how people name it: by its file's folder, path or name."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.installed import is_installed
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import (
    BUILT_IN,
    FRAMEWORK,
    LIBRARY,
    OWN,
    UNSAID,
    _name,
    program_files,
)
from tests.profiles import space
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.unit.tables.account.drawn import host, told

VENV = "/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("file", "kind", "public"),
    [
        ("torch/nn/modules/module.py", FRAMEWORK, "torch.call"),
        ("torch/serialization.py", LIBRARY, "torch.call"),
        ("lightning/pytorch/loggers/csv_logs.py", LIBRARY, "lightning.call"),
        ("lightning/pytorch/trainer/trainer.py", FRAMEWORK, "lightning.call"),
        ("pytorch_lightning/loggers/csv_logs.py", LIBRARY, "pytorch_lightning.call"),
        ("lightning_utilities/core/apply_func.py", FRAMEWORK, "lightning_utilities.call"),
        ("networkx/classes/graph.py", LIBRARY, "networkx.call"),
        ("lightnings/strike.py", OWN, "call"),
        ("<class 'networkx.utils.decorators.argmap'> compilation 26", LIBRARY, "networkx.call"),
        ("<decorator-gen-4>", LIBRARY, "call"),
        ("<ipython-input-3-a1b2>", UNSAID, "call"),
        ("models/resnet.py", OWN, "call"),
        ("trainer.py", OWN, "call"),
        ("vllm/v1/worker/gpu_model_runner.py", OWN, "call"),
        ("numpy/_core/fromnumeric.py", LIBRARY, "numpy.call"),
        ("contextlib.py", LIBRARY, "contextlib.call"),
        ("<eval_with_key>.7", UNSAID, "call"),
        ("torch\\nn\\modules\\module.py", FRAMEWORK, "torch.call"),
        ("/home/me/train.py", OWN, "call"),
        ("/venv/lib/python3.12/site-packages/torch/_tensor.py", FRAMEWORK, "torch.call"),
        ("C:\\Python312\\Lib\\site-packages\\numpy\\core.py", LIBRARY, "numpy.call"),
    ],
)
def test_where_folders_are_recorded_they_tell_whose_a_file_is(
    file: str, kind: int, public: str
) -> None:
    """PyTorch's recorder; ``trainer.py`` is also the name of a file of Keras'."""
    name = _name(f"${file}:12 call", "", frozenset(), has_folders=True)
    assert (name.kind, name.public) == (kind, public)


@pytest.mark.parametrize(
    ("text", "kind", "public"),
    [
        ("built-in method run_backward of torch._C._EngineBase object at 0x7f", FRAMEWORK, ""),
        ("built-in method chunk of Tensor object at 0x7f695e79b8e0", FRAMEWORK, "chunk"),
        ("built-in method zeros of type object at 0x7f697f8cea40", FRAMEWORK, "zeros"),
        ("built-in method append of list object at 0x7f69615734c0", BUILT_IN, "append"),
        ("built-in function sorted", BUILT_IN, "sorted"),
    ],
)
def test_a_call_into_c_is_named_without_its_address(text: str, kind: int, public: str) -> None:
    name = _name(f"$<{text}>", "", frozenset(), has_folders=True)
    assert (name.kind, name.public) == (kind, public or "run_backward")


@pytest.mark.parametrize(
    ("call", "path", "kind", "public"),
    [
        # py-spy's paths are read without what they say of the machine.
        ("forward", "torch/nn/modules/conv.py", FRAMEWORK, "torch.forward"),
        ("inv", "numpy/linalg/_linalg.py", LIBRARY, "numpy.linalg.inv"),
        ("load", "importlib/_bootstrap.py", LIBRARY, "importlib.load"),
        ("forward", "my_model/torch/conv.py", OWN, "forward"),
        ("forward", "train.py", OWN, "forward"),
        # As ``pip install --target`` leaves it, or PYTHONPATH finds its sources.
        ("init", "/home/me/packages/optax/transforms/_combining.py", FRAMEWORK, "optax.init"),
        ("init", "/home/me/packages/flax/linen/normalization.py", FRAMEWORK, "flax.init"),
        ("init", "/src/optax/optax/_src/base.py", FRAMEWORK, "optax.init"),
        ("run", "/home/me/tensorflow/python/eager/context.py", FRAMEWORK, "tensorflow.run"),
        # Clones of their sources hold examples, and a folder may be called as they are.
        ("main", "/home/me/flax/examples/mnist/train.py", OWN, "main"),
        ("main", "/home/me/optax/train.py", OWN, "main"),
        # What AutoGraph writes is of a file that is gone; what calls it is the program's.
        ("tf__f", "/tmp/__autograph_generated_filesjk0f891.py", FRAMEWORK, "tensorflow.tf__f"),
        # Calls have the names that programs import.
        ("load", f"{VENV}/numpy/lib/_npyio_impl.py", LIBRARY, "numpy.load"),
        ("array", f"{VENV}/jax/_src/numpy/array_constructors.py", FRAMEWORK, "jax.numpy.array"),
        ("approx_derivative", f"{VENV}/scipy/optimize/_optimize.py", LIBRARY,
         "scipy.optimize.approx_derivative"),
        ("cdist", f"{VENV}/scipy/spatial/distance.py", LIBRARY, "scipy.spatial.distance.cdist"),
        ("apply", f"{VENV}/pandas/core/frame.py", LIBRARY, "pandas.apply"),
    ],
)  # fmt: skip
def test_a_path_tells_whose_a_call_is_and_how_people_import_it(
    call: str, path: str, kind: int, public: str
) -> None:
    name = _name(f"${path.rpartition('/')[2]}:20 {call}", f"{path}:20", frozenset(), False)
    assert (name.kind, name.public) == (kind, public)
    if path.startswith("/home"):
        assert is_installed(path) == (kind == FRAMEWORK)


@pytest.mark.parametrize(
    ("call", "kind", "public"),
    [
        ("fromnumeric.py:2250 sum", LIBRARY, "numpy.sum"),
        ("arrayprint.py:600 array2string", LIBRARY, "numpy.array2string"),
        ("lax_numpy.py:5000 eye", FRAMEWORK, "jax.numpy.eye"),
        ("array_methods.py:585 deferring_binary_op", FRAMEWORK, "jax.Array's arithmetic"),
        ("fromnumeric.py:66 _wrapreduction", LIBRARY, "fromnumeric._wrapreduction"),
        ("queue.py:154 get", LIBRARY, "queue.get"),
        ("__autograph_generated_filesjk0f891.py:19 tf__step", FRAMEWORK, "tensorflow.tf__step"),
    ],
)
def test_an_internal_file_alone_tells_as_much(call: str, kind: int, public: str) -> None:
    """Tracers write no folder."""
    name = _name(f"${call}", "", frozenset(), has_folders=False)
    assert (name.kind, name.public) == (kind, public)


def test_c_code_is_the_frameworks_where_that_calls_it() -> None:
    one = host(
        "T---------T---------",
        ".M---.B--..M---.B--.",
        "..B-........B-......",
        T="$train.py:40 train",
        M="$torch/autograd/graph.py:966 _engine_run_backward",
        B="$<built-in function sorted>",
    )
    assert told(one) == {
        ("framework", "torch._engine_run_backward"): 0.8,
        ("library", "sorted"): 0.6,
        ("python", "train"): 0.6,
    }


@pytest.mark.parametrize(
    ("file", "function", "is_own"),
    [
        ("api.py", "block_until_ready", False),
        ("array.py", "_value", False),
        ("array.py", "normalise", True),
    ],
)
def test_a_programs_api_py_does_not_make_jaxs_its_own(
    file: str, function: str, is_own: bool
) -> None:
    """What waits for a device in a file of such a name is JAX's: both may be in one recording."""
    stack = [(f"/home/me/{file}", 7, "loss")]
    entry = [
        instruction("x", "parameter", f32(4), parameter_number=0),
        instruction("abs.1", "abs", f32(4), "x", stack=stack),
    ]
    compiled = space(metadata_plane(("jit_f", 7, program("jit_f", entry))))
    own = program_files(Host("h", decode(compiled)))
    assert own == {file}
    found = _name(f"${file}:2479 {function}", "", own, has_folders=False)
    assert (found.kind == OWN) == is_own
