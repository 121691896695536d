"""Many heavy queries of strangers at once: their answers, processes and memory.

    python -m bench.queries [--through http] [--profiles 6] [--seconds 5]

Every profile gets every query from a thread of its own: directly, from one server over HTTP, from
one MCP server, or from a command each. Printed are each query's answers, the most processes and
memory that answered them at one time, and whether a small query is answered after.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from bench.served import Served
from stepscope.errors import StepscopeError
from stepscope.formats.xspace import decode
from stepscope.sql.database import ProfileDatabase, QueryLimits
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.mcp.server import McpServer
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example

QUERIES: Final[dict[str, str]] = {
    "half of a character": "SELECT '\ud800'",
    "a text of 2 GB": "SELECT lpad('x', 2000000000)",
    "repeated text": "SELECT repeat('x', 1000000000)",
    "doubled text": "SELECT "
    + " || ".join(["replace(replace(name, 'e', repeat('e', 9999)), 'e', repeat('e', 9999))"] * 4)
    + " FROM events",
    "joins": "SELECT count(*) FROM events a, events b, events c, events d",
    "joined rows": "SELECT * FROM events a, events b, events c",
    "recursion": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
    "nesting": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "unions": " UNION ALL ".join(["SELECT name FROM events"] * 3_000),
    "terms": "SELECT " + "+".join(["1"] * 40_000),
    "pattern": "SELECT count(*) FROM events WHERE regexp_like(name, '(.*)*(.*)*(.*)*x')",
    "aggregated text": "SELECT array_to_string(array_agg(a.name), repeat('x', 9999))"
    " FROM events a, events b",
    "concatenated names": "SELECT string_agg(name, repeat('x', 9999)) FROM events",
    "zeroblob": "SELECT zeroblob(2000000000), hex(zeroblob(2000000000))",
    "printf": "SELECT printf('%2000000000d', 1)",
    "longer and longer": "SELECT " + "replace(" * 30 + "'a'" + ", 'a', 'aaaaaaaaaa')" * 30,
    "formatted": "SELECT format('{}', name), to_char(start_ns, 'x') FROM events",
    "JSON": "SELECT json_extract(" + "'[' || " * 2_000 + "']', '$') FROM events",
    "series": "SELECT * FROM generate_series(1, 100000000000)",
    "sorted product": "SELECT a.name FROM events a, events b, events c ORDER BY 1 DESC",
    "a control character": "SELECT count(*) AS n FROM events WHERE name = '\x00\x1b[31m'",
    "a file": "SELECT * FROM read_csv('/etc/passwd')",
    "small": "SELECT count(*) AS n FROM events",
}


# A client asks again for so long if the server has no place for its query.
_BUSY: Final = 503
_PATIENCE_S: Final = 120
#: Answers a query about the profile of this number with a text.
Asking = Callable[[int, str], str]


def _workers_mb() -> list[float]:
    """The memory of each process that was started by this one or by one that was."""
    parents, memory = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            pages = int(folder.joinpath("statm").read_text().split()[1])
        except (OSError, ValueError):
            continue
        number = int(folder.name)
        parents[number], memory[number] = int(parent), pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    ours, size = {os.getpid()}, 0
    while len(ours) > size:
        size = len(ours)
        ours |= {number for number, parent in parents.items() if parent in ours}
    return [memory[number] for number in ours - {os.getpid()} if number in memory]


@contextmanager
def directly(folder: Path, seconds: float) -> Iterator[Asking]:
    """Ask databases of this process."""
    databases = [
        ProfileDatabase(Profile(path.name, (Host("h", decode(path.read_bytes())),)))
        for path in sorted(folder.rglob("*.pb"))
    ]
    limits = QueryLimits(rows=1000, seconds=seconds)

    def ask(number: int, query: str) -> str:
        frame = databases[number].ask(query, limits).frame
        return f"{len(frame)} rows" if frame.shape != (1, 1) else f"{frame.item()!s:.20}"

    yield ask
    for database in databases:
        database.close()


@contextmanager
def over_http(folder: Path, seconds: float) -> Iterator[Asking]:
    """Ask a server of all profiles, whose own limit of time holds."""
    with Served(folder, folder / "log") as served:
        with urlopen(f"{served.url}/api/v1/session") as answer:
            runs = sorted(run["id"] for run in json.load(answer)["runs"])

        def ask(number: int, query: str) -> str:
            asked = urlencode({"q": query, "run": runs[number]}, errors="surrogatepass")
            until = time.monotonic() + _PATIENCE_S
            while True:
                try:
                    with urlopen(f"{served.url}/api/v1/sql?{asked}") as answer:
                        return f"{json.load(answer)['rows']} rows"
                except HTTPError as error:
                    told = json.load(error)
                    if error.code != _BUSY or time.monotonic() > until:
                        return f"{error.code} {told['error']}: {told['why'] or told['what']}"
                except URLError as error:
                    return f"BUG {error.reason}"
                time.sleep(0.2)

        yield ask


@contextmanager
def over_mcp(folder: Path, seconds: float) -> Iterator[Asking]:
    """Ask an MCP server of all profiles; its own limit of time holds."""
    recordings = Recordings([str(folder)])
    server = McpServer(recordings)

    def ask(number: int, query: str) -> str:
        params = {"name": "sql", "arguments": {"recording": f"r{number + 1}", "query": query}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = server.message(json.dumps(request).encode()) or {}
        if "error" in answer:
            return str(answer["error"]["message"])
        text = str(answer["result"]["content"][0]["text"])
        return text.partition("what\twhy\tdo")[2] or text

    yield ask
    recordings.close()


@contextmanager
def by_command(folder: Path, seconds: float) -> Iterator[Asking]:
    """Ask with a command for each query."""

    def ask(number: int, query: str) -> str:
        path = sorted(folder.rglob("*.pb"))[number]
        command = [sys.executable, "-m", "stepscope", "sql", str(path), "--timeout", str(seconds)]
        asked = query.replace("\0", "").encode("utf-8", "surrogatepass")
        try:
            done = subprocess.run([*command, asked], capture_output=True, check=False)
        except OSError as error:
            return f"no command: {error.strerror}"
        text = (done.stdout or done.stderr).decode("utf-8", "replace")
        wrong = done.returncode < 0 or "Traceback" in text or "bug in Stepscope" in text
        told = text.partition("  why:   ")[2] or text
        return f"{'BUG ' if wrong else ''}exit {done.returncode}: {told}"

    yield ask


WAYS: Final = {"python": directly, "http": over_http, "mcp": over_mcp, "command": by_command}


class Load:
    """Asks every query of every database at once.

    Attributes:
        answers: How often each query was answered how.
        processes, megabytes: The most at one time.
    """

    def __init__(self, ask: Asking, profiles: int) -> None:
        self.answers: Counter[tuple[str, str]] = Counter()
        self.processes, self.megabytes = 0, 0.0
        self._ask_profile, self._profiles = ask, profiles
        self._lock = threading.Lock()

    def run(self) -> None:
        """Ask, and watch until all are answered."""
        threads = [
            threading.Thread(target=self._ask, args=(number, name))
            for number in range(self._profiles)
            for name in QUERIES
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            memory = _workers_mb()
            self.processes = max(self.processes, len(memory))
            self.megabytes = max(self.megabytes, sum(memory))
            time.sleep(0.05)

    def _ask(self, number: int, name: str) -> None:
        try:
            answer = self._ask_profile(number, QUERIES[name])
        except StepscopeError as error:
            answer = f"{error.slug}: {error.why or error.what}"
        except Exception as error:
            answer = f"BUG {type(error).__name__}: {error}"
        with self._lock:
            self.answers[name, " ".join(answer.split())[:90]] += 1


def main() -> int:
    """Print the answers; 1 if one is a bug, or a small query is not answered after."""
    parser = argparse.ArgumentParser(prog="python -m bench.queries", description=__doc__)
    parser.add_argument("--through", choices=WAYS, default="python")
    parser.add_argument("--profiles", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=5, help="limit of each query")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(given.profiles):
            path = folder / f"run{number}" / "host.xplane.pb"
            path.parent.mkdir()
            path.write_bytes(worked_example(gpu=True, steps=100))
        with WAYS[given.through](folder, given.seconds) as ask:
            load = Load(ask, given.profiles)
            began = time.monotonic()
            load.run()
            took = time.monotonic() - began
            after = ask(0, QUERIES["small"])
    for (name, answer), count in sorted(load.answers.items()):
        print(f"{count:4} {name:20} {answer}")
    print(
        f"{sum(load.answers.values())} queries in {took:.0f} s; at most {load.processes} processes "
        f"with {load.megabytes:.0f} MB together; a small query after them: {after:.60}"
    )
    return 1 if any(answer.startswith("BUG") for _, answer in load.answers) else 0


if __name__ == "__main__":
    raise SystemExit(main())
