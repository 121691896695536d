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
    "eager-execution": ("framework",),
}
#: That of them which says no more than where time goes.
ONLY_LOCATE: Final = ("python-bound",)
#: A rule explains a part if it accounts for this share of it.
SAME_FRAC: Final = 0.4
