"""Sound from text by a latent diffusion model: ten steps of Euler, cross-attention to a prompt."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step of the sampler encodes the prompt again, which stays the same",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["TextEncoder", "encode_prompt", "aten::_transformer_encoder_layer_fwd", "TransformerEncoderLayer"],
    "part": "develop",
}

WORDS, LENGTH, TEXT, WIDTH, FRAMES, BATCH = 5000, 48, 256, 128, 96, 4


class TextEncoder(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.embed = nn.Embedding(WORDS, TEXT)
        layer = nn.TransformerEncoderLayer(TEXT, 8, 4 * TEXT, batch_first=True, norm_first=False)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, tokens):
        return self.layers(self.embed(tokens))


class Denoiser(nn.Module):
    def __init__(self, channels=16, depth=3):
        super().__init__()
        self.stem, self.out = nn.Conv1d(channels, WIDTH, 3, padding=1), nn.Conv1d(WIDTH, channels, 3, padding=1)
        self.convs = nn.ModuleList([nn.Conv1d(WIDTH, WIDTH, 3, padding=1) for _ in range(depth)])
        self.keys = nn.ModuleList([nn.Linear(TEXT, 2 * WIDTH) for _ in range(depth)])
        self.time = nn.Linear(1, WIDTH)

    def forward(self, z, t, text):
        x = self.stem(z) + self.time(t.view(1, 1))[..., None]
        for conv, keys in zip(self.convs, self.keys):
            x = x + conv(nn.functional.silu(x))
            k, v = keys(text).chunk(2, -1)
            x = x + nn.functional.scaled_dot_product_attention(x.mT, k, v).mT
        return self.out(nn.functional.silu(x))


class Pipeline:
    def __init__(self, encode_once):
        self.text_encoder, self.denoiser = TextEncoder().eval(), Denoiser().eval()
        self.encode_once, self.known = encode_once, None

    def encode_prompt(self, tokens):
        if self.known is None or not self.encode_once:
            self.known = self.text_encoder(tokens)  # planted
        return self.known

    def euler(self, z, tokens, t, dt):
        return z - dt * self.denoiser(z, t, self.encode_prompt(tokens))


@torch.no_grad()
def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    pipeline = Pipeline(encode_once=clock.fixed)
    tokens = torch.randint(WORDS, (BATCH, LENGTH))
    z = torch.randn(BATCH, 16, FRAMES)
    times = torch.linspace(1, 0, 11)
    for step in clock.loop():
        with clock.mark(step):
            z = pipeline.euler(z, tokens, times[step], 0.1)


if __name__ == "__main__":
    run(main)
