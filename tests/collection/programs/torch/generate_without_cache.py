import sys
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "use_cache=False: every token runs the model on the whole text so far",
    "cause": "work that is done again",
    "accept": ["no-kv-cache"],
    "rules": ["no-kv-cache"],
    "words": ["addmm", "matmul", "generate"],
    "repeats": 3,
    "part": "develop",
}


def complete(model, ids, cached, tokens=3):
    with torch.inference_mode():
        return model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            pad_token_id=0,
            use_cache=cached,  # planted
        )


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=1000, n_positions=256, n_embd=192, n_layer=1, n_head=6, bos_token_id=1, eos_token_id=2
    )
    model = GPT2LMHeadModel(config).eval()
    for step in clock.loop():
        with clock.mark(step):
            complete(model, torch.randint(3, 1000, (4, 180)), clock.fixed)


if __name__ == "__main__":
    run(main)
