"""``stepscope monitor`` of a real program: its terminal, a scrape and an OTLP receiver."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from stepscope.schema import names

prometheus_client = pytest.importorskip("prometheus_client", reason="needs prometheus-client")
metrics_service_pb2 = pytest.importorskip(
    "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2",
    reason="needs OpenTelemetry's OTLP exporter",
)

JOB = """
import sys, time
import stepscope
stepscope.init(log=sys.argv[1])
for number in range(20):
    with stepscope.step(number):
        time.sleep(0.01)
        stepscope.note(loss=0.25)
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The step logs of two ranks."""
    folder = tmp_path_factory.mktemp("job")
    for rank in ("0", "1"):
        env = os.environ | {"RANK": rank, "WORLD_SIZE": "2"}
        command = [sys.executable, "-c", JOB, str(folder / "run.steps")]
        subprocess.run(command, env=env, check=True, timeout=60)
    return folder


def with_rank(line: bytes, rank: int) -> bytes:
    """The same chunk of another rank."""
    begin = len(names.STEP_LOG_HEAD) + len('"01234567",')
    text = line[begin:].replace(b'"rank":"0"', b'"rank":"%d"' % rank)
    text = text.replace(b'"rank":0', b'"rank":%d' % rank)
    return b'%s"%08x",%s\n' % (names.STEP_LOG_HEAD, zlib.crc32(text), text)


@contextmanager
def monitor(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "stepscope", "monitor", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def test_a_pipe_gets_one_table(job: Path) -> None:
    with monitor(str(job)) as child:
        output, _ = child.communicate(timeout=60)
    assert re.search(r"^rank 0 +20 +1\d.* ms .*loss 0\.25$", output, re.MULTILINE)


def test_many_ranks_fit_a_screen_slowest_first(job: Path, tmp_path: Path) -> None:
    for rank in range(40):
        log = (job / "run-rank0.steps").read_bytes().splitlines()
        (tmp_path / f"run-rank{rank}.steps").write_bytes(
            b"".join(with_rank(line, rank) for line in log)
        )
    with monitor(str(tmp_path)) as child:
        output, _ = child.communicate(timeout=60)
    assert len(output.splitlines()) <= 22
    assert output.endswith("24 faster processes are not shown.\n")


def test_prometheus_scrapes_every_rank(job: Path) -> None:
    with monitor(str(job), "--prometheus", "0") as child:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        text = urllib.request.urlopen(url, timeout=60).read().decode()
    from prometheus_client.parser import text_string_to_metric_families

    samples = {
        (sample.name, sample.labels["rank"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    for rank in ("0", "1"):
        assert samples["stepscope_steps_total", rank] == 20
        assert samples["stepscope_step_seconds_total", rank] >= 0.2
        assert samples["stepscope_value", rank] == 0.25


def test_an_otlp_receiver_gets_every_rank(job: Path) -> None:
    bodies: list[tuple[str, bytes]] = []
    arrived = threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            arrived.set()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with monitor(str(job), "--otlp", f"http://127.0.0.1:{server.server_port}"):
            assert arrived.wait(60)
        server.shutdown()
        thread.join()
    path, body = bodies[0]
    assert path == "/v1/metrics"
    request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(body)
    found = {
        (metric.name, label.value.string_value): point.as_int or point.as_double
        for scope in request.resource_metrics[0].scope_metrics
        for metric in scope.metrics
        for point in [*metric.sum.data_points, *metric.gauge.data_points]
        for label in point.attributes
        if label.key == "rank"
    }
    assert found["stepscope_steps", "0"] == found["stepscope_steps", "1"] == 20
    assert found["stepscope_value", "1"] == 0.25
