"""Many recordings of one job: who makes the others wait, what it costs, and why."""

from typing import Final

#: Why there is no pod, when no device could have waited for another.
NO_SHARED_COLLECTIVE: Final = "No two devices of these recordings share a collective in a step."
