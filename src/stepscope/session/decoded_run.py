"""One run's files, each read and decoded once, however often they are asked for."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, Final, Literal

from stepscope import store
from stepscope.columns.merge import merged
from stepscope.columns.private import private_stretches, without_private
from stepscope.columns.reach import within_reach
from stepscope.columns.space import Space
from stepscope.columns.texts import stretches_without_text
from stepscope.errors import SlowKernelsWarning, StepscopeError, StoreError
from stepscope.formats import FORMATS
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.decode import BytesGone
from stepscope.limits import Budget, spending
from stepscope.records import dataclass, field, replace
from stepscope.result import Diagnostic
from stepscope.store import Contents, Found, Miss, Run, Source, column_cache
from stepscope.store.column_cache import CachedRecording, Snapshot
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.damage import damage_of
from stepscope.urls import is_url
from stepscope.utf8 import shown

if TYPE_CHECKING:
    from stepscope.redaction import Redaction
    from stepscope.session.redacted import Redactor

#: Called with (stage, done, total); the unit of done and total is bytes.
StageProgress = Callable[[str, int, int], None]
_Progress = Callable[[int, int], None]
# Compiled kernels decode some 50 MB in this time.
_SLOW_OPENING_S: Final = 3.0
FileState = Literal["opened", "damaged", "failed", "skipped", "waiting"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """The state of one file.

    Attributes:
        path: Where it is.
        size_bytes: Size as stored (-1 when unknown).
        state: "opened", "damaged" (everything before the damage is shown), "failed",
            "skipped" (not a recording) or "waiting" (not needed so far).
        reason: Why it is not simply opened; "" if it is.
        hint: What to do about it.
        slug: Anchor in ``docs/errors.md``; "" if opened.
    """

    path: str
    size_bytes: int
    state: FileState
    reason: str = ""
    hint: str = ""
    slug: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", shown(self.path))

    @classmethod
    def from_miss(cls, miss: Miss) -> FileReport:
        """The report of a file that is not a recording."""
        return cls(miss.path, miss.size_bytes, "skipped", miss.reason, miss.hint, miss.slug)


@dataclass
class _File:
    source: Source
    report: FileReport
    host: Host | None = None
    error: StepscopeError | None = None
    contents: Contents | None = None
    damage: str = ""
    impossible: int = 0
    together: tuple[Diagnostic, ...] = ()
    beside: tuple[str, ...] = ()
    asked: bool = False
    saving: Thread | None = None
    lock: RLock = field(default_factory=RLock, repr=False)


class DecodedRun:
    """The decoded hosts of one run.

    Args:
        run: Its files.
        redaction: What is taken out of each host before anybody sees it; files are then called
            by their hosts.
        private: Keep what hosts say of their machine and its owner (``columns.private``).
        cached: Keep the decoded columns for the next opening, and use those that were kept.
    """

    def __init__(
        self,
        run: Run,
        redaction: Redaction | None = None,
        *,
        private: bool = False,
        cached: bool = True,
    ) -> None:
        self.run = run
        self._private = private
        # Kept columns are without private texts, and not redacted.
        self._is_cached = cached and not private and redaction is None and column_cache.is_on()
        self.redaction = redaction
        self._files = {
            source.host: _File(
                source,
                FileReport(
                    source.path if redaction is None else source.host, source.size_bytes, "waiting"
                ),
            )
            for source in run.sources
        }
        self._redactor: Redactor | None = None
        if redaction is not None:
            from stepscope.session.redacted import Redactor

            self._redactor = Redactor(redaction, self._first_space)

    def _first_space(self) -> Space:
        """The first host as it was recorded."""
        first = next(iter(self._files.values()))
        return _decoded(_File(first.source, first.report), None)

    def _open(self, file: _File, progress: StageProgress | None) -> Host | None:
        """The decoded host; None where its file cannot be opened, which is then reported for good.

        What is not the file's fault (Ctrl-C, no memory) is raised, and the next call tries again.
        """
        with file.lock:
            if not file.asked:
                snapshot = _snapshot(file) if self._is_cached else None
                try:
                    space = _cached(file, snapshot)
                    if space is None:
                        space = self._read(file, progress)
                        _save(file, snapshot, space)
                    _keep(file, space)
                except StepscopeError as error:
                    file.error = error
                    file.report = _failed(file.report, error)
                except MemoryError as error:
                    raise StoreError(
                        "There is not enough memory to open this recording.",
                        where=file.report.path,
                        why=f"Its {file.source.size_bytes:,} bytes decode into more than is free.",
                        hint="Close other programs, open one host with --host, or record fewer "
                        "steps.",
                        slug="out-of-memory",
                    ) from error
                file.asked = True
            return file.host

    def _read(self, file: _File, progress: StageProgress | None) -> Space:
        """The columns of a file as this run shows them."""
        began = time.monotonic()
        space = _merge_companions(file, _decoded(file, progress), progress)
        _warn_of_slow_kernels(time.monotonic() - began)
        if self._redactor is not None:
            is_first = file is next(iter(self._files.values()))
            space = self._redactor(space, is_first=is_first)
            if file.contents is not None:  # nothing points into it any more
                file.contents.close()
                file.contents = None
        elif not self._private:
            if file.contents is not None:
                file.contents.blank(private_stretches(space))
            space = without_private(space)
        return space

    def hosts(
        self, names: tuple[str, ...], progress: StageProgress | None = None
    ) -> tuple[Host, ...]:
        """The decoded hosts of these names; those that fail are left out and reported.

        Raises:
            StepscopeError: None of them opens; the error of the only one, or one that lists all.
        """
        files = [self._files[name] for name in names]
        found = tuple(host for file in files if (host := self._open(file, progress)) is not None)
        if not found:
            raise _none_open(self.run, files)
        return found

    @property
    def reports(self) -> tuple[FileReport, ...]:
        """The state of each file so far."""
        return tuple(file.report for file in self._files.values())

    def opened(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names, without their folders, of the opened files of these hosts."""
        reports = [self._files[name].report for name in names]
        used = [one.path for one in reports if one.state in ("opened", "damaged")]
        if self.redaction is None:
            used += [path for name in names for path in self._files[name].beside]
        return tuple(re.split(r"[/\\]", path)[-1] for path in used)

    def diagnostics(self, names: tuple[str, ...]) -> tuple[Diagnostic, ...]:
        """What a reader of any number over these hosts must know about their files."""
        found: list[Diagnostic] = []
        for name in names:
            file = self._files[name]
            if file.report.state == "failed":
                text = (
                    f"This host is not in the numbers, its file does not open: {file.report.reason}"
                )
                found.append(Diagnostic("host-missing", "error", text, name))
                continue
            if file.damage:
                text = f"{file.damage} Everything before the damage is shown."
                found.append(Diagnostic("damaged-file", "error", text, name))
            found += file.together
            if file.source.apart and self.redaction is None:  # it names files
                from stepscope.store.companions import OPENED

                found.append(Diagnostic(OPENED, "info", file.source.apart, name))
            if file.host is not None:
                found += damage_of(file.host)
            if file.impossible:
                text = (
                    f"{file.impossible:,} events have times that no recording can have, such as "
                    "years; they are shown as instants, or at the edge of the trace."
                )
                found.append(Diagnostic("impossible-times", "warning", text, name))
        notes = dict.fromkeys(self._files[name].source.note for name in names)
        found += [Diagnostic("guessed-ranks", "warning", note) for note in notes if note]
        return tuple(found)

    def close(self) -> None:
        """Let go of all hosts and their files."""
        for file in self._files.values():
            with file.lock:
                if file.saving is not None:
                    file.saving.join()
                    file.saving = None
                file.host = None
                file.asked = False
                if file.contents is not None:
                    file.contents.close()
                    file.contents = None


