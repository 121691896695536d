"""The parts of the step that the account locates, and the rules that only locate time as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: The rule whose findings are the largest parts of the step, each with its place.
LOCATED: Final = "largest-part"
#: Rules that locate time by one table alone, with the kinds of parts that they locate: the account
#: is more exact.
LOCATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "python-bound": ("python", "library", "unrecorded", "region"),
    "dominant-op": ("op",),
    "eager-execution": ("framework",),
}
#: Those of them that say no more than where time goes.
ONLY_LOCATE: Final = ("python-bound", "dominant-op")
#: That of ops. What the account has of them is a part with its cause, and stays one.
OF_OPS: Final = "dominant-op"
#: A rule explains a part if it accounts for this share of it.
SAME_FRAC: Final = 0.4
