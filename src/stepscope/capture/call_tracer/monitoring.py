"""Hears of calls through ``sys.monitoring`` (Python 3.12 and later).

It reports all threads, those that ran before included, and lets a function be left out for good:
what is not wanted costs one call each and then nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import get_ident
from types import CodeType
from typing import Any, Final

from stepscope.capture.call_tracer.log import Log

_OWN_NAME: Final = "stepscope"


class Monitoring:
    """Hears of calls while it is on.

    Args:
        log: Receives the calls.
        admits: Which functions count.
        with_lines: Whether to note where each call was made.
    """

    def __init__(self, log: Log, admits: Callable[[CodeType], bool], *, with_lines: bool) -> None:
        self._log, self._admits, self._with_lines = log, admits, with_lines
        self._tool: int | None = None

    def start(self) -> None:
        """Begin to hear; raises ``RuntimeError`` when other tools have taken all places."""
        if self._tool is not None:
            return
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # Python 3.12
        # The profiler's place by convention, else those that belong to nobody.
        for tool in (monitoring.PROFILER_ID, 3, 4):
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, _OWN_NAME)
                self._tool = tool
                break
        else:
            raise RuntimeError("other tools use all of sys.monitoring")
        begin, end = self._callbacks(monitoring.DISABLE)
        events = monitoring.events
        heard = 0
        for event, callback in (
            (events.PY_START, begin),
            (events.PY_RESUME, begin),
            (events.PY_THROW, self._at_exceptions(+1)),
            (events.PY_RETURN, end),
            (events.PY_YIELD, end),
            (events.PY_UNWIND, self._at_exceptions(-1)),
        ):
            monitoring.register_callback(self._tool, event, callback)
            heard |= event
        monitoring.set_events(self._tool, heard)

    def stop(self) -> None:
        """Hear no more."""
        tool, self._tool = self._tool, None
        if tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
            # What was left out for good may be wanted next time.
            monitoring.restart_events()

    def _is_known(self, code: CodeType) -> bool:
        """Whether a function that is heard of for the first time counts."""
        if not self._admits(code):
            return False
        self._log.codes[id(code)] = code
        return True

    def _callbacks(self, disable: object) -> tuple[Any, Any]:
        """What is called at begins and at ends."""
        writers, writer, codes = self._log.writers, self._log.writer, self._log.codes
        known, clock, frame = self._is_known, time.perf_counter_ns, sys._getframe

        def begin(code: CodeType, offset: int) -> object:
            number = id(code)
            if number not in codes and not known(code):
                return disable
            try:
                write = writers[get_ident()]
            except KeyError:
                write = writer()
            write[0](number)
            write[1](clock())
            return None

        def begin_with_line(code: CodeType, offset: int) -> object:
            number = id(code)
            if number not in codes and not known(code):
                return disable
            try:
                write = writers[get_ident()]
            except KeyError:
                write = writer()
            caller = frame(1).f_back
            write[2](caller.f_lasti if caller is not None else -1)
            write[0](number)
            write[1](clock())
            return None

        def end(code: CodeType, offset: int, value: object) -> object:
            moment, number = clock(), id(code)
            if number not in codes:
                return disable if not known(code) else None
            try:
                write = writers[get_ident()]
            except KeyError:
                write = writer()
            write[0](-number)
            write[1](moment)
            return None

        return (begin_with_line if self._with_lines else begin), end

    def _at_exceptions(self, sign: int) -> Any:
        """What is called where nothing can be left out for good.

        Args:
            sign: 1 where a generator goes on by an exception, -1 where a call ends by one.
        """
        writers, writer, codes = self._log.writers, self._log.writer, self._log.codes
        known, clock = self._is_known, time.perf_counter_ns

        def heard(code: CodeType, offset: int, error: BaseException) -> None:
            moment, number = clock(), id(code)
            if number not in codes and not known(code):
                return
            write = writers.get(get_ident()) or writer()
            if sign > 0:
                write[2](-1)
            write[0](sign * number)
            write[1](moment)

        return heard