def _warn_of_slow_kernels(opening_s: float) -> None:
    """Warn, once a process, if opening took long because the kernels run as plain Python."""
    if opening_s < _SLOW_OPENING_S:
        return
    from stepscope.kernels.core import compiled

    if not compiled():
        warnings.warn(
            "The kernels of this installation are not compiled, so decoding is about 40 times "
            "slower: 2 million events open in 102 s instead of 2.7 s. Install the compiled wheel: "
            "pip install --force-reinstall --no-deps --only-binary stepscope stepscope",
            SlowKernelsWarning,
            stacklevel=2,
        )


def _failed(report: FileReport, error: StepscopeError) -> FileReport:
    why = f"{error.what.rstrip('.')}: {error.why} ({error.where})" if error.why else error.what
    return FileReport(report.path, report.size_bytes, "failed", why, error.hint, error.anchor)


def _snapshot(file: _File) -> Snapshot | None:
    """The state of a file whose columns may be kept; None where they are not."""
    source = file.source
    if source.companions or is_url(source.path):
        return None
    return column_cache.snapshot(source.path, source.format)


def _cached(file: _File, snapshot: Snapshot | None) -> Space | None:
    """The columns that were kept when the file was last opened in this state."""
    kept = column_cache.load(snapshot) if snapshot is not None else None
    if kept is None:
        return None
    space, facts = kept
    file.impossible = int(facts["impossible"])
    return space


def _save(file: _File, snapshot: Snapshot | None, space: Space) -> None:
    """Keep the columns of a sound file, beside what is computed of them."""
    if snapshot is None or file.damage or space.damage is not None:
        return
    facts = {"impossible": file.impossible}
    file.saving = Thread(
        target=column_cache.save,
        args=(snapshot, space, file.source.format, facts),
        name="stepscope-cache",
    )
    file.saving.start()


