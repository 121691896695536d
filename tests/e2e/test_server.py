"""The server as a browser meets it: a real socket, a real process."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from stepscope.errors import UsageError
from stepscope.surfaces.http import Server, Settings
from tests.profiles import worked_example

pytestmark = pytest.mark.e2e


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    (tmp_path / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    return tmp_path


@pytest.fixture
def server(recording: Path) -> Iterator[Server]:
    with Server(str(recording), Settings(port=0)) as running:
        yield running


def get(server: Server, path: str) -> dict[str, object]:
    request = Request(
        f"http://127.0.0.1:{server.port}{path}",
        headers={"Authorization": f"Bearer {server.settings.token}"},
    )
    with urlopen(request, timeout=60) as response:
        body: dict[str, object] = json.load(response)
        return body


def test_printed_address_leads_to_the_page_and_the_api(server: Server) -> None:
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", f"{address.path}?{address.query}")
    entered = connection.getresponse()
    entered.read()
    assert entered.status == 303
    cookie = (entered.getheader("Set-Cookie") or "").split(";")[0]
    connection.request("GET", "/api/v1/session", headers={"Cookie": cookie})
    answered = connection.getresponse()
    assert answered.status == 200
    assert json.load(answered)["runs"][0]["hosts"] == ["a"]
    connection.close()


def test_only_loopback_is_bound(server: Server) -> None:
    outside = {
        info[4][0]
        for info in socket.getaddrinfo(socket.gethostname(), server.port, socket.AF_INET)
        if not str(info[4][0]).startswith("127.")
    }
    for address in outside:
        with pytest.raises(OSError):
            socket.create_connection((str(address), server.port), timeout=2).close()


def test_newest_run_opens_without_being_asked(server: Server) -> None:
    done = threading.Event()
    for _ in range(200):
        if get(server, "/api/v1/progress")["state"] == "ready":
            done.set()
            break
        done.wait(0.05)
    assert done.is_set()


def test_many_requests_at_once_agree(server: Server) -> None:
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda: answers.append(get(server, "/api/v1/tool/overview_page")))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 12 and all(answer == answers[0] for answer in answers)


def test_answers_equal_the_python_api(server: Server, recording: Path) -> None:
    import stepscope

    with stepscope.open(recording) as session:
        want = json.loads(json.dumps(session.framework_op_stats().to_dict()))
    assert get(server, "/api/v1/tool/framework_op_stats") == want


def test_taken_port_is_an_error_when_asked_for_and_passed_over_when_not(recording: Path) -> None:
    with Server(str(recording), Settings(port=0)) as first:
        with pytest.raises(UsageError) as caught:
            Server(str(recording), Settings(port=first.port))
        assert caught.value.anchor == "port-taken"
    with Server(str(recording)) as one, Server(str(recording)) as other:
        assert one.port != other.port


def test_closed_server_frees_its_port(recording: Path) -> None:
    with Server(str(recording), Settings(port=0)) as running:
        port = running.port
    with Server(str(recording), Settings(port=port)) as again:
        assert get(again, "/api/v1/session")["default_run"]


def test_closing_while_an_answer_wakes_the_loop(recording: Path) -> None:
    """A worker that is done wakes the loop too, here just before the call that closes does."""
    server = Server(str(recording), Settings(port=0)).start()
    trigger = server._server.trigger
    wake = trigger._physical_pull

    def wake_twice() -> None:
        wake()
        time.sleep(0.2)
        wake()

    trigger._physical_pull = wake_twice
    server.close()
    server.close()  # a second time: nothing to do, nothing to say


@pytest.mark.skipif(os.name != "posix", reason="limits of open files")
def test_a_process_with_thousands_of_open_files_is_served(recording: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    held: list[int] = []
    try:
        while not held or held[-1] < 1100:  # select ends at 1024
            held.append(os.open(os.devnull, os.O_RDONLY))
        with Server(str(recording), Settings(port=0)) as server:
            assert get(server, "/api/v1/session")["default_run"]
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_serve_command_prints_the_address_and_stops_on_interrupt(recording: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "serve", str(recording), "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        match = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", lines[1])
        assert match, lines
        request = Request(
            f"http://127.0.0.1:{match[1]}/api/v1/session",
            headers={"Authorization": f"Bearer {match[2]}"},
        )
        with urlopen(request, timeout=30) as response:
            assert json.load(response)["runs"]
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in errors
