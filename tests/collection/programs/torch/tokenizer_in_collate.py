"""Topics of headlines: WordPiece tokens, a small Transformer."""
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "collate_fn reads the tokenizer from its JSON file again for each batch",
    "cause": "setup inside of the loop",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers", "file-reads"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers", "file-reads"],
    "words": ["Collate", "from_file", "Tokenizer"],
    "part": "develop",
}

VOCABULARY, WIDTH, LENGTH, BATCH, TOPICS = 16_000, 64, 24, 16, 5


def make_words():
    draw = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = {"".join(draw.choice(letters) for _ in range(draw.randint(3, 9))) for _ in range(VOCABULARY)}
    return sorted(words)


def save_tokenizer(words, path):
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *words])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=LENGTH)
    tokenizer.enable_truncation(LENGTH)
    tokenizer.save(str(path))


class Collate:
    def __init__(self, path, keep):
        self.path = str(path)
        self.tokenizer = Tokenizer.from_file(self.path) if keep else None

    def collate(self, rows):
        tokenizer = self.tokenizer or Tokenizer.from_file(self.path)  # planted
        texts, topics = zip(*rows)
        ids = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
        return torch.tensor(ids), torch.tensor(topics)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY + 2, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, TOPICS)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(1))


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    draw, words = random.Random(1), make_words()
    path = Path(clock.folder) / "tokenizer.json"
    save_tokenizer(words, path)
    rows = [(" ".join(draw.choices(words, k=12)), draw.randrange(TOPICS)) for _ in range(400)]
    loader = DataLoader(rows, batch_size=BATCH, shuffle=True, collate_fn=Collate(path, keep=clock.fixed).collate)
    model, loss_fn = Classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
