"""Bytes that are not an XSpace, and XSpaces that are broken somewhere."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.columns.pivot import read_string
from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.decode import BytesGone
from tests.profiles import Kind, host, line, plane, space
from tests.property.wire_bytes import framed, tag, varint


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.xplane.pb", b"x" * 100)
    return out.getvalue()


PROFILE = space(
    host(
        line("t0", *((f"op{i}", i, 1, {"k": i, "s": "v"}) for i in range(50))),
        line("t1", *((f"op{i}", i, 1) for i in range(20))),
        kinds={"op1": Kind(stats={"flops": 3})},
    ),
    plane("second", line("u", ("z", 0, 1)), stats={"pid": 1}),
)

NOT_PROFILES = {
    "empty": (b"", "empty"),
    "zeros": (b"\0" * 5000, "zero"),
    "gzip": (gzip.compress(PROFILE), "gzip"),
    "zip": (_zip(), "zip"),
    "json": (b'{"traceEvents": [{"ph": "X"}]}', "JSON"),
    "html": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "HTML"),
    "text": (b"planes {\n  name: 'text format'\n}\n", "plain text"),
    "text that begins like a plane": (b"\n\nplanes {\n  id: 1\n}\n", "plain text"),
    "utf-16": ("text".encode("utf-16"), "UTF-16"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
    "sqlite": (b"SQLite format 3\0" + bytes(200), "SQLite"),
    "re-encoded": (PROFILE.decode("utf-8", "replace").encode(), "EF BF BD"),
    "noise": (bytes(range(1, 255)) * 3, "no field of an XSpace"),
}


@pytest.mark.parametrize("kind", NOT_PROFILES)
def test_other_files_are_named(kind: str) -> None:
    data, expected = NOT_PROFILES[kind]
    with pytest.raises(DecodeError) as caught:
        decode(data, file="f.xplane.pb")
    assert expected in caught.value.reason
    assert caught.value.hint
    assert "f.xplane.pb" in str(caught.value)


def test_a_name_with_a_replacement_character_is_not_re_encoding() -> None:
    found = decode(space(host(line("caf\ufffd", ("x", 0, 1))))[:-2])
    assert found.damage is not None
    assert found.lines[0].name == "caf\ufffd"


@pytest.mark.parametrize("cut", range(1, len(PROFILE), 37))
def test_a_cut_file_keeps_what_stands_before_the_cut(cut: int) -> None:
    whole, data = decode(PROFILE), PROFILE[:cut]
    try:
        found = decode(data)
    except DecodeError as error:
        assert cut < 20, "only a file without any readable field is refused"
        assert error.offset_bytes < cut
        return
    count = len(found.events)
    assert found.events.start_ps.tolist() == whole.events.start_ps[:count].tolist()
    assert found.events.duration_ps.tolist() == whole.events.duration_ps[:count].tolist()
    if found.damage is not None:
        assert found.damage.offset_bytes <= cut
        # Every event that lies before the reported place is there.
        complete = decode(PROFILE[: found.damage.offset_bytes])
        assert len(complete.events) == count


def test_the_path_leads_to_the_stat() -> None:
    event = varint(8) + b"\x01" + framed(4, b"\x08\x01") + framed(4, tag(3, 0) + b"\xff")
    line_bytes = framed(4, b"\x08\x01") * 2 + framed(4, event)
    first = framed(1, framed(2, b"first"))
    data = first + framed(1, framed(3, b"") + framed(3, line_bytes))
    damage = decode(data).damage
    assert damage is not None
    assert damage.path == "XSpace.planes[1].lines[1].events[2].stats[1]"
    assert damage.offset_bytes == len(data) - 2
    assert "cut off" in damage.reason


def test_a_file_that_ends_early_says_how_much_is_missing() -> None:
    damage = decode(PROFILE[:-100]).damage
    assert damage is not None
    assert "bytes are missing at its end" in damage.reason


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (b"\x00\x01", "number 0"),
        (b"\x0e", "wire type"),
        (b"\x0c", "never begun"),
        (b"\x08" + b"\xff" * 11, "longer than 10 bytes"),
        (b"\xfb\x01" + b"\x08\x01", "never ended"),
        (b"\xfb\x01" * 102, "nested deeper"),
        (b"\x12\x7f", "longer than what holds it"),
        (b"\x09\x00", "longer than what holds it"),
    ],
)
def test_each_kind_of_damage_has_its_sentence(field: bytes, reason: str) -> None:
    data = framed(1, framed(2, b"p") + field) + framed(1, framed(2, b"behind"))
    found = decode(data)
    assert found.damage is not None
    assert reason in found.damage.reason
    assert found.damage.path.startswith("XSpace.planes[0]")
    assert [row.name for row in found.planes] == ["p", "behind"]


def test_what_stands_behind_a_broken_line_is_still_read() -> None:
    broken = framed(4, b"\x08\x01") + framed(4, b"\x00")
    data = framed(1, framed(3, broken) + framed(3, framed(4, b"\x08\x01")) + framed(2, b"p"))
    found = decode(data)
    assert found.damage is not None and found.damage.path.endswith("lines[0].events[1]")
    assert [row.end - row.begin for row in found.lines] == [1, 1]
    assert found.planes[0].name == "p"


def test_damage_in_names_and_stats_is_reported_there() -> None:
    entry = b"\x08\x05" + framed(2, framed(2, b"name") + framed(5, b"\x00"))
    found = decode(framed(1, framed(4, b"\x08\x04") + framed(4, entry)))
    assert found.damage is not None
    assert found.damage.path == "XSpace.planes[0].event_metadata[1].value.stats[0]"
    assert found.event_metadata.name == ["", "name"]
    packed = b"\x08\x05" + framed(2, framed(6, b"\x01\xff"))
    found = decode(framed(1, framed(4, packed)))
    assert found.damage is not None
    assert found.damage.path == "XSpace.planes[0].event_metadata[0].value.child_id[1]"
    assert found.event_metadata.child_id == {0: (1,)}
    found = decode(framed(1, framed(6, b"\x08\x01") + framed(6, b"\x08")))
    assert found.damage is not None
    assert found.damage.path == "XSpace.planes[0].stats[1]"


def test_thousands_of_broken_places_are_counted_not_listed() -> None:
    entries = (framed(4, b"\x08" + varint(i) + framed(2, b"\x00")) for i in range(5000))
    found = decode(framed(1, b"".join(entries)))
    assert found.damage is not None
    assert "4999 more damaged places" in found.damage.reason


def test_bytes_are_given_back_only_where_no_text_is() -> None:
    """Bytes passed to ``forget`` may become 0 at once: the columns are those of the whole file."""
    plain = line("t0", *((f"op{i % 7}", i, 1, {"k": i}) for i in range(30_000)))
    texts = line("t1", *((f"op{i % 7}", i, 1, {"s": f"text {i}"}) for i in range(30_000)))
    data = space(host(plain, texts, plain))
    buffer, gone = bytearray(data), 0

    def forget(stretches: Iterable[tuple[int, int]]) -> None:
        nonlocal gone
        for begin, end in stretches:
            buffer[begin:end] = bytes(end - begin)
            gone += end - begin

    found, wanted = decode(buffer, forget=forget, threads=1), decode(data)
    assert gone > 300_000, "most of the lines without texts"
    for part in ("events", "event_stats"):
        for name in ("metadata", "start_ps", "duration_ps", "stat_begin", "key", "kind", "value"):
            if hasattr(getattr(wanted, part), name):
                one, other = (getattr(getattr(each, part), name) for each in (found, wanted))
                assert np.array_equal(one, other), (part, name)
    assert read_string(found, int(found.event_stats.value[30_000])) == "text 0"


def test_damage_found_after_bytes_are_given_back_asks_for_the_file_again(tmp_path: Path) -> None:
    events = [(f"op{i % 7}", i, 1, {"k": i}) for i in range(30_000)]
    whole = space(host(line("t0", *events), line("t1", *events, ("op1", 1, 1, {"k": 1 << 62}))))
    last = varint(1 << 62)
    assert whole.count(last) == 1
    data = whole.replace(last, b"\xff" * len(last))
    with pytest.raises(BytesGone):
        decode(data, forget=lambda stretches: None)
    (tmp_path / "a.xplane.pb").write_bytes(data)
    with stepscope.open(tmp_path) as session:
        found, wanted = session.profile.hosts[0].space, decode(data)
        assert wanted.damage is not None and found.damage is not None
        assert np.array_equal(found.events.start_ps, wanted.events.start_ps)
        assert len(found.events) == 60_000
