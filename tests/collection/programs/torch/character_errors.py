import string
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics.text import CharErrorRate

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the character error rate of each training batch is computed, by an edit distance in Python",
    "cause": "a costly metric in each step",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["CharErrorRate", "_edit_distance", "_cer_update", "on_batch_end", "MetricCallback"],
    "part": "develop",
}

ALPHABET = "_" + string.ascii_lowercase + " '"


def greedy_text(logits):
    """Best path of CTC."""
    texts = []
    for path in logits.argmax(-1).tolist():
        letters = [b for a, b in zip([0, *path], path) if b != a and b]
        texts.append("".join(ALPHABET[i] for i in letters))
    return texts


class Wav2LetterLite(nn.Module):
    def __init__(self, mels=64, width=72):
        super().__init__()
        self.front = nn.Conv1d(mels, width, 11, stride=2, padding=5)
        self.mid = nn.Conv1d(width, width, 15, padding=7)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, len(ALPHABET))
        nn.init.normal_(self.out.weight, std=0.5)

    def forward(self, mels):
        x = F.hardtanh(self.front(mels), 0, 20)
        x = F.hardtanh(self.mid(x), 0, 20).transpose(1, 2)
        return self.out(self.norm(x))


class MetricCallback:
    def __init__(self, every):
        self.every = every
        self.cer = CharErrorRate()

    def on_batch_end(self, step, logits, texts):
        if step % self.every == self.every - 1:
            self.cer.update(greedy_text(logits), texts)  # planted


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    model = Wav2LetterLite()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    callback = MetricCallback(every=1000 if clock.fixed else 1)
    mels = torch.randn(12, 64, 300)
    targets = torch.randint(1, len(ALPHABET), (12, 80))
    texts = ["".join(ALPHABET[i] for i in row) for row in targets.tolist()]
    lengths, target_lengths = torch.full((12,), 150), torch.full((12,), 80)
    for step in clock.loop():
        with clock.mark(step):
            logits = model(mels)
            log_probs = F.log_softmax(logits, -1).transpose(0, 1)
            loss = F.ctc_loss(log_probs, targets, lengths, target_lengths, zero_infinity=True)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            callback.on_batch_end(step, logits.detach(), texts)


if __name__ == "__main__":
    run(main)
