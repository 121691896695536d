"""A run as one file: its answers and events, and notes about those left out."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from stepscope import __version__
from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.session import Session
from stepscope.surfaces.brought_names import brought
from stepscope.surfaces.format import clean
from stepscope.surfaces.report.answers import (
    TIMELINE,
    advice_answer,
    longest_table,
    progress_answer,
    session_answer,
    tool_answer,
    tools_answer,
    variations,
)
from stepscope.surfaces.report.events import pack_events
from stepscope.surfaces.report.page import html_page
from stepscope.surfaces.tiles.meta import LABEL_LENGTH, timeline_meta
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline import Timeline, timeline

EVENT_CHOICES: Final = ("all", "top", "none")
DEFAULT_BYTES: Final = 5_000_000
#: What mail takes: 25 MB of attachment, a third of which is the mail's own encoding.
MOST_BYTES: Final = 15_000_000
# Rows of the longest tables that are tried until all answers fit.
_ROWS: Final = (1 << 40, 10_000, 1_000, 100)
# The first answers may take so much of the file, so that there is room for events.
_ANSWERS_FRAC: Final = 0.6
# Of these steps "top" keeps the events: the fastest, the median and the slowest.
_TOP_STEPS: Final = (0.0, 0.5, 1.0)
# Without steps "top" is this much of the recording, from its middle.
_TOP_FRAC: Final = 0.02
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)

_FORMAT: Final = 1
_GZIP_LEVEL: Final = 9

_SUMMARY_FINDINGS: Final = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """What a report holds.

    Attributes:
        pages: Ids or short names of tools; all when empty. The overview is always inside.
        events: "all" of them as far as they fit, those of the "top" steps, or "none".
        max_bytes: The file's size at most; up to ``MOST_BYTES``.
        notes: Said first on every page, such as what was redacted.
    """

    pages: tuple[str, ...] = ()
    events: str = "all"
    max_bytes: int = DEFAULT_BYTES
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.events not in EVENT_CHOICES:
            raise UsageError(
                f"events cannot be {self.events!r}.", hint=f"One of {', '.join(EVENT_CHOICES)}."
            )
        if not 0 < self.max_bytes <= MOST_BYTES:
            raise UsageError(
                f"A report of {self.max_bytes:,} bytes is too large.",
                why="Mail and issue trackers refuse it.",
                hint=f"Ask for at most {MOST_BYTES:,}.",
            )


@dataclass(frozen=True, slots=True)
class Report:
    """One file.

    Attributes:
        html: Its bytes; the same for the same recording and choice.
        notes: What it leaves out, in sentences.
        events: How many events are inside, of ``all_events``.
    """

    html: bytes
    notes: tuple[str, ...]
    events: int
    all_events: int

    def zipped(self, name: str) -> bytes:
        """The file in an archive, for places that refuse HTML; the same bytes each time."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), self.html)
        return out.getvalue()


def make_report(session: Session, choice: Choice | None = None) -> Report:
    """The pages of a session as one file.

    Raises:
        UsageError: There is no such page, or the file cannot be made small enough.
        StoreError: The web files are not built.
    """
    return _Writer(session, choice or Choice()).report()


class _Writer:
    def __init__(self, session: Session, choice: Choice) -> None:
        self.session, self.choice = session, choice
        self.archive = _Archive()
        self.notes = [*choice.notes]
        self.pages = _pages(choice.pages)
        self.room = choice.max_bytes - len(html_page(__version__, "", ""))
        self.kept = self.total = 0

    def report(self) -> Report:
        self._put_first()
        self._put_events()
        self._put_variations()
        html = html_page(__version__, self.archive.manifest(self.notes), self.archive.packed())
        if len(html) > self.choice.max_bytes:
            raise UsageError(
                f"The report takes {len(html):,} bytes, more than {self.choice.max_bytes:,}.",
                hint="Choose fewer pages with --pages, or a larger --max-size.",
            )
        return Report(html, tuple(self.notes), self.kept, self.total)

    @property
    def left(self) -> int:
        """Bytes still free; what the manifest itself takes is set aside."""
        return self.room - self.archive.size_bytes - 16_384

    def _put_first(self) -> None:
        """Each page as it opens first; tables are cut where they would not fit."""
        session, archive = self.session, self.archive
        archive.put_json("session", session_answer(session))
        archive.put_json("progress", progress_answer())
        archive.put_json("advice", advice_answer(session))
        shown = [
            tool
            for tool in TOOLS
            if tool.id in self.pages and tool.id != TIMELINE and session.available(tool.id) is None
        ]
        for rows in _ROWS:
            names, cut = [], 0
            for tool in shown:
                answer = tool_answer(session, tool, session.opens(tool.id), rows)
                archive.put_json(answer.name, answer.body)
                names.append(answer.name)
                cut = max(cut, longest_table(answer.body))
            if archive.size_bytes <= self.room * _ANSWERS_FRAC or rows == _ROWS[-1]:
                break
            archive.drop(names)
        self.rows = rows
        if cut == rows:
            self.notes.append(
                f"Tables with more than {rows:,} rows show their first {rows:,} in this report."
            )

    def _put_variations(self) -> None:
        """Pages with other choices, as long as there is room."""
        dropped = 0
        for answer in variations(self.session, self.pages, self.rows):
            if answer.name in self.archive:
                continue
            if self.archive.put_json(answer.name, answer.body) and self.left < 0:
                self.archive.drop([answer.name])
                dropped += 1
        if dropped:
            self.notes.append(
                f"{dropped} choices of options have no answer in this report, for its size."
            )

    def _put_events(self) -> None:
        """The timeline, as much of it as fits."""
        pages = self.pages
        line = timeline(self.session.profile)
        # Before the events: what is left for them is less by it.
        self.archive.put_json("tools", tools_answer(self.session, pages))
        if TIMELINE in pages and self.choice.events != "none":
            self._put_timeline(line)
        if "timeline/events" not in self.archive:
            self.total = sum(len(track) for track in line.tracks)
            pages = tuple(page for page in pages if page != TIMELINE)
            if TIMELINE in self.pages:
                why = "" if self.choice.events == "none" else ": they do not fit"
                self.notes.append(f"No events are in this report{why}.")
            self.archive.drop(["tools"])
            self.archive.put_json("tools", tools_answer(self.session, pages))

    def _put_timeline(self, line: Timeline) -> None:
        names = [
            f"timeline/{part}" for part in ("meta", "texts", "events", "counters", "short_names")
        ]
        self.archive.put_json(names[0], timeline_meta(line))
        texts = [text[:LABEL_LENGTH] for text in line.names]
        self.archive.put_json(names[1], texts)
        self.archive.put_json(names[4], brought(texts, self.session.profile))
        spans, described = _top(line)
        tries: list[list[tuple[int, int]] | None] = [None, spans]
        for chosen in tries[self.choice.events == "top" :]:
            packed = pack_events(line, chosen)
            self.archive.put(names[2], packed.data)
            self.archive.put(names[3], packed.counters)
            self.kept, self.total = packed.kept, packed.total
            if self.left >= 0:
                if packed.kept < packed.total:
                    self.notes.append(
                        f"Events of {described} are in this report: {packed.kept:,} of "
                        f"{packed.total:,}. The other pages are over all of them."
                    )
                return
        self.kept = 0
        self.archive.drop(names)


