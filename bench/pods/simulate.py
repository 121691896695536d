"""Write the summaries of a simulated job: ``FOLDER HOSTS``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation
from bench.pods.recorded import summaries
from stepscope.summary.encode import encode

_DEVICES = 8


def main() -> None:
    """Eight devices a host, four stages, one of the devices throttled."""
    folder, hosts = Path(sys.argv[1]), int(sys.argv[2])
    layout = Layout(4, hosts * _DEVICES // 16, 4, _DEVICES, layers=2, batches=2, rack=16)
    fault, _ = FAULTS["gpu_throttled"](layout, 0.4, np.random.default_rng(1))
    run = Simulation(layout, fault, 1).simulate()
    for place, one in enumerate(summaries(run, 1)):
        (folder / f"{place:05d}").write_bytes(encode(one))


if __name__ == "__main__":
    main()
