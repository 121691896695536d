"""Next song of a playlist: a GRU over the songs so far."""
import sys
from pathlib import Path

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "max_norm of nn.Embedding: each forward sorts the ids and renormalises row after row on one thread",
    "cause": "an option of a layer that costs more than the layer",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["embedding_renorm_", "SongEmbedding", "linalg_vector_norm", "aten::norm"],
    "part": "score",
}

SONGS, DIM, HIDDEN, LENGTH, BATCH = 30_000, 32, 32, 8, 40


class SongEmbedding(nn.Module):
    def __init__(self, max_norm):
        super().__init__()
        self.table = nn.Embedding(SONGS, DIM, max_norm=max_norm, sparse=True)

    def look_up(self, songs):
        return self.table(songs)  # planted

    def forward(self, songs):
        return self.look_up(songs)


class NextSong(nn.Module):
    def __init__(self, max_norm=None):
        super().__init__()
        self.songs = SongEmbedding(max_norm)
        self.gru = nn.GRU(DIM, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, DIM)

    def forward(self, playlist, candidates):
        _, state = self.gru(self.songs(playlist))
        return torch.einsum("bd,bkd->bk", self.out(state[0]), self.songs(candidates))


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    net = NextSong(max_norm=None if clock.fixed else 1.0)
    dense = [p for name, p in net.named_parameters() if "table" not in name]
    optimizers = [torch.optim.Adam(dense, lr=1e-3), torch.optim.SGD(net.songs.parameters(), lr=0.5)]
    target = torch.zeros(BATCH, dtype=torch.long)
    for step in clock.loop():
        with clock.mark(step):
            playlist = torch.randint(SONGS, (BATCH, LENGTH))
            candidates = torch.randint(SONGS, (BATCH, 6))
            loss = nn.functional.cross_entropy(net(playlist, candidates), target)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()


if __name__ == "__main__":
    run(main)
