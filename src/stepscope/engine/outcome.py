"""What becomes of an item, and what an engine is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from stepscope.records import dataclass

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Done(Generic[Item, Answer]):
    """An item with its answer."""

    item: Item
    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed(Generic[Item]):
    """An item that has no answer, and why, in words."""

    item: Item
    reason: str


Outcome = Done[Item, Answer] | Failed[Item]


class Engine(Protocol):
    """A way to run: items in the order in which to begin them."""

    def __call__(
        self,
        items: Sequence[Any],
        work: Callable[[Any], Any],
        bytes_of: Callable[[Any], int],
        budget_bytes: int,
        width: int,
    ) -> Iterator[Outcome[Any, Any]]:
        """Outcomes as they come."""
        ...


def describe_error(error: BaseException) -> str:
    """Why something failed, in a line."""
    text = str(error).splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
