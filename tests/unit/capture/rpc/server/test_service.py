"""The service without a network: what each call does to the session, and what it answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from stepscope.capture.recorder import Note
from stepscope.capture.result import Capture
from stepscope.capture.rpc.protocol.messages import (
    OWN_SERVICE,
    SERVICE,
    ConfigValue,
    MonitorRequest,
    MonitorResponse,
    ProfileOptions,
    ProfileRequest,
    ProfileResponse,
    StateResponse,
    TerminateRequest,
)
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server import service as service_module
from stepscope.capture.rpc.server.service import Call, Reply, Service
from stepscope.errors import CaptureError
from tests.unit.capture.rpc.fake_door import FakeDoor


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor()


@pytest.fixture
def service(door: FakeDoor) -> Iterator[Service]:
    made = Service(door)
    yield made
    made.close()


def call(method: str, request: bytes = b"", remaining_s: float | None = None) -> Call:
    package = OWN_SERVICE if method == "State" else SERVICE
    return Call(f"/{package}/{method}", request, remaining_s)


def whole(reply: Reply) -> bytes:
    """What the client gets: the transport puts the file after the head and removes it."""
    body = reply.head
    if reply.file is not None:
        body += reply.file.read_bytes()
        reply.file.unlink()
    return body


def profile(ms: int = 30, **request: object) -> ProfileRequest:
    opts = ProfileOptions(version=1, host_tracer_level=2, duration_ms=ms)
    return ProfileRequest(opts=opts, **request)  # type: ignore[arg-type]  # names of fields


def asked(service: Service, request: ProfileRequest, **of: float) -> ProfileResponse:
    return ProfileResponse.decode(whole(service.answer(call("Profile", request.encode(), **of))))


def failure(service: Service, one: Call) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        service.answer(one)
    return caught.value


def test_our_client_gets_the_recording_as_xspace(service: Service, door: FakeDoor) -> None:
    assert asked(service, profile(emit_xspace=True)) == ProfileResponse(xspace=door.xspace)


def test_a_client_of_cpp_gets_it_as_the_tool_data_it_saves(
    service: Service, door: FakeDoor
) -> None:
    answer = asked(service, profile(repository_root="/somewhere", session_id="s"))
    assert [(each.name, each.data) for each in answer.tool_data] == [("xplane.pb", door.xspace)]
    assert answer.xspace == b""


def test_a_recording_without_events_is_said_to_be_empty(service: Service, door: FakeDoor) -> None:
    door.xspace = b""
    assert asked(service, profile()) == ProfileResponse(empty_trace=True)


def test_a_recording_takes_the_time_asked_for(service: Service) -> None:
    began = time.monotonic()
    asked(service, profile(200))
    assert 0.19 < time.monotonic() - began < 2


def test_the_duration_of_the_request_counts_where_the_options_have_none(service: Service) -> None:
    began = time.monotonic()
    asked(service, ProfileRequest(duration_ms=150))
    assert time.monotonic() - began > 0.14


def test_it_begins_when_all_workers_begin(service: Service, door: FakeDoor) -> None:
    request = profile(1)
    assert request.opts is not None
    request.opts.start_timestamp_ns = time.time_ns() + 300_000_000
    asked(service, request)
    late_ms = (door.begun_ns[0] - request.opts.start_timestamp_ns) / 1e6
    assert 0 <= late_ms < 2000


def test_a_start_in_the_past_is_now(service: Service, door: FakeDoor) -> None:
    request = profile(1)
    assert request.opts is not None
    request.opts.start_timestamp_ns = 1
    began = time.monotonic()
    asked(service, request)
    assert time.monotonic() - began < 1


def test_levels_and_our_own_options_reach_the_session(service: Service, door: FakeDoor) -> None:
    request = profile(1)
    assert request.opts is not None
    request.opts.host_tracer_level, request.opts.python_tracer_level = 3, 1
    request.opts.advanced_configuration = {
        "stepscope_sample_hz": ConfigValue.of("250.0"),
        "stepscope_memory": ConfigValue.of("False"),
        "stepscope_trace_include": ConfigValue.of("a,b"),
        "gpu_max_callback_api_events": ConfigValue.of(7),
    }
    asked(service, request)
    (options,) = door.started
    assert (options.host_tracer_level, options.python_tracer_level) == (3, 1)
    assert (options.device_tracer_level, options.include_hlo) == (0, False)
    assert (options.sample_hz, options.memory) == (250.0, False)
    assert options.trace_include == ("a", "b")


def test_a_request_without_options_gets_the_defaults(service: Service, door: FakeDoor) -> None:
    asked(service, ProfileRequest(opts=ProfileOptions(duration_ms=1, host_tracer_level=0)))
    assert (door.started[0].host_tracer_level, door.started[0].device_tracer_level) == (2, 1)


@pytest.mark.parametrize(
    ("key", "value"),
    [("sample_hz", "often"), ("memory", "maybe"), ("no_such_option", "1"), ("steps", "two")],
)
def test_an_option_that_means_nothing_is_refused(service: Service, key: str, value: str) -> None:
    request = profile(1)
    assert request.opts is not None
    request.opts.advanced_configuration = {f"stepscope_{key}": ConfigValue.of(value)}
    failed = failure(service, call("Profile", request.encode()))
    assert failed.code is Code.INVALID_ARGUMENT
    assert key in failed.message


def test_bytes_that_are_no_request_are_refused(service: Service) -> None:
    failed = failure(service, call("Profile", b"\xff"))
    assert failed.code is Code.INVALID_ARGUMENT


def test_a_method_there_is_not_is_said_to_be_none(service: Service) -> None:
    assert failure(service, call("Dance")).code is Code.UNIMPLEMENTED


def test_who_comes_second_is_told_and_the_first_goes_on(service: Service, door: FakeDoor) -> None:
    first: list[ProfileResponse] = []
    thread = threading.Thread(target=lambda: first.append(asked(service, profile(400))))
    thread.start()
    while not door.recording():
        time.sleep(0.005)
    failed = failure(service, call("Profile", profile(1).encode()))
    thread.join()
    assert failed.code is Code.ALREADY_EXISTS
    assert first[0].tool_data[0].data == door.xspace
    assert asked(service, profile(1)).tool_data


def test_a_person_who_records_goes_before_a_request(service: Service, door: FakeDoor) -> None:
    door.person = True
    assert failure(service, call("Profile", profile(1).encode())).code is Code.ALREADY_EXISTS
    door.person = False
    assert asked(service, profile(1)).tool_data


def test_terminate_ends_a_recording_early_and_keeps_it(service: Service, door: FakeDoor) -> None:
    answers: list[ProfileResponse] = []
    request = profile(20_000, session_id="mine")
    thread = threading.Thread(target=lambda: answers.append(asked(service, request)))
    thread.start()
    while not door.recording():
        time.sleep(0.005)
    service.answer(call("Terminate", TerminateRequest("another's").encode()))
    time.sleep(0.1)
    assert door.recording()
    service.answer(call("Terminate", TerminateRequest("mine").encode()))
    thread.join(5)
    assert answers[0].tool_data


def test_terminate_of_nothing_is_no_error(service: Service) -> None:
    assert whole(service.answer(call("Terminate", TerminateRequest("x").encode()))) == b""


def test_a_client_that_leaves_frees_the_session(service: Service, door: FakeDoor) -> None:
    one = call("Profile", profile(20_000).encode())
    threading.Timer(0.1, one.gone.set).start()
    began = time.monotonic()
    assert failure(service, one).code is Code.CANCELLED
    assert time.monotonic() - began < 2
    assert (door.dropped, door.recording()) == (1, False)
    assert asked(service, profile(1)).tool_data


def test_the_answer_comes_before_the_client_gives_up(service: Service) -> None:
    # 20 s are asked for, 2 s are left: 1 s is recorded, 1 s is for the answer.
    began = time.monotonic()
    assert asked(service, profile(20_000), remaining_s=2.0).tool_data
    assert 0.9 < time.monotonic() - began < 10


def test_steps_end_a_recording_when_so_many_are_done(service: Service, door: FakeDoor) -> None:
    door.period_s = 0.05
    request = profile(20_000)
    assert request.opts is not None
    request.opts.advanced_configuration = {"stepscope_steps": ConfigValue.of(4)}
    began = time.monotonic()
    assert asked(service, request).tool_data
    assert 0.19 < time.monotonic() - began < 10


def test_a_program_without_steps_is_said_to_have_none(
    service: Service, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "FIRST_STEP_S", 0.1)
    request = profile(0)
    assert request.opts is not None
    request.opts.advanced_configuration = {"stepscope_steps": ConfigValue.of(4)}
    failed = failure(service, call("Profile", request.encode()))
    assert failed.code is Code.FAILED_PRECONDITION
    assert not door.recording()


def test_steps_that_are_not_marked_take_the_duration(
    service: Service, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "FIRST_STEP_S", 0.01)
    request = profile(200)
    assert request.opts is not None
    request.opts.advanced_configuration = {"stepscope_steps": ConfigValue.of(4)}
    began = time.monotonic()
    assert asked(service, request).tool_data
    assert time.monotonic() - began > 0.19


def test_an_export_that_fails_is_told_to_the_client(service: Service, door: FakeDoor) -> None:
    door.broken = CaptureError("The disk is full.", why="No space left on device")
    failed = failure(service, call("Profile", profile(1).encode()))
    assert failed.code is Code.INTERNAL
    assert "disk is full" in failed.message


@pytest.mark.parametrize(
    ("start", "snapshot"),
    [("StartContinuousProfiling", "GetSnapshot"), ("ContinuousProfiling", "GetSnapShot")],
)
def test_continuous_profiling_gives_snapshots_and_goes_on(
    service: Service, door: FakeDoor, start: str, snapshot: str
) -> None:
    service.answer(call(start, profile(0).encode()))
    assert door.recording()
    for _ in range(2):
        answer = ProfileResponse.decode(whole(service.answer(call(snapshot))))
        assert answer.xspace == door.xspace
        assert door.recording()
    assert failure(service, call("Profile", profile(1).encode())).code is Code.ALREADY_EXISTS
    service.answer(call("StopContinuousProfiling"))
    assert not door.recording()
    assert failure(service, call(snapshot)).code is Code.FAILED_PRECONDITION
    assert asked(service, profile(1)).tool_data


def test_continuous_profiling_has_a_budget(service: Service, door: FakeDoor) -> None:
    service.answer(call("StartContinuousProfiling", profile(0).encode()))
    options = door.started[0]
    assert options.max_seconds == 3600
    assert options.max_bytes == 2_000_000_000


def test_the_state_names_process_and_owner(service: Service, door: FakeDoor) -> None:
    state = json.loads(StateResponse.decode(whole(service.answer(call("State")))).json)
    assert state["server"] == "stepscope"
    assert abs(state["time_ns"] - time.time_ns()) < 1e10
    assert state["owner"] == ""
    door.person = True
    state = json.loads(StateResponse.decode(whole(service.answer(call("State")))).json)
    assert state["owner"] == "person"


def test_the_monitor_says_what_the_program_does(service: Service, door: FakeDoor) -> None:
    door.period_s = 0.02
    request = MonitorRequest(duration_ms=200, timestamp=True)
    text = MonitorResponse.decode(whole(service.answer(call("Monitor", request.encode())))).data
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    rate = float(lines["steps"].split()[0])
    assert 20 < rate <= 51
    assert "cores over 0.2 s" in lines["processor"]
    assert lines["recording"] == "no"


def test_a_monitor_without_steps_says_so(service: Service) -> None:
    request = MonitorRequest(duration_ms=20).encode()
    text = MonitorResponse.decode(whole(service.answer(call("Monitor", request)))).data
    assert "steps: none marked" in text


def test_closing_ends_what_is_under_way(door: FakeDoor) -> None:
    service = Service(door)
    service.answer(call("StartContinuousProfiling", profile(0).encode()))
    service.close()
    assert (door.recording(), door.dropped) == (False, 1)


def test_a_recording_under_way_is_dropped_when_the_server_stops(door: FakeDoor) -> None:
    service = Service(door)
    failed: list[CallFailed] = []
    one = call("Profile", profile(60_000).encode())
    thread = threading.Thread(target=lambda: failed.append(failure(service, one)))
    thread.start()
    while not door.recording():
        time.sleep(0.005)
    service.close()
    thread.join(10)
    assert failed[0].code is Code.CANCELLED
    assert (door.recording(), door.dropped) == (False, 1)


def test_an_export_that_takes_longer_than_the_client_waits_is_no_empty_recording(
    service: Service, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = Note("still-writing", "warning", "Writing takes longer than 2 s and goes on.")
    late = Capture("/somewhere/a.xplane.pb", 0, 0, 1.0, warnings=(note,))
    monkeypatch.setattr(door, "stop", lambda save: late)
    failed = failure(service, call("Profile", profile(1).encode()))
    assert failed.code is Code.DEADLINE_EXCEEDED
    assert "takes longer" in failed.message


def test_the_export_has_until_the_client_gives_up(service: Service, door: FakeDoor) -> None:
    asked(service, profile(100), remaining_s=60.0)
    # 60 s less 0.1 s of recording and half a second for the way back.
    assert door.started[0].stop_seconds == pytest.approx(59.4)


@pytest.mark.parametrize("remaining_s", [1e12, float("inf")])
def test_a_client_that_waits_for_ever_is_no_problem(
    service: Service, door: FakeDoor, remaining_s: float
) -> None:
    assert asked(service, profile(20), remaining_s=remaining_s).tool_data
    assert door.started[0].stop_seconds == 600
    request = MonitorRequest(duration_ms=10).encode()
    assert whole(service.answer(call("Monitor", request, remaining_s)))


def test_nothing_comes_between_a_snapshot_and_what_goes_on_after_it(
    service: Service, door: FakeDoor
) -> None:
    service.answer(call("StartContinuousProfiling", profile(0).encode()))
    door.stopping = threading.Barrier(2)
    done: list[ProfileResponse] = []

    def snapshot() -> None:
        done.append(ProfileResponse.decode(whole(service.answer(call("GetSnapshot")))))

    first, second = (threading.Thread(target=snapshot) for _ in range(2))
    first.start()
    door.stopping.wait(60)  # the first has ended the recording and not begun it again
    second.start()
    assert failure(service, call("Profile", profile(1).encode())).code is Code.ALREADY_EXISTS
    door.stopping.wait(60)
    door.stopping.wait(60)
    door.stopping.wait(60)
    first.join(60)
    second.join(60)
    assert [one.xspace for one in done] == [door.xspace] * 2
    door.stopping = None
    service.answer(call("StopContinuousProfiling"))
    assert asked(service, profile(1)).tool_data


def test_a_snapshot_that_fails_leaves_no_claim(service: Service, door: FakeDoor) -> None:
    service.answer(call("StartContinuousProfiling", profile(0).encode()))
    door.broken = CaptureError("The disk is full.")
    assert failure(service, call("GetSnapshot")).code is Code.INTERNAL
    door.broken = None
    assert asked(service, profile(1)).tool_data
