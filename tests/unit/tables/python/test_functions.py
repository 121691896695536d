"""Functions that stand for their ops: the program's, trainers' callbacks, libraries' models."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import parts
from tests.unit.tables.account.drawn import Letters, accounted, host, parted

VENV = "$/venv/lib/python3.12/site-packages"
CALLS: Letters = {
    "L": "$train.py:50 main",
    "F": "$train.py:12 Net.forward",
    "A": "$train.py:30 train_accuracy",
    "C": "$train.py:40 chamfer",
    "m": "aten/mm:mm",
    "r": "aten/relu:relu",
    "s": "aten/sum:sum",
}
HUB = "transformers/models"


def functions(*rows: str, **letters: Any) -> dict[str, float]:
    """Milliseconds by function that stands for its ops, in two steps of a loop in main."""
    one = host("L" + "-" * (len(rows[0]) - 1), *rows, **CALLS | letters)
    return {name: time for (kind, name), time in parted(one).items() if kind == "function"}


def test_a_function_that_only_passes_on_does_not_stand_for_what_it_calls() -> None:
    assert functions(
        "..A-------------......A-------------....",
        "...C-----------........C-----------.....",
        "....mmmrrrsss...........mmmrrrsss.......",
    ) == {"chamfer": 1.8}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("wrapper", {}), ("Scope.wrapped", {}), ("wrap_all", {"wrap_all": 2.2})],
)
def test_a_decorator_stands_for_nothing(name: str, expected: dict[str, float]) -> None:
    """What it decorates was compiled, so that no frame of it is below."""
    rows = ("..W-------------......W-------------....", "...mmmmrrrssss.........mmmmrrrssss......")
    assert functions(*rows, W=f"$tools.py:292 {name}") == expected


def test_what_a_package_of_models_puts_around_a_layer_stands_for_nothing() -> None:
    """Its decorator is around every layer, so that none of them has it to itself."""
    assert functions(
        "T-------------T-----T-------------T-----",
        ".W------------.......W------------.......",
        "..D----------..D---...D----------..D---..",
        "...A--------....B-.....A--------....B-...",
        "....mmmrrss......s......mmmrrss......s...",
        T="$torch/nn/modules/module.py:1782 _call_impl",
        W="$transformers/modeling_layers.py:89 forward_with_checkpointing",
        D="$transformers/utils/deprecation.py:121 wrapped_func",
        A=f"${HUB}/bert/modeling_bert.py:376 BertLayer.forward",
        B=f"${HUB}/bert/modeling_bert.py:900 BertPooler.forward",
    ) == {"BertLayer.forward": 1.4}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{HUB}/gpt2/modeling_gpt2.py", {"LoRA.forward"}),
        ("model.py", {"GPT2MLP.forward", "GPT2Attention.forward"}),
    ],
    ids=["a package's", "the program's own"],
)
def test_the_programs_layer_in_a_package_of_models_stands_for_what_it_does_there(
    file: str, expected: set[str]
) -> None:
    """Two functions of the package call it, so that neither has it to itself."""
    found = functions(
        "..P---------Q---------....P---------Q---------..",
        "..I---------I---------....I---------I---------..",
        "..mmmmrrrrrrmmmmrrrrrr....mmmmrrrrrrmmmmrrrrrr..",
        P=f"${file}:238 GPT2MLP.forward",
        Q=f"${file}:144 GPT2Attention.forward",
        I="$lora.py:23 LoRA.forward",
    )
    assert found.keys() == expected


# ------------------------------------------------------------------ trainers

TRAINER = f"{VENV}/transformers/trainer.py"
KERAS = f"{VENV}/keras/src"
TRAIN: Letters = {
    "P": "$finetune.py:9 main",
    "T": f"{TRAINER}:1450 Trainer.train",
    "I": f"{TRAINER}:1583 Trainer._inner_training_loop",
    "K": f"{TRAINER}:2238 Trainer._maybe_log_save_evaluate",
    "C": f"{TRAINER}:3363 Trainer._save_checkpoint",
    "G": f"{TRAINER}:1910 Trainer.training_step",
    "m": "aten/mm:mm",
}
FIT: Letters = {
    "P": "$/home/me/fit.py:9 main",
    "T": f"{KERAS}/utils/traceback_utils.py:110 filter_traceback.<locals>.error_handler",
    "I": f"{KERAS}/backend/tensorflow/trainer.py:310 TensorFlowTrainer.fit",
    "K": f"{KERAS}/callbacks/callback_list.py:180 CallbackList.on_train_batch_end",
    "C": f"{KERAS}/callbacks/model_checkpoint.py:220 ModelCheckpoint._save_model",
    "G": f"{VENV}/tensorflow/python/eager/f.py:890 call",
    "m": "dense/MatMul:MatMul",
}
EAGER = FIT | {"G": f"{KERAS}/backend/tensorflow/trainer.py:57 TensorFlowTrainer.train_step"}
LOOP = [f"{letter}{'-' * 39}" for letter in "PTI"]
BATCHES = [row * 4 for row in (".G----....", "..mmm.....", "......K--.", "......C--.")]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (
            TRAIN,
            {
                ("library", "transformers.Trainer._save_checkpoint"): 1.2,
                ("op", "matmul"): 1.2,
                # What runs the model is the loop's: that its call takes time says nothing.
                ("framework", "main"): 0.8,
            },
        ),
        # Keras is a framework, and its fit a loop.
        (FIT, {("library", "keras.ModelCheckpoint._save_model"): 1.2, ("op", "MatMul"): 1.2}),
        (EAGER, {("framework", "main"): 1.6, ("op", "MatMul"): 1.2}),
    ],
    ids=["transformers", "keras", "keras, eager"],
)
def test_what_a_trainer_does_beside_the_model_is_told_by_its_name(
    calls: Letters, expected: dict[tuple[str, str], float]
) -> None:
    """Four steps of 1 ms, in each of which a checkpoint takes 300 µs."""
    found = parted(host(*LOOP, *BATCHES, steps=4, **calls))
    assert expected.items() <= found.items()
    assert ("python", "main") not in found


def test_it_is_placed_at_the_programs_line_without_being_that_function() -> None:
    first = parts(accounted(host(*LOOP, "..C-----.." * 4, steps=4, **TRAIN)))[0]
    assert (first.name, first.first.function) == ("transformers.Trainer._save_checkpoint", "")
    assert (first.first.file, first.first.line) == ("finetune.py", 9)


# ------------------------------------------------------------------ models of libraries

CALL = f"{VENV}/torch/nn/modules/module.py:1774 Module._call_impl"
WRAPPED = f"{VENV}/transformers/utils/generic.py:900 can_return.<locals>.wrapped_func"
FORWARD = f"{VENV}/{HUB}/gpt2/modeling_gpt2.py:500 GPT2Model.forward"
GENERATE = f"{VENV}/transformers/generation/utils.py:2100 GenerationMixin.generate"
SCIPY = f"{VENV}/scipy/optimize/_lsap.py:9 assign"


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ((GENERATE, WRAPPED, CALL, FORWARD), "framework"),
        ((CALL, FORWARD, WRAPPED), "framework"),
        ((CALL, FORWARD, SCIPY), "library"),  # it is theirs
    ],
)
def test_a_librarys_model_hands_its_ops_over(calls: tuple[str, ...], kind: str) -> None:
    stack = ("$/home/me/chat.py:4 main", "$/home/me/chat.py:40", *calls)
    rows = [f"{letter}{'-' * 19}" for letter in "abcdef"[: len(stack)]]
    sampled = ["/device:CUSTOM:Python samples", f"MainThread  {rows[0]}", *rows[1:]]
    letters: Letters = dict(zip("abcdef", stack, strict=False))
    one = host("." * 20, *sampled, **letters)
    kinds = {owner.kind for owner in owners(accounted(one))}
    assert kinds & {"framework", "library"} == {kind}
