"""Make or join the recordings of a simulated job: ``SETTINGS make|join``, to be measured."""

from __future__ import annotations

import sys

import stepscope
from bench.pods.synthetic import job


def main() -> int:
    """All files, or the answer from all of them, which has to be the planted one."""
    settings, what = sys.argv[1:]
    found = job(settings)
    if what == "make":
        print(sum(len(found.trace(rank)) for rank in range(found.layout.hosts)))
        return 0
    with stepscope.open(f"synth://{settings}") as session:
        pod = session.pod(engine="here", keep="no")
    print(pod.headline)
    assert found.truth is not None
    named = {f"rank{rank}" for rank in found.truth.units}
    return 0 if {next(pod.suspects.rows())["name"]} == named else 1


if __name__ == "__main__":
    sys.exit(main())
