"""Whose a function is whose file has a name that frameworks use as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.installed import is_installed
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import parse_module, parse_stack_frames
from stepscope.tables.hlo.source import source_files, source_frames
from stepscope.tables.python.frames import (
    BUILT_IN,
    FRAMEWORK,
    LIBRARY,
    OWN,
    UNSAID,
    _name,
    program_files,
)
from tests.profiles import draw, event, nth, space
from tests.profiles.hlo import f32, instruction, metadata_plane, program


def host(*files: str) -> Host:
    """A step in ``trainer.py`` that calls JAX's ``tree_map``, which calls a function of it.

    The compiled program was written in these files.
    """
    entry = [
        instruction("x", "parameter", f32(4), parameter_number=0),
        instruction("abs.1", "abs", f32(4), "x", stack=[(file, 7, "loss") for file in files]),
    ]
    drawn = draw(
        """
        /host:CPU
          python   S---------S---------
          "        T--------.T--------.
          "        .M------...M------..
          "        ..C----.....C----...
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        T=event("$trainer.py:40 train_step"),
        M=event("$tree_util.py:300 tree_map"),
        C=event("$trainer.py:12 clip"),
    )
    return Host("h", decode(space(*drawn, metadata_plane(("jit_f", 7, program("jit_f", entry))))))


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_damaged_program_says_nothing_of_files(cut: int) -> None:
    whole = program("jit_f", [instruction("abs.1", "abs", f32(4), stack=[("me.py", 7, "loss")])])
    assert source_files(parse_stack_frames(whole)) == {"me.py"}
    assert source_files(parse_stack_frames(whole[:-cut])) <= {"me.py"}
    index = parse_stack_frames(whole)[:-cut]
    assert source_files(index) <= {"me.py"}
    module = parse_module(whole)
    assert module is not None
    torn = replace(module, stack_frames=index)
    assert {one.file for one in source_frames(torn, module.instructions["abs.1"])} <= {"me.py"}


@pytest.mark.parametrize(
    ("name", "function"),
    [("api.py", "block_until_ready"), ("array.py", "_value"), ("array.py", "normalise")],
)
def test_a_programs_api_py_does_not_make_jaxs_its_own(name: str, function: str) -> None:
    """What waits for a device in a file of such a name is JAX's: both may be in one recording."""
    own = program_files(host(f"/home/me/{name}"))
    assert own == {name}
    is_own = _name(f"${name}:2479 {function}", "", own, has_folders=False).kind == OWN
    assert is_own == (function == "normalise")