def verify_entry(entry: CachedRecording) -> bool | None:
    """Decode a recording again and compare it with what was kept of it.

    Returns:
        Whether all columns are equal; None if the entry is of no recording as it is now.

    Raises:
        StepscopeError: The recording does not open any more.
        OSError: There is no room to compare in.
    """
    snapshot = column_cache.snapshot(entry.recording, entry.format)
    if snapshot is None or snapshot.entry != entry.path:
        return None
    size = Path(entry.recording).stat().st_size
    source = Source(entry.recording, "", size, 0.0, entry.format)
    (host,) = DecodedRun(Run("", entry.recording, (source,)), cached=False).hosts(("",))
    return column_cache.is_same(entry, host.space)


def _decoded(file: _File, progress: StageProgress | None) -> Space:
    """The columns of a file; notes what is wrong with it."""
    with spending(Budget()):
        return _read_within_limits(file, progress)


def _read_within_limits(file: _File, progress: StageProgress | None) -> Space:
    source = file.source

    def report(stage: str) -> _Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(f"{stage} {source.host}", done, total)

    if source.format in FORMATS:
        pieces = store.read_pieces(source.path, report("reading"))
        space, file.impossible = within_reach(
            merged(FORMATS[source.format].open(pieces, source.path))
        )
        file.damage = pieces.damage
        return space
    contents, space = _columns(source, report)
    try:
        # Chunks of one recording, and two frameworks in one process, repeat planes.
        space, file.impossible = within_reach(merged(space))
        contents.forget(stretches_without_text(space))
    except BaseException:
        contents.close()
        raise
    file.contents = contents
    file.damage = contents.damage
    return space


def _columns(source: Source, report: Callable[[str], _Progress | None]) -> tuple[Contents, Space]:
    """The bytes of an XSpace, as far as texts are in them, and its columns."""
    for may_forget in (True, False):
        contents = store.read(source.path, report("reading"))
        forget = contents.forget if may_forget else None
        try:
            progress = report("decoding")
            space = decode(contents.buffer, file=source.path, progress=progress, forget=forget)
        except BytesGone:  # what is left of damaged lines needs their bytes
            contents.close()
        except BaseException:
            contents.close()
            raise
        else:
            return contents, space
    raise AssertionError("a decoder that may not forget has all bytes")


def _merge_companions(file: _File, space: Space, progress: StageProgress | None) -> Space:
    """The columns with those of the files beside it, where they are of the same time."""
    if not file.source.companions:
        return space
    from stepscope.session.companions import with_companions

    def read(source: Source) -> Space:
        return _decoded(
            _File(source, FileReport(source.path, source.size_bytes, "waiting")), progress
        )

    found = with_companions(file.source, space, read)
    file.together, file.beside = found.notes, found.paths
    return found.space


def _keep(file: _File, space: Space) -> None:
    """Take the columns for the host's, and say what of them is lost."""
    file.host = Host(file.source.host, space)
    reasons = [file.damage] if file.damage else []
    if space.damage is not None:
        reasons.append(f"{space.damage.reason} ({space.damage.where}).")
    path, size = file.report.path, file.report.size_bytes
    if reasons:
        hint = space.damage.hint if space.damage is not None else "Copy the file again."
        file.report = FileReport(path, size, "damaged", " ".join(reasons), hint, "damaged-file")
    else:
        file.report = FileReport(path, size, "opened")


def _none_open(run: Run, files: list[_File]) -> StepscopeError:
    errors = [(file.source.host, file.error) for file in files if file.error is not None]
    if len(errors) == 1:
        return errors[0][1]
    return StoreError(
        "None of this run's files opens.",
        where=run.path,
        why="".join(f"\n         {host}: {error.what} {error.why}" for host, error in errors),
        hint=errors[0][1].hint if errors else "",
        slug="no-host-opens",
    )


def hosts_beside(found: Found, run: Run) -> tuple[Host, ...]:
    """Hosts of the first window of the run's folder and of the one before it, called by their runs.

    What a program does once, such as capturing a graph, it does early. Windows that do not open
    are left out: the run's own numbers do not need them.
    """
    listed = [one for one in found.runs if one.path == run.path and _formats(one) == _formats(run)]
    listed.sort(key=lambda one: one.modified)
    ids = [one.id for one in listed]
    at = ids.index(run.id) if run.id in ids else 0
    chosen = dict.fromkeys((*ids[:1], *ids[max(at - 1, 0) : at]))
    hosts = []
    for one in listed:
        if one.id in chosen and one.id != run.id:
            try:
                opened = DecodedRun(one).hosts(one.hosts)
            except StepscopeError:
                continue
            hosts += [replace(host, name=one.id) for host in opened]
    return tuple(hosts)


def _formats(run: Run) -> set[str]:
    return {source.format for source in run.sources}
