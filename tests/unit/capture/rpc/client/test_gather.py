"""Many workers: whatever one of them does, the others' recordings are kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.rpc.client import api as client
from stepscope.capture.rpc.client.address import Address, parse_addresses
from stepscope.capture.rpc.client.gather import Gathering
from stepscope.capture.rpc.client.outcome import Progress, RemoteCapture
from stepscope.capture.rpc.client.preflight import Preflight
from stepscope.capture.rpc.client.request import CaptureRequest
from stepscope.capture.rpc.client.worker import file_stems, free_run
from stepscope.capture.rpc.server import api as server
from stepscope.capture.rpc.server import service
from stepscope.errors import CaptureError, UsageError
from stepscope.wire.write import prefix
from tests.unit.capture.rpc.fake_door import FakeDoor
from tests.unit.capture.rpc.workers import ForeignWorker, serving

pytest.importorskip("grpc", reason="grpcio is not installed")

# A host plane with a line of two events (id 1, and id 1 with a duration): by hand,
# events 22 02 08 01 and 22 04 08 01 18 05; line 1a 0a …; plane 0a 0c ….
TWO_EVENTS = bytes.fromhex("0a0c1a0a2202080122040801" + "1805")
DEAD = "127.0.0.1:1"


@pytest.fixture
def stack() -> object:
    with ExitStack() as opened:
        yield opened


def foreign(stack: ExitStack, **how: object) -> ForeignWorker:
    worker = ForeignWorker(xspace=TWO_EVENTS, **how)  # type: ignore[arg-type]  # its fields
    stack.enter_context(serving(worker))
    return worker


def ours(stack: ExitStack, door: FakeDoor | None = None) -> str:
    started = stack.enter_context(server.start(0, door=door or FakeDoor(TWO_EVENTS)))
    return started.address


def trace(
    addresses: Sequence[str], logdir: Path, ms: float | None = 100, **more: object
) -> RemoteCapture:
    return client.trace(",".join(addresses), str(logdir), ms, **more)  # type: ignore[arg-type]


def files(logdir: Path) -> list[str]:
    return sorted(path.name for path in logdir.rglob("*") if path.is_file())


def test_workers_of_both_kinds_give_one_run(stack: ExitStack, tmp_path: Path) -> None:
    theirs = foreign(stack)
    capture = trace([theirs.address, ours(stack)], tmp_path)
    assert [each.status for each in capture.workers] == ["recorded", "recorded"]
    assert [each.events for each in capture.workers] == [2, 2]
    assert [each.bytes for each in capture.workers] == [len(TWO_EVENTS)] * 2
    assert Path(capture.folder) == tmp_path / "plugins" / "profile" / capture.run
    assert len(files(tmp_path)) == 2
    assert all(Path(each.path).read_bytes() == TWO_EVENTS for each in capture.workers)


def test_all_are_asked_to_begin_at_one_time_with_the_options(
    stack: ExitStack, tmp_path: Path
) -> None:
    workers = [foreign(stack) for _ in range(3)]
    options = ProfilerOptions(host_tracer_level=3, python_tracer_level=1, memory=False)
    trace([each.address for each in workers], tmp_path, 100, options=options)
    asked = [each.requests[0].opts for each in workers]
    assert all(opts is not None for opts in asked)
    assert len({opts.start_timestamp_ns for opts in asked if opts}) == 1
    for opts in asked:
        assert opts is not None
        assert (opts.host_tracer_level, opts.python_tracer_level) == (3, 1)
        assert (opts.version, opts.duration_ms) == (1, 100)
        assert opts.trace_options is not None
        assert opts.trace_options.host_traceme_filter_mask == 0xFFFFFFFE
        assert opts.advanced_configuration == {}


def test_one_dead_and_one_slow_of_three_cost_nothing_of_the_third(
    stack: ExitStack, tmp_path: Path
) -> None:
    slow = foreign(stack, answer_after_s=1.5)
    good = foreign(stack)
    capture = trace([DEAD, slow.address, good.address], tmp_path)
    assert [each.status for each in capture.workers] == ["failed", "recorded", "recorded"]
    dead, late, quick = capture.workers
    assert "cannot be reached" in dead.error
    assert dead.attempts == 0
    assert late.seconds is not None
    assert quick.seconds is not None
    assert late.seconds > 1.5
    assert quick.seconds < late.seconds
    assert len(files(tmp_path)) == 2


def test_a_worker_that_hangs_is_given_up_and_named(stack: ExitStack, tmp_path: Path) -> None:
    hangs, good = foreign(stack, answer_after_s=60), foreign(stack)
    began = time.monotonic()
    capture = trace([hangs.address, good.address], tmp_path, answer_s=1.0)
    assert time.monotonic() - began < 20
    assert [each.status for each in capture.workers] == ["failed", "recorded"]
    assert "did not answer within 1 s" in capture.workers[0].error
    assert "--answer-s" in capture.workers[0].hint


def test_a_busy_worker_is_asked_again(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack, busy_calls=1)
    capture = trace([worker.address], tmp_path)
    assert capture.workers[0].status == "recorded"


def test_a_worker_that_stays_busy_is_said_to_be(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack, busy_calls=99)
    with pytest.raises(CaptureError, match="No worker returned a recording") as caught:
        trace([worker.address], tmp_path, num_tracing_attempts=2)
    assert "already being recorded" in caught.value.why
    assert files(tmp_path) == []


def test_a_person_recording_there_is_named(stack: ExitStack, tmp_path: Path) -> None:
    door = FakeDoor()
    door.person = True
    with pytest.raises(CaptureError) as caught:
        trace([ours(stack, door)], tmp_path, num_tracing_attempts=1)
    assert "It is already being recorded, by the program itself." in caught.value.why


def test_an_empty_answer_is_asked_for_again(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack, empty_calls=1)
    (outcome,) = trace([worker.address], tmp_path).workers
    assert (outcome.status, outcome.attempts) == ("recorded", 2)
    assert "second attempt" in outcome.notes[0]


def test_a_worker_without_events_is_empty_not_recorded(stack: ExitStack, tmp_path: Path) -> None:
    idle, good = foreign(stack, empty_calls=9), foreign(stack)
    capture = trace([idle.address, good.address], tmp_path, num_tracing_attempts=2)
    assert [each.status for each in capture.workers] == ["empty", "recorded"]
    assert capture.lost == (capture.workers[0],)
    assert len(files(tmp_path)) == 1


def test_an_error_of_the_worker_is_passed_on(stack: ExitStack, tmp_path: Path) -> None:
    broken, good = foreign(stack, code="INTERNAL"), foreign(stack)
    capture = trace([broken.address, good.address], tmp_path)
    assert "INTERNAL: as told" in capture.workers[0].error
    assert capture.workers[0].attempts == 1


def test_bytes_that_are_no_recording_are_not_written(stack: ExitStack, tmp_path: Path) -> None:
    worker = ForeignWorker(xspace=b"<html>not found")
    stack.enter_context(serving(worker))
    with pytest.raises(CaptureError, match="No worker") as caught:
        trace([worker.address], tmp_path)
    assert "not a recording" in caught.value.why
    assert files(tmp_path) == []


def test_a_grpc_server_without_a_profiler_is_told_apart(stack: ExitStack, tmp_path: Path) -> None:
    address = stack.enter_context(serving(None))
    with pytest.raises(CaptureError) as caught:
        trace([address], tmp_path)
    assert "not a profiler server" in caught.value.why


@pytest.mark.slow
def test_large_recordings_arrive_from_several_workers(stack: ExitStack, tmp_path: Path) -> None:
    # Above gRPC's customary limit of 4 MiB, and 100 MB: a plane with one event of that length.
    one = b"\x22\x04\x08\x01\x18\x05"
    for worker, count in ((foreign(stack), 900_000), (foreign(stack), 16_700_000)):
        events = one * count
        line = prefix(3, len(events)) + events
        worker.xspace = prefix(1, len(line)) + line
        (outcome,) = trace([worker.address], tmp_path).workers
        assert outcome.events == count
        assert Path(outcome.path).stat().st_size == len(worker.xspace) == outcome.bytes


def test_steps_are_counted_by_our_server(stack: ExitStack, tmp_path: Path) -> None:
    door = FakeDoor(TWO_EVENTS, period_s=0.1)
    began = time.monotonic()
    trace([ours(stack, door)], tmp_path, None, steps=5)
    assert 0.5 <= time.monotonic() - began < 20


def test_steps_nobody_marks_are_told_of_by_our_server(
    stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FIRST_STEP_S", 0.2)
    with pytest.raises(CaptureError) as caught:
        trace([ours(stack)], tmp_path, None, steps=5)
    assert "marked no step" in caught.value.why
    assert "--duration-ms" in caught.value.hint
    # A step time seen in a short recording, 10 ms, does as well: (5 + 1) steps and a margin.
    request = CaptureRequest(parse_addresses(ours(stack)), str(tmp_path), steps=5)
    capture = Gathering(request, step_time=lambda xspace: 10.0).run()
    assert capture.duration_ms == pytest.approx(90)
    assert len(capture.recorded) == 1


def test_steps_of_others_are_timed_by_a_short_recording(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack)
    request = CaptureRequest(parse_addresses(worker.address), str(tmp_path), steps=9)
    capture = Gathering(request, step_time=lambda xspace: 20.0).run()
    # (9 + 1 steps of 20 ms) and a margin of 15 %.
    assert capture.duration_ms == pytest.approx(230)
    assert [each.session_id for each in worker.requests] == ["stepscope-probe", capture.run]


def test_steps_nobody_can_see_are_an_error(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack)
    request = CaptureRequest(parse_addresses(worker.address), str(tmp_path), steps=9)
    with pytest.raises(CaptureError, match="cannot be counted"):
        Gathering(request, step_time=lambda xspace: None).run()


def test_giving_up_keeps_what_has_arrived(stack: ExitStack, tmp_path: Path) -> None:
    slow, good = foreign(stack, answer_after_s=60), foreign(stack)
    gathering = Gathering(
        CaptureRequest(
            (Address.parse(slow.address), Address.parse(good.address)), str(tmp_path), 50
        )
    )

    def report(progress: Sequence[Progress]) -> None:
        if progress[1].phase == "done":
            gathering.stop.set()

    began = time.monotonic()
    capture = gathering.run(report)
    assert time.monotonic() - began < 20
    assert [each.status for each in capture.workers] == ["failed", "recorded"]
    assert "cancelled" in capture.workers[0].error
    assert "interrupted" in capture.notes[0]


def test_progress_passes_through_its_phases(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack)
    seen: list[str] = []
    trace([worker.address], tmp_path, 400, report=lambda all: seen.append(all[0].phase))
    phases = list(dict.fromkeys(seen))
    assert phases[-2:] == ["recording", "done"]


def test_a_folder_that_cannot_be_written_costs_the_place_not_the_recording(
    stack: ExitStack, tmp_path: Path
) -> None:
    (tmp_path / "plugins").write_text("a file where a folder should be")
    (outcome,) = trace([foreign(stack).address], tmp_path).workers
    assert outcome.status == "recorded"
    assert Path(outcome.path).read_bytes() == TWO_EVENTS
    assert "kept in" in outcome.notes[0]


def test_a_url_nobody_knows_is_told_before_anybody_records(stack: ExitStack) -> None:
    worker = foreign(stack)
    with pytest.raises(CaptureError, match="no file system") as caught:
        client.trace(worker.address, "s3x://bucket/logs", 50)
    assert caught.value.anchor == "remote-scheme"
    assert worker.requests == []


def test_a_place_that_fails_in_the_end_costs_the_place_not_the_recording(
    stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CaptureError("The bucket is gone.", why="It was there a moment ago.")

    monkeypatch.setattr("stepscope.capture.rpc.client.worker.Writer.open", refuse)
    (outcome,) = trace([foreign(stack).address], tmp_path).workers
    assert outcome.status == "recorded"
    assert Path(outcome.path).read_bytes() == TWO_EVENTS
    assert "The bucket is gone." in outcome.notes[0]
    assert outcome.path in outcome.notes[0]


def test_a_recording_goes_to_a_url(stack: ExitStack) -> None:
    fsspec = pytest.importorskip("fsspec")
    (outcome,) = client.trace(foreign(stack).address, "memory://logs/x", 50).workers
    assert outcome.path.startswith("memory://logs/x/plugins/profile/")
    with fsspec.open(outcome.path) as file:
        assert file.read() == TWO_EVENTS


def test_two_recordings_in_one_second_are_two_runs(stack: ExitStack, tmp_path: Path) -> None:
    worker = foreign(stack)
    runs = {trace([worker.address], tmp_path, 1).run for _ in range(3)}
    assert len(runs) == 3
    assert len(files(tmp_path)) == 3


def test_a_run_that_exists_is_not_written_into(tmp_path: Path) -> None:
    first = free_run(str(tmp_path))
    (tmp_path / "plugins" / "profile" / first).mkdir(parents=True)
    assert free_run(str(tmp_path)) != first


def test_files_are_named_by_what_the_worker_says_else_by_its_address() -> None:
    def one(text: str, **state: object) -> Preflight:
        return Preflight(Address.parse(text), state=state)

    found = [
        one("10.0.0.1:6009"),
        one("[fe80::1]:6009"),
        one("a:1", host="node-3", pid=77, rank=2),
        one("b:1", host="../../etc", pid=5),
        one("c:1", host="node-3", pid=77, rank=2),
        one("d:1", host=["x"], pid="y"),
    ]
    assert file_stems(found) == [
        "10.0.0.1_6009",
        "fe80_1_6009",
        "node-3_77_rank2",
        "_.._etc_5",
        "node-3_77_rank2_2",
        "d_1",
    ]


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:6009", "localhost", 6009),
        (" 10.0.0.2:8466 ", "10.0.0.2", 8466),
        ("grpc://10.0.0.2:8466", "10.0.0.2", 8466),
        ("[::1]:6009", "::1", 6009),
    ],
)
def test_addresses_as_people_write_them(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":6009", "a:b", "a:70000", "::1:6009", "a/b:1", ","]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_addresses(text)


def test_an_address_named_twice_is_asked_once() -> None:
    assert len(parse_addresses("a:1, a:1,b:2")) == 2


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"duration_ms": 0},
        {"duration_ms": -5},
        {"duration_ms": 1e9},
        {"steps": 0},
        {"duration_ms": 1, "attempts": 0},
        {"duration_ms": 1, "answer_s": 0},
    ],
)
def test_an_order_that_means_nothing_is_refused(how: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        CaptureRequest((Address("a", 1),), "logs", **how)  # type: ignore[arg-type]  # on purpose


def test_the_monitor_of_a_server_without_one_says_whose_it_is(stack: ExitStack) -> None:
    with pytest.raises(CaptureError, match="does not support monitoring"):
        client.monitor(foreign(stack).address, 10)


def test_the_monitor_of_ours_answers(stack: ExitStack) -> None:
    assert "cores" in client.monitor(ours(stack), 50)


def test_many_workers_at_once(stack: ExitStack, tmp_path: Path) -> None:
    before = set(threading.enumerate())  # other tests' servers
    workers = [foreign(stack) for _ in range(16)]
    capture = trace([each.address for each in workers], tmp_path, 200)
    assert len(capture.recorded) == 16
    assert len(files(tmp_path)) == 16
    left = {each for each in threading.enumerate() if "stepscope" in each.name}
    assert left - before == set()
