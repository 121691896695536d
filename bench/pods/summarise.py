"""Summarise the first recordings of a folder: ``FOLDER COUNT ENGINE``, a process to be measured."""

from __future__ import annotations

import sys

from stepscope import store
from stepscope.engine import Failed, run
from stepscope.session.pod import summary_of


def main() -> int:
    """All of them, or the reason of the first that fails."""
    folder, count, engine = sys.argv[1:]
    (found,) = store.find(folder).runs
    sources = found.sources[: int(count)]
    for one in run(sources, summary_of, engine=engine, bytes_of=lambda one: one.size_bytes):
        if isinstance(one, Failed):
            print(one.reason, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
