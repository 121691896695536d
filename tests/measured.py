"""The rule for tests that measure a live program: three tries, of which one must be right.

A program beside other work on two cores may wait for them longer than for the fault planted in
it. Its recording is then true and its label is not. A wrong answer stays wrong three times.
"""

from __future__ import annotations

from typing import Final

TRIES: Final = 3
