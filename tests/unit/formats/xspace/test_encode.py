"""Encoding: pieces, aggregated events, and columns that are not sound."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode, encode_to
from tests.oracle.protobuf_space import canonical
from tests.profiles import host, line, space
from tests.profiles.messages import XSpace


def test_pieces_are_the_whole_and_stay_small() -> None:
    events = [(f"e{i % 100}", i, 1, {"n": i}) for i in range(60_000)]
    data = space(host(line("a", *events)))
    pieces: list[bytes] = []
    encode_to(decode(data), lambda piece: pieces.append(bytes(piece)))
    assert canonical(b"".join(pieces)) == canonical(data)
    assert max(map(len, pieces)) <= 1 << 20


def test_an_event_larger_than_a_piece() -> None:
    data = space(host(line("a", ("x", 0, 1), ("x", 0, 1, {"s": "v" * (3 << 20)}), ("x", 5, 1))))
    assert canonical(encode(decode(data))) == canonical(data)


def test_aggregated_events_among_others() -> None:
    message = XSpace(hostnames=["h"])
    row = message.planes.add(name="p").lines.add(name="l", timestamp_ns=5)
    for i in range(10):
        event = row.events.add(metadata_id=i, duration_ps=i)
        if i % 3 == 0:
            event.num_occurrences = i
        else:
            event.offset_ps = i
        event.stats.add(metadata_id=i, str_value="v")
    data = message.SerializeToString()
    assert canonical(encode(decode(data))) == canonical(data)


def test_rows_out_of_range_are_refused() -> None:
    found = decode(space(host(line("a", ("x", 0, 1, {"n": 1})))))
    bad_metadata = dataclasses.replace(found.events, metadata=np.array([99], np.int32))
    with pytest.raises(ValueError, match=r"events\.metadata"):
        encode(dataclasses.replace(found, events=bad_metadata))
    bad_key = dataclasses.replace(found.event_stats, key=np.array([-1], np.int32))
    with pytest.raises(ValueError, match=r"event_stats\.key"):
        encode(dataclasses.replace(found, event_stats=bad_key))
    bad_offsets = dataclasses.replace(found.events, stat_begin=np.array([0, 7], np.int64))
    with pytest.raises(ValueError, match=r"stat_begin"):
        encode(dataclasses.replace(found, events=bad_offsets))
