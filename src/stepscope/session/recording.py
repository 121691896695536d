"""One run's files, each read and decoded once, whoever asks and however often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Literal

from stepscope import store
from stepscope.columns.merge import merged
from stepscope.errors import StepscopeError, StoreError
from stepscope.formats import FORMATS
from stepscope.formats.xspace import decode
from stepscope.result import Diagnostic
from stepscope.store import Contents, Miss, Run, Source
from stepscope.tables.core.profile import Host

#: Called with (stage, done, total); the unit of done and total is bytes.
Progress = Callable[[str, int, int], None]
State = Literal["opened", "damaged", "failed", "skipped", "waiting"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file.

    Attributes:
        path: Where it is.
        size_bytes: Size as stored (-1 when unknown).
        state: "opened", "damaged" (what stands before the damage is shown), "failed",
            "skipped" (not a recording) or "waiting" (not needed so far).
        reason: Why it is not simply opened; "" if it is.
        hint: What to do about it.
        slug: Anchor in ``docs/errors.md``; "" if opened.
    """

    path: str
    size_bytes: int
    state: State
    reason: str = ""
    hint: str = ""
    slug: str = ""

    @classmethod
    def of_miss(cls, miss: Miss) -> FileReport:
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
    asked: bool = False
    lock: RLock = field(default_factory=RLock, repr=False)


class Recording:
    """The decoded hosts of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._files = {
            source.host: _File(source, FileReport(source.path, source.size_bytes, "waiting"))
            for source in run.sources
        }

    def hosts(self, names: tuple[str, ...], progress: Progress | None = None) -> tuple[Host, ...]:
        """The decoded hosts of these names; those that fail are left out and reported.

        Raises:
            StepscopeError: None of them opens; the error of the only one, or one that lists all.
        """
        files = [self._files[name] for name in names]
        found = tuple(host for file in files if (host := _open(file, progress)) is not None)
        if not found:
            raise _none_open(self.run, files)
        return found

    @property
    def reports(self) -> tuple[FileReport, ...]:
        """What became of each file so far."""
        return tuple(file.report for file in self._files.values())

    def diagnostics(self, names: tuple[str, ...]) -> tuple[Diagnostic, ...]:
        """What a reader of numbers over these hosts must know about their files."""
        found = []
        for name in names:
            file = self._files[name]
            if file.report.state == "failed":
                text = (
                    f"This host is not in the numbers, its file does not open: {file.report.reason}"
                )
                found.append(Diagnostic("host-missing", "error", text, name))
            elif file.damage:
                # Damage inside the XSpace is told with the profile's completeness; this is outside.
                text = f"{file.damage} What stands before it is shown."
                found.append(Diagnostic("damaged-file", "error", text, name))
        notes = dict.fromkeys(self._files[name].source.note for name in names)
        found += [Diagnostic("guessed-ranks", "warning", note) for note in notes if note]
        return tuple(found)

    def close(self) -> None:
        """Let go of all hosts and their files."""
        for file in self._files.values():
            with file.lock:
                file.host = None
                file.asked = False
                if file.contents is not None:
                    file.contents.close()
                    file.contents = None


def _open(file: _File, progress: Progress | None) -> Host | None:
    with file.lock:
        if not file.asked:
            file.asked = True
            try:
                _decode(file, progress)
            except StepscopeError as error:
                file.error = error
                why = (
                    f"{error.what.rstrip('.')}: {error.why} ({error.where})"
                    if error.why
                    else error.what
                )
                file.report = FileReport(
                    file.source.path,
                    file.source.size_bytes,
                    "failed",
                    why,
                    error.hint,
                    error.anchor,
                )
        return file.host


def _decode(file: _File, progress: Progress | None) -> None:
    source = file.source

    def report(stage: str) -> Callable[[int, int], None] | None:
        if progress is None:
            return None
        return lambda done, total: progress(f"{stage} {source.host}", done, total)

    if source.format in FORMATS:
        pieces = store.read_pieces(source.path, report("reading"))
        space = FORMATS[source.format].open(pieces, source.path)
        file.damage = pieces.damage
    else:
        contents = store.read(source.path, report("reading"))
        try:
            space = decode(contents.buffer, file=source.path, progress=report("decoding"))
        except BaseException:
            contents.close()
            raise
        file.contents = contents
        file.damage = contents.damage
    # Chunks of one recording, and two frameworks in one process, repeat planes.
    file.host = Host(source.host, merged(space))
    reasons = [file.damage] if file.damage else []
    if space.damage is not None:
        reasons.append(f"{space.damage.reason} ({space.damage.where}).")
    if reasons:
        hint = space.damage.hint if space.damage is not None else "Copy the file again."
        file.report = FileReport(
            source.path, source.size_bytes, "damaged", " ".join(reasons), hint, "damaged-file"
        )
    else:
        file.report = FileReport(source.path, source.size_bytes, "opened")


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
