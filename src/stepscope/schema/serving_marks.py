"""The ranges by which engines that serve language models mark the steps of their loop."""

from __future__ import annotations

import re
from typing import Final

# vLLM: execute_34_context_2(sq512sk512…)_generation_32(sq32sk55086…), older: context_2(512)….
VLLM_STEP: Final = re.compile(
    r"execute(?:_\w{1,60}?)?_context_(\d{1,12})\((?:sq)?(\d{0,12})[^)]{0,99}\)"
    r"_generation_(\d{1,12})\((?:sq)?(\d{0,12})[^)]{0,99}\)"
)
# SGLang: step[DECODE bs=32], step[EXTEND bs=4 toks=1024].
SGLANG_STEP: Final = re.compile(
    r"step\[(\w{1,40})(?: bs=(\d{1,12}))?(?: toks?=(\d{1,12}))?.{0,400}\]"
)


def is_engine_step(name: str) -> bool:
    """Whether a range of this name is a step of an engine."""
    return bool(VLLM_STEP.match(name) or SGLANG_STEP.match(name))
