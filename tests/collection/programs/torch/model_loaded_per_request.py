import sys
from pathlib import Path

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each request makes the model again and reads its weights from the file",
    "cause": "repeated work",
    "accept": ["largest-part", "python-bound"],
    "rules": [],
    "words": ["ModelStore", "torch.load", "TextClassifier.__init__"],
    "part": "develop",
}


class TextClassifier(nn.Module):
    def __init__(self, vocab=8000, dim=256, layers=2, classes=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, batch_first=True, dropout=0.0)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids)).mean(1))


class ModelStore:
    def __init__(self, path, keep):
        self.path, self.keep, self.loaded = path, keep, None
        torch.save(TextClassifier().state_dict(), path)

    def get(self):
        if self.keep and self.loaded is not None:
            return self.loaded
        model = TextClassifier()  # planted
        model.load_state_dict(torch.load(self.path))
        self.loaded = model.eval()
        return model


class Handler:
    def __init__(self, store):
        self.store = store

    def preprocess(self, text):
        return torch.tensor([[hash(word) % 8000 for word in text.split()]])

    @torch.inference_mode()
    def handle(self, text):
        model = self.store.get()
        scores = model(self.preprocess(text)).softmax(-1)
        return scores.topk(3)


def main(clock):
    clock.plan(2, 8)
    torch.manual_seed(0)
    handler = Handler(ModelStore(str(Path(clock.folder) / "model.pt"), clock.fixed))
    requests = [" ".join(f"w{(i * j) % 977}" for j in range(48)) for i in range(40)]
    for step in clock.loop():
        with clock.mark(step):
            handler.handle(requests[step])


if __name__ == "__main__":
    run(main)
