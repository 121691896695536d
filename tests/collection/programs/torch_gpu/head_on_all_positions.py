"""Multiple choice by a language model: the likelihood of A, B, C and D after each question."""
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "logits are computed for all positions of the questions, and those of the last one are read",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["lm_head", "answer_letters", "logits_to_keep"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, LENGTH = (32, 512) if BIG else (2, 16)
SIZES = (1024, 2752, 6, 16) if BIG else (32, 64, 2, 2)
VOCAB = 64000 if BIG else 200


def load_model():
    width, inner, layers, heads = SIZES
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads // 2, max_position_embeddings=2048,
        attn_implementation="sdpa", use_cache=False,
    )
    with torch.device(DEVICE):
        return LlamaForCausalLM(config).to(torch.bfloat16).eval()


@torch.inference_mode()
def answer_letters(model, questions, letters, last_only):
    if last_only:
        logits = model(input_ids=questions, logits_to_keep=1).logits
    else:
        logits = model(input_ids=questions).logits  # planted
    return logits[:, -1, letters].float().log_softmax(-1)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model = load_model()
    letters = torch.tensor([32, 33, 34, 35], device=DEVICE)
    exam = torch.randint(VOCAB, (clock.last + 1, BATCH, LENGTH), device=DEVICE)
    key = torch.randint(4, (clock.last + 1, BATCH), device=DEVICE)
    right = torch.zeros((), device=DEVICE)
    for step in clock.loop():
        with clock.mark(step, "questions"):
            right += (answer_letters(model, exam[step], letters, clock.fixed).argmax(-1) == key[step]).sum()

if __name__ == "__main__":
    run(main)
