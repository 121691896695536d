"""Copies are counted by direction, host memory and way, in the counted steps only."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.in_steps.copies import (
    SET,
    CopyDetails,
    CopyKind,
    parse_memcpy_details,
    session_copies,
)
from tests.profiles import Event, gpu, host, line, space, stream

PAGEABLE = "kind_src:pageable kind_dst:device size:4096 dest:0 async:0"
PINNED = "kind_src:device kind_dst:pinned size:1000 dest:0 async:1"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (PAGEABLE, CopyDetails("pageable", 4096, False)),
        (PINNED, CopyDetails("pinned", 1000, True)),
        ("size:112 dest:4 async:0", CopyDetails("", 112, False)),
        ("kind:Unknown size:0 dest:512 async:1", CopyDetails("", None, True)),
        ("", CopyDetails()),
        ("size:-1 async:maybe", CopyDetails()),
    ],
)
def test_every_dialect_of_copy_details_is_read(text: str, read: CopyDetails) -> None:
    assert parse_memcpy_details(text) == read


def test_copies_of_a_kind_add_up_within_the_steps() -> None:
    python = [Event("train", 100.0 * i, 90, {"step_num": i, "_r": 1}) for i in range(2)]
    copies = [
        Event("MemcpyH2D", 10, 20, {"memcpy_details": PAGEABLE}),
        Event("MemcpyH2D", 110, 30, {"memcpy_details": PAGEABLE}),
        Event("MemcpyD2H", 150, 5, {"memcpy_details": PINNED}),
        Event("MemcpyH2D", 195, 30, {"memcpy_details": PAGEABLE}),  # after the last step
    ]
    data = space(host(line("python", *python)), gpu(0, stream(7, *copies)))
    first, second = session_copies(Profile("s", (Host("h", decode(data)),)))
    assert first.kind == CopyKind("host to device", "pageable", False)
    assert (first.occurrences, first.total_ps, first.bytes) == (2, 50_000_000, 8192)
    assert second.kind == CopyKind("device to host", "pinned", True)
    assert (second.occurrences, second.bytes) == (1, 1000)


def test_bytes_are_unknown_where_one_copy_does_not_say_them() -> None:
    python = [Event("train", 0, 90, {"step_num": 0, "_r": 1})]
    copies = [Event("MemcpyH2D", 10, 20), Event("MemcpyH2D", 40, 20)]
    data = space(host(line("python", *python)), gpu(0, stream(7, *copies)))
    (only,) = session_copies(Profile("s", (Host("h", decode(data)),)))
    assert (only.occurrences, only.bytes, only.kind.asynchronous) == (2, None, None)


def test_without_steps_the_copies_are_those_of_the_recording() -> None:
    data = space(gpu(0, stream(7, Event("MemcpyH2D", 10, 20))))
    (copies,) = session_copies(Profile("s", (Host("h", decode(data)),)))
    assert (copies.kind.direction, copies.occurrences) == ("host to device", 1)


def test_what_sets_memory_to_a_value_goes_in_no_direction() -> None:
    python = Event("train", 0, 90, {"step_num": 0, "_r": 1})
    both = Event("Memset", 10, 20), Event("MemcpyD2D", 40, 5)
    data = space(host(line("python", python)), gpu(0, stream(7, *both)))
    found = session_copies(Profile("s", (Host("h", decode(data)),)))
    assert [(one.kind.direction, one.total_ps) for one in found] == [
        (SET, 20_000_000),
        ("device to device", 5_000_000),
    ]
