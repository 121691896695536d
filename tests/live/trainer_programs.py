"""Programs that train with Lightning's and Hugging Face's Trainer under our callbacks.

python -m tests.live.trainer_programs lightning|transformers FOLDER
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import stepscope
from stepscope.capture.hooks.callback import LoopCallback

LOAD_SECONDS = 0.004  # per batch of 4
EVALUATION_SECONDS = 0.2


class Numbers(Dataset[Any]):  # type: ignore[misc]  # torch may be missing
    """A data set that takes its time."""

    def __len__(self) -> int:
        return 80

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        time.sleep(LOAD_SECONDS / 4)
        return {"inputs": torch.randn(32), "labels": torch.zeros(1)}


class Model(torch.nn.Module):  # type: ignore[misc]  # torch may be missing
    """Answers with its loss, as Hugging Face's models do."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
        )

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        found = self.layers(inputs)
        if not self.training:
            time.sleep(EVALUATION_SECONDS / 20)
        return {"loss": (found - labels).pow(2).mean(), "logits": found}


def with_lightning(folder: Path, **given: Any) -> LoopCallback:
    """Two epochs of 20 steps, a validation after every ten."""
    import lightning.pytorch as lightning

    class Module(lightning.LightningModule):  # type: ignore[misc]  # it may be missing
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: dict[str, torch.Tensor], number: int) -> torch.Tensor:
            return self.model(**batch)["loss"]

        def validation_step(self, batch: dict[str, torch.Tensor], number: int) -> None:
            self.model(**batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callback: LoopCallback = stepscope.lightning.Callback(folder, **given)
    trainer = lightning.Trainer(
        max_epochs=2,
        val_check_interval=10,
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Module(), DataLoader(Numbers(), batch_size=4), DataLoader(Numbers(), batch_size=4))
    return callback


def with_transformers(folder: Path, **given: Any) -> LoopCallback:
    """Two epochs of 20 steps, an evaluation after every ten."""
    import transformers

    callback: LoopCallback = stepscope.transformers.Callback(folder, **given)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "out"),
        num_train_epochs=2,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model=Model(),
        args=arguments,
        train_dataset=Numbers(),
        eval_dataset=Numbers(),
        callbacks=[callback],
    )
    trainer.train()
    return callback


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train = {"lightning": with_lightning, "transformers": with_transformers}[sys.argv[1]]
    options = stepscope.ProfilerOptions(frameworks=("torch",))
    said = {}
    for name, steps in {"steady": None, "across an evaluation": "6,15"}.items():
        callback = train(Path(sys.argv[2]) / name, steps=steps, options=options, verbose=True)
        said[name] = [capture.path for capture in callback.captures]
    (Path(sys.argv[2]) / "said.json").write_text(json.dumps(said), "utf-8")


if __name__ == "__main__":
    main()
