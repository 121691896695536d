"""Join the summaries of a folder: ``FOLDER``, a process to be measured."""

from __future__ import annotations

import sys
from pathlib import Path

from stepscope.pod.analyse import analyse
from stepscope.summary.encode import decode


def main() -> None:
    """Who makes the others wait."""
    paths = sorted(Path(sys.argv[1]).iterdir())
    found = (decode(path.read_bytes(), str(path)) for path in paths)
    print(analyse((one for one in found if one is not None), "simulated").headline)


if __name__ == "__main__":
    main()
