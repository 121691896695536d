"""A recording, or a range of it, in the formats of other viewers and in its own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from stepscope.columns.trim import touching, trimmed
from stepscope.errors import UsageError
from stepscope.formats.xspace.encode import encode
from stepscope.records import dataclass
from stepscope.surfaces.export.chrome_json import chrome_trace
from stepscope.surfaces.export.perfetto import perfetto_trace
from stepscope.surfaces.export.stacks import collapsed, pprof, speedscope
from stepscope.timeline import Timeline

# A fifth larger than what the default level makes of such text, in half its time.
_LEVEL: Final = 3


@dataclass(frozen=True, slots=True)
class RecordingFormat:
    """A format a recording can be written in.

    Attributes:
        suffix: How its files end.
        mimetype: Its media type.
        write: (timeline, begin, end) → the bytes, piece by piece.
    """

    suffix: str
    mimetype: str
    write: Callable[[Timeline, int, int], Iterable[bytes]]


def xspace(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """The XSpace of one host with only the events that touch a range, all else as it was.

    Raises:
        UsageError: There are several hosts; a file holds one.
    """
    hosts = timeline.profile.hosts
    if len(hosts) != 1:
        raise UsageError(
            f"An XSpace file holds one host; this session has {len(hosts)}.",
            hint=f"Choose one: {', '.join(host.name for host in hosts)}.",
        )
    shift = timeline.axis.shift_ps[0]
    keep = touching(hosts[0].space, begin_ps - shift, end_ps - shift)
    yield encode(trimmed(hosts[0].space, keep))


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


RECORDING_FORMATS: Final[dict[str, RecordingFormat]] = {
    "perfetto": RecordingFormat(".perfetto-trace", "application/octet-stream", perfetto_trace),
    "chrome": RecordingFormat(
        ".trace.json.gz", "application/gzip", lambda *view: _gzipped(chrome_trace(*view))
    ),
    "chrome-json": RecordingFormat(".trace.json", "application/json", chrome_trace),
    "speedscope": RecordingFormat(".speedscope.json", "application/json", speedscope),
    "collapsed": RecordingFormat(".collapsed", "text/plain; charset=utf-8", collapsed),
    "pprof": RecordingFormat(".pb.gz", "application/gzip", pprof),
    "xspace": RecordingFormat(".xplane.pb", "application/octet-stream", xspace),
}
