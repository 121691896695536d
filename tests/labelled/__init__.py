"""Profiles with one planted fault each, and healthy ones: does advice name the fault first?

``synthetic`` builds profiles, ``live`` records them from the scripted programs of
``tf_programs`` and ``jax_programs``; ``test_confusion`` holds advice to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Labelled:
    """A profile with its label.

    Attributes:
        name: Unique name.
        expected: Id of the rule that must come first; None for a healthy profile, on which no
            finding may be above "info".
        make: Builds the XSpace bytes by host name.
        also: Rules that name the same cause as truly, so that one of them first is right, too.
    """

    name: str
    expected: str | None
    make: Callable[[], dict[str, bytes]]
    also: tuple[str, ...] = ()

    def build(self) -> dict[str, bytes]:
        """Return the XSpace bytes by host name, built once per process."""
        return dict(self._files)

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return self.make()
