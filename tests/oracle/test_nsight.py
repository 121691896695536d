"""Exports of Nsight Systems: sums and counts are what plain SQL on the file says, to the ns."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.session import Session
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.timeline import timeline
from tests.unit.formats.layout import Event, lines

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "nsight"
CANARY = "SECRET_CANARY"
SECRET = "do-not-import"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/data/nsight is not here")


@pytest.fixture(scope="module", params=["h100_2gpu_1s", "minimal"])
def path(request: pytest.FixtureRequest) -> Path:
    return FOLDER / f"{request.param}.sqlite"


@pytest.fixture(scope="module")
def session(path: Path) -> Iterator[Session]:
    with stepscope.open(path) as session:
        yield session


@pytest.fixture(scope="module")
def work(session: Session) -> dict[tuple[str, str], list[Event]]:
    """Events of devices by plane and line."""
    found = lines(session.profile.hosts[0].space)
    return {key: events for key, events in found.items() if key[0].startswith("/device:GPU")}


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def test_kernels_per_device_and_name(path: Path, work: dict[tuple[str, str], list[Event]]) -> None:
    wanted = ask(
        path,
        "SELECT deviceId, value, count(*), sum(end - start), min(end - start), max(end - start) "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY 1, 2",
    )
    lengths: dict[tuple[int, str], list[int]] = defaultdict(list)
    for (plane, _), events in work.items():
        for event in events:
            if "kernel_details" in event:
                lengths[int(plane.rpartition(":")[2]), event["name"]].append(event["length"])
    found = [(*key, len(one), sum(one), min(one), max(one)) for key, one in lengths.items()]
    assert sorted(found) == sorted(wanted)


def test_bytes_and_times_of_copies_by_direction(
    path: Path, work: dict[tuple[str, str], list[Event]]
) -> None:
    wanted = ask(
        path,
        "SELECT CASE copyKind WHEN 1 THEN 'MemcpyH2D' WHEN 2 THEN 'MemcpyD2H' ELSE 'MemcpyD2D' END,"
        " count(*), sum(end - start), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1",
    )
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for events in work.values():
        for event in events:
            if event["name"].startswith("Memcpy"):
                size = event["memcpy_details"].rpartition("size:")[2]
                found[event["name"]].append((event["length"], int(size)))
    sums = [
        (name, len(one), sum(length for length, _ in one), sum(size for _, size in one))
        for name, one in found.items()
    ]
    assert sorted(sums) == sorted(wanted)


def test_launches_join_by_process_and_number(
    path: Path, session: Session, work: dict[tuple[str, str], list[Event]]
) -> None:
    columns = {row[1] for row in ask(path, "PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}
    same = "AND k.globalPid >> 24 = r.globalTid >> 24" if "globalPid" in columns else ""
    ((wanted,),) = ask(
        path,
        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE EXISTS (SELECT 1 FROM "
        f"CUPTI_ACTIVITY_KIND_RUNTIME r WHERE r.correlationId = k.correlationId {same})",
    )
    unjoined = ("Launch not recorded", "Launched before the recording")
    kernels = [one for events in work.values() for one in events if "kernel_details" in one]
    assert sum(one.get("launch_origin") not in unjoined for one in kernels) == wanted
    host = lines(session.profile.hosts[0].space)
    calls = [one for (plane, _), some in host.items() if plane == "/host:CPU" for one in some]
    ((rows,),) = ask(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    assert sum("correlation_id" in one for one in calls) == rows


def test_every_range_is_there_once(path: Path, session: Session) -> None:
    if not ask(path, "SELECT 1 FROM sqlite_master WHERE name = 'NVTX_EVENTS'"):
        pytest.skip("this export has no ranges")
    host = lines(session.profile.hosts[0].space)
    events = [one for (plane, _), some in host.items() if plane == "/host:CPU" for one in some]
    ranges = [one for one in events if "op_id" in one]
    ((count, total),) = ask(path, "SELECT count(*), sum(end - start) FROM NVTX_EVENTS")
    assert (len(ranges), sum(one["length"] for one in ranges)) == (count, total)


def test_nothing_of_the_environment_is_shown_anywhere(path: Path, session: Session) -> None:
    said = [str(session.files)]
    for tool in TOOLS:
        try:
            said.append(json.dumps(session.run(tool.id).to_dict(), default=str))
        except StepscopeError as error:
            said.append(str(error))
    events = timeline(session.profile)
    begin, end = -(10**18), 10**18
    written = {
        name: b"".join(one.write(events, begin, end)) for name, one in RECORDING_FORMATS.items()
    }
    exported = [
        gzip.decompress(one) if one.startswith(b"\x1f\x8b") else one for one in written.values()
    ]
    assert len(said) > 20
    # Of totals a line for each stack is all there is.
    assert all(
        len(one) > (100 if name in ("collapsed", "pprof") else 1000)
        for name, one in zip(written, exported, strict=True)
    )
    for word in (CANARY, SECRET):
        assert not any(word in one for one in said)
        assert not any(word.encode() in one for one in exported)
        assert word.encode() not in bytes(session.profile.hosts[0].space.buffer)


def test_the_secret_is_in_the_file_that_hides_it() -> None:
    data = (FOLDER / "h100_2gpu_1s.sqlite").read_bytes()
    assert CANARY.encode() in data
    assert SECRET.encode() in data
