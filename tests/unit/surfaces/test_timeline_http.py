"""``api/v1/timeline``: the bytes of a tile as the document says, caching, and refusals."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from werkzeug.test import Client, TestResponse

from stepscope.formats.xspace import decode
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard
from stepscope.surfaces.tiles.tile_format import pack
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import LaneRange, tile, timeline
from tests.profiles import Event, gpu, host, line, space, stream, worked_example

GOLDEN = Path(__file__).parents[2] / "golden" / "timeline_tile_v1.hex"


def golden_profile() -> bytes:
    """A thread that nests, one with a merged slice, a counter and a kernel."""
    used = {"allocator_name": "bfc"}
    return space(
        host(
            line(
                "main",
                ("step", 0, 1000),
                ("matmul", 100, 300),
                Event("MemoryAllocation", 150, 0, used | {"bytes_allocated": 64}),
                Event("MemoryAllocation", 700, 0, used | {"bytes_allocated": 32}),
            ),
            line("pool", *[("tiny", 500 + i, 0.5) for i in range(6)], id=2),
        ),
        gpu(0, stream(7, ("sgemm", 200, 900))),
    )


def golden_tile() -> bytes:
    found = timeline(Profile("s", (Host("h", decode(golden_profile())),)))
    wanted = [LaneRange(one.id) for one in found.tracks]
    return pack(tile(found, wanted, 50_000_000, 1_074_000_000, 64))


def read_tile(data: bytes) -> dict[str, Any]:
    """Read a tile by the document alone."""
    magic, version, size = struct.unpack_from("<4sHH", data)
    assert (magic, version) == (b"SSTL", 1)
    begin, end, bucket, unit = struct.unpack_from("<4q", data, 8)
    rows, slices, names, series, points = struct.unpack_from("<5I", data, 40)
    found: dict[str, Any] = {"begin": begin, "end": end, "bucket": bucket, "unit": unit}
    at = size
    for name, kind, count in (
        ("counter_least", "<f8", points),
        ("counter_most", "<f8", points),
        ("counter_last", "<f8", points),
        ("row_track", "<u4", rows),
        ("row_lane", "<u4", rows),
        ("row_begin", "<u4", rows + 1),
        ("names", "<u4", names),
        ("counter_track", "<u4", series),
        ("counter_begin", "<u4", series + 1),
        ("event", "<u4", slices),
        ("count", "<u4", slices),
        ("name", "<u2", slices),
        ("x0", "<u2", slices),
        ("x1", "<u2", slices),
        ("counter_x", "<u2", points),
        ("fill", "<u1", slices),
        ("kind", "<u1", slices),
    ):
        assert at % int(kind[2]) == 0
        found[name] = np.frombuffer(data, kind, count, at)
        at += found[name].nbytes
    assert at == len(data)
    return found


def test_a_tile_is_byte_for_byte_what_version_1_was() -> None:
    assert golden_tile().hex() == "".join(GOLDEN.read_text().split())


def test_a_tile_read_by_the_document_says_what_happened() -> None:
    read = read_tile(golden_tile())
    assert read["bucket"] == 1 << 24
    merged = np.flatnonzero(read["count"] > 1)
    assert read["count"][merged].sum() == 6
    assert set(read["fill"][read["count"] == 1].tolist()) == {255}
    assert 0 < read["fill"][merged].min() < 255
    assert read["counter_last"].tolist() == [64.0, 32.0]
    assert read["counter_begin"].tolist() == [0, 2]
    kinds = dict(zip(read["event"].tolist(), read["kind"].tolist(), strict=True))
    assert kinds[0] & 64 and not kinds[0] & 128
    assert any(kind & 128 for kind in kinds.values())


@pytest.fixture
def client(tmp_path: Path) -> Client:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "h.xplane.pb").write_bytes(worked_example(gpu=True))
    guard = Guard(Settings(token_required=False), 0)
    return Client(Application(Workspace(find(tmp_path)), guard))


def ask(client: Client, part: str, **headers: str) -> TestResponse:
    return client.get(f"/api/v1/timeline/{part}", headers={"Host": "127.0.0.1"} | headers)


def test_meta_has_what_a_page_needs_before_its_first_tile(client: Client) -> None:
    meta: Any = ask(client, "meta").json
    assert {one["kind"] for one in meta["sections"]} == {"device", "host"}
    assert sum(one["events"] for one in meta["tracks"]) <= meta["events"]
    assert meta["steps"][0]["num"] == list(range(8))
    names: Any = ask(client, "names").json
    assert len(names["names"]) == meta["names"]["count"]
    tile_json: Any = ask(client, "tile?format=json&width_px=100").json
    assert sum(tile_json["count"]) == sum(one["events"] for one in meta["tracks"])
    assert read_tile(ask(client, "tile?width_px=100").data)["count"].tolist() == tile_json["count"]


def test_answers_stay_valid_for_a_fingerprint_and_are_told_unchanged(client: Client) -> None:
    version = ask(client, "meta").json["fingerprint"]  # type: ignore[index]
    lasting = ask(client, f"tile?v={version}")
    assert "immutable" in lasting.headers["Cache-Control"]
    again = ask(client, "tile", **{"If-None-Match": ask(client, "tile").headers["ETag"]})
    assert again.status_code == 304 and not again.data
    gone = ask(client, "tile?v=another")
    assert gone.status_code == 410 and gone.json["error"] == "stale-timeline"  # type: ignore[index]


def test_lanes_and_tracks_can_be_chosen(client: Client) -> None:
    tracks = [t["id"] for t in ask(client, "meta").json["tracks"] if t["lanes"] > 1]  # type: ignore[index]
    read = read_tile(ask(client, f"tile?tracks={tracks[0]}:1-2").data)
    assert set(read["row_track"].tolist()) == {tracks[0]} and set(read["row_lane"].tolist()) == {1}
    assert len(read_tile(ask(client, "tile?tracks=").data)["event"]) == 0


def test_event_search_range_flows_and_density_answer(client: Client) -> None:
    hits: Any = ask(client, "search?q=cuLaunchKernel&columns=4").json
    assert hits["count"] == 8 == sum(hits["columns"])
    event: Any = ask(client, f"event?id={hits['first'][0]['event']}").json
    assert event["out_of"][0]["kind"] == "launch" and event["occurrences"]["count"] == 8
    later: Any = ask(
        client, f"search?q=cuLaunchKernel&at_ps={event['begin_ps']}&at_event={event['event']}"
    ).json
    assert later["next"]["event"] == hits["first"][1]["event"] and later["previous"] is None
    third = hits["first"][2]["begin_ps"]
    rest: Any = ask(client, f"search?q=cuLaunchKernel&from_ps={third}").json
    assert rest["count"] == 8, "counted over the whole trace"
    assert rest["first"] == hits["first"][2:], "hits of a view, however late it is"
    flows: Any = ask(client, f"flows?id={event['event']}").json
    assert flows["arrows"][0]["to"]["event"] == event["out_of"][0]["event"]
    totals: Any = ask(client, "range").json
    assert totals["launches"] == 16 and totals["names"][0]["self_ps"] > 0
    density: Any = ask(client, "density?columns=10").json
    assert all(len(one["active"]) == 10 for one in density["sections"])


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ("nothing", 400),
        ("tile?tracks=99", 400),
        ("tile?tracks=1;2", 400),
        ("tile?start_ps=5&end_ps=5", 400),
        ("tile?start_ps=1e3&end_ps=5", 400),
        ("tile?start_ps=0&end_ps=9999999999999999999", 400),
        ("tile?width_px=0", 400),
        ("tile?format=xml", 400),
        ("search", 400),
        ("search?q=(&mode=regex", 400),
        ("event?id=999999", 404),
        ("event?id=-1", 404),
        ("names?page=77", 400),
        ("export?format=xls", 400),
    ],
)
def test_what_cannot_be_answered_is_said(client: Client, part: str, status: int) -> None:
    response = ask(client, part)
    assert response.status_code == status
    assert {"error", "what", "hint"} <= set(response.json or {})


def test_exports_are_downloads(client: Client) -> None:
    for format, suffix in (("perfetto", ".perfetto-trace"), ("xspace", ".xplane.pb")):
        response = ask(client, f"export?format={format}")
        assert response.status_code == 200 and len(response.data) > 1000
        assert suffix in response.headers["Content-Disposition"]


def test_more_lanes_than_a_tile_holds_are_asked_for_in_parts(tmp_path: Path) -> None:
    """100,000 events inside one another: the pages ask for 32 lanes at a time."""
    depth = 70_000
    inner = [Event(f"f{i % 7}", i, 2 * (depth - i)) for i in range(depth)]
    path = tmp_path / "deep.xplane.pb"
    path.write_bytes(space(host(line("python", *inner))))
    deep = Client(Application(Workspace(find(path)), Guard(Settings(token_required=False), 1)))
    (track,) = ask(deep, "meta").json["tracks"]  # type: ignore[index]
    assert track["lanes"] == depth
    refused = ask(deep, "tile")
    assert refused.status_code == 400
    assert "lanes of one" in refused.json["hint"]  # type: ignore[index]
    read = read_tile(ask(deep, f"tile?tracks={track['id']}:{depth - 32}-{depth}").data)
    assert read["row_lane"].tolist() == list(range(depth - 32, depth))
