import sys
import tempfile
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "save_steps=3 of Hugging Face's Trainer, as copied from an example of large models",
    "cause": "checkpoints too often",
    "accept": ["largest-part", "slow-steps", "python-bound"],
    "rules": ["slow-steps"],
    "words": ["save_checkpoint", "save_pretrained", "torch.save", "save_file"],
    "part": "develop",
}


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n=256):
        self.ids = torch.randint(5, 3000, (n, 16))
        self.labels = torch.randint(2, (n,))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class Watch(TrainerCallback):
    def __init__(self, clock):
        self.clock, self.step = clock, 0

    def on_step_begin(self, args, state, control, **kwargs):
        if self.clock is not None and self.clock.tick(self.step):
            control.should_training_stop = True
            self.clock = None
        self.step += 1


def main(clock):
    clock.plan(4, 5)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=3000,
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=192,
        max_position_embeddings=32,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            max_steps=20,
            logging_steps=50,
            save_strategy="no" if clock.fixed else "steps",
            save_steps=3,
            save_total_limit=1,
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(
            model=BertForSequenceClassification(config),
            args=arguments,
            train_dataset=Reviews(),
            callbacks=[Watch(clock)],
        )
        trainer.train()  # planted


if __name__ == "__main__":
    run(main)
