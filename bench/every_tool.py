"""Decode a recording once and answer with every tool; prints seconds per step as JSON.

Tools that have nothing to show for the recording are listed with None. The answers are made into
the same JSON text that ``stepscope show`` prints, so that no work is left out.
"""

from __future__ import annotations

import json
import sys
import time

import stepscope
from stepscope.analysis import TOOLS
from stepscope.surfaces.export import json_text


def main() -> None:
    """Answer, and say how long each answer took."""
    took: dict[str, float | None] = {}
    with stepscope.open(sys.argv[1]) as session:
        began = time.perf_counter()
        print(session.profile.name, file=sys.stderr)
        took["decode"] = time.perf_counter() - began
        for tool in TOOLS.ids:
            began = time.perf_counter()
            if session.available(tool) is None:
                json_text(session.run(tool))
                took[tool] = time.perf_counter() - began
            else:
                took[tool] = None
    print(json.dumps(took))


if __name__ == "__main__":
    main()
