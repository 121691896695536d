"""Summaries as bytes: the same each time, never larger than a bucket wants, safe to read."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from stepscope.errors import StepscopeError
from stepscope.summary.build import summarise
from stepscope.summary.encode import MOST_BYTES, decode, encode
from stepscope.summary.summary import MEETINGS, Summary, columns_of
from stepscope.tables.core.profile import Host
from tests.profiles.summaries import frame
from tests.unit.summary.traces import host_of, trace


def summary(rank: int = 0) -> Summary:
    return summarise(host_of(trace(rank), f"rank{rank}"))


def fresh(host: Host) -> Host:
    return Host(host.name, host.space)


def test_what_is_read_is_what_was_written() -> None:
    one = summary()
    again = decode(encode(one))
    assert again is not None
    assert again.who == one.who
    for name in ("steps", "meetings", "communicators", "ops"):
        read, written = getattr(again, name), getattr(one, name)
        assert frame(read).equals(frame(written)), name
        assert [each.dtype for each in read.values()] == [each.dtype for each in written.values()]


def test_a_recording_has_the_same_bytes_every_time() -> None:
    host = host_of(trace(0), "rank0")
    assert len({encode(summarise(fresh(host))) for _ in range(5)}) == 1


def test_collectives_of_late_steps_are_left_out_of_a_large_summary_and_said() -> None:
    random, one = Random(3), summary()
    rows = 200_000
    noise = [random.getrandbits(40) for _ in range(rows)]
    meetings = columns_of(
        MEETINGS,
        {
            "device": [0] * rows,
            "communicator": [0] * rows,
            "number": list(range(rows)),
            "step": [row // 2000 for row in range(rows)],
            "start_ps": noise,
            "duration_ps": noise[::-1],
            "exposed_ps": noise,
        },
    )
    data = encode(replace(one, meetings=meetings))
    kept = decode(data)
    assert kept is not None
    assert MOST_BYTES // 3 < len(data) <= MOST_BYTES
    last = kept.meetings["step"].max()
    assert frame(kept.meetings).equals(frame(meetings).filter(frame(meetings)["step"] <= last))
    (note,) = kept.who.notes
    assert note.startswith(f"Collectives of {len(np.unique(kept.meetings['step']))} steps are kept")


def test_another_version_is_no_summary_of_ours_but_no_error() -> None:
    data = encode(summary())
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "who.json":
                text = json.dumps(json.loads(text) | {"version": 0}).encode()
            new.writestr(name, text)
    assert decode(target.getvalue()) is None


def test_bytes_that_are_none_are_refused() -> None:
    data = encode(summary())
    random = Random(1)
    broken = [b"", b"PK", data[: len(data) // 2], b"\0" * 1000]
    for _ in range(200):
        copy = bytearray(data)
        copy[random.randrange(len(copy))] ^= 1 << random.randrange(8)
        broken.append(bytes(copy))
    for one in broken:
        try:
            decode(one, "here")
        except StepscopeError as error:
            assert error.anchor == "bad-summary"
    with pytest.raises(StepscopeError, match="not a summary"):
        decode(b"", "here")


def forged(name: str, member: bytes) -> bytes:
    """A summary with another member in place of one of its own, and a checksum that fits."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(encode(summary()))) as old, zipfile.ZipFile(target, "w") as new:
        for one in old.namelist():
            new.writestr(one, member if one == name else old.read(one))
    return target.getvalue()


def test_forged_members_are_refused_however_polars_takes_them() -> None:
    random = Random(2)
    with zipfile.ZipFile(io.BytesIO(encode(summary()))) as archive:
        member = archive.read("steps.arrow")
    refused = 0
    for _ in range(150):
        copy = bytearray(member)
        for _ in range(3):
            copy[random.randrange(len(copy))] = random.randrange(256)
        try:
            decode(forged("steps.arrow", bytes(copy)), "here")
        except StepscopeError as error:
            assert error.anchor == "bad-summary"
            refused += 1
    assert refused > 100


def test_devices_and_communicators_that_are_not_described_are_refused() -> None:
    one = summary()
    for name, column in (("meetings", "device"), ("meetings", "communicator"), ("ops", "device")):
        table = getattr(one, name)
        wrong: dict[str, Any] = {name: {**table, column: np.full_like(table[column], 60_000)}}
        with pytest.raises(StepscopeError, match="not a summary"):
            decode(encode(replace(one, **wrong)))
