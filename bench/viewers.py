"""Many people at one server: what each waits for pages and tiles, and what the server spends.

    python -m bench.viewers RECORDING [--viewers 50] [--seconds 180] [--every 10]

Each viewer opens the overview, the ops and the list of tools, and pans through eight tiles, once in
``--every`` seconds. Waiting times need an idle machine; processor time per answer does not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import tempfile
import threading
import time
from collections import defaultdict
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench.served import Served

_TILES = 8
_WIDTH_PX = 1280
_PATIENCE_S = 300


class Viewers:
    """What all viewers together saw.

    Attributes:
        waited_s: Seconds from question to last byte, by kind of answer.
        failed: Answers other than 200, and broken connections.
    """

    def __init__(self, url: str, every_s: float) -> None:
        self.waited_s: dict[str, list[float]] = defaultdict(list)
        self.failed = 0
        self._place, self._every_s = urlsplit(url), every_s
        self._lock = threading.Lock()
        meta: dict[str, Any] = json.loads(self._ask(self._connection(), "timeline/meta"))
        self.events = int(meta["events"])
        self._begin_ps, self._end_ps = int(meta["begin_ps"]), int(meta["end_ps"])
        self._version = meta["fingerprint"]

    def run(self, viewers: int, seconds: float) -> None:
        """Have so many viewers look for so long; each begins at a moment of its own."""
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._look, args=(n, until)) for n in range(viewers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(self._place.hostname or "", self._place.port, timeout=_PATIENCE_S)

    def _look(self, seed: int, until: float) -> None:
        chance = random.Random(seed)
        connection = self._connection()
        time.sleep(self._every_s * chance.random())
        while (began := time.monotonic()) < until:
            questions = [
                ("overview", "tool/overview_page?layout=columns"),
                ("ops", "tool/framework_op_stats?layout=columns&top=200"),
                ("tools", "tools"),
                *(("tile", self._tile(chance)) for _ in range(_TILES)),
            ]
            for kind, question in questions:
                try:
                    self._timed(connection, kind, question)
                except OSError:
                    self.failed += 1
                    connection.close()
                    connection = self._connection()
            time.sleep(max(0.0, began + self._every_s - time.monotonic()))
        connection.close()

    def _tile(self, chance: random.Random) -> str:
        whole = self._end_ps - self._begin_ps
        size = max(int(whole * math.exp(-chance.random() * math.log(1000))), 1000)
        begin = self._begin_ps + int((whole - size) * chance.random())
        view = {"v": self._version, "start_ps": begin, "end_ps": begin + size}
        return f"timeline/tile?{urlencode({**view, 'width_px': _WIDTH_PX})}"

    def _timed(self, connection: HTTPConnection, kind: str, question: str) -> None:
        began = time.perf_counter()
        self._ask(connection, question, "gzip")
        with self._lock:
            self.waited_s[kind].append(time.perf_counter() - began)

    def _ask(self, connection: HTTPConnection, question: str, encoding: str = "identity") -> bytes:
        headers = {"Accept-Encoding": encoding}
        connection.request("GET", f"/api/v1/{question}", headers=headers)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise ConnectionError(f"{question}: {response.status} {body[:200]!r}")
        return body


def _spent_s(process: int) -> float:
    """Processor time of a process so far; NaN where the system has no /proc."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def main() -> None:
    """Serve, look, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.viewers", description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--every", type=float, default=10, help="seconds from round to round")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Served(given.recording, Path(folder, "log")) as at,
    ):
        seen = Viewers(at.url, given.every)
        before = _spent_s(at.process)
        began = time.monotonic()
        seen.run(given.viewers, given.seconds)
        took, spent = time.monotonic() - began, _spent_s(at.process) - before
    total = sum(map(len, seen.waited_s.values()))
    load = os.getloadavg()[0]
    print(f"{given.viewers} viewers, {took:.0f} s, {seen.events:,} events; load {load:.1f}")
    print("kind            n    p50    p95    p99 s")
    for kind, times in seen.waited_s.items():
        told = " ".join(f"{_quantile(times, share):6.3f}" for share in (0.5, 0.95, 0.99))
        print(f"{kind:10} {len(times):6} {told}")
    print(
        f"{seen.failed} failed of {total + seen.failed}; the server spent {spent:.1f} s, "
        f"{1e3 * spent / max(total, 1):.1f} ms an answer, and held {at.peak_mb:.0f} MB at most"
    )


if __name__ == "__main__":
    main()
