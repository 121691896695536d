"""A trainer that runs the loop: each of its calls is a part. A character is 100 µs."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host

FOLDER = "$/venv/lib/python3.12/site-packages/transformers/trainer.py"
CALLS: dict[str, Drawn] = {
    "P": event("$finetune.py:9 main"),
    "T": event(f"{FOLDER}:1450 Trainer.train"),
    "I": event(f"{FOLDER}:1583 Trainer._inner_training_loop"),
    "K": event(f"{FOLDER}:2238 Trainer._maybe_log_save_evaluate"),
    "C": event(f"{FOLDER}:3363 Trainer._save_checkpoint"),
    "F": event(f"{FOLDER}:1910 Trainer.training_step"),
    "L": event("$/home/me/finetune.py:30 Weighted.compute_loss"),
    "J": event("$/usr/lib/python3.12/json/__init__.py:183 dumps"),
    "m": event("aten/mm:mm"),
}
KERAS = "$/venv/lib/python3.12/site-packages/keras/src"
FIT: dict[str, Drawn] = {
    "P": event("$/home/me/fit.py:9 main"),
    "T": event(f"{KERAS}/utils/traceback_utils.py:110 filter_traceback.<locals>.error_handler"),
    "I": event(f"{KERAS}/backend/tensorflow/trainer.py:310 TensorFlowTrainer.fit"),
    "K": event(f"{KERAS}/callbacks/callback_list.py:180 CallbackList.on_train_batch_end"),
    "C": event(f"{KERAS}/callbacks/model_checkpoint.py:220 ModelCheckpoint._save_model"),
    "G": event("$/venv/lib/python3.12/site-packages/tensorflow/python/eager/f.py:890 call"),
    "m": event("dense/MatMul:MatMul"),
}


def made(one: Host) -> dict[tuple[str, str], float]:
    """Milliseconds by kind and name of the parts, which sum to the steps."""
    found = account(one)
    assert found is not None
    listed = parts(found)
    whole = int(found.found.duration_ps[found.found.kept].sum())
    assert sum(part.total_ps for part in listed) == whole
    return {(part.kind, part.name): part.total_ps / 1e9 for part in listed}


def trained(*lines: str) -> Host:
    """Four steps within a trainer's loop."""
    text = "\n          ".join(f'"        {one}' for one in lines)
    return host(
        f"""
        /host:CPU
          python   S---------S---------S---------S---------
          "        P---------------------------------------
          "        T---------------------------------------
          "        I---------------------------------------
          {text}
        """,
        **CALLS,
    )


def test_what_a_trainer_does_beside_the_model_is_told_by_its_name() -> None:
    one = trained(
        ".F----.....F----.....F----.....F----....",
        "..mmm.......mmm.......mmm.......mmm.....",
        "......K--.......K--.......K--.......K--.",
        "......C--.......C--.......C--.......C--.",
    )
    told = made(one)
    assert told["library", "transformers.Trainer._save_checkpoint"] == 1.2
    assert told["op", "matmul"] == 1.2
    # What runs the model is the loop's: that its call takes time says nothing.
    assert told["library", "transformers.Trainer.training_step"] == 0.8
    assert ("python", "main") not in told


def test_what_a_callback_of_kerass_costs_is_told_by_its_name() -> None:
    """Keras is a framework, and its fit a loop: of each 1 ms step a checkpoint takes 300 µs."""
    text = "\n          ".join(
        f'"        {one}'
        for one in (
            "P---------------------------------------",
            "T---------------------------------------",
            "I---------------------------------------",
            ".G----.....G----.....G----.....G----....",
            "..mmm.......mmm.......mmm.......mmm.....",
            "......K--.......K--.......K--.......K--.",
            "......C--.......C--.......C--.......C--.",
        )
    )
    told = made(
        host(
            f"""
            /host:CPU
              python   S---------S---------S---------S---------
              {text}
            """,
            **FIT,
        )
    )
    assert told["library", "keras.ModelCheckpoint._save_model"] == 1.2
    assert told["op", "MatMul"] == 1.2


def test_it_is_placed_at_the_programs_line_without_being_that_function() -> None:
    found = account(
        trained(
            "..C-----....C-----....C-----....C-----..",
        )
    )
    assert found is not None
    first = parts(found)[0]
    assert (first.name, first.first.function) == ("transformers.Trainer._save_checkpoint", "")
    assert (first.first.file, first.first.line) == ("finetune.py", 9)
