"""Hate speech is rare: Hugging Face's Trainer with a weighted loss."""
import sys
import tempfile
from pathlib import Path

import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "compute_loss goes through the whole data set for the weights of the classes, in each step",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["class_weights", "compute_loss", "Comments"],
    "part": "score",
}

WORDS, LENGTH, CLASSES = 2000, 24, 4


class Comments(torch.utils.data.Dataset):
    def __init__(self, count=1500):
        self.encodings = torch.randint(5, WORDS, (count, LENGTH))
        self.labels = torch.multinomial(torch.tensor([0.8, 0.12, 0.06, 0.02]), count, replacement=True)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.encodings[i], "labels": self.labels[i]}


def class_weights(dataset):
    counts = [0] * CLASSES
    for item in dataset:
        counts[int(item["labels"])] += 1  # planted
    return torch.tensor([len(dataset) / (CLASSES * max(count, 1)) for count in counts])


class WeightedTrainer(Trainer):
    kept = None

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weights = class_weights(self.train_dataset) if self.kept is None else self.kept  # planted
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=weights)
        return (loss, outputs) if return_outputs else loss


class Watch(TrainerCallback):
    def __init__(self, clock):
        self.clock, self.step = clock, 0

    def on_step_begin(self, args, state, control, **kwargs):
        if self.clock is not None and self.clock.tick(self.step):
            control.should_training_stop = True
            self.clock = None
        self.step += 1


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    config = DistilBertConfig(vocab_size=WORDS, dim=96, hidden_dim=256, n_layers=1, n_heads=4, max_position_embeddings=LENGTH, num_labels=CLASSES)
    comments = Comments()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=16, max_steps=20, logging_steps=500,
            save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
        )
        trainer = WeightedTrainer(
            model=DistilBertForSequenceClassification(config), args=arguments,
            train_dataset=comments, callbacks=[Watch(clock)],
        )
        if clock.fixed:
            trainer.kept = class_weights(comments)
        trainer.train()


if __name__ == "__main__":
    run(main)
