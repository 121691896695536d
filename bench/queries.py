"""Many heavy queries of strangers at once: their answers, processes and memory.

    python -m bench.queries [--profiles 6] [--seconds 5]

Every profile gets every query from a thread of its own. Printed are each query's answers, the most
processes and memory that answered them at one time, and whether a small query is answered after.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

from stepscope.errors import StepscopeError
from stepscope.formats.xspace import decode
from stepscope.sql.database import ProfileDatabase, QueryLimits
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
    "a file": "SELECT * FROM read_csv('/etc/passwd')",
    "small": "SELECT count(*) AS n FROM events",
}


def _children_mb() -> list[float]:
    """The memory of each process that answers queries."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                pages = int(folder.joinpath("statm").read_text().split()[1])
                found.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        except (OSError, ValueError):
            continue
    return found


class Load:
    """Asks every query of every database at once.

    Attributes:
        answers: How often each query was answered how.
        processes, megabytes: The most at one time.
    """

    def __init__(self, databases: list[ProfileDatabase], seconds: float) -> None:
        self.answers: Counter[tuple[str, str]] = Counter()
        self.processes, self.megabytes = 0, 0.0
        self._databases, self._limits = databases, QueryLimits(rows=1000, seconds=seconds)
        self._lock = threading.Lock()

    def run(self) -> None:
        """Ask, and watch until all are answered."""
        threads = [
            threading.Thread(target=self._ask, args=(database, name))
            for database in self._databases
            for name in QUERIES
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            memory = _children_mb()
            self.processes = max(self.processes, len(memory))
            self.megabytes = max(self.megabytes, sum(memory))
            time.sleep(0.05)

    def _ask(self, database: ProfileDatabase, name: str) -> None:
        try:
            answer = f"{len(database.ask(QUERIES[name], self._limits).frame)} rows"
        except StepscopeError as error:
            answer = f"{error.slug}: {error.why or error.what}"[:70]
        except Exception as error:
            answer = f"BUG {type(error).__name__}: {error}"[:70]
        with self._lock:
            self.answers[name, " ".join(answer.split())] += 1


def main() -> int:
    """Print the answers; 1 if one is a bug, or a small query is not answered after."""
    parser = argparse.ArgumentParser(prog="python -m bench.queries", description=__doc__)
    parser.add_argument("--profiles", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=5, help="limit of each query")
    given = parser.parse_args()
    data = worked_example(gpu=True, steps=100)
    databases = [
        ProfileDatabase(Profile(f"s{number}", (Host("h", decode(data)),)))
        for number in range(given.profiles)
    ]
    load = Load(databases, given.seconds)
    began = time.monotonic()
    load.run()
    took = time.monotonic() - began
    after = databases[0].ask(QUERIES["small"]).frame.item()
    for database in databases:
        database.close()
    for (name, answer), count in sorted(load.answers.items()):
        print(f"{count:4} {name:20} {answer}")
    print(
        f"{sum(load.answers.values())} queries in {took:.0f} s; at most {load.processes} processes "
        f"with {load.megabytes:.0f} MB together; after them {after} events are counted"
    )
    return 1 if any(answer.startswith("BUG") for _, answer in load.answers) else 0


if __name__ == "__main__":
    raise SystemExit(main())
