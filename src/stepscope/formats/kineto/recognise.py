"""Which files are traces of Kineto's, and which process and moment each is of.

A trace is recognised by its content. ``distributedInfo`` tells whose it is, where it comes before
the events; else the file's name does, in the ways PyTorch and its users name files.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.formats.format import Identity

#: How much of a file may have to be looked at: lists of devices come before the events.
HEAD_BYTES: Final = 1 << 16

_NAME: Final = re.compile(r"\.json(\.gz)?$", re.IGNORECASE)
_SUFFIX: Final = re.compile(r"((\.pt)?\.trace)?\.json(\.gz)?$", re.IGNORECASE)
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_OWN_KEYS: Final = (b'"deviceProperties"', b'"schemaVersion"', b'"traceEvents"')
_VIZTRACER: Final = re.compile(
    rb'"viztracer_metadata"\s*:\s*\{[^{}]*?"version"\s*:\s*"([^"]{1,40})"'
)
_PLANE: Final = re.compile(rb'"name"\s*:\s*"/(?:device|host):')
_EVENT: Final = re.compile(rb'"ph"\s*:\s*"')
_DISTRIBUTED: Final = re.compile(
    rb'"distributedInfo"\s*:\s*\{[^{}\[]*?"rank"\s*:\s*"?(\d+)"?\s*,\s*"world_size"\s*:\s*"?(\d+)'
)
# "rank3", "rank_3", "worker0", "host_r3"; "gpu" and "node" count something else.
_RANK: Final = re.compile(
    r"(?<![a-z])(?:rank|worker)[-_=]?(\d{1,5})(?!\d)|_r(\d{1,5})(?=[._-]|$)", re.I
)
# What tensorboard_trace_handler writes: host, process, and the time in ms (later ns).
_HANDLER: Final = re.compile(r"(?P<worker>.+?)(?:_(?P<pid>\d{1,10}))?\.(?P<time>\d{10,19})")
_DIGITS: Final = re.compile(r"\d+")


def promises_trace(name: str) -> bool:
    """Whether a file of this name may be a trace; its content tells."""
    return bool(_NAME.search(name))


def starts_trace(first: bytes) -> bool:
    """Whether these bytes read as the start of a trace (inflated, where it is compressed)."""
    text = first.lstrip(_BLANK)
    if text[:1] == b"[":
        return bool(_EVENT.search(text))
    return text[:1] == b"{" and (any(key in text for key in _OWN_KEYS) or bool(_EVENT.search(text)))


def writer(first: bytes) -> str:
    """Who wrote a trace, by its first bytes; "" where they do not tell."""
    head = first[:HEAD_BYTES]
    version = _VIZTRACER.search(head)
    if version is not None:
        return f"viztracer {version[1].decode('ascii', 'replace')}"
    if any(key in head for key in _OWN_KEYS[:2]):
        return "PyTorch's profiler (Kineto)"
    if _PLANE.search(head):
        return "a viewer of TensorFlow's, JAX's or ours, from an XSpace"
    return ""


def identity(name: str, first: bytes) -> Identity:
    """Whose trace a file is.

    Args:
        name: Last part of its path.
        first: Its first bytes, inflated; empty to go by the name alone.
    """
    label = _SUFFIX.sub("", name) or name
    rank = world = None
    found = _DISTRIBUTED.search(first)
    if found is not None:
        rank, world = int(found[1]), int(found[2])
    handler = _HANDLER.fullmatch(label)
    time = int(handler["time"]) if handler else 0
    process = handler["pid"] or "" if handler else ""
    rest = handler["worker"] if handler else label
    named = _RANK.search(rest)
    if rank is None and named is not None:
        rank = int(named[1] or named[2])
    stem = _DIGITS.sub("#", rest if named is None else _RANK.sub("rank", rest))
    return Identity(stem, label, rank, world, process, _comparable(time))


def _comparable(time: int) -> int:
    """A time in ns, whether it was written in s, ms, µs or ns."""
    while 0 < time < 10**18:
        time *= 10
    return time
