"""A server for a long time: people who switch from run to run, and what it holds as time goes on.

    python -m bench.soak RECORDING… [--minutes 25] [--runs 500] [--viewers 2]

The recordings are copied in turn until there are that many runs. Each viewer opens a run by chance,
its overview, its ops and four tiles, and goes to the next. Memory and open files that grow without
an end, or an answer that fails, are faults; Linux only.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench.served import Served

_ROWS = 12  # of the table over time
_PATIENCE_S = 60
_TILES = 4
_ANSWERS = (200, 409)  # 409: this recording has nothing to show there, which is an answer


def lay_out(recordings: Sequence[Path], folder: Path, runs: int) -> None:
    """A log directory with this many runs, which are copies of the recordings in turn."""
    for number in range(runs):
        source = recordings[number % len(recordings)]
        run = folder / "plugins" / "profile" / f"run_{number:05}"
        run.mkdir(parents=True)
        shutil.copyfile(source, run / source.name)


class Soak:
    """What the viewers of one server met.

    Attributes:
        switches: Runs that were opened.
        answers: Answers in all.
        waited_s: Seconds to the overview of each run that was opened.
        failed: What failed, in words.
    """

    def __init__(self, url: str) -> None:
        self.switches = self.answers = 0
        self.waited_s: list[float] = []
        self.failed: list[str] = []
        self._place = urlsplit(url)
        self._lock = threading.Lock()
        session: dict[str, Any] = json.loads(self._ask(self._connection(), "session", {}))
        self._runs = [run["id"] for run in session["runs"]]

    def view(self, seed: int, until: float) -> None:
        """One viewer, who goes from run to run until then."""
        chance = random.Random(seed)
        connection = self._connection()
        while time.monotonic() < until:
            run = chance.choice(self._runs)
            try:
                self._open(connection, run, chance)
            except (OSError, HTTPException) as error:
                with self._lock:
                    self.failed.append(f"{run}: {error!r}")
                connection.close()
                connection = self._connection()
        connection.close()

    def _open(self, connection: HTTPConnection, run: str, chance: random.Random) -> None:
        began = time.perf_counter()
        self._ask(connection, "tool/overview_page", {"run": run, "layout": "columns"})
        with self._lock:
            self.switches += 1
            self.waited_s.append(time.perf_counter() - began)
        self._ask(connection, "tool/framework_op_stats", {"run": run, "layout": "columns"})
        meta = json.loads(self._ask(connection, "timeline/meta", {"run": run}))
        if "begin_ps" not in meta:
            return
        begin_ps, whole_ps = int(meta["begin_ps"]), int(meta["end_ps"]) - int(meta["begin_ps"])
        for _ in range(_TILES):
            start_ps = begin_ps + int(whole_ps * chance.random() / 2)
            view = {"start_ps": start_ps, "end_ps": start_ps + max(whole_ps // 4, 1000)}
            shown = {"run": run, "v": meta["fingerprint"], "width_px": 1280}
            self._ask(connection, "timeline/tile", {**view, **shown})

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(self._place.hostname or "", self._place.port, timeout=_PATIENCE_S)

    def _ask(self, connection: HTTPConnection, part: str, query: dict[str, Any]) -> bytes:
        connection.request("GET", f"/api/v1/{part}?{urlencode(query)}")
        response = connection.getresponse()
        body = response.read()
        if response.status not in _ANSWERS:
            raise ConnectionError(f"{part}: {response.status} {body[:200]!r}")
        with self._lock:
            self.answers += 1
        return body


def held(process: int) -> tuple[float, int]:
    """The memory, in MB, and the open files of a process now."""
    place = Path("/proc", str(process))
    pages = int((place / "statm").read_text("utf-8").split()[1])
    return pages * 4096 / 1e6, len(list((place / "fd").iterdir()))


def main() -> int:
    """Lay the runs out, serve, look, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--viewers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lay_out(given.recordings, Path(folder, "logs"), given.runs)
        with Served(Path(folder, "logs"), Path(folder, "log")) as at:
            soak = Soak(at.url)
            until = time.monotonic() + 60 * given.minutes
            viewers = [
                threading.Thread(target=soak.view, args=(seed, until))
                for seed in range(given.viewers)
            ]
            for viewer in viewers:
                viewer.start()
            print("minute   switches   resident MB   open files", flush=True)
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(60 * given.minutes / _ROWS, left))
                memory_mb, files = held(at.process)
                minute = given.minutes - (until - time.monotonic()) / 60
                print(f"{minute:6.1f} {soak.switches:10} {memory_mb:13.0f} {files:12}", flush=True)
            for viewer in viewers:
                viewer.join()
    waits = sorted(soak.waited_s) or [float("nan")]
    middle, late = waits[len(waits) // 2], waits[int(0.99 * len(waits))]
    print(f"{soak.switches} switches between {given.runs} runs, {soak.answers} answers")
    print(f"overview of a switch: p50 {middle:.2f} s, p99 {late:.2f} s; peak {at.peak_mb:.0f} MB")
    print(f"{len(soak.failed)} failed", *soak.failed[:10], sep="\n  ")
    return bool(soak.failed)


if __name__ == "__main__":
    raise SystemExit(main())
