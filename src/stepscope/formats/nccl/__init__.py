"""What is known of NCCL's collectives without a profiler: who called what, and how fast it went.

``flight`` reads the dumps of PyTorch's flight recorder, one of each rank, which tell which rank a
hung job waits for; ``inspector`` reads what NCCL's Inspector plugin timed on the GPUs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Identity, Input, Peek
from stepscope.formats.kineto.recognise import identity, starts_trace

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_HEAD_BYTES: Final = 1 << 16
# Dumps have no ending: "nccl_trace_rank_3", "comm_lib_trace_rank_3", or what a person gave them.
_DUMP: Final = re.compile(
    r"((trace|dump|rank|fr)[\w.-]{0,200}\d|\.(pickle|pkl|json))(\.gz)?$", re.I
)
_DUMP_ENDING: Final = re.compile(r"\.(pickle|pkl|json)(\.gz)?$", re.IGNORECASE)
_DUMP_KEYS: Final = (
    b"pg_config",
    b"pg_status",
    b"collective_seq_id",
    b"time_discovered_started_ns",
)
_LOG: Final = re.compile(r"\.(log|json|jsonl|ndjson)(\.gz)?$", re.IGNORECASE)
_OF_PROCESS: Final = re.compile(r"(?P<host>.*?)[-_.]?pid[-_.]?(?P<process>\d{1,10})", re.IGNORECASE)
_PICKLES: Final = (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")


def _promises_dump(name: str) -> bool:
    return bool(_DUMP.search(name))


def _starts_dump(first: bytes) -> bool:
    if starts_trace(first):
        return False  # a distributed program's trace has pg_config as well, in distributedInfo
    is_value = first[:2] in _PICKLES or first.lstrip()[:1] == b"{"
    return is_value and any(key in first for key in _DUMP_KEYS)


def _open_dump(pieces: Input, file: str) -> Space:
    from stepscope.formats.nccl.flight import open_dump

    return open_dump(pieces, file=file)


def _dump_writer(file: Peek) -> str:
    from stepscope.formats.nccl.flight import writer_of

    return writer_of(file.at(0, _HEAD_BYTES))


def _whose_dump(name: str, first: bytes) -> Identity:
    return identity(_DUMP_ENDING.sub("", name), first)


FLIGHT_RECORDER = Format(
    id="nccl-flight",
    title="NCCL flight recorder dump",
    head_bytes=_HEAD_BYTES,
    promises=_promises_dump,
    starts=_starts_dump,
    open=_open_dump,
    writer=_dump_writer,
    whose=_whose_dump,
)


def _promises_log(name: str) -> bool:
    return bool(_LOG.search(name))


def _starts_log(first: bytes) -> bool:
    keys = (b'"header"', b'"n_ranks"', b'"metadata"')
    return first.lstrip()[:1] == b"{" and all(key in first for key in keys)


def _open_log(pieces: Input, file: str) -> Space:
    from stepscope.formats.nccl.inspector import open_log

    return open_log(pieces, file=file)


def _log_writer(file: Peek) -> str:
    from stepscope.formats.nccl.inspector import writer_of

    return writer_of(file.at(0, _HEAD_BYTES))


def _whose_log(name: str, first: bytes) -> Identity:
    """A file of each process: ``host-pid123.log``, and no number that all files agree on."""
    label = _LOG.sub("", name)
    found = _OF_PROCESS.fullmatch(label)
    process = f"{found['host']}:{found['process']}" if found else ""
    return Identity("inspector" if process else label, label, None, None, process, 0)


INSPECTOR = Format(
    id="nccl-inspector",
    title="NCCL Inspector log",
    head_bytes=_HEAD_BYTES,
    promises=_promises_log,
    starts=_starts_log,
    open=_open_log,
    writer=_log_writer,
    whose=_whose_log,
)
FORMATS = (FLIGHT_RECORDER, INSPECTOR)
