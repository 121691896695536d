"""The recordings that agents may read: only those below the given roots."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.redaction import Redaction
from stepscope.session import Session, open
from stepscope.store import Run, find

_KEPT = 4


@dataclass(frozen=True, slots=True)
class ServedRecording:
    """One recording: its handle, where it was found, and the run."""

    handle: str
    root: str
    run: Run


class Recordings:
    """Runs by handle ("r1" is the newest of the first root); decoded when first asked for.

    Args:
        roots: Files, folders or URLs, as ``stepscope.open`` takes them.
        redaction: What is taken out of all of them; names of runs are then not told either.
    """

    def __init__(
        self, roots: Sequence[str], redaction: Redaction | None = None, source: str = ""
    ) -> None:
        self.redaction = redaction
        self.source = source
        runs = [(root, run) for root in roots for run in find(root).runs]
        self.entries = tuple(
            ServedRecording(f"r{number}", root, run)
            for number, (root, run) in enumerate(runs, start=1)
        )
        self._opened: dict[str, Session] = {}
        self._lock = Lock()

    def entry(self, name: str = "") -> ServedRecording:
        """The recording of a handle, the name of a run, or the newest one for "".

        Raises:
            UsageError: There is none; paths are not taken.
        """
        if not name:
            return self.entries[0]
        for one in self.entries:
            if name == one.handle or (self.redaction is None and name == one.run.id):
                return one
        raise UsageError(
            "There is no such recording.",
            hint=f"Recordings are r1 to r{len(self.entries)}; ask for `recordings`.",
            slug="no-such-run",
        )

    def session(self, name: str = "") -> Session:
        """The recording, opened; the latest few stay decoded."""
        entry = self.entry(name)
        with self._lock:
            session = self._opened.pop(entry.handle, None)
            if session is None:
                session = open(entry.root, run=entry.run.id, redact=self.redaction)
            self._opened[entry.handle] = session
            while len(self._opened) > _KEPT:
                self._opened.pop(next(iter(self._opened))).close()
        return session

    def close(self) -> None:
        """Let go of all of them."""
        with self._lock:
            while self._opened:
                self._opened.popitem()[1].close()