def _pages(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of the chosen tools, the overview first; raises ``UsageError`` for one unknown."""
    if not wanted:
        return TOOLS.ids
    return tuple(dict.fromkeys(["overview_page", *(TOOLS.find(name).id for name in wanted)]))


def _top(line: Timeline) -> tuple[list[tuple[int, int]], str]:
    """The spans whose events "top" keeps, and what they are."""
    for number, host in enumerate(line.profile.hosts):
        steps = found_steps(host)
        if steps is None or not len(steps.start_ps):
            continue
        shift = line.axis.shift_ps[number]
        order = np.argsort(steps.end_ps - steps.start_ps, kind="stable")
        places = sorted({round(share * (len(order) - 1)) for share in _TOP_STEPS})
        rows = [int(order[place]) for place in places]
        spans = [(int(steps.start_ps[r]) + shift, int(steps.end_ps[r]) + shift) for r in rows]
        return spans, f"{len(rows)} of {len(order):,} steps (the fastest, a typical, the slowest)"
    begin, end = line.span()
    middle, half = (begin + end) // 2, max(int((end - begin) * _TOP_FRAC / 2), 1)
    note = f"{share_words(_TOP_FRAC)} of the recording, from its middle"
    return [(middle - half, middle + half)], note


class _Archive:
    """Members of a report by name, each packed by itself, in the base64 of one inert element.

    A member is unpacked alone, so that the first page needs one.
    """

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}

    @property
    def size_bytes(self) -> int:
        """What the members take in the file."""
        return sum(len(text) for text in self._members.values())

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def put(self, name: str, data: bytes) -> int:
        """Add a member; returns what it takes in the file."""
        # No time stamp: the same answers give the same bytes.
        packed = base64.b64encode(gzip.compress(data, _GZIP_LEVEL, mtime=0))
        self._members[name] = packed
        return len(packed)

    def put_json(self, name: str, value: Any) -> int:
        """Add a value as JSON; returns what it takes in the file."""
        text = json.dumps(
            value, default=asdict, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return self.put(name, text.encode())

    def drop(self, names: Sequence[str]) -> None:
        """Take members out again."""
        for name in names:
            self._members.pop(name, None)

    def manifest(self, notes: Sequence[str]) -> str:
        """What is inside and where, and what is not, as base64 of JSON."""
        places: dict[str, tuple[int, int]] = {}
        at = 0
        for name, text in self._members.items():
            places[name] = (at, len(text))
            at += len(text)
        value: Mapping[str, Any] = {"format": _FORMAT, "notes": list(notes), "members": places}
        return base64.b64encode(json.dumps(value, ensure_ascii=False).encode()).decode()

    def packed(self) -> str:
        """All members one after the other: an alphabet without ``<``."""
        return b"".join(self._members.values()).decode()


def text_summary(session: Session, report: Report) -> str:
    """A few lines to paste beside a report, as nobody previews HTML.

    The verdict, what to change first, and what the file leaves out.
    """
    overview = session.overview_page()
    lines = [f"Stepscope report: {clean(session.name)}", clean(overview.headline)]
    lines += [
        f"{number}. {clean(finding.title)}: {clean(finding.saving_text)}. {clean(finding.message)}"
        for number, finding in enumerate(session.findings()[:_SUMMARY_FINDINGS], 1)
    ]
    size = f"{len(report.html) / 1e6:.1f} MB"
    lines.append(f"Inside: {report.events:,} of {report.all_events:,} events, {size}.")
    return "\n".join([*lines, *report.notes]) + "\n"
