"""Frames between the program and the process that speaks gRPC for it: a JSON header and bytes.

Both ends are this package in one version, over a pipe nobody else holds.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from threading import Lock
from typing import Any, BinaryIO

_HEAD = struct.Struct("<IQ")

Header = dict[str, Any]


class FrameWriter:
    """Writes whole frames, whichever thread they come from."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = Lock()

    def write(self, header: Header, pieces: Sequence[bytes] = ()) -> None:
        """Write one frame; raises ``OSError`` when the other side is gone."""
        head = json.dumps(header).encode()
        with self._lock:
            self._all(_HEAD.pack(len(head), sum(map(len, pieces))) + head)
            for piece in pieces:
                self._all(piece)

    def _all(self, data: bytes) -> None:
        # An unbuffered pipe takes what it has room for and says how much that was.
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def read_frame(file: BinaryIO) -> tuple[Header, bytes] | None:
    """The next frame; None when the other side has closed, in the middle of a frame or not."""
    head = _exactly(file, _HEAD.size)
    if head is None:
        return None
    header_bytes, payload_bytes = _HEAD.unpack(head)
    header = _exactly(file, header_bytes)
    payload = _exactly(file, payload_bytes)
    if header is None or payload is None:
        return None
    return json.loads(header), payload


def _exactly(file: BinaryIO, size: int) -> bytes | None:
    pieces: list[bytes] = []
    while size:
        piece = file.read(min(size, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
