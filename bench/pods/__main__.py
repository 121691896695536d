"""Pods with known faults: the confusion matrix, and what summaries of many hosts cost.

python3 dev.py bench --pods [--quick]
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain

from bench.pods.matrix import Matrix, clean, trials
from bench.pods.scale import against_xprof, many_hosts, report


def main() -> int:
    """Print the matrix."""
    parser = argparse.ArgumentParser(prog="dev.py bench --pods", description=__doc__)
    parser.add_argument("--pods", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the pods")
    parser.add_argument("--faulty", type=int, help="how many pods with a fault (240)")
    parser.add_argument("--clean", type=int, help="how many clean pods (100)")
    parser.add_argument("--hosts", type=int, default=1000, help="hosts of a clean pod")
    parser.add_argument("--scale", action="store_true", help="only what pods cost, no faults")
    parser.add_argument(
        "--against-xprof",
        type=float,
        nargs="?",
        const=500.0,
        metavar="MB",
        help="only XProf's published case: 8 recordings of 500 MB, or of so many",
    )
    parser.add_argument(
        "--many-hosts",
        type=int,
        nargs="?",
        const=32,
        metavar="N",
        help="only 1,000 hosts of 1 M events, by a line through N at most",
    )
    chosen = parser.parse_args()
    faulty = chosen.faulty if chosen.faulty is not None else (24 if chosen.quick else 240)
    healthy = chosen.clean if chosen.clean is not None else (10 if chosen.quick else 100)
    began = time.perf_counter()
    if chosen.against_xprof or chosen.many_hosts:
        lines = against_xprof(chosen.against_xprof) if chosen.against_xprof else iter(())
        most = chosen.many_hosts or 0
        sizes = sorted({max(most // part, 1) for part in (8, 4, 2, 1)})
        for line in chain(lines, many_hosts(sizes) if most else ()):
            print(line, flush=True)
        return 0
    if chosen.scale:
        for line in report(quick=chosen.quick):
            print(line, flush=True)
        return 0
    # First what they cost: a child counts the memory that its parent held when it began.
    for line in report(quick=chosen.quick):
        print(line, flush=True)
    matrix = Matrix(list(trials(faulty)))
    matrix.clean, matrix.named_in_clean = clean(healthy, chosen.hosts)
    print(matrix.render())
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
