"""Many people at one server: what each waits for pages and tiles, and what the server spends.

    python -m bench.viewers PATH [--viewers 50] [--seconds 180] [--every 10]

PATH is a recording, or a folder of runs that the viewers share among them. Each viewer opens the
overview, the ops and the list of tools, and pans through eight tiles, once in ``--every`` seconds.
Waiting times need an idle machine; processor time per answer does not.
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
    """Answers and waiting times of all viewers together.

    Attributes:
        waited_s: Seconds from question to last byte, by kind of answer.
        failed: Answers other than 200, and broken connections.
        runs, events: Their number in the served path.
    """

    def __init__(self, url: str, every_s: float) -> None:
        self.waited_s: dict[str, list[float]] = defaultdict(list)
        self.failed = 0
        self._place, self._every_s = urlsplit(url), every_s
        self._lock = threading.Lock()
        listed: dict[str, Any] = json.loads(self._ask(self._connection(), "session"))
        self._metas: dict[str, dict[str, Any]] = {}
        for run in listed["runs"]:
            question = f"timeline/meta?{urlencode({'run': run['id']})}"
            self._metas[run["id"]] = json.loads(self._ask(self._connection(), question))
        self.events = sum(int(meta["events"]) for meta in self._metas.values())
        self.runs = len(self._metas)

    def run(self, viewers: int, seconds: float) -> None:
        """Let this many viewers look for this long; each begins at a moment of its own."""
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
        run = list(self._metas)[seed % self.runs]
        at = urlencode({"run": run})
        time.sleep(self._every_s * chance.random())
        while (began := time.monotonic()) < until:
            questions = [
                ("overview", f"tool/overview_page?layout=columns&{at}"),
                ("ops", f"tool/framework_op_stats?layout=columns&top=200&{at}"),
                ("tools", "tools"),
                *(("tile", self._tile(chance, run)) for _ in range(_TILES)),
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

    def _tile(self, chance: random.Random, run: str) -> str:
        meta = self._metas[run]
        first, last = int(meta["begin_ps"]), int(meta["end_ps"])
        whole = last - first
        size = max(int(whole * math.exp(-chance.random() * math.log(1000))), 1000)
        begin = first + int((whole - size) * chance.random())
        view = {"v": meta["fingerprint"], "run": run, "start_ps": begin, "end_ps": begin + size}
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
    print(
        f"{given.viewers} viewers, {took:.0f} s, {seen.runs} runs, {seen.events:,} events; "
        f"load {load:.1f}"
    )
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