@pytest.mark.parametrize(
    ("file", "kind", "public"),
    [
        ("torch/nn/modules/module.py", FRAMEWORK, "torch.call"),
        ("torch/serialization.py", LIBRARY, "torch.call"),
        ("lightning/pytorch/loggers/csv_logs.py", LIBRARY, "lightning.call"),
        ("lightning/pytorch/trainer/trainer.py", FRAMEWORK, "lightning.call"),
        ("pytorch_lightning/loggers/csv_logs.py", LIBRARY, "pytorch_lightning.call"),
        ("pytorch_lightning/trainer/trainer.py", FRAMEWORK, "pytorch_lightning.call"),
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
        ("logging/__init__.py", LIBRARY, "logging.call"),
        ("contextlib.py", LIBRARY, "contextlib.call"),
        ("<eval_with_key>.7", UNSAID, "call"),
        ("torch\\nn\\modules\\module.py", FRAMEWORK, "torch.call"),
        ("models\\resnet.py", OWN, "call"),
        ("/home/me/train.py", OWN, "call"),
        ("/venv/lib/python3.12/site-packages/torch/_tensor.py", FRAMEWORK, "torch.call"),
        ("/venv/lib/python3.12/site-packages/torch/serialization.py", LIBRARY, "torch.call"),
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


def test_c_code_is_the_frameworks_where_that_calls_it() -> None:
    drawn = draw(
        """
        /host:CPU
          python   S---------S---------
          "        T---------T---------
          "        .M---.B--..M---.B--.
          "        ..B-........B-......
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        T=event("$train.py:40 train"),
        M=event("$torch/autograd/graph.py:966 _engine_run_backward"),
        B=event("$<built-in function sorted>"),
    )
    found = account(Host("h", decode(space(*drawn))))
    assert found is not None
    told = {(one.kind, one.name): one.total_ps // 10**8 for one in owners(found)}
    assert told == {
        ("framework", "torch._engine_run_backward"): 8,
        ("library", "sorted"): 6,
        ("python", "train"): 6,
    }


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("torch/nn/modules/conv.py", FRAMEWORK),
        ("numpy/linalg/_linalg.py", LIBRARY),
        ("importlib/_bootstrap.py", LIBRARY),
        ("my_model/torch/conv.py", OWN),
        ("train.py", OWN),
    ],
)
def test_sources_of_samplers_tell_by_their_first_folder_whose_they_are(
    file: str, kind: int
) -> None:
    """py-spy's paths are read without what they say of the machine."""
    named = _name(f"${file}:544 forward", f"{file}:544", frozenset(), False)
    assert named.kind == kind


@pytest.mark.parametrize(
    ("said", "public"),
    [
        ("$fromnumeric.py:2250 sum", "numpy.sum"),
        ("$arrayprint.py:600 array2string", "numpy.array2string"),
        ("$lax_numpy.py:5000 eye", "jax.numpy.eye"),
        ("$array_methods.py:585 deferring_binary_op", "jax.Array's arithmetic"),
        ("$fromnumeric.py:66 _wrapreduction", "fromnumeric._wrapreduction"),
        ("$queue.py:154 get", "queue.get"),
    ],
)
def test_a_librarys_call_is_named_as_people_import_it(said: str, public: str) -> None:
    """Tracers write the file alone, which is an internal one."""
    assert _name(said, "", frozenset(), has_folders=False).public == public


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/packages/optax/transforms/_combining.py", FRAMEWORK),
        ("/home/me/packages/flax/linen/normalization.py", FRAMEWORK),
        ("/src/optax/optax/_src/base.py", FRAMEWORK),
        ("/home/me/tensorflow/python/eager/context.py", FRAMEWORK),
        # Clones of their sources hold examples, and a folder may be called as they are.
        ("/home/me/flax/examples/mnist/train.py", OWN),
        ("/home/me/optax/train.py", OWN),
    ],
)
def test_a_framework_in_a_folder_of_ones_own_is_none_of_the_program(path: str, kind: int) -> None:
    """As ``pip install --target`` leaves it, or PYTHONPATH finds its sources."""
    name = _name(f"${path.rpartition('/')[2]}:20 update_fn", f"{path}:20", frozenset(), False)
    assert name.kind == kind
    assert is_installed(path) == (kind == FRAMEWORK)


def test_what_autograph_writes_is_none_of_the_program() -> None:
    """Its lines are of a file that is gone; what calls it is the program's."""
    file = "__autograph_generated_filesjk0f891.py"
    for path in ("", f"/tmp/{file}:19"):
        assert _name(f"${file}:19 tf__train_step", path, frozenset(), False).kind == FRAMEWORK


@pytest.mark.parametrize(
    ("file", "call"),
    [
        ("numpy/linalg/_linalg.py:535 inv", "numpy.linalg.inv"),
        ("numpy/lib/_npyio_impl.py:300 load", "numpy.load"),
        ("jax/_src/numpy/array_constructors.py:140 array", "jax.numpy.array"),
        ("scipy/optimize/_optimize.py:360 approx_derivative", "scipy.optimize.approx_derivative"),
        ("scipy/spatial/distance.py:2700 cdist", "scipy.spatial.distance.cdist"),
        ("pandas/core/frame.py:10 apply", "pandas.apply"),
    ],
)
def test_calls_have_the_names_that_programs_import(file: str, call: str) -> None:
    path = f"/venv/lib/python3.12/site-packages/{file.partition(':')[0]}"
    assert _name(f"${file}", path, frozenset(), has_folders=False).public == call
