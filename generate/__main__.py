"""``python -m generate [--check]``."""

from __future__ import annotations

import sys

from generate.outputs import stale, write


def main(arguments: list[str]) -> int:
    """Write the generated files, or with ``--check`` only say which are stale."""
    if arguments == ["--check"]:
        old = stale()
        for path in old:
            print(f"stale: {path}", file=sys.stderr)
        if old:
            print("refresh with: python -m generate", file=sys.stderr)
        return 1 if old else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for path in write():
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
