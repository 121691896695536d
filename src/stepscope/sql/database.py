"""Queries of strangers, answered by a process that can read nothing but the tables."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Event, Lock, Thread, Timer
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final

from stepscope.errors import StepscopeError
from stepscope.kernels.cores import cores
from stepscope.records import dataclass
from stepscope.sql.door import check_query, named_tables, refusal
from stepscope.sql.run import table_frame, wrong_query
from stepscope.sql.tables import TABLES
from stepscope.tables.core.profile import Profile
from stepscope.timeline.cancellation import CancellationCheck, GivenUp, waits

if TYPE_CHECKING:
    import polars as pl

_IDLE_SECONDS: Final = 120.0
_MOST_THREADS: Final = 8
_LEAST_MEMORY_BYTES: Final = 2 << 30
# Queries at a time, and processes with tables, of all profiles that this process serves.
_AT_ONCE: Final = 2
# How often a query looks whether its caller has gone.
_CHECK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query.

    Attributes:
        rows: Rows of the answer; those behind are cut off.
        seconds: How long it may run; building the tables it names is not counted.
    """

    rows: int = 1_000_000
    seconds: float = 30.0


_LIMITS: Final = QueryLimits()


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Rows of an answer, and whether there were more of them than the limit."""

    frame: pl.DataFrame
    cut: bool


class NoSqlProcess(StepscopeError):
    """The process that answers queries cannot be started."""

    slug = "sql-process"


@dataclass(slots=True)
class _Process:
    """The closed process, and the tables it was given."""

    child: subprocess.Popen[bytes]
    given: set[str]

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """To it, and from it."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        return self.child.stdin, self.child.stdout


