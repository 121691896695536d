"""How many events per second decoding alone takes on one core; prints ``events seconds``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from stepscope.formats.xspace import decode


def main() -> None:
    """Decode the file three times on one thread; the best time counts."""
    data = Path(sys.argv[1]).read_bytes()
    best = float("inf")
    events = 0
    for _ in range(3):
        began = time.perf_counter()
        events = len(decode(data, threads=1).events)
        best = min(best, time.perf_counter() - began)
    print(events, best)


if __name__ == "__main__":
    main()
