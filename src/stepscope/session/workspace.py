"""Many runs in one object, for surfaces that switch between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from threading import Lock, RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal

from stepscope.errors import StepscopeError
from stepscope.records import dataclass
from stepscope.session.decoded_run import DecodedRun, FileReport, StageProgress
from stepscope.session.pick import pick_run
from stepscope.session.session import Session
from stepscope.store import Found, Run, nothing_found, search

if TYPE_CHECKING:
    from stepscope.redaction import Redaction

# The last four runs stay open, however large; more while their files are small together. Decoded,
# a recording holds about four times the bytes of its file.
_KEPT_RUNS: Final = 4
MAX_DECODED_RUNS: Final = 64
MAX_DECODED_BYTES: Final = 256 << 20
_PATIENCE_SECONDS = 0.5


@dataclass(slots=True)
class OpenProgress:
    """How far the opening of a run is.

    Attributes:
        state: "idle", "opening", "ready" or "failed".
        stage: What is being done, e.g. "decoding host-0".
        done, total: Bytes of that stage.
        message: Why it failed; "" otherwise.
    """

    state: Literal["idle", "opening", "ready", "failed"] = "idle"
    stage: str = ""
    done: int = 0
    total: int = 0
    message: str = ""

    def update(self, stage: str, done: int, total: int) -> None:
        """Take a report from the reader or decoder."""
        self.stage, self.done, self.total = stage, done, total


@dataclass
class _Opened:
    recording: DecodedRun
    progress: OpenProgress
    sessions: dict[str | None, Session]


class Workspace:
    """All runs of one search, each opened when first asked for."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self._lock = RLock()
        self._searching = Lock()
        self._searched_at = -inf
        self._search_seconds = 0.0
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, newest first."""
        return self.found.runs

    @property
    def files(self) -> tuple[FileReport, ...]:
        """The state of every file of every run, and the near misses."""
        with self._lock:
            reports: list[FileReport] = []
            for run in self.runs:
                opened = self._opened.get(run.id)
                recording = opened.recording if opened else DecodedRun(run)
                reports += recording.reports
        return (*reports, *(FileReport.from_miss(miss) for miss in self.found.misses))

    def session(self, run: str | None = None, host: str | None = None) -> Session:
        """The session of a run (default: newest) and host (default: all), not yet decoded."""
        chosen = self._pick(run)
        with self._lock:
            opened = self._open(chosen)
            if host not in opened.sessions:
                opened.sessions[host] = Session(
                    self.found, opened.recording, host=host or None, progress=opened.progress.update
                )
            return opened.sessions[host]

    @contextmanager
    def aside(
        self, run: str, host: str | None = None, progress: StageProgress | None = None
    ) -> Iterator[Session]:
        """The session of a run for a moment: it does not push out those that pages look at."""
        chosen = self._pick(run)
        with self._lock:
            is_open = chosen.id in self._opened
        if is_open:
            yield self.session(run, host)
            return
        recording = DecodedRun(chosen)
        try:
            yield Session(self.found, recording, host=host or None, progress=progress)
        finally:
            recording.close()

    def redacted(self, run: str | None, redaction: Redaction) -> Session:
        """A session of a run without its owner's names, decoded for this caller alone."""
        from stepscope.session.redacted import anonymous

        found, chosen = anonymous(self.found, self._pick(run))
        return Session(found, DecodedRun(chosen, redaction))

    def adopt(self, session: Session) -> None:
        """Look at a run through what a session of it has decoded, instead of reading it again."""
        with self._lock:
            opened = self._opened.get(session.name)
            if opened is None or opened.recording is not session.recording:
                self._opened[session.name] = _Opened(session.recording, OpenProgress(), {})

    def progress(self, run: str | None = None) -> OpenProgress:
        """How far the opening of a run is."""
        chosen = self._pick(run)
        with self._lock:
            opened = self._opened.get(chosen.id)
            return opened.progress if opened else OpenProgress()

    def is_open(self, run: str) -> bool:
        """Whether a run is open, so that its session costs nothing."""
        with self._lock:
            return run in self._opened

    def load(self, run: str | None = None, host: str | None = None) -> Session:
        """The session with its hosts decoded; ``progress`` tells how far while this waits."""
        session = self.session(run, host)
        progress = self.progress(session.name)
        if progress.state != "ready":
            progress.state = "opening"
        try:
            _ = session.profile
        except StepscopeError as error:
            progress.state, progress.message = "failed", error.what
            raise
        progress.state, progress.stage = "ready", ""
        return session

    def refresh(self) -> Found:
        """Search again; runs that are as they were stay open. Raises ``StoreError``."""
        found = search(self.found.root)
        with self._lock:
            now = {run.id: run for run in found.runs}
            for name, opened in list(self._opened.items()):
                if opened.recording.run != now.get(name):
                    del self._opened[name]  # not closed: a request may still compute on it
            self.found = found
        return found

    def follow(self) -> Found:
        """What is there by now, after a new search where the last one is too old.

        Searches take a tenth of the time at most: a second one begins no sooner than ten times the
        length of the last one after it. This waits half a second for it; what it finds later is
        there at the next call. What was found is kept while the place cannot be read.
        """
        is_due = monotonic() - self._searched_at >= 10 * self._search_seconds
        if is_due and self._searching.acquire(blocking=False):
            search = Thread(target=self._search_again, name="stepscope-search", daemon=True)
            search.start()
            search.join(_PATIENCE_SECONDS)
        return self.found

    def _search_again(self) -> None:
        begin = monotonic()
        try:
            with suppress(StepscopeError, OSError):
                self.refresh()
        finally:
            self._searched_at = monotonic()
            self._search_seconds = self._searched_at - begin
            self._searching.release()

    def close(self) -> None:
        """Let go of every run."""
        with self._lock:
            while self._opened:
                self._opened.popitem()[1].recording.close()

    def _pick(self, name: str | None) -> Run:
        try:
            return self._pick_known(name)
        except StepscopeError:  # it may have been recorded since the last search
            self.follow()
            return self._pick_known(name)

    def _pick_known(self, name: str | None) -> Run:
        if not self.runs:
            raise nothing_found(self.found)
        return pick_run(self.found, name or None)

    def _open(self, run: Run) -> _Opened:
        opened = self._opened.get(run.id)
        if opened is None:
            opened = self._opened[run.id] = _Opened(DecodedRun(run), OpenProgress(), {})
            while self._are_too_many():
                # Not closed: a request may still compute on it; memory goes with the last user.
                self._opened.popitem(last=False)
        self._opened.move_to_end(run.id)
        return opened

    def _are_too_many(self) -> bool:
        count = len(self._opened)
        size = sum(opened.recording.run.size_bytes for opened in self._opened.values())
        return count > MAX_DECODED_RUNS or (count > _KEPT_RUNS and size > MAX_DECODED_BYTES)
