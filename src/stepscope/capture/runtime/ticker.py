"""A thread that calls a function at a steady rate, and says how late each call was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

#: Threads of ours start with this; the sampler leaves them out.
THREAD_PREFIX: Final = "stepscope-"
_GOLDEN: Final = 0.6180339887498949


class Ticker:
    """Calls a function at a steady rate on its own thread until stopped.

    A late tick is not made up for: the next one is at the next point of the grid, so on a busy
    machine ticks are left out instead of piling up.

    Args:
        name: Of the thread, after ``stepscope-``.
        hz: Ticks a second.
        tick: Called with the time of day (``time.time_ns()``) and the lateness, both in ns. What
            it raises ends the ticking; ``error`` keeps it.
        first: So many ticks come at this rate before the steady ones. None of these is missed.
        spread_frac: By how much of a period the time between two ticks varies, so that they do
            not keep step with what they look at.
    """

    def __init__(
        self,
        name: str,
        hz: float,
        tick: Callable[[int, int], None],
        *,
        first: tuple[int, float] = (0, 1.0),
        spread_frac: float = 0.0,
    ) -> None:
        self._period_s = 1.0 / hz
        self._first_ticks, self._first_period_s = first[0], 1.0 / first[1]
        self._spread_frac = spread_frac
        self._tick = tick
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=THREAD_PREFIX + name, daemon=True)
        #: What ended the ticking early.
        self.error: Exception | None = None
        #: Ticks left out because an earlier one was too late.
        self.missed = 0

    def start(self) -> None:
        """Begin; the first tick comes a period later."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the tick under way; safe to call again and after a fork."""
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def _period(self, ticks: int) -> float:
        """Seconds to the next tick."""
        period = self._first_period_s if ticks < self._first_ticks else self._period_s
        # Multiples of the golden ratio spread evenly, however many there are.
        return period * (1 + self._spread_frac * (ticks * _GOLDEN % 1.0 - 0.5))

    def _run(self) -> None:
        clock, ticks = time.perf_counter, 0
        due = clock() + self._period(ticks)
        try:
            while not self._wake.wait(max(due - clock(), 0.0)):
                self._tick(time.time_ns(), max(int((clock() - due) * 1e9), 0))
                ticks += 1
                period = self._period(ticks)
                due += period
                late = clock() - due
                if late > 0:
                    skipped = int(late / period) + 1
                    self.missed += skipped if ticks >= self._first_ticks else 0
                    due += skipped * period
        except Exception as error:
            self.error = error