class ProfileDatabase:
    """The tables of one profile behind a closed door; safe to use from several threads.

    Args:
        profile: Whose tables; they are built when a query names them.
        memory_bytes: What they and a query may take; by default a quarter of the machine's.

    Its process starts with the first query, ends when none came for two minutes, and is ended when
    a query passes its limits. All databases of this process share two places: a query waits for
    one, and idle processes of other profiles end before another starts.
    """

    _places: ClassVar[BoundedSemaphore] = BoundedSemaphore(_AT_ONCE)
    _all: ClassVar[weakref.WeakSet[ProfileDatabase]] = weakref.WeakSet()

    def __init__(self, profile: Profile, memory_bytes: int | None = None) -> None:
        self._profile = profile
        share = _physical_memory() // (2 * _AT_ONCE)
        self._memory_bytes = memory_bytes or max(_LEAST_MEMORY_BYTES, share)
        self._lock = Lock()
        self._process: _Process | None = None
        self._idle: Timer | None = None
        self._all.add(self)

    def ask(
        self,
        query: str,
        limits: QueryLimits = _LIMITS,
        check: CancellationCheck = waits,
    ) -> QueryAnswer:
        """Return the answer to a query.

        Args:
            query: One statement that reads the tables.
            limits: What it may take; it may wait as long for others as it may run.
            check: Raises ``GivenUp`` once nobody waits for the answer, which ends the query.

        Raises:
            UsageError: It is refused, wrong, or takes more time or memory than it may.
            GivenUp: Raised by ``check``.
        """
        check_query(query)
        with self._place(query, limits, check):
            if self._idle is not None:
                self._idle.cancel()
            try:
                return self._answer(query, limits, check)
            finally:
                self._idle = Timer(_IDLE_SECONDS, self.close)
                self._idle.daemon = True
                self._idle.start()

    @contextmanager
    def _place(self, query: str, limits: QueryLimits, check: CancellationCheck) -> Iterator[None]:
        """Hold this database and one of the places; a query that waits for one holds no memory."""
        until = monotonic() + limits.seconds

        def take(lock: Lock | BoundedSemaphore, why: str) -> None:
            while not lock.acquire(timeout=max(0.0, min(_CHECK_S, until - monotonic()))):
                check()
                if monotonic() >= until:
                    raise refusal(query, why, "Ask again when they have ended.")

        take(self._lock, f"Other queries of this recording ran for {limits.seconds:g} s.")
        try:
            if not self._places.acquire(blocking=False):
                self._end()
                running = f"{_AT_ONCE} other queries run"
                take(self._places, f"{running}, and none ended within {limits.seconds:g} s.")
            try:
                yield
            finally:
                self._places.release()
        finally:
            self._lock.release()

    def _end_others(self) -> None:
        """End the idle processes of other profiles."""
        for other in list(self._all):
            if other is not self and other._lock.acquire(blocking=False):
                try:
                    other._end()
                finally:
                    other._lock.release()

    def close(self) -> None:
        """End the process; the next query starts another."""
        with self._lock:
            self._end()

    def _answer(self, query: str, limits: QueryLimits, check: CancellationCheck) -> QueryAnswer:
        import polars as pl

        process = self._process = self._process or self._started()
        watch = _Watch(process.child, limits.seconds, check)
        try:
            to, from_ = process.pipes
            for name in named_tables(query, TABLES):
                if name not in process.given:
                    check()
                    _send_table(to, name, table_frame(self._profile, name))
                    process.given.add(name)
            with watch:
                _send(to, {"query": query, "rows": limits.rows})
                head = json.loads(from_.readline() or b"{}")
                data = from_.read(head.get("bytes", 0))
        except (BrokenPipeError, ConnectionResetError):
            head, data = {}, b""
        except BaseException:  # a question that was left half asked would be answered to the next
            self._end()
            raise
        if watch.given_up:
            self._end()
            raise GivenUp
        if "error" in head:
            raise wrong_query(query, head["error"])
        if not head or len(data) < head["bytes"]:
            self._end()
            taken = (
                f"{limits.seconds:g} s"
                if watch.is_late
                else f"{self._memory_bytes:,} bytes of memory"
            )
            hint = "Filter before joining; session.sql(…, trusted=True) has no limits."
            raise refusal(query, f"It took more than {taken}.", hint)
        if watch.is_late:  # its process ended just after the answer
            self._end()
        return QueryAnswer(pl.read_ipc_stream(io.BytesIO(data)), head["cut"])

    def _started(self) -> _Process:
        self._end_others()
        environment = {name: text for name, text in os.environ.items() if "POLARS" not in name}
        environment |= {
            "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path),
            "PYTHONSAFEPATH": "1",
            "POLARS_MAX_THREADS": str(min(cores(), _MOST_THREADS)),
        }
        try:
            child = subprocess.Popen(
                [sys.executable, "-m", "stepscope.sql.closed_process", str(self._memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what a query that fails prints there is not for us
                env=environment,
            )
        except OSError as error:
            raise NoSqlProcess(
                "The process that answers queries could not be started.",
                where=sys.executable,
                why=error.strerror or str(error),
                hint="In Python, session.sql(query, trusted=True) needs no process.",
            ) from error
        weakref.finalize(self, child.kill)
        return _Process(child, set())

    def _end(self) -> None:
        if self._process is not None:
            child, self._process = self._process.child, None
            child.kill()
            child.communicate()


class _Watch:
    """Ends a process that takes longer than it may, or whose caller has gone.

    Attributes:
        is_late: It took too long.
        given_up: Its caller has gone.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], seconds: float, check: CancellationCheck
    ) -> None:
        self._child, self._seconds, self._check = child, seconds, check
        self._ended = Event()
        self._thread = Thread(target=self._look, name="stepscope-sql-watch", daemon=True)
        self.is_late = self.given_up = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        until = monotonic() + self._seconds
        while not self._ended.wait(max(0.0, min(_CHECK_S, until - monotonic()))):
            try:
                self._check()
            except GivenUp:
                self.given_up = True
            self.is_late = monotonic() >= until
            if self.given_up or self.is_late:
                self._child.kill()
                return


def _send_table(to: IO[bytes], name: str, frame: pl.DataFrame) -> None:
    data = io.BytesIO()
    frame.write_ipc_stream(data)
    _send(to, {"table": name}, data.getbuffer())


def _send(to: IO[bytes], head: dict[str, Any], data: memoryview | bytes = b"") -> None:
    to.write(json.dumps({**head, "bytes": len(data)}).encode() + b"\n")
    to.write(data)
    to.flush()


def _physical_memory() -> int:
    """Return this machine's memory in bytes; 0 if the system does not report it."""
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
