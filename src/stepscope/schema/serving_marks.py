"""The ranges by which engines that serve language models mark the steps of their loop."""

from __future__ import annotations

import re
from typing import Final

# vLLM: execute_34_context_2(sq512sk512…)_generation_32(sq32sk55086…), older: context_2(512)….
VLLM_STEP: Final = re.compile(
    r"execute(?:_\w+?)?_context_(\d+)\((?:sq)?(\d*)[^)]*\)_generation_(\d+)\((?:sq)?(\d*)[^)]*\)"
)
# SGLang: step[DECODE bs=32], step[EXTEND bs=4 toks=1024].
SGLANG_STEP: Final = re.compile(r"step\[(\w+)(?: bs=(\d+))?(?: toks?=(\d+))?.*\]")


def is_engine_step(name: str) -> bool:
    """Whether a range of this name is a step of an engine."""
    return bool(VLLM_STEP.match(name) or SGLANG_STEP.match(name))
