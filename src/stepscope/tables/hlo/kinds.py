"""What an HLO instruction is for a reader of the graph: a few kinds, each with its colour."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

OTHER: Final = "Elementwise, other"
# By opcode and kind of fusion, the first that fits: the start of a collective before a copy.
_KINDS: Final = (
    ("Collective", r"\ball-|reduce-scatter|collective|\bsend|\brecv|partition-id|replica-id"),
    ("Matrix product, convolution, custom call", r"\bdot\b|convolution|custom|gemm"),
    ("Fusion", r"(?<!non-)fusion"),
    (
        "Copy, layout",
        r"copy|formatting|transpose|bitcast|reshape|slice|concatenate|\bpad\b|broadcast|"
        r"infeed|outfeed",
    ),
    ("Control", r"while|conditional|\bcall\b"),
    ("Parameter, constant, tuple", r"parameter|constant|tuple|iota"),
)
KINDS: Final = (*(kind for kind, _ in _KINDS), OTHER)


@lru_cache(maxsize=4096)
def kind_of(category: str, opcode: str) -> str:
    """One of ``KINDS``, by the category and the opcode of an instruction."""
    text = f"{category} {opcode}"
    return next((kind for kind, pattern in _KINDS if re.search(pattern, text)), OTHER)
