"""``python -m stepscope.surfaces.generate [--check]``."""

from __future__ import annotations

import sys

from stepscope.surfaces.generate.outputs import repository, stale, write


def main(arguments: list[str]) -> int:
    """Write the generated files, or with ``--check`` only say which are stale."""
    root = repository()
    if arguments == ["--check"]:
        old = stale(root)
        for path in old:
            print(f"stale: {path}", file=sys.stderr)
        if old:
            print("refresh with: python -m stepscope.surfaces.generate", file=sys.stderr)
        return 1 if old else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for path in write(root):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
