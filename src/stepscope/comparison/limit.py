"""One limit, as people write it: ``+5%``, ``30ms``, ``8GiB``, ``10%``."""

from __future__ import annotations

import re
from math import isnan
from typing import Final, Literal

from stepscope.errors import UsageError
from stepscope.quantities import BYTE_UNITS, milliseconds, size_words
from stepscope.records import dataclass

Quantity = Literal["time", "bytes", "share", "part"]

_FORM: Final = re.compile(r"(?P<sign>\+?)(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-zA-Zµ%]*)")
_TIMES: Final = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4}
# Per quantity: units of a plain limit, and an example for the error.
_UNITS: Final[dict[Quantity, tuple[tuple[str, ...], str]]] = {
    "time": (tuple(_TIMES), "+5%, +2ms or 30ms"),
    "bytes": (tuple(BYTE_UNITS), "+10%, +512MiB or 8GiB"),
    "share": (("%",), "10% or +5%"),
    "part": (("%", *_TIMES), "5%, 2ms or +10%"),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on a value, or with a sign on its change from a baseline.

    Attributes:
        text: As given.
        is_change: Whether it limits the change.
        number: The amount: ms, bytes, or a fraction where ``is_share``.
        is_share: Whether it was given in per cent: of the step, or of the baseline's value.
    """

    text: str
    is_change: bool
    number: float
    is_share: bool

    @classmethod
    def parse(cls, text: str, quantity: Quantity, option: str) -> Limit:
        """The limit a text says.

        Raises:
            UsageError: It says none; the message names the option and gives examples.
        """
        units, example = _UNITS[quantity]
        found = _FORM.fullmatch(text.strip())
        unit = found["unit"] if found else ""
        is_change = bool(found and found["sign"])
        if found is None or unit not in (*units, *(("%",) if is_change else ())):
            raise UsageError(f"{option} cannot be {text!r}.", hint=f"Say {example}.", slug="limit")
        scale = {"%": 0.01, **_TIMES, **BYTE_UNITS}[unit]
        return cls(text.strip(), is_change, float(found["number"]) * scale, unit == "%")

    def bound(self, whole: float) -> float:
        """The largest value allowed, where shares are of ``whole``."""
        return self.number * whole if self.is_share else self.number

    def allowed_change(self, baseline: float) -> float:
        """The largest growth allowed, where shares are of the baseline's value."""
        return self.number * baseline if self.is_share else self.number

    def quantity_of(self, quantity: Quantity) -> Quantity:
        """How to spell values held against this limit: as shares where it is one of a part."""
        if quantity != "part":
            return quantity
        return "share" if self.is_share and not self.is_change else "time"

    def spelled(self, value: float, whole: float, quantity: Quantity) -> str:
        """A measured value in the limit's own quantity; "–" where it is not known."""
        if isnan(value):
            return "–"
        if quantity == "bytes":
            return size_words(value)
        if quantity == "share":
            return f"{value / whole:.1%}" if whole else "–"
        return milliseconds(value)
