"""Hostile clients of one server: slow readers, heavy queries, and clients that leave.

    python -m bench.strangers [--readers 60] [--queries 5]

Readers ask for large answers and take a byte, or 500, a second. Every query of ``bench.queries`` is
sent several times at once, and every second client leaves after half a second. Meanwhile, and
after, somebody asks small questions. Printed are the answers, and the processor time that the
server and its children still spend when everybody has left.
"""

from __future__ import annotations

import argparse
import os
import socket
import tempfile
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from bench.queries import QUERIES
from bench.served import Served
from tests.profiles import worked_example

_LARGE: Final = (
    "/api/v1/sql.csv?q=" + quote("SELECT a.* FROM events a, events b LIMIT 500000"),
    "/api/v1/timeline/export?format=chrome",
    "/api/v1/timeline/export?format=perfetto",
)
_CHUNKS: Final = (1, 500)  # bytes a second
_PATIENCE_S: Final = 120
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def _answer(port: int, path: str, leaves_after_s: float = 0.0) -> str:
    """Return status and begin of an answer; "left" if the client closes before it comes."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
        if leaves_after_s:
            time.sleep(leaves_after_s)
            return "left"
        response = connection.getresponse()
        slug = response.read(1 << 20).partition(b'"slug"')[2][:24].decode(errors="replace")
        return f"{response.status} {slug.strip(': ')}".strip()
    except (OSError, HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def _read_slowly(port: int, path: str, chunk_bytes: int, until: threading.Event) -> str:
    """Read some bytes of a large answer each second; return who ended it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", port))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        client.settimeout(_PATIENCE_S)
        received = b""
        try:
            while not until.wait(1):
                data = client.recv(chunk_bytes)
                received += data[: 32 - len(received)]
                if not data:
                    return received[9:12].decode(errors="replace") + " closed by the server"
        except OSError:
            return received[9:12].decode(errors="replace") + " closed by the server"
    return "reads on"


def _spent_s(parent: int) -> float:
    """Processor time of a process and of its children, ended ones too."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(folder.name) == parent:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == parent:
            total += sum(map(int, fields[11:13]))
    return total / _TICKS


def attack(port: int, readers: int, times: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return how often each query was answered how, and the answers to small questions."""
    answers: Counter[tuple[str, str]] = Counter()
    small: list[str] = []
    until = threading.Event()

    def ask(name: str, leaves_after_s: float) -> None:
        path = f"/api/v1/sql?q={quote(QUERIES[name], errors='surrogatepass')}"
        answers[name, _answer(port, path, leaves_after_s)] += 1

    def drip(number: int) -> None:
        chunk = _CHUNKS[number % len(_CHUNKS)]
        path = _LARGE[number // len(_CHUNKS) % len(_LARGE)]
        ended = _read_slowly(port, path, chunk, until)
        answers[f"{chunk} B/s {path[8:].partition('?q')[0]}", ended] += 1

    slow = [threading.Thread(target=drip, args=(number,)) for number in range(readers)]
    asking = [
        threading.Thread(target=ask, args=(name, 0.5 * (number % 2)))
        for name in QUERIES
        for number in range(times)
    ]
    for thread in (*slow, *asking):
        thread.start()
    while any(thread.is_alive() for thread in asking):
        small.append(_answer(port, "/api/v1/tools"))
        time.sleep(0.1)
    small.append(_answer(port, f"/api/v1/sql?q={quote(QUERIES['small'])}"))
    until.set()
    for thread in slow:
        thread.join()
    return answers, small


def main() -> int:
    """Print the answers; 1 if a small question failed, a bug answered, or work went on."""
    parser = argparse.ArgumentParser(prog="python -m bench.strangers", description=__doc__)
    parser.add_argument("--readers", type=int, default=60)
    parser.add_argument("--queries", type=int, default=5, help="times each query is asked at once")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "host.xplane.pb")
        recording.write_bytes(worked_example(gpu=True, steps=20_000))
        with Served(recording, Path(folder, "log")) as at:
            port = urlsplit(at.url).port or 0
            answers, small = attack(port, given.readers, given.queries)
            time.sleep(3)
            before_s = _spent_s(at.process)
            time.sleep(5)
            still_s = _spent_s(at.process) - before_s
    for (name, answer), count in sorted(answers.items()):
        print(f"{count:4} {name:20} {answer}")
    failed = [answer for answer in small if not answer.startswith("200")]
    bugs = [answer for _, answer in answers if answer.startswith("500")]
    print(
        f"{given.readers} slow readers; {len(small)} small questions, {len(failed)} failed "
        f"{failed[:3]}; {len(bugs)} bugs; {at.peak_mb:.0f} MB at most; {still_s:.1f} s of "
        "processor time in 5 s after all had left"
    )
    return 1 if failed or bugs or still_s > 1 else 0


if __name__ == "__main__":
    raise SystemExit(main())
