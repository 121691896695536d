"""A wait for a batch in which the loop's thread takes over what workers send, piece by piece."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.result import Finding

# From this share of the wait on it is what the batch is made of that costs.
_TAKEN_FRAC: Final = 0.3
_FEW_TENSORS: Final = (
    "Let workers send few large tensors: a collate_fn that joins a batch's pieces (torch.cat, "
    "with their lengths) or pads them; NumPy arrays cost less than small tensors. More workers do "
    "not help."
)
_JOINED: Final = {
    "pytorch": "def join(rows):\n    return torch.cat(rows), [len(row) for row in rows]\n"
    "loader = DataLoader(dataset, num_workers=2, collate_fn=join)"
}


def of_received(one: Finding, share: float) -> Finding:
    """A finding about waiting for input, with what the thread does itself meanwhile.

    Args:
        one: The finding.
        share: Of the wait, in which tensors are taken over from workers; NaN unknown.
    """
    if not share >= _TAKEN_FRAC:
        return one
    said = (
        f" For {share:.0%} of that the loop's thread takes over tensors from the workers, one by "
        "one: each lies in a memory file of its own."
    )
    return replace(one, message=one.message + said, actions=(_FEW_TENSORS,), code=_JOINED)
